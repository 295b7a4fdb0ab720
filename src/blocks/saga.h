/* SAGA tables: of each fixed block of samples, what its last visit showed.
 *
 *   estimate = weight_i (q_i - table_i) + mean_j table_j,   then table_i = q_i
 *
 * for a visit of block i that shows q_i; weight_i = (blocks)(samples of i)/(samples) makes up for a
 * short block at the end, so the estimate is right on average over an epoch's blocks. The noise
 * vanishes as the iterates settle. One set of tables is for one level, f or g, and can hold several
 * quantities of that level. */
#pragma once

#include "bilevel/solver.h"

enum { BLV_SAGA_MAX = 3 };

typedef struct blv_saga {
    blv_sampler *batches; /* fixed blocks, in an order that is drawn again each epoch */
    size_t samples, size, blocks;
    size_t quantities;
    const blv_space *space[BLV_SAGA_MAX];
    blv_vec **table; /* quantities x blocks; NULL: whole sums */
    blv_vec *mean[BLV_SAGA_MAX], *change[BLV_SAGA_MAX];
    blv_vec *lost[BLV_SAGA_MAX]; /* what rounding has taken from the mean; in float, else NULL */
} blv_saga;

/* In `open`. level: BLV_LEVEL_X for samples of f, BLV_LEVEL_Y for those of g; of: where each of the
 * quantities lives. Where batches are whole sums there is no table. */
blv_error blv_saga_open(blv_run *run, const char *name, blv_level level, size_t quantities,
                        const blv_level *of, blv_saga *saga);
/* Bytes of the tables. */
size_t blv_saga_bytes(const blv_saga *saga);

/* The first visit of every block: so many batches are drawn, each block is there once, and value is
 * what its batch shows. */
void blv_saga_put(blv_saga *saga, size_t quantity, const blv_batch *batch, const blv_vec *value);

/* A visit: value is what the batch shows, and becomes the estimate. Nothing to do on whole sums. */
void blv_saga_visit(blv_saga *saga, size_t quantity, const blv_batch *batch, blv_vec *value);
