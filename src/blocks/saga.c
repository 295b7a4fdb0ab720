#include "blocks/saga.h"
#include "core/run_private.h"
#include "core/sampler.h"
#include "core/workspace.h"

#include <stdio.h>

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

blv_error blv_saga_open(blv_run *run, const char *name, blv_level level, size_t quantities,
                        const blv_level *of, blv_saga *s) {
    char table[NAME_SIZE], mean[NAME_SIZE];
    snprintf(table, sizeof table, "%.20s, table", name);
    snprintf(mean, sizeof mean, "%.20s, mean", name);
    BLV_CHECK(open_blocks(run, name, level, s));
    s->samples = level == BLV_LEVEL_X ? run->def->upper_samples : run->def->lower_samples;
    s->size = blv_sampler_batch(s->batches);
    s->quantities = quantities;
    s->width = 0;
    for (size_t i = 0; i < quantities; i++) {
        s->dims[i] = of[i] == BLV_LEVEL_X ? run->def->dim_x : run->def->dim_y;
        s->width += s->dims[i];
    }
    if (s->size == 0)
        return BLV_OK;
    s->blocks = (s->samples - 1) / s->size + 1;
    if (s->width > SIZE_MAX / sizeof(double) / s->blocks)
        return blv_run_fail(run, BLV_E_MEMORY, "tables of %zu x %zu numbers: out of memory",
                            s->blocks, s->width);
    BLV_CHECK(blv_state_block(run, table, s->blocks * s->width, &s->table));
    BLV_CHECK(blv_state_block(run, mean, s->width, &s->mean));
    return blv_scratch_block(run, s->width, &s->room);
}

size_t blv_saga_bytes(const blv_saga *s) {
    return s->table ? s->blocks * s->width * sizeof *s->table : 0;
}

static size_t offset_of(const blv_saga *s, size_t quantity) {
    size_t offset = 0;
    for (size_t i = 0; i < quantity; i++)
        offset += s->dims[i];
    return offset;
}

static double *entry_of(const blv_saga *s, size_t quantity, const blv_batch *batch) {
    return s->table + batch->first / s->size * s->width + offset_of(s, quantity);
}

void blv_saga_put(blv_saga *s, size_t quantity, const blv_batch *batch, const blv_vec *value) {
    double *entry = entry_of(s, quantity, batch), *mean = s->mean + offset_of(s, quantity);
    double share = (double)batch->count / (double)s->samples;
    blv_vec_read(value, s->room);
    for (size_t i = 0; i < s->dims[quantity]; i++) {
        mean[i] += share * (s->room[i] - entry[i]);
        entry[i] = s->room[i];
    }
}

void blv_saga_visit(blv_saga *s, size_t quantity, const blv_batch *batch, blv_vec *value) {
    if (!s->table || !batch)
        return;
    double *entry = entry_of(s, quantity, batch), *mean = s->mean + offset_of(s, quantity);
    double share = (double)batch->count / (double)s->samples, weight = (double)s->blocks * share;
    blv_vec_read(value, s->room);
    for (size_t i = 0; i < s->dims[quantity]; i++) {
        double change = s->room[i] - entry[i];
        entry[i] = s->room[i];
        s->room[i] = weight * change + mean[i];
        mean[i] += share * change;
    }
    blv_vec_write(value, s->room);
}
