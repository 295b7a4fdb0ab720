/* Lanczos tridiagonalization with full reorthogonalization.
 *
 *   v_j              orthonormal basis of the Krylov space of the start vector
 *   alpha, beta      diagonal and off-diagonal of T = V'AV
 *   theta, z         eigenvalue of T and the last component of its eigenvector
 *
 *   beta_{j+1} v_{j+1} = A v_j - sum_{i<=j} (v_i'A v_j) v_i
 *   |A V s - theta V s| = beta_{k+1} |z|
 *
 * Lanczos 1950; the bound is in Parlett, The symmetric eigenvalue problem, chapter 13. The
 * eigenvalues of T come from the implicitly shifted QR iteration with Wilkinson's shift (Golub and
 * Van Loan, section 8.3), applied to the last row of the identity besides T, as in Golub and
 * Welsch.
 *
 * Why this variant: k is at most 64, so orthogonality is cheap to keep and no ghost eigenvalues
 * have to be told from true ones. */
#include "linsolve/lanczos.h"

#include <assert.h>
#include <float.h>
#include <math.h>

blv_error blv_lanczos_create(blv_linear_work **work, const blv_space *space, size_t max_steps) {
    const size_t dim = blv_space_dim(space);
    assert(max_steps > 0 && max_steps <= BLV_LANCZOS_MAX);
    return blv_linear_work_create(work, space, (max_steps < dim ? max_steps : dim) + 1);
}

/* v -= V V'v, in groups that one pass can take. */
static void orthogonalize(blv_vec *v, blv_vec *const *basis, size_t count) {
    enum { group = BLV_LINCOMB_MAX - 1 };
    for (size_t first = 0; first < count; first += group) {
        const size_t size = count - first < group ? count - first : group;
        const blv_vec *terms[BLV_LINCOMB_MAX];
        blv_scalar scalars[BLV_LINCOMB_MAX];
        double coef[BLV_LINCOMB_MAX];
        for (size_t i = 0; i < size; i++) {
            terms[i] = basis[first + i];
            scalars[i] = (blv_scalar)BLV_DOT(&coef[i], terms[i], v);
        }
        blv_reduce(size, scalars);
        for (size_t i = 0; i < size; i++)
            coef[i] = -coef[i];
        coef[size] = 1.0;
        terms[size] = v;
        blv_vec_lincomb(v, size + 1, coef, terms);
    }
}

/* One QR sweep over the rows lo..hi of T (diagonal d, off-diagonal e, e[i] couples i and i+1), also
 * applied to the row z. */
static void qr_sweep(double *d, double *e, double *z, size_t lo, size_t hi) {
    const double half = 0.5 * (d[hi - 1] - d[hi]);
    const double last = e[hi - 1];
    const double shift = d[hi] - last * (last / (half + copysign(hypot(half, last), half)));
    double bulge = e[lo], chased = d[lo] - shift;
    for (size_t i = lo; i < hi; i++) {
        const double length = hypot(chased, bulge);
        const double c = length > 0.0 ? chased / length : 1.0;
        const double s = length > 0.0 ? bulge / length : 0.0;
        if (i > lo)
            e[i - 1] = length;
        const double a = d[i], b = e[i], f = d[i + 1];
        d[i] = c * (c * a + s * b) + s * (c * b + s * f);
        d[i + 1] = s * (s * a - c * b) - c * (s * b - c * f);
        e[i] = c * (c * b + s * f) - s * (c * a + s * b);
        const double zi = z[i];
        z[i] = c * zi + s * z[i + 1];
        z[i + 1] = c * z[i + 1] - s * zi;
        if (i + 1 < hi) {
            bulge = s * e[i + 1];
            e[i + 1] *= c;
            chased = e[i];
        }
    }
}

/* d becomes the eigenvalues of T, z the last components of the eigenvectors; e is used up. */
static void tridiagonal_eigen(double *d, double *e, double *z, size_t count) {
    double norm = 0.0;
    for (size_t i = 0; i < count; i++) {
        norm = fmax(norm, fabs(d[i]) + (i + 1 < count ? fabs(e[i]) : 0.0));
        z[i] = i + 1 == count ? 1.0 : 0.0;
    }
    const double negligible = DBL_EPSILON * norm;
    size_t hi = count - 1;
    /* Wilkinson's shift takes two or three sweeps a value; the cap is never met */
    for (size_t sweeps = 0; hi > 0 && sweeps < 64 * count; sweeps++) {
        if (fabs(e[hi - 1]) <= negligible) {
            hi--;
            continue;
        }
        size_t lo = hi - 1;
        while (lo > 0 && fabs(e[lo - 1]) > negligible)
            lo--;
        qr_sweep(d, e, z, lo, hi);
    }
}

static void extreme_values(blv_lanczos_result *result, const double *alpha, const double *beta,
                           size_t steps) {
    double d[BLV_LANCZOS_MAX], e[BLV_LANCZOS_MAX], z[BLV_LANCZOS_MAX];
    result->steps = steps;
    if (steps == 0)
        return;
    for (size_t i = 0; i < steps; i++) {
        d[i] = alpha[i];
        e[i] = beta[i];
    }
    tridiagonal_eigen(d, e, z, steps);
    size_t low = 0, high = 0;
    for (size_t i = 1; i < steps; i++) {
        low = d[i] < d[low] ? i : low;
        high = d[i] > d[high] ? i : high;
    }
    result->smallest = d[low];
    result->largest = d[high];
    result->smallest_bound = beta[steps - 1] * fabs(z[low]);
    result->largest_bound = beta[steps - 1] * fabs(z[high]);
}

blv_lanczos_result blv_lanczos_run(blv_linear_work *work, blv_operator_fn apply, void *context,
                                   const blv_vec *start, size_t steps) {
    blv_lanczos_result result = {.end = BLV_LINEAR_LIMIT,
                                 .smallest = NAN,
                                 .smallest_bound = NAN,
                                 .largest = NAN,
                                 .largest_bound = NAN};
    double alpha[BLV_LANCZOS_MAX], beta[BLV_LANCZOS_MAX]; /* beta[j] couples j and j+1 */
    const size_t max_steps = work->count - 1;
    blv_vec *const *basis = work->vec, *const next = basis[max_steps];
    double norm_a = 0.0;
    size_t j = 0;

    blv_vec_copy(next, start);
    double norm = blv_vec_norm(next);
    if (!(norm > 0.0) || !isfinite(norm)) {
        result.end = norm == 0.0 ? BLV_LINEAR_SINGULAR : BLV_LINEAR_NONFINITE;
        return result;
    }
    if (steps > max_steps)
        steps = max_steps;

    while (j < steps) {
        blv_vec_scale(next, 1.0 / norm);
        blv_vec_swap(basis[j], next);
        result.products++;
        result.code = apply(context, basis[j], next);
        if (result.code != 0) {
            result.end = BLV_LINEAR_OPERATOR;
            break;
        }
        alpha[j] = blv_vec_dot(basis[j], next);
        /* twice is enough for orthogonality to rounding */
        orthogonalize(next, basis, j + 1);
        orthogonalize(next, basis, j + 1);
        norm = blv_vec_norm(next);
        if (!isfinite(alpha[j]) || !isfinite(norm)) {
            result.end = BLV_LINEAR_NONFINITE;
            break;
        }
        beta[j] = norm;
        norm_a = fmax(norm_a, hypot(hypot(alpha[j], norm), j > 0 ? beta[j - 1] : 0.0));
        j++;
        if (norm <= 32.0 * blv_linear_roundoff(work->space) * norm_a) {
            result.end = BLV_LINEAR_CONVERGED;
            break;
        }
    }
    extreme_values(&result, alpha, beta, j);
    return result;
}
