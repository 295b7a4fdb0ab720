/* The second phase of `auto`: L-BFGS on Phi by whole sums, from solves that are as accurate as the
 * progress that is left asks for. */
#pragma once

#include "core/workspace.h"
#include "linsolve/recycled.h"

typedef struct blv_auto_descent {
    blv_run *run;
    blv_lbfgs *lbfgs;
    blv_implicit *implicit;
    blv_recycled recycled;
    blv_vec *v;                       /* the run's */
    blv_vec *y_trial, *v_trial;       /* belong to the x that was evaluated last */
    blv_vec *gradient, *other, *room; /* scratch, of x */
    double reduce;                    /* share to which each evaluation reduces the residuals, */
    double products;                  /* in at most so many products with H for each of the two */
    double phi, phi_first;            /* at x, and where it began */
    double d_norm;                    /* |gradient of Phi| at x; 0: none yet */
    double d_most;                    /* the largest so far */
    double curvature;                 /* of Phi, for the first step; 0: not known */
    double moved;                     /* not 0: a step has been taken, */
    double tightened;                 /* and none since the solves were made more accurate */
    double first, goal;               /* of the stationarity: at the start, and at which it ends */
    double idle;                      /* iterations in a row that did not lower the value */
    double phi_trial, corrected, gy_norm, r_norm;
    int trials;       /* of this iteration, */
    bool fell;        /* and whether one of them was below x */
    blv_flow trouble; /* why the last evaluation gave no value; BLV_GO: it did */
} blv_auto_descent;

blv_error blv_auto_descent_open(blv_run *run, blv_vec *v, blv_auto_descent *descent);
/* An evaluation at the run's x, y and v, wherever these have come from. BLV_NO_INVERSE: g does not
 * curve up there. */
blv_flow blv_auto_descent_begin(blv_run *run, blv_auto_descent *descent);
/* After any of these: BLV_FINISHED when tight solves confirm that the goal is met; where they do
 * not x is evaluated more accurately. BLV_STUCK: the precision does not allow more. */
blv_flow blv_auto_descent_confirm(blv_run *run, blv_auto_descent *descent);
/* One step of L-BFGS, or an evaluation at x that is more accurate; then as above. */
blv_flow blv_auto_descent_step(blv_run *run, blv_auto_descent *descent);
