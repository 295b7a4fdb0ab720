#include "blocks/saga.h"
#include "core/run_private.h"
#include "core/sampler.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Blocks must be fixed, whatever the option says. */
static blv_error open_blocks(blv_run *run, const char *name, blv_level level, blv_saga *s) {
    int asked = run->options.sampler;
    run->options.sampler = BLV_SAMPLER_FIXED;
    blv_error error = blv_state_sampler(run, name, level, 0, &s->batches);
    run->options.sampler = asked;
    if (error == BLV_OK && asked != BLV_SAMPLER_BLOCK && blv_sampler_batch(s->batches) > 0)
        blv_run_note(run, "batches are fixed blocks, as the tables need them: sampler is not used");
    return error;
}

static size_t width(const blv_saga *s) {
    size_t dims = 0;
    for (size_t q = 0; q < s->quantities; q++)
        dims += blv_space_dim(s->space[q]);
    return dims;
}

/* ---- Opening ---- */

static blv_error open_quantity(blv_run *run, const char *name, blv_level level, size_t q,
                               blv_saga *s) {
    char mean[NAME_SIZE], lost[NAME_SIZE], table[NAME_SIZE];
    assert(q < BLV_SAGA_MAX);
    snprintf(mean, sizeof mean, "%.16s, mean %zu", name, q);
    snprintf(lost, sizeof lost, "%.16s, lost %zu", name, q);
    snprintf(table, sizeof table, "%.16s, table %zu", name, q);
    BLV_CHECK(blv_state_vec(run, mean, level, &s->mean[q]));
    if (blv_space_precision(s->space[q]) == BLV_F32)
        BLV_CHECK(blv_state_vec(run, lost, level, &s->lost[q]));
    BLV_CHECK(blv_state_object_add(run, table,
                                   &(const blv_state_object){.kind = "saga",
                                                             .vectors = s->table + q * s->blocks,
                                                             .vector_count = s->blocks}));
    return blv_scratch_vec(run, level, &s->change[q]);
}

/* The vectors of the table, and NULL after the last. */
static void destroy_table(void *object) {
    blv_vec **table = object;
    for (size_t i = 0; table[i]; i++)
        blv_vec_destroy(table[i]);
    free(table);
}

static blv_error open_table(blv_run *run, blv_saga *s) {
    const size_t count = s->blocks * s->quantities, of_vec = 5 * sizeof(void *);
    blv_error error = BLV_OK;
    s->table = calloc(count + 1, sizeof(blv_vec *));
    if (!s->table)
        return blv_run_fail(run, BLV_E_MEMORY, "tables: out of memory");
    for (size_t i = 0; error == BLV_OK && i < count; i++)
        error = blv_vec_create(&s->table[i], s->space[i / s->blocks]);
    BLV_CHECK(blv_run_own(run, s->table, destroy_table, blv_saga_bytes(s) + count * of_vec));
    return error == BLV_OK ? BLV_OK : blv_run_fail(run, error, "tables: %s", blv_error_text(error));
}

blv_error blv_saga_open(blv_run *run, const char *name, blv_level level, size_t quantities,
                        const blv_level *of, blv_saga *s) {
    BLV_CHECK(open_blocks(run, name, level, s));
    s->samples = level == BLV_LEVEL_X ? run->def->upper_samples : run->def->lower_samples;
    s->size = blv_sampler_batch(s->batches);
    s->quantities = quantities;
    for (size_t q = 0; q < quantities; q++)
        s->space[q] = of[q] == BLV_LEVEL_X ? run->def->space_x : run->def->space_y;
    if (s->size == 0)
        return BLV_OK;
    s->blocks = (s->samples - 1) / s->size + 1;
    if (width(s) > SIZE_MAX / sizeof(double) / s->blocks)
        return blv_run_fail(run, BLV_E_MEMORY, "tables of %zu x %zu numbers: out of memory",
                            s->blocks, width(s));
    BLV_CHECK(open_table(run, s));
    for (size_t q = 0; q < quantities; q++)
        BLV_CHECK(open_quantity(run, name, of[q], q, s));
    return BLV_OK;
}

size_t blv_saga_bytes(const blv_saga *s) {
    size_t bytes = 0;
    for (size_t q = 0; s->table && q < s->quantities; q++)
        bytes += s->blocks * blv_space_vec_bytes(s->space[q]);
    return bytes;
}

/* ---- Visits ---- */

/* mean += share change; what a mean in float cannot take up is added with the next change. */
static void add_to_mean(blv_saga *s, size_t q, double share) {
    if (!s->lost[q]) {
        blv_vec_axpy(s->mean[q], share, s->change[q]);
        return;
    }
    blv_vec_combine(s->lost[q], share, s->change[q], 1.0, s->lost[q]);
    blv_vec_combine(s->change[q], 1.0, s->mean[q], 1.0, s->lost[q]);
    blv_vec_lincomb(s->lost[q], 3, (const double[]){1.0, -1.0, 1.0},
                    (const blv_vec *const[]){s->mean[q], s->change[q], s->lost[q]});
    blv_vec_swap(s->mean[q], s->change[q]);
}

/* The block's entry becomes the value; what it changes by is left in `change`. */
static double enter(blv_saga *s, size_t q, const blv_batch *batch, const blv_vec *value) {
    blv_vec *entry = s->table[q * s->blocks + batch->first / s->size];
    blv_vec_combine(s->change[q], 1.0, value, -1.0, entry);
    blv_vec_copy(entry, value);
    return (double)batch->count / (double)s->samples;
}

void blv_saga_put(blv_saga *s, size_t q, const blv_batch *batch, const blv_vec *value) {
    add_to_mean(s, q, enter(s, q, batch, value));
}

void blv_saga_visit(blv_saga *s, size_t q, const blv_batch *batch, blv_vec *value) {
    if (!s->table || !batch)
        return;
    double share = enter(s, q, batch, value);
    blv_vec_combine(value, (double)s->blocks * share, s->change[q], 1.0, s->mean[q]);
    add_to_mean(s, q, share);
}
