/* A guard for automatic step sizes.
 *
 * Automatic constants are estimated at the start; far from there the curvature may be larger and
 * the steps too long. Signs of that, looked for on whole sums only, since on batches directions
 * change by chance:
 *
 *   the direction has turned by more than 120 degrees since the last one: the step is halved, for
 * good the direction has more than doubled in length: this one step is at most |move|/(2 |change|),
 * with the last move and the change of the direction along it, so that a jump is not followed by a
 *   larger one
 *
 * Steps of at most 1/L give neither sign on a quadratic. And no move of x is longer than (1 +
 * |x|)/2, or a twentieth of that on batches, whose directions may be noise for the most part: where
 * Phi is nearly straight its constant says nothing about how far that goes. */
#ifndef BLV_CORE_GUARD_H
#define BLV_CORE_GUARD_H

#include "bilevel/solver.h"

typedef struct blv_guard {
    blv_vec *before; /* last direction; NULL: the guard is off */
    double before_norm;
    double before_move; /* length of the last move */
    double longest;     /* move that is allowed; 0: any */
} blv_guard;

/* In `open`. name: of the state vector that it keeps. */
blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard);
/* Forgets the last direction: the next one belongs to another function. */
void blv_guard_reset(blv_guard *guard);
/* Limits the moves of x, by its present size. */
void blv_guard_limit(blv_guard *guard, const blv_vec *x);
/* The step to take along direction, whose norm is given; batch: what it was computed on. *step is
 * the automatic step, which is halved when the direction has turned; decay multiplies it. */
double blv_guard_step(blv_guard *guard, double *step, double decay, const blv_batch *batch,
                      const blv_vec *direction, double norm);

#endif
