/* Recursive (STORM) estimators: with c in [0, 1] and one batch B at both points,
 *
 *   q_k = q(z_k;B) + (1 - c) (q_{k-1} - q(z_{k-1};B))
 *
 * c = 1 is plain SGD, c = 0 is SPIDER. */
#pragma once

#include "bilevel/solver.h"

/* z_{k-1}: copies of x and y, since the iterates move on. */
typedef struct blv_old_point {
    blv_vec *x, *y;
} blv_old_point;

blv_error blv_old_point_open(blv_run *run, blv_old_point *old);
/* The run's x and y become the old point: before they are moved. */
void blv_old_point_keep(blv_run *run, blv_old_point *old);

typedef struct blv_recursive {
    blv_vec *estimate; /* q_{k-1}, then q_k */
    blv_vec *at[2];    /* q(z_k;B) and q(z_{k-1};B): to be filled in before an update */
    bool watched;
    double longest; /* |q(z_k;B)| that has been seen; forgotten by 1% with each update */
} blv_recursive;

/* name: of the state vector that the estimate is. watched: for automatic steps. Where they are too
 * long for the noise of the batches, the errors of a recursive estimate grow from one to the next:
 * an estimate of more than twice the longest q(z_k;B) is given up, and starts again with that. */
blv_error blv_recursive_open(blv_run *run, const char *name, blv_level level, bool watched,
                             blv_recursive *r);
/* Makes q_k. With c = 1 nothing but q(z_k;B) is looked at. */
void blv_recursive_update(blv_recursive *r, double c);
