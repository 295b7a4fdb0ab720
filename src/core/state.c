/* State of a run: vectors and scalars registered by name, and objects handed over. */
#include "base/arena.h"
#include "core/run_private.h"
#include "core/sampler.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

blv_state_entry *blv_state_find(const blv_run *run, const char *name) {
    for (size_t i = 0; name && i < run->entry_count; i++)
        if (strcmp(run->entries[i].name, name) == 0)
            return &run->entries[i];
    return NULL;
}

static blv_error append_entry(blv_run *run, const char *name, blv_state_entry **entry) {
    if (!name || strlen(name) >= NAME_SIZE || blv_state_find(run, name))
        return blv_run_fail(run, BLV_E_NAME, "state vector '%s': name missing, taken or too long",
                            name ? name : "");
    *entry = blv_array_add(&run->entries, &run->entry_count, sizeof **entry);
    if (!*entry)
        return blv_run_fail(run, BLV_E_MEMORY, "state vector '%s': out of memory", name);
    strcpy((*entry)->name, name);
    return BLV_OK;
}

blv_error blv_state_object_vec(blv_run *run, const char *name, blv_vec *vec) {
    blv_state_entry *entry;
    BLV_CHECK(append_entry(run, name, &entry));
    entry->vec = vec;
    entry->borrowed = true;
    return BLV_OK;
}

static blv_error register_vec(blv_run *run, const char *name, blv_level level, bool moves,
                              blv_vec **vec) {
    if (!run || !vec)
        return blv_run_fail(run, BLV_E_ARGUMENT, "state vector: a NULL argument");
    *vec = NULL;
    blv_state_entry *entry;
    BLV_CHECK(append_entry(run, name, &entry));
    blv_error error = blv_vec_create(&entry->vec, blv_space_at(run, level));
    if (error == BLV_OK && moves)
        error = blv_vec_create(&entry->previous, blv_space_at(run, level));
    if (error != BLV_OK) {
        blv_vec_destroy(entry->vec);
        run->entry_count--;
        return blv_run_fail(run, error, "state vector '%s': %s", name, blv_error_text(error));
    }
    *vec = entry->vec;
    return BLV_OK;
}

blv_error blv_state_vec(blv_run *run, const char *name, blv_level level, blv_vec **vec) {
    return register_vec(run, name, level, false, vec);
}

blv_error blv_state_iterate(blv_run *run, const char *name, blv_level level, blv_vec **vec) {
    return register_vec(run, name, level, true, vec);
}

static blv_error append_numbers(blv_run *run, const char *name, const blv_numbers_entry *numbers) {
    if (!name || strlen(name) >= NAME_SIZE)
        return blv_run_fail(run, BLV_E_NAME, "state %s '%s': name missing or too long",
                            numbers->kind, name ? name : "");
    blv_numbers_entry *entry = blv_array_add(&run->numbers, &run->numbers_count, sizeof *entry);
    if (!entry)
        return blv_run_fail(run, BLV_E_MEMORY, "state %s '%s': out of memory", numbers->kind, name);
    *entry = *numbers;
    strcpy(entry->name, name);
    return BLV_OK;
}

static blv_error register_scalar(blv_run *run, const char *name, double *scalar, bool is_column) {
    if (!run || !scalar)
        return blv_run_fail(run, BLV_E_ARGUMENT, "state scalar: a NULL argument");
    return append_numbers(
        run, name,
        &(const blv_numbers_entry){
            .kind = "scalar", .count = 1, .values = scalar, .is_column = is_column});
}

blv_error blv_state_scalar(blv_run *run, const char *name, double *scalar) {
    return register_scalar(run, name, scalar, true);
}

blv_error blv_state_hidden(blv_run *run, const char *name, double *scalar) {
    return register_scalar(run, name, scalar, false);
}

blv_error blv_state_block(blv_run *run, const char *name, size_t count, double **block) {
    if (!run || !name || !block)
        return blv_run_fail(run, BLV_E_ARGUMENT, "state block: a NULL argument");
    *block = NULL;
    double *values = count <= SIZE_MAX / sizeof *values ? calloc(count, sizeof *values) : NULL;
    if (!values && count > 0)
        return blv_run_fail(run, BLV_E_MEMORY, "state block '%s': out of memory", name);
    BLV_CHECK(blv_run_own(run, values, free, count * sizeof *values));
    BLV_CHECK(append_numbers(
        run, name, &(const blv_numbers_entry){.kind = "block", .count = count, .values = values}));
    *block = values;
    return BLV_OK;
}

blv_error blv_state_object_add(blv_run *run, const char *name, const blv_state_object *kept) {
    const size_t count =
        kept->vectors ? kept->vector_count * blv_vec_dim(*kept->vectors) : kept->count;
    return append_numbers(
        run, name, &(const blv_numbers_entry){.kind = kept->kind, .count = count, .kept = *kept});
}

blv_error blv_run_own(blv_run *run, void *object, void (*destroy)(void *), size_t bytes) {
    if (!run || !destroy) {
        if (destroy)
            destroy(object);
        return blv_run_fail(run, BLV_E_ARGUMENT, "blv_run_own: a NULL argument");
    }
    blv_owned *entry = blv_array_add(&run->owned, &run->owned_count, sizeof *entry);
    if (!entry) {
        destroy(object);
        return blv_run_fail(run, BLV_E_MEMORY, "out of memory");
    }
    *entry = (blv_owned){.object = object, .destroy = destroy, .bytes = bytes};
    return BLV_OK;
}

static void destroy_vec(void *vec) {
    blv_vec_destroy(vec);
}

blv_error blv_scratch_vec(blv_run *run, blv_level level, blv_vec **vec) {
    if (!run || !vec)
        return blv_run_fail(run, BLV_E_ARGUMENT, "scratch vector: a NULL argument");
    const blv_space *space = blv_space_at(run, level);
    blv_error error = blv_vec_create(vec, space);
    if (error != BLV_OK)
        return blv_run_fail(run, error, "scratch vector: %s", blv_error_text(error));
    error = blv_run_own(run, *vec, destroy_vec, blv_space_vec_bytes(space));
    if (error != BLV_OK)
        *vec = NULL;
    return error;
}

static void destroy_sampler(void *sampler) {
    blv_sampler_destroy(sampler);
}

enum { BATCH_AUTO = -1, DEFAULT_BATCH = 64 };

/* Batch size in effect: what the solver asks for, else the option, else 64 for stochastic solvers
 * and the whole sum for the others. */
static size_t batch_size(const blv_run *run, size_t asked) {
    if (asked > 0)
        return asked;
    if (run->options.batch > 0)
        return (size_t)run->options.batch;
    if (run->options.batch != BATCH_AUTO)
        return 0;
    return run->solver->uses & BLV_IS_STOCHASTIC ? DEFAULT_BATCH : 0;
}

blv_error blv_state_sampler(blv_run *run, const char *name, blv_level level, size_t size,
                            blv_sampler **sampler) {
    if (!run || !name || !sampler)
        return blv_run_fail(run, BLV_E_ARGUMENT, "sampler: a NULL argument");
    blv_sampler_spec spec = {
        .kind = (blv_sampler_kind)run->options.sampler,
        .samples = level == BLV_LEVEL_X ? run->def->upper_samples : run->def->lower_samples,
        .batch = batch_size(run, size),
        .contiguous = run->def->shuffled,
        .whole_lists = run->def->memory != BLV_MEMORY_HOST,
        .seed = (uint64_t)run->options.seed,
        .stream = name,
    };
    blv_error error = blv_sampler_create(sampler, &spec);
    if (error != BLV_OK)
        return blv_run_fail(run, error, "sampler '%s': %s", name, blv_error_text(error));
    error = blv_run_own(run, *sampler, destroy_sampler, blv_sampler_bytes(*sampler));
    if (error != BLV_OK) {
        *sampler = NULL;
        return error;
    }
    return blv_state_object_add(run, name,
                                &(const blv_state_object){.kind = "sampler",
                                                          .object = *sampler,
                                                          .count = BLV_SAMPLER_NUMBERS,
                                                          .get = blv_sampler_get,
                                                          .fits = blv_sampler_fits,
                                                          .put = blv_sampler_put});
}

void blv_state_free(blv_run *run) {
    for (size_t i = run->owned_count; i-- > 0;)
        run->owned[i].destroy(run->owned[i].object);
    for (size_t i = 0; i < run->entry_count; i++) {
        if (!run->entries[i].borrowed)
            blv_vec_destroy(run->entries[i].vec);
        blv_vec_destroy(run->entries[i].previous);
    }
    free(run->owned);
    free(run->entries);
    free(run->numbers);
}

blv_error blv_run_fail(blv_run *run, blv_error error, const char *format, ...) {
    if (!run || !format)
        return error;
    va_list args;
    va_start(args, format);
    vsnprintf(run->message.text, sizeof run->message.text, format, args);
    va_end(args);
    return error;
}

/* The note with this format; run->note_count: none. */
static size_t find_note(const blv_run *run, const char *format) {
    size_t i = 0;
    while (i < run->note_count && strncmp(run->notes[i].format, format, NOTE_SIZE - 1) != 0)
        i++;
    return i;
}

void blv_run_unnote(blv_run *run, const char *format) {
    size_t i = run && format ? find_note(run, format) : 0;
    if (!run || !format || i == run->note_count)
        return;
    run->note_count--;
    memmove(&run->notes[i], &run->notes[i + 1], (run->note_count - i) * sizeof *run->notes);
}

void blv_run_note(blv_run *run, const char *format, ...) {
    if (!run || !format || run->note_count == NOTES_MAX || find_note(run, format) < run->note_count)
        return;
    blv_note *note = &run->notes[run->note_count++];
    snprintf(note->format, sizeof note->format, "%s", format);
    va_list args;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
}
