/* The last points of an inner loop on y, with the step and the batch that were taken at each: what
 * a reverse pass through the loop needs. Scratch: its content does not survive a step. */
#pragma once

#include "bilevel/solver.h"

typedef struct blv_trajectory blv_trajectory;

typedef struct blv_trajectory_point {
    const blv_vec *y;
    const blv_batch *batch; /* NULL: the whole sum */
    double step;
} blv_trajectory_point;

/* In `open`: room for `count` points, owned by the run. batches: where the batches will come from.
 */
blv_error blv_trajectory_open(blv_run *run, size_t count, const blv_sampler *batches,
                              blv_trajectory **trajectory);
size_t blv_trajectory_bytes(const blv_trajectory *trajectory);
/* Keeps the point of this number, from 0 on, in place of number - count. Everything is copied. */
void blv_trajectory_keep(blv_trajectory *trajectory, size_t number, const blv_vec *y,
                         const blv_batch *batch, double step);
/* One of the last `count` points kept. Valid until it is replaced. */
blv_trajectory_point blv_trajectory_at(const blv_trajectory *trajectory, size_t number);
