/* MINRES for A x = b, A symmetric, possibly indefinite or singular. */
#ifndef BLV_LINSOLVE_MINRES_H
#define BLV_LINSOLVE_MINRES_H

#include "linsolve/operator.h"

enum { BLV_MINRES_VECTORS = 5 }; /* of its workspace */

/* Stops when |b - A x| <= tol_abs (>= 0) or after max_products products. x is the starting point,
 * whose residual costs one product, unless x_is_zero: then x need not be set and nothing is spent.
 *
 * SINGULAR: |A r| has vanished next to |A| |r|, so no x has a residual that is smaller by more than
 * rounding: x is a least-squares solution of a system that has no solution. One product more than x
 * needed is spent to find that out. "Vanished" means about the square root of the roundoff, so a
 * system whose condition number is the inverse of that (2e7 in double, 4e3 in float) can count as
 * singular too. STALLED: the residual is down at rounding level. After NONFINITE or OPERATOR x is
 * the last iterate before.
 *
 * The residual is the recurrence's. On ill-conditioned systems |b - A x| can be larger, by up to
 * roundoff cond(A)^2 |b|; to check and refine, solve again from x: one product tells. */
blv_linear_result blv_minres_solve(blv_linear_work *work, blv_operator_fn apply, void *context,
                                   const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                                   size_t max_products);

#endif
