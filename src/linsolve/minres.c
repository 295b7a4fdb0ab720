/* MINRES: minimal residuals over the Krylov space.
 *
 *   v_k               Lanczos vectors;  A V_k = V_{k+1} T_k
 *   alpha_k, beta_k   diagonal and off-diagonal of T
 *   c, s              the rotation that makes T_k upper triangular, column by column
 *   delta, epsilon    entries of R above its diagonal gamma, column k
 *   w_k               columns of V R^-1
 *   phi, eta          step along w_k, and what is left: |r_k| = |eta|
 *   u                 unit roundoff
 *
 *   beta_{k+1} v_{k+1} = A v_k - alpha_k v_k - beta_k v_{k-1}
 *   w_k = (v_k - delta w_{k-1} - epsilon w_{k-2}) / gamma;  x += phi w_k
 *
 * Paige and Saunders, Solution of sparse indefinite systems of linear equations, 1975. The test for
 * least squares uses |A r_{k-1}| = |eta| |(gamma_bar_k, delta_bar_{k+1})|, which is known before
 * the step k is taken: Choi, Paige and Saunders, MINRES-QLP, 2011.
 *
 * Why this variant: short recurrences, one product a step, and the step into a null direction, the
 * one that would blow x up, is seen before it is taken. */
#include "linsolve/operator.h"

#include <float.h>
#include <math.h>

/* A is singular to MINRES when cond(A) is shown to be above the inverse of this. It cannot be told
 * much better: the residual is flat, to rounding, where |A r| <= sqrt(u) |A| |r|, and the short
 * recurrence loses u cond(A)^2 anyway. Double needs the factor, float gets by without: its dots are
 * sums in double. */
static double singular_limit(const blv_space *space) {
    const double factor = blv_space_precision(space) == BLV_F32 ? 1.0 : 4.0;
    return factor * sqrt(blv_linear_roundoff(space));
}

blv_linear_result blv_minres_solve(blv_linear_work *work, blv_operator_fn apply, void *context,
                                   const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                                   size_t max_products) {
    blv_vec *const v_before = work->vec[0], *const v = work->vec[1], *const v_next = work->vec[2];
    blv_vec *const w_before = work->vec[3], *const w = work->vec[4];
    const double u = blv_linear_roundoff(work->space);
    const double singular = singular_limit(work->space);
    blv_linear_result result;

    if (!blv_linear_begin(&result, apply, context, b, x, x_is_zero, tol_abs, max_products, v))
        return result;
    if (result.residual < DBL_MIN)
        return blv_linear_ended(result, BLV_LINEAR_STALLED);
    blv_vec_scale(v, 1.0 / result.residual);
    blv_vec_fill(v_before, 0.0);
    blv_vec_fill(w_before, 0.0);
    blv_vec_fill(w, 0.0);
    double beta = 0.0, eta = result.residual;
    double c = -1.0, s = 0.0, delta_bar = 0.0, epsilon_next = 0.0;
    double norm_a = 0.0;

    while (result.products < max_products) {
        result.products++;
        result.code = apply(context, v, v_next);
        if (result.code != 0)
            return blv_linear_ended(result, BLV_LINEAR_OPERATOR);
        const double alpha = blv_vec_dot(v, v_next);
        blv_vec_lincomb(v_next, 3, (const double[]){1.0, -alpha, -beta},
                        (const blv_vec *const[]){v_next, v, v_before});
        const double beta_next = blv_vec_norm(v_next);
        if (!isfinite(alpha) || !isfinite(beta_next))
            return blv_linear_ended(result, BLV_LINEAR_NONFINITE);
        norm_a = fmax(norm_a, hypot(hypot(alpha, beta), beta_next));

        /* the rotation of the column before, then the least-squares test, then a new rotation */
        const double epsilon = epsilon_next;
        const double delta = c * delta_bar + s * alpha;
        const double gamma_bar = s * delta_bar - c * alpha;
        epsilon_next = s * beta_next;
        delta_bar = -c * beta_next;
        if (hypot(gamma_bar, delta_bar) <= singular * norm_a)
            return blv_linear_ended(result, BLV_LINEAR_SINGULAR);
        const double gamma = hypot(gamma_bar, beta_next);
        c = gamma_bar / gamma;
        s = beta_next / gamma;
        const double phi = c * eta;

        blv_vec_lincomb(w_before, 3,
                        (const double[]){1.0 / gamma, -delta / gamma, -epsilon / gamma},
                        (const blv_vec *const[]){v, w, w_before});
        blv_vec_combine(v_before, 1.0, x, phi, w_before); /* x, if the step is taken */
        double norm_w, norm_x;
        blv_reduce(BLV_SCALARS(BLV_NORM(&norm_w, w_before), BLV_NORM(&norm_x, v_before)));
        const double reach = norm_a * fabs(phi) * norm_w; /* as good as along a null direction? */
        if (singular * reach > fabs(eta))
            return blv_linear_ended(result, BLV_LINEAR_SINGULAR);
        blv_vec_swap(w_before, w);
        blv_vec_swap(x, v_before);
        eta = s * eta;
        result.residual = fabs(eta);
        if (!isfinite(norm_x))
            return blv_linear_ended(result, BLV_LINEAR_NONFINITE);
        if (result.residual <= tol_abs)
            return blv_linear_ended(result, BLV_LINEAR_CONVERGED);
        /* an invariant subspace leaves nothing but rounding to go on with */
        if (beta_next <= u * norm_a || result.residual <= u * norm_a * norm_x)
            return blv_linear_ended(result, BLV_LINEAR_STALLED);

        blv_vec_scale(v_next, 1.0 / beta_next);
        blv_vec_swap(v_before, v);
        blv_vec_swap(v, v_next);
        beta = beta_next;
    }
    return result;
}
