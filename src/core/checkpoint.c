/* Writing a checkpoint: an NPZ file with the state as arrays and the rest as lines of text. */
#include "bilevel/checkpoint.h"
#include "bilevel/arithmetic.h"
#include "bilevel/ranks.h"
#include "core/checkpoint_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Identity ---- */

static void put_option(const blv_run *run, blv_key_values *lines, const char *key) {
    char text[BLV_TEXT_SIZE], line[BLV_LINE_KEY];
    blv_params_format(blv_params_find(blv_option_table, key), &run->options, text, sizeof text);
    blv_checkpoint_key(line, BLV_CHECKPOINT_SAME "%s", key);
    blv_key_values_put(lines, line, "%s", text);
}

void blv_checkpoint_key(char key[BLV_LINE_KEY], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(key, BLV_LINE_KEY, format, args);
    va_end(args);
}

blv_error blv_checkpoint_note_parameters(blv_run *run) {
    for (const blv_param *p = run->solver->params; p && p->key; p++) {
        char key[BLV_LINE_KEY], text[BLV_TEXT_SIZE];
        blv_params_format(p, run->state, text, sizeof text);
        blv_checkpoint_key(key, BLV_CHECKPOINT_SAME "parameter %.60s", p->key);
        blv_key_values_put(&run->parameters, key, "%s", text);
    }
    if (run->parameters.incomplete)
        return blv_run_fail(run, BLV_E_MEMORY, "parameters: out of memory");
    return BLV_OK;
}

void blv_checkpoint_fingerprint(blv_run *run) {
    if (!run->fingerprint_known)
        run->fingerprint = blv_problem_fingerprint(run->problem);
    run->fingerprint_known = true;
}

void blv_checkpoint_identity(blv_run *run, blv_key_values *lines) {
    const blv_problem_def *def = run->def;
    blv_checkpoint_fingerprint(run);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "solver", "%s", run->solver->name);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "problem", "%s", def->name);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "precision", "%s",
                       def->precision == BLV_F32 ? "f32" : "f64");
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "dimension of x", "%zu", def->dim_x);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "dimension of y", "%zu", def->dim_y);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "samples of f", "%zu", def->upper_samples);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "samples of g", "%zu", def->lower_samples);
    blv_key_values_put(lines, BLV_CHECKPOINT_SAME "fingerprint of the data", "%016" PRIx64,
                       run->fingerprint);
    put_option(run, lines, "seed");
    put_option(run, lines, "batch");
    put_option(run, lines, "sampler");
    const char *text = run->parameters.text;
    char key[BLV_LINE_KEY], value[BLV_LINE_VALUE];
    for (size_t at = 0; text && blv_key_values_next(text, &at, key, value);)
        blv_key_values_put(lines, key, "%s", value);
}

/* ---- Whole numbers ---- */

#define COUNTER(key, field)                                                                        \
    { key, offsetof(blv_run, field) }
#define COUNTS(key, counts)                                                                        \
    COUNTER(key "f_grad", result.counts.f_grad), COUNTER(key "g_grad", result.counts.g_grad),      \
        COUNTER(key "hvp", result.counts.hvp), COUNTER(key "jvp", result.counts.cross),            \
        COUNTER(key "values", result.counts.values)
#define MOVES_AT(key, kind)                                                                        \
    { key, offsetof(blv_run, eval.moves_at_success) + (kind) * sizeof(uint64_t) }

const blv_checkpoint_counter blv_checkpoint_counters[] = {
    COUNTER("run/iterations", result.iterations),
    COUNTS("run/counts/", counts),
    COUNTS("run/setup_counts/", setup_counts),
    COUNTS("run/check_counts/", check_counts),
    COUNTER("run/row seen", row_seen),
    COUNTER("run/row given", row_given),
    COUNTER("run/monitor seen", monitor_seen),
    COUNTER("run/bytes of the trace", trace_at),
    COUNTER("run/moves", eval.moves),
    MOVES_AT("run/moves at upper", BLV_ORACLE_UPPER),
    MOVES_AT("run/moves at lower", BLV_ORACLE_LOWER),
    MOVES_AT("run/moves at lower_hvp", BLV_ORACLE_HVP),
    MOVES_AT("run/moves at lower_cross", BLV_ORACLE_CROSS),
    MOVES_AT("run/moves at lower_all", BLV_ORACLE_ALL),
    MOVES_AT("run/moves at project_x", BLV_ORACLE_PROJECT),
    MOVES_AT("run/moves at lower_hessian_matrix", BLV_ORACLE_HESSIAN),
    MOVES_AT("run/moves at lower_cross_matrix", BLV_ORACLE_CROSS_MATRIX),
    {NULL, 0},
};
_Static_assert(BLV_ORACLE_KINDS == 8, "every kind of oracle has a counter above");

uint64_t *blv_checkpoint_counter_of(blv_run *run, const blv_checkpoint_counter *counter) {
    return (uint64_t *)(void *)((char *)run + counter->offset);
}

/* ---- Clock and metrics ---- */

static void get_numbers(const void *object, double *n) {
    const blv_run *run = object;
    const blv_metrics *m = &run->result.metrics;
    const double values[BLV_CHECKPOINT_NUMBERS] = {
        blv_clock_seconds(run), m->gy_norm, m->r_norm, m->d_norm, m->step_y, m->step_v, m->step_x,
        run->mapping_norm};
    memcpy(n, values, sizeof values);
}

static bool numbers_fit(const void *object, const double *n) {
    (void)object;
    return isfinite(n[0]) && n[0] >= 0.0;
}

static void put_numbers(void *object, const double *n) {
    blv_run *run = object;
    run->clock_before = run->result.seconds = run->monitor_last = n[0];
    run->result.metrics = run->metrics_whole = (blv_metrics){n[1], n[2], n[3], n[4], n[5], n[6]};
    run->mapping_norm = n[7];
}

blv_error blv_checkpoint_register(blv_run *run) {
    return blv_state_object_add(run, "clock and metrics",
                                &(const blv_state_object){.kind = "run",
                                                          .object = run,
                                                          .count = BLV_CHECKPOINT_NUMBERS,
                                                          .get = get_numbers,
                                                          .fits = numbers_fit,
                                                          .put = put_numbers});
}

/* ---- Arrays ---- */

static void name_numbers(const blv_run *run, size_t i, char name[BLV_MEMBER_NAME]) {
    const blv_numbers_entry *entry = &run->numbers[i];
    size_t same = 1;
    for (size_t j = 0; j < i; j++)
        same += strcmp(run->numbers[j].kind, entry->kind) == 0 &&
                strcmp(run->numbers[j].name, entry->name) == 0;
    if (same == 1)
        snprintf(name, BLV_MEMBER_NAME, "%.16s/%s", entry->kind, entry->name);
    else
        snprintf(name, BLV_MEMBER_NAME, "%.16s/%s#%zu", entry->kind, entry->name, same);
}

bool blv_checkpoint_next(const blv_run *run, size_t *i, blv_member *member) {
    for (; *i < 2 * run->entry_count; (*i)++) {
        const blv_state_entry *entry = &run->entries[*i / 2];
        bool previous = *i % 2 == 1;
        if (previous && !entry->previous)
            continue;
        (*i)++;
        *member = (blv_member){.vec = previous ? entry->previous : entry->vec, .vectors = 1};
        member->count = blv_vec_dim(member->vec);
        snprintf(member->name, sizeof member->name, "%s/%s", previous ? "previous" : "vector",
                 entry->name);
        return true;
    }
    size_t n = *i - 2 * run->entry_count;
    if (n == run->numbers_count)
        return false;
    (*i)++;
    *member = (blv_member){.numbers = &run->numbers[n],
                           .count = run->numbers[n].count,
                           .vectors = run->numbers[n].kept.vector_count};
    name_numbers(run, n, member->name);
    return true;
}

/* Whether its numbers are in memory one after the other. */
static bool is_at_hand(const blv_member *m) {
    if (m->numbers)
        return m->numbers->values != NULL;
    return !blv_space_ranks(blv_vec_space(m->vec)) && (blv_vec_f64(m->vec) || blv_vec_f32(m->vec));
}

/* Reads what is not at hand: with several ranks, on all of them. */
static void read_numbers(const blv_member *m, double *host) {
    if (is_at_hand(m))
        return;
    if (m->vectors == 0)
        m->numbers->kept.get(m->numbers->kept.object, host);
    for (size_t j = 0; j < m->vectors; j++)
        blv_vec_read(blv_member_vector(m, j), host + j * (m->count / m->vectors));
}

/* host: what read_numbers has left there */
static blv_error write_member(blv_npz_writer *writer, const blv_member *m, const double *host,
                              blv_message *why) {
    const blv_numbers_entry *n = m->numbers;
    size_t ndim = n && n->values && strcmp(n->kind, "scalar") == 0 ? 0 : 1;
    if (!is_at_hand(m))
        return blv_npz_add_f64(writer, m->name, 1, &m->count, host, why);
    if (n)
        return blv_npz_add_f64(writer, m->name, ndim, &m->count, n->values, why);
    if (blv_vec_f64(m->vec))
        return blv_npz_add_f64(writer, m->name, 1, &m->count, blv_vec_f64(m->vec), why);
    return blv_npz_add_f32(writer, m->name, 1, &m->count, blv_vec_f32(m->vec), why);
}

/* The next array that goes into the file itself. */
static bool next_here(const blv_run *run, bool apart, size_t *i, blv_member *m) {
    while (blv_checkpoint_next(run, i, m))
        if (!apart || !blv_member_is_spread(m))
            return true;
    return false;
}

static size_t largest_copy(const blv_run *run, bool apart) {
    size_t largest = 1;
    blv_member m;
    for (size_t i = 0; next_here(run, apart, &i, &m);)
        if (!is_at_hand(&m) && m.count > largest)
            largest = m.count;
    return largest;
}

/* apart: without what is spread. error: what was met so far. A rank that cannot write reads all the
 * same: the others wait for it. */
static blv_error write_members(const blv_run *run, blv_npz_writer *writer, bool apart,
                               blv_error error, blv_message *why) {
    double *host = malloc(largest_copy(run, apart) * sizeof *host);
    blv_member m;
    BLV_CHECK(blv_run_agree_error(
        run, host ? BLV_OK : blv_explain(why, BLV_E_MEMORY, "out of memory"), why));
    for (size_t i = 0; (error == BLV_OK || run->agrees) && next_here(run, apart, &i, &m);) {
        read_numbers(&m, host);
        if (error == BLV_OK)
            error = write_member(writer, &m, host, why);
    }
    free(host);
    return error;
}

/* ---- Lines ---- */

static void put_progress(blv_run *run, blv_key_values *lines) {
    static const char *const phases[] = {
        [PHASE_CREATED] = "created", [PHASE_OPEN] = "open", [PHASE_STEPPING] = "stepping"};
    char key[BLV_LINE_KEY];
    bool ended = run->phase == PHASE_ENDED;
    blv_key_values_put(lines, "run/phase", "%s",
                       !ended              ? phases[run->phase]
                       : run->may_continue ? "paused"
                                           : "ended");
    blv_key_values_put(lines, "run/outcome", "%d", (int)run->result.outcome);
    blv_key_values_put(lines, "run/message", "%s", ended ? run->ending.text : "");
    for (const blv_checkpoint_counter *c = blv_checkpoint_counters; c->key; c++)
        blv_key_values_put(lines, c->key, "%" PRIu64, *blv_checkpoint_counter_of(run, c));
    for (size_t i = 0; i < run->entry_count; i++)
        if (run->entries[i].previous) {
            blv_checkpoint_key(key, "moved/%s", run->entries[i].name);
            blv_key_values_put(lines, key, "%" PRIu64, run->entries[i].moved);
        }
    for (size_t i = 0; i < run->note_count; i++) {
        blv_checkpoint_key(key, "note/%zu/format", i);
        blv_key_values_put(lines, key, "%s", run->notes[i].format);
        blv_checkpoint_key(key, "note/%zu/text", i);
        blv_key_values_put(lines, key, "%s", run->notes[i].text);
    }
}

static blv_error write_lines(blv_run *run, blv_npz_writer *writer, const blv_parts *parts,
                             blv_message *why) {
    blv_key_values lines = {0};
    blv_key_values_put(&lines, "format", BLV_CHECKPOINT_FORMAT);
    blv_key_values_put(&lines, "version", "%d", BLV_CHECKPOINT_VERSION);
    blv_key_values_put(&lines, "library", "%s", blv_arithmetic_version());
    blv_checkpoint_identity(run, &lines);
    put_progress(run, &lines);
    blv_parts_put_lines(parts, &lines);
    blv_error error = lines.incomplete
                          ? blv_explain(why, BLV_E_MEMORY, "out of memory")
                          : blv_npz_add_text(writer, BLV_CHECKPOINT_HEADER, lines.text, why);
    blv_key_values_free(&lines);
    return error;
}

/* ---- Saving ---- */

static blv_error ready_to_save(blv_run *run) {
    BLV_CHECK(blv_run_open(run)); /* an error when there is no run */
    if (run->busy && run->phase == PHASE_OPEN)
        return blv_run_fail(run, BLV_E_ORDER, "a run that is being opened cannot be saved");
    if (run->busy && run->phase == PHASE_ENDED)
        return blv_run_fail(run, BLV_E_ORDER,
                            "the run is ending: it can be saved after the call that ran it");
    return BLV_OK;
}

/* Only the first rank completes its file, once all have done their part. */
static blv_error write_all(blv_run *run, blv_npz_writer *writer, const blv_parts *parts,
                           blv_message *why) {
    blv_error error = write_lines(run, writer, parts, why);
    if (error == BLV_OK || run->agrees)
        error = write_members(run, writer, parts->count > 0, error, why);
    error = blv_run_agree_error(run, error, why);
    if (error == BLV_OK && blv_run_writes(run))
        error = blv_npz_commit(writer, why);
    else
        blv_npz_discard(writer);
    return blv_run_agree_error(run, error, why);
}

/* Writes and completes the file; the writer is gone afterwards. base: what is spread goes to files
 * beside it; NULL: it does not. error: what creating the file ended with. */
static blv_error save(blv_run *run, const char *base, blv_npz_writer *writer, blv_error error,
                      blv_message *why) {
    blv_parts parts = {0};
    error = blv_run_agree_error(run, error, why);
    if (error == BLV_OK && base && blv_parts_needed(run))
        error = blv_parts_write(run, base, &parts, why);
    if (error != BLV_OK) {
        blv_npz_discard(writer);
    } else {
        error = write_all(run, writer, &parts, why);
        if (error != BLV_OK && parts.count > 0)
            blv_parts_discard(run, &parts);
    }
    if (error == BLV_OK)
        run->part_set = parts.set;
    blv_parts_free(&parts);
    return error == BLV_OK ? BLV_OK : blv_run_fail(run, error, "checkpoint: %.490s", why->text);
}

/* Of several ranks the first writes; the others only take part. */
static int write_nothing(void *context, const void *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

blv_error blv_run_save(blv_run *run, const char *path) {
    BLV_CHECK(ready_to_save(run));
    blv_message why = {""};
    blv_npz_writer *writer = NULL;
    blv_error error = blv_run_writes(run)
                          ? blv_npz_create(&writer, path, &why)
                          : blv_npz_create_to(&writer, "", write_nothing, NULL, &why);
    error = save(run, path, writer, error, &why);
    if (error == BLV_OK && blv_space_ranks(run->def->space_y))
        (void)blv_run_drop_parts(path, run); /* what is left is removed with the next one */
    return error;
}

blv_error blv_run_save_parts(blv_run *run, const char *base, blv_write_fn write, void *context) {
    BLV_CHECK(ready_to_save(run));
    blv_message why = {""};
    blv_npz_writer *writer = NULL;
    if (!blv_run_writes(run))
        write = write_nothing;
    blv_error error = blv_npz_create_to(&writer, "to the given function", write, context, &why);
    return save(run, base, writer, error, &why);
}

blv_error blv_run_save_to(blv_run *run, blv_write_fn write, void *context) {
    return blv_run_save_parts(run, NULL, write, context);
}
