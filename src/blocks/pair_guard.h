/* A guard for automatic steps of x and y that are taken at once, for lower levels that need not be
 * convex.
 *
 * guard.h judges a step by its direction: one that turns shows a step that is too long. But gy
 * turns as well because x has moved, and far from y*(x) the hypergradient estimate w can point
 * anywhere. So the two are judged together, by what their last moves have done to gy:
 *
 *   by x: |J| |move of x|, with |J v|/|v| for |J|      by y: |move of y|/(first y-step)
 *
 *   gy tells nothing about the y-step where x did more than half of what y did; if gy has turned
 *   there, x runs ahead of y and its step is halved
 *   w tells nothing about the x-step where |gy| is more than twice what x did: y is on its way
 *
 * A shortened step grows by 2 % an iteration up to a ceiling, and every shortening lowers the
 * ceiling by 10 %: so steps that are really too long do not come back for ever.
 *
 * On batches the steps are judged by guard.h alone, but where |gy| is more than four times its
 * running mean x moves less far in proportion: y has got lost there, and x waits for it. When the
 * y-step is halved, so is the x-step, since y then covers less of its way between two of them.
 * Steps that the user has set stay as they are. */
#pragma once

#include "blocks/steps.h"

/* All of it is registered as state. */
typedef struct blv_pair_guard {
    double x_ceiling, y_ceiling, y_first;
    double x_moved, y_moved; /* lengths of the last moves */
    double gy_mean;          /* on batches: running mean of |gy| */
} blv_pair_guard;

/* In `open`. */
blv_error blv_pair_guard_open(blv_run *run, blv_pair_guard *guard);
/* In `prepare`, when the steps are known. */
void blv_pair_guard_begin(blv_pair_guard *guard, const blv_steps *steps);

/* The directions of an iteration that starts at x; v and jv: J v, for the size of J. */
typedef struct blv_pair {
    const blv_vec *x, *w, *gy, *v, *jv;
    const blv_vec *r, *hv; /* H v - fy and H v, for steps of v as well; else NULL */
} blv_pair;

/* Norms of the directions, which go into the metrics, and all that the guards look at, in one
 * reduction; then the steps to take, decay included, go there too. */
blv_flow blv_pair_guard_steps(blv_run *run, blv_pair_guard *guard, blv_steps *steps, double decay,
                              const blv_batch *batch, const blv_pair *pair);
/* How far x and y went. */
void blv_pair_guard_moved(blv_pair_guard *guard, double x_moved, double y_moved);
