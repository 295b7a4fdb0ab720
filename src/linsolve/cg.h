/* Conjugate gradients for A x = b, A symmetric positive definite. */
#ifndef BLV_LINSOLVE_CG_H
#define BLV_LINSOLVE_CG_H

#include "linsolve/operator.h"

typedef struct blv_cg blv_cg;

/* The workspace of solves in this space: three vectors. The space must outlive it. */
blv_error blv_cg_create(blv_cg **cg, const blv_space *space);
void blv_cg_destroy(blv_cg *cg); /* NULL is allowed */
size_t blv_cg_bytes(const blv_cg *cg);

/* Stops when |b - A x| <= tol_abs (>= 0) or after max_products products. x is the starting point,
 * whose residual costs one product, unless x_is_zero: then x need not be set and nothing is spent.
 *
 * x comes back as the iterate that the returned residual belongs to. After INDEFINITE, SINGULAR,
 * NONFINITE or OPERATOR that is the last one before the trouble. The residual is the recurrence's;
 * it agrees with b - A x to about roundoff |A| |x|, and a solve that is asked for less than that
 * ends as STALLED. To check or refine a result, solve again from x: one product tells. */
blv_linear_result blv_cg_solve(blv_cg *cg, blv_operator_fn apply, void *context, const blv_vec *b,
                               blv_vec *x, bool x_is_zero, double tol_abs, size_t max_products);

/* The last search direction: after INDEFINITE, one of negative curvature; after SINGULAR, one of
 * zero curvature. Borrowed, valid until the next solve. x'Ax/2 - b'x
 * falls along it from x: its product with the residual b - A x is positive. */
const blv_vec *blv_cg_direction(const blv_cg *cg);
/* Whether the last solve took any step from its starting point. */
bool blv_cg_moved(const blv_cg *cg);

#endif
