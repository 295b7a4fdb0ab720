/* Accelerated descent in x, in epochs: what RAGD-GS, AccF2BA and RAHGD share.
 *
 *   x+ = P_X(w - G/L),  G taken at w;   w+ = P_X(x+ + theta (x+ - x))
 *
 * An epoch begins with w = x. w is projected too: outside of X the lower level need not be convex.
 *
 * L on auto: backtracking. When G at the new w shows that the last step broke
 *   (G(w) - G(w'))'(w - w') <= L |w - w'|^2
 * (the descent inequality, added to itself with the points exchanged), L is raised, that step is
 * taken again and an epoch begins. This costs no gradient but the one that was not good for a step.
 * And no step is longer than (unit + |w|)/2. */
#pragma once

#include "blocks/constants.h"

#include <stdbool.h>

typedef struct blv_momentum {
    double L; /* field for parameter tables: NaN stands for auto */

    bool L_auto;
    double unit; /* of moves, see blv_move_unit */
    blv_vec *x, *w;
    blv_vec *x_before, *w_before, *G_before; /* of the last step */
    blv_vec *room;                           /* scratch */
    double k;                                /* steps since the epoch began */
    double S;                                /* sum of |x+ - x|^2 over them */
    double restarts;
    double known; /* not 0: w_before and G_before are set, on whole sums */
} blv_momentum;

/* In `open`. x: the iterate, the run's or another one. */
blv_error blv_momentum_open(blv_run *run, blv_vec *x, blv_momentum *m);
/* In `prepare`. */
void blv_momentum_set(blv_momentum *m, const blv_constants *constants);
/* w = x when an epoch begins, and says whether it does. */
bool blv_momentum_begins(blv_momentum *m);

/* Looks at G, taken at w on this batch; *again: the last step was taken again, and G is of no use.
 */
blv_flow blv_momentum_check(blv_run *run, blv_momentum *m, const blv_vec *G, const blv_batch *batch,
                            bool *again);

typedef struct blv_momentum_move {
    double mapping; /* L |w - x+|: |G|, or the gradient mapping on a set X */
    double step;    /* 1/L, or less */
    bool uphill;    /* G'(x+ - x) > 0: the momentum has carried too far */
} blv_momentum_move;

/* One step; adds to k and S. */
blv_flow blv_momentum_step(blv_run *run, blv_momentum *m, const blv_vec *G, const blv_batch *batch,
                           double theta, blv_momentum_move *move);
/* The next step begins an epoch. */
void blv_momentum_restart(blv_momentum *m);
