/* Linear systems with a symmetric operator that is a callback: CG and MINRES, and what they share
 * with Lanczos. */
#pragma once

#include "linsolve/recycled.h"

#include <stdbool.h>
#include <stddef.h>

/* out = A in; the two are different vectors. 0, or any other code: the solve ends and hands it on.
 */
typedef int (*blv_operator_fn)(void *context, const blv_vec *in, blv_vec *out);

typedef enum blv_linear_end {
    BLV_LINEAR_CONVERGED,  /* the residual is at most the tolerance */
    BLV_LINEAR_LIMIT,      /* all the products that were allowed are used */
    BLV_LINEAR_INDEFINITE, /* CG: a direction of negative curvature */
    BLV_LINEAR_SINGULAR,   /* CG: a direction of zero curvature; MINRES: least-squares solution */
    BLV_LINEAR_NONFINITE,  /* a NaN or an infinity came up */
    BLV_LINEAR_STALLED,    /* the residual is down at rounding level, above the tolerance */
    BLV_LINEAR_OPERATOR    /* the operator returned a code */
} blv_linear_end;

typedef struct blv_linear_result {
    blv_linear_end end;
    int code;        /* what the operator returned, when end is BLV_LINEAR_OPERATOR, else 0 */
    size_t products; /* calls of the operator, one that failed included */
    double residual; /* |b - A x| by the solver's recurrence; NaN when it never got that far */
} blv_linear_result;

/* The vectors that a solver works in, as many as it says. */
typedef struct blv_linear_work {
    const blv_space *space; /* must outlive it */
    size_t count;
    bool moved;             /* CG: whether the last solve took any step from its starting point */
    blv_recycled *recycled; /* CG: preconditions, and learns from every product; NULL: none */
    blv_vec *vec[];
} blv_linear_work;

blv_error blv_linear_work_create(blv_linear_work **work, const blv_space *space, size_t count);
void blv_linear_work_destroy(blv_linear_work *work); /* NULL is allowed */
size_t blv_linear_work_bytes(const blv_linear_work *work);

/* ---- A x = b ---- */

/* Both stop when |b - A x| <= tol_abs (>= 0) or after max_products products. x is the starting
 * point, whose residual costs one product, unless x_is_zero: then x need not be set and nothing is
 * spent. x comes back as the iterate that the returned residual belongs to; after NONFINITE or
 * OPERATOR that is the last one before the trouble. The residual is the recurrence's. STALLED: it
 * is down at rounding level. To check or refine a result, solve again from x: one product tells. */

enum { BLV_CG_VECTORS = 4, BLV_MINRES_VECTORS = 5 }; /* of their workspaces */

/* Conjugate gradients, A positive definite. After INDEFINITE and SINGULAR, too, x is the last
 * iterate before. The residual agrees with b - A x to about roundoff |A| |x|. */
blv_linear_result blv_cg_solve(blv_linear_work *work, blv_operator_fn apply, void *context,
                               const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                               size_t max_products);

/* MINRES, A possibly indefinite or singular. SINGULAR: |A r| has vanished next to |A| |r|, so no x
 * has a residual that is smaller by more than rounding: x is a least-squares solution of a system
 * that has no solution. One product more than x needed is spent to find that out. "Vanished" means
 * about the square root of the roundoff, so a system whose condition number is the inverse of that
 * (2e7 in double, 4e3 in float) can count as singular too. On ill-conditioned systems |b - A x| can
 * be larger than the residual, by up to roundoff cond(A)^2 |b|. */
blv_linear_result blv_minres_solve(blv_linear_work *work, blv_operator_fn apply, void *context,
                                   const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                                   size_t max_products);

/* ---- For the solvers of this folder ---- */

/* Half the distance from 1 to the next number, in the precision of the space. */
double blv_linear_roundoff(const blv_space *space);

/* The result with another end. */
static inline blv_linear_result blv_linear_ended(blv_linear_result result, blv_linear_end end) {
    result.end = end;
    return result;
}

/* r = b - A x, where x is set to zero (and no product spent) when x_is_zero. Says whether there is
 * something left to solve; if not, or if that cannot be known, the result is final. */
bool blv_linear_begin(blv_linear_result *result, blv_operator_fn apply, void *context,
                      const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                      size_t max_products, blv_vec *r);
