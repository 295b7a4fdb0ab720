/* A guard for automatic step sizes.
 *
 * Automatic constants are estimated at the start; far from there the curvature may be larger and the
 * steps too long. Then consecutive directions point against each other. The guard halves a step
 * whenever the direction has turned by more than 120 degrees since the last one. On whole sums only:
 * on batches directions turn by chance. Steps of at most 1/L never trigger it on a quadratic. */
#ifndef BLV_CORE_GUARD_H
#define BLV_CORE_GUARD_H

#include "bilevel/solver.h"

typedef struct blv_guard {
    blv_vec *before; /* last direction; NULL: the guard is off */
    double before_norm;
} blv_guard;

/* In `open`. name: of the state vector that it keeps. */
blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard);
/* Forgets the last direction: the next one belongs to another function. */
void blv_guard_reset(blv_guard *guard);
/* The step to take along direction, whose norm is given; batch: what it was computed on. */
double blv_guard_step(blv_guard *guard, double step, const blv_batch *batch,
                      const blv_vec *direction, double norm);

#endif
