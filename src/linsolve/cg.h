/* Conjugate gradients for A x = b, A symmetric positive definite. */
#ifndef BLV_LINSOLVE_CG_H
#define BLV_LINSOLVE_CG_H

#include "linsolve/operator.h"

enum { BLV_CG_VECTORS = 3 }; /* of its workspace */

/* Stops when |b - A x| <= tol_abs (>= 0) or after max_products products. x is the starting point,
 * whose residual costs one product, unless x_is_zero: then x need not be set and nothing is spent.
 *
 * x comes back as the iterate that the returned residual belongs to. After INDEFINITE, SINGULAR,
 * NONFINITE or OPERATOR that is the last one before the trouble. The residual is the recurrence's;
 * it agrees with b - A x to about roundoff |A| |x|, and a solve that is asked for less than that
 * ends as STALLED. To check or refine a result, solve again from x: one product tells. */
blv_linear_result blv_cg_solve(blv_linear_work *work, blv_operator_fn apply, void *context,
                               const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                               size_t max_products);

#endif
