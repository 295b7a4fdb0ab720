/* Conjugate gradients.
 *
 *   r     residual b - A x                p     search direction
 *   q     A p                             M     preconditioner, or I
 *   z     M r                             rho   r'z
 *   alpha step length                     u     unit roundoff
 *
 *   alpha = rho / p'q;  x += alpha p;  r -= alpha q;  p = z + (rho_new / rho) p
 *
 * Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems, 1952. The
 * handling of p'q <= 0 is that of Steihaug's truncated Newton method, 1983.
 *
 * Why this variant: it is the one with the fewest vectors. Curvature is judged against u |A|, with
 * |A| the largest |A p|/|p| so far, because the curvature along a null direction comes out as
 * rounding noise of either sign and not as zero. Where M is A as it was, factored, A is definite
 * however far its entries are apart, and rounding is left once the residual has long not fallen. */
#include "linsolve/operator.h"

#include <float.h>
#include <math.h>

enum { IDLE_MAX = 10 };
/* A curvature of at most this many roundings of |A| counts as zero. */
static const double flat_limit = 64.0;

/* z = M r; r'z. */
static double precondition(const blv_recycled *recycled, const blv_vec *r, blv_vec *z) {
    blv_vec_copy(z, r);
    blv_recycled_apply(recycled, z);
    return blv_vec_dot(r, z);
}

blv_linear_result blv_cg_solve(blv_linear_work *work, blv_operator_fn apply, void *context,
                               const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                               size_t max_products) {
    blv_vec *const r = work->vec[0], *const p = work->vec[1], *const q = work->vec[2];
    blv_vec *const z = work->recycled ? work->vec[3] : r;
    const double u = blv_linear_roundoff(work->space);
    blv_linear_result result;

    work->moved = false;
    if (!blv_linear_begin(&result, apply, context, b, x, x_is_zero, tol_abs, max_products, r))
        return result;
    double rho = result.residual * result.residual;
    if (work->recycled)
        blv_recycled_begin(work->recycled);
    if (work->recycled)
        rho = precondition(work->recycled, r, z);
    blv_vec_copy(p, z);
    const bool factored = work->recycled && work->recycled->is_dense != 0.0;
    double norm_a = 0.0, least = result.residual;
    int idle = 0; /* products since it was the least */

    while (result.products < max_products) {
        if (rho < DBL_MIN) /* its square can no longer be divided by */
            return blv_linear_ended(result, BLV_LINEAR_STALLED);
        result.products++;
        result.code = apply(context, p, q);
        if (result.code != 0)
            return blv_linear_ended(result, BLV_LINEAR_OPERATOR);

        double pq, pp, qq, residual, norm_x;
        if (!blv_reduce(BLV_SCALARS(BLV_DOT(&pq, p, q), BLV_DOT(&pp, p, p), BLV_DOT(&qq, q, q))))
            return blv_linear_ended(result, BLV_LINEAR_NONFINITE);
        norm_a = fmax(norm_a, sqrt(qq / pp));
        const double noise = factored ? 0.0 : flat_limit * u * norm_a * pp;
        if (pq <= noise)
            return blv_linear_ended(result,
                                    pq < -noise ? BLV_LINEAR_INDEFINITE : BLV_LINEAR_SINGULAR);

        if (work->recycled)
            blv_recycled_add(work->recycled, p, q, pq, qq);
        const double alpha = rho / pq;
        blv_vec_combine(r, 1.0, r, -alpha, q);
        blv_vec_combine(q, 1.0, x, alpha, p);
        blv_reduce(BLV_SCALARS(BLV_NORM(&residual, r), BLV_NORM(&norm_x, q)));
        if (!isfinite(residual)) /* x is still the iterate before */
            return blv_linear_ended(result, BLV_LINEAR_NONFINITE);
        blv_vec_swap(x, q);
        work->moved = true;
        idle = residual < least ? 0 : idle + 1;
        least = fmin(least, residual);
        result.residual = residual;
        if (!isfinite(norm_x))
            return blv_linear_ended(result, BLV_LINEAR_NONFINITE);
        if (residual <= tol_abs)
            return blv_linear_ended(result, BLV_LINEAR_CONVERGED);
        if (factored ? idle == IDLE_MAX : residual <= u * norm_a * norm_x)
            return blv_linear_ended(result, BLV_LINEAR_STALLED);

        double rho_new = residual * residual;
        if (work->recycled)
            rho_new = precondition(work->recycled, r, z);
        blv_vec_combine(p, 1.0, z, rho_new / rho, p);
        rho = rho_new;
    }
    return result;
}
