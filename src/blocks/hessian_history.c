#include "blocks/hessian_history.h"
#include "core/run_private.h"
#include "core/sampler.h"

#include <stdio.h>
#include <stdlib.h>

/* A row of the table of terms: these numbers, then the indices of the batch. */
enum { ROW_C_H, ROW_C_J, ROW_WHOLE, ROW_FIRST, ROW_COUNT, ROW_INDEXED, ROW_INDEX };

struct blv_hessian_history {
    blv_run *run;
    size_t slots, row_size;
    bool recursive;
    blv_vec **x, **y;
    double *table;
    size_t *index;        /* scratch: indices of the batch at hand */
    blv_vec *of_x, *of_y; /* scratch: one product */
};

static void destroy(void *object) {
    blv_hessian_history *w = object;
    free(w->x);
    free(w->y);
    free(w->index);
    free(w);
}

static blv_error register_points(blv_run *run, blv_hessian_history *w) {
    for (size_t i = 0; i < w->slots; i++) {
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "window x %zu", i);
        BLV_CHECK(blv_state_vec(run, name, BLV_LEVEL_X, &w->x[i]));
        snprintf(name, sizeof name, "window y %zu", i);
        BLV_CHECK(blv_state_vec(run, name, BLV_LEVEL_Y, &w->y[i]));
    }
    return BLV_OK;
}

blv_error blv_hessian_history_open(blv_run *run, size_t slots, bool recursive,
                                   const blv_sampler *batches, blv_hessian_history **window) {
    size_t most = blv_sampler_batch(batches);
    blv_hessian_history *w = calloc(1, sizeof *w);
    if (!w)
        return blv_run_fail(run, BLV_E_MEMORY, "window: out of memory");
    *w = (blv_hessian_history){.run = run,
                               .slots = slots,
                               .row_size = ROW_INDEX + most,
                               .recursive = recursive,
                               .x = calloc(slots, sizeof *w->x),
                               .y = calloc(slots, sizeof *w->y),
                               .index = calloc(most + 1, sizeof *w->index)};
    if (!w->x || !w->y || !w->index) {
        destroy(w);
        return blv_run_fail(run, BLV_E_MEMORY, "window: out of memory");
    }
    BLV_CHECK(blv_run_own(run, w, destroy,
                          sizeof *w + slots * (sizeof *w->x + sizeof *w->y) +
                              (most + 1) * sizeof *w->index));
    BLV_CHECK(register_points(run, w));
    BLV_CHECK(blv_state_block(run, "window terms", slots * w->row_size, &w->table));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &w->of_x));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &w->of_y));
    *window = w;
    return BLV_OK;
}

void blv_hessian_history_put(blv_hessian_history *w, const blv_batch *batch, const blv_vec *x,
                             const blv_vec *y, const double c[2]) {
    size_t slot = (size_t)(blv_run_iteration(w->run) % w->slots);
    double *row = w->table + slot * w->row_size;
    blv_vec_copy(w->x[slot], x);
    blv_vec_copy(w->y[slot], y);
    row[ROW_C_H] = c[BLV_WINDOW_H];
    row[ROW_C_J] = c[BLV_WINDOW_J];
    row[ROW_WHOLE] = batch ? 0.0 : 1.0;
    if (!batch)
        return;
    row[ROW_FIRST] = (double)batch->first;
    row[ROW_COUNT] = (double)batch->count;
    row[ROW_INDEXED] = batch->index ? 1.0 : 0.0;
    for (size_t i = 0; batch->index && i < batch->count; i++)
        row[ROW_INDEX + i] = (double)batch->index[i];
}

/* The batch of a term; NULL: the whole sum. */
static const blv_batch *batch_of(blv_hessian_history *w, const double *row, blv_batch *batch) {
    if (row[ROW_WHOLE] != 0.0)
        return NULL;
    bool indexed = row[ROW_INDEXED] != 0.0;
    *batch = (blv_batch){.first = (size_t)row[ROW_FIRST],
                         .count = (size_t)row[ROW_COUNT],
                         .index = indexed ? w->index : NULL};
    for (size_t i = 0; indexed && i < batch->count; i++)
        w->index[i] = (size_t)row[ROW_INDEX + i];
    return batch;
}

/* out += weight M(z;B) in, for the point of one slot. */
static blv_flow add_product(blv_hessian_history *w, blv_hessian_history_of which, size_t slot,
                            const blv_batch *batch, double weight, const blv_vec *in,
                            blv_vec *out) {
    if (weight == 0.0)
        return BLV_GO;
    blv_vec *product = which == BLV_WINDOW_H ? w->of_y : w->of_x;
    if (which == BLV_WINDOW_H)
        BLV_TRY(blv_oracle_hvp(w->run, batch, w->x[slot], w->y[slot], in, product));
    else
        BLV_TRY(blv_oracle_cross(w->run, batch, w->x[slot], w->y[slot], in, product));
    blv_vec_axpy(out, weight, product);
    return BLV_GO;
}

blv_flow blv_hessian_history_apply(blv_hessian_history *w, blv_hessian_history_of which,
                                   const blv_vec *in, blv_vec *out) {
    uint64_t now = blv_run_iteration(w->run), oldest = now < w->slots ? 0 : now - w->slots + 1;
    double left = 1.0; /* weight of what the later iterations have left over */
    blv_vec_fill(out, 0.0);
    for (uint64_t t = now; left != 0.0; t--) {
        size_t slot = (size_t)(t % w->slots), before = (size_t)((t + w->slots - 1) % w->slots);
        const double *row = w->table + slot * w->row_size;
        double c = t == oldest ? 1.0 : row[which == BLV_WINDOW_H ? ROW_C_H : ROW_C_J];
        blv_batch room;
        const blv_batch *batch = batch_of(w, row, &room);
        BLV_TRY(add_product(w, which, slot, batch, w->recursive ? left : left * c, in, out));
        if (w->recursive)
            BLV_TRY(add_product(w, which, before, batch, -left * (1.0 - c), in, out));
        left *= 1.0 - c;
        if (t == oldest)
            break;
    }
    return BLV_GO;
}
