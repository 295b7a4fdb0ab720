/* Accelerated descent in x, in epochs: what RAGD-GS, AccF2BA and RAHGD share.
 *
 *   x+ = P_X(w - step G),  G taken at w;   w+ = P_X(x+ + theta (x+ - x))
 *
 * An epoch begins with w = x. w is projected too: outside of X the lower level need not be convex.
 */
#ifndef BLV_CORE_MOMENTUM_H
#define BLV_CORE_MOMENTUM_H

#include "bilevel/solver.h"

#include <stdbool.h>

typedef struct blv_momentum {
    blv_vec *x;
    blv_vec *w;
    blv_vec *x_before, *w_before; /* of the last step */
    blv_vec *next;                /* scratch */
    double k;                     /* steps since the epoch began */
    double S;                     /* sum of |x+ - x|^2 over them */
    double restarts;
} blv_momentum;

/* In `open`. x: the iterate. */
blv_error blv_momentum_open(blv_run *run, blv_vec *x, blv_momentum *m);
/* w = x when an epoch begins, and says whether it does. */
bool blv_momentum_begins(blv_momentum *m);

typedef struct blv_momentum_move {
    double mapping; /* |w - x+|/step: |G|, or the gradient mapping on a set X */
    bool uphill;    /* G'(x+ - x) > 0: the momentum has carried too far */
} blv_momentum_move;

/* m->x = P_X(from - step G) */
blv_flow blv_momentum_descend(blv_run *run, blv_momentum *m, const blv_vec *from, const blv_vec *G,
                              double step);
/* One step; adds to k and S. */
blv_flow blv_momentum_step(blv_run *run, blv_momentum *m, const blv_vec *G, double step,
                           double theta, blv_momentum_move *move);
/* The next step begins an epoch. */
void blv_momentum_restart(blv_momentum *m);

#endif
