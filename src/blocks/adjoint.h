/* The linear system H(x,y) v = fy, solved to within a number of products through the run's counted
 * oracles, all on one batch. */
#pragma once

#include "bilevel/solver.h"
#include "linsolve/operator.h"

/* v comes in as the start and costs one product there; r_norm: |fy - H v| at the end. Where g
 * curves down CG stops, and the run gets a note. */
blv_flow blv_adjoint_cg(blv_run *run, blv_linear_work *cg, const blv_batch *batch, const blv_vec *x,
                        const blv_vec *y, const blv_vec *fy, blv_vec *v, size_t products,
                        double *r_norm);

/* ---- H that may be indefinite ---- */

/* How far to go: fields for parameter tables. */
typedef struct blv_adjoint_limits {
    int64_t products; /* with H, at most */
    double tolerance; /* |fy - H v| / |fy| */
} blv_adjoint_limits;

typedef struct blv_adjoint_result {
    double r_norm;
    bool singular; /* no solution was found: v is one of least squares, or as it came in */
} blv_adjoint_result;

/* MINRES for any symmetric operator. v comes in as the start; where the end is worse than v = 0, it
 * is solved once more from there. */
blv_flow blv_adjoint_minres_of(blv_linear_work *minres, blv_operator_fn apply, void *context,
                               const blv_vec *fy, blv_vec *v, const blv_adjoint_limits *limits,
                               blv_adjoint_result *result);
/* The same for H(x,y) on one batch. */
blv_flow blv_adjoint_minres(blv_run *run, blv_linear_work *minres, const blv_batch *batch,
                            const blv_vec *x, const blv_vec *y, const blv_vec *fy, blv_vec *v,
                            const blv_adjoint_limits *limits, blv_adjoint_result *result);

/* Away from the solution a nonconvex g may have a singular Hessian for once, and the run goes on.
 * in_a_row: of such iterations, a scalar of the state; BLV_NO_INVERSE when there are too many. On
 * batches that may be chance, and never ends the run. */
blv_flow blv_adjoint_singular(blv_run *run, const blv_batch *batch, bool singular,
                              double *in_a_row);
