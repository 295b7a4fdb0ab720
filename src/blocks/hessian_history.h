/* Averages of Hessians and cross matrices as operators: the points and batches of the last W
 * iterations are kept, and a product with the average is a sum of products at those points.
 *
 *   averaging    M_t = c_t M(z_t;B_t) + (1 - c_t) M_{t-1}
 *   recursive    M_t = M(z_t;B_t) + (1 - c_t) (M_{t-1} - M(z_{t-1};B_t))
 *
 * Where an iteration drops out, the oldest that is left stands as the start of the recursion:
 * M = M(z;B). So the weights add up to 1 always, and until then nothing is lost. */
#pragma once

#include "bilevel/solver.h"

typedef struct blv_hessian_history blv_hessian_history;

/* In `open`. All that it keeps is registered as state. batches: whose batches will be put in. */
blv_error blv_hessian_history_open(blv_run *run, size_t slots, bool recursive,
                                   const blv_sampler *batches, blv_hessian_history **window);

/* The two averages, each with a coefficient of its own. */
typedef enum blv_hessian_history_of { BLV_WINDOW_H, BLV_WINDOW_J } blv_hessian_history_of;

/* The term of the run's present iteration; putting it again replaces it. c[BLV_WINDOW_H] and
 * c[BLV_WINDOW_J] are the coefficients. */
void blv_hessian_history_put(blv_hessian_history *window, const blv_batch *batch, const blv_vec *x,
                             const blv_vec *y, const double c[2]);
/* out = M in, with the terms up to the present iteration. */
blv_flow blv_hessian_history_apply(blv_hessian_history *window, blv_hessian_history_of which,
                                   const blv_vec *in, blv_vec *out);
