/* The matrices of L-BFGS.
 *
 *   s_i, y_i   step and change of the gradient, i = 0 the oldest, as columns of S and Y
 *   theta      y'y / s'y of the newest pair
 *   D, L       diagonal and strictly lower part of S'Y
 *   J          Cholesky factor:  J J' = theta S'S + L D^-1 L'
 *
 *   B^-1 v     the two-loop recursion: Nocedal, Updating quasi-Newton matrices with limited
 *              storage, 1980
 *   B v        = theta v - Y q1 - theta S q2  with
 *              J J' q2 = theta S'v + L D^-1 Y'v,   q1 = D^-1 (L'q2 - Y'v)
 *              the compact form: Byrd, Nocedal and Schnabel, Representations of quasi-Newton
 *              matrices and their use in limited memory methods, 1994, theorem 2.3
 *
 * Why this variant: B v needs no vectors besides the pairs, and its passes over them are grouped,
 * as many to a pass as a space takes. */
#include "linsolve/lbfgs_private.h"

#include <float.h>
#include <math.h>

void blv_lbfgs_pairs_forget(blv_lbfgs_pairs *pairs) {
    pairs->count = 0;
    pairs->first = 0;
    pairs->factored = false;
}

static size_t slot(const blv_lbfgs_pairs *pairs, size_t age) {
    return (pairs->first + age) % pairs->capacity;
}

static double ss(const blv_lbfgs_pairs *pairs, size_t i, size_t j) {
    return pairs->ss[slot(pairs, i) * pairs->capacity + slot(pairs, j)];
}

/* s_i'y_j: the diagonal is D, below it is L. */
static double sy(const blv_lbfgs_pairs *pairs, size_t i, size_t j) {
    return pairs->sy[slot(pairs, i) * pairs->capacity + slot(pairs, j)];
}

/* Adds a_i'v for all pairs to a list, a being the s or the y. Returns the number of scalars. */
static size_t ask_for_all(const blv_lbfgs_pairs *pairs, blv_vec *const *a, const blv_vec *v,
                          double *result, blv_scalar *list) {
    for (size_t i = 0; i < pairs->count; i++)
        list[i] = (blv_scalar)BLV_DOT(&result[i], a[slot(pairs, i)], v);
    return pairs->count;
}

/* with_s[i] = s_i'v and with_y[i] = y_i'v, in one reduction. */
static void dots_with(const blv_lbfgs_pairs *pairs, const blv_vec *v, double *with_s,
                      double *with_y) {
    blv_scalar list[2 * BLV_LBFGS_MEMORY_MAX];
    size_t count = ask_for_all(pairs, pairs->s, v, with_s, list);
    count += ask_for_all(pairs, pairs->y, v, with_y, list + count);
    blv_reduce(count, list);
}

/* v += scale sum_i coef[i] a_i. */
static void add_combination(const blv_lbfgs_pairs *pairs, blv_vec *v, double scale,
                            blv_vec *const *a, const double *coef) {
    for (size_t first = 0; first < pairs->count; first += BLV_LINCOMB_MAX - 1) {
        const blv_vec *terms[BLV_LINCOMB_MAX] = {v};
        double factors[BLV_LINCOMB_MAX] = {1.0};
        size_t size = 1;
        for (; size < BLV_LINCOMB_MAX && first + size - 1 < pairs->count; size++) {
            terms[size] = a[slot(pairs, first + size - 1)];
            factors[size] = scale * coef[first + size - 1];
        }
        blv_vec_lincomb(v, size, factors, terms);
    }
}

bool blv_lbfgs_pairs_add(blv_lbfgs_pairs *pairs, blv_vec *s, blv_vec *y) {
    double dots[3];
    blv_reduce(
        BLV_SCALARS(BLV_DOT(&dots[0], s, s), BLV_DOT(&dots[1], y, y), BLV_DOT(&dots[2], s, y)));
    const double u = blv_linear_roundoff(pairs->space);
    if (!(dots[2] > sqrt(2.0 * u) * sqrt(dots[0]) * sqrt(dots[1])) || !isfinite(dots[2]))
        return false;
    const double theta = dots[1] / dots[2];
    if (!isnormal(theta) || !isnormal(1.0 / theta))
        return false;

    if (pairs->count == pairs->capacity)
        pairs->first = (pairs->first + 1) % pairs->capacity;
    else
        pairs->count++;
    const size_t newest = slot(pairs, pairs->count - 1);
    blv_vec_swap(pairs->s[newest], s);
    blv_vec_swap(pairs->y[newest], y);
    pairs->theta = theta;
    pairs->factored = false;

    double with_s[BLV_LBFGS_MEMORY_MAX], with_y[BLV_LBFGS_MEMORY_MAX];
    dots_with(pairs, pairs->s[newest], with_s, with_y);
    for (size_t i = 0; i < pairs->count; i++) {
        const size_t at = slot(pairs, i);
        pairs->ss[newest * pairs->capacity + at] = with_s[i];
        pairs->ss[at * pairs->capacity + newest] = with_s[i];
        pairs->sy[newest * pairs->capacity + at] = with_y[i];
    }
    return true;
}

void blv_lbfgs_pairs_solve(const blv_lbfgs_pairs *pairs, blv_vec *v) {
    double a[BLV_LBFGS_MEMORY_MAX];
    for (size_t i = pairs->count; i-- > 0;) {
        a[i] = blv_vec_dot(pairs->s[slot(pairs, i)], v) / sy(pairs, i, i);
        blv_vec_axpy(v, -a[i], pairs->y[slot(pairs, i)]);
    }
    blv_vec_scale(v, 1.0 / pairs->theta);
    for (size_t i = 0; i < pairs->count; i++) {
        const double b = blv_vec_dot(pairs->y[slot(pairs, i)], v) / sy(pairs, i, i);
        blv_vec_axpy(v, a[i] - b, pairs->s[slot(pairs, i)]);
    }
}

bool blv_lbfgs_pairs_factor(blv_lbfgs_pairs *pairs) {
    const size_t n = pairs->count;
    double *const J = pairs->factor;
    if (pairs->factored)
        return true;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = pairs->theta * ss(pairs, i, j);
            for (size_t k = 0; k < j; k++)
                sum += sy(pairs, i, k) * sy(pairs, j, k) / sy(pairs, k, k) -
                       J[i * n + k] * J[j * n + k];
            if (i > j)
                J[i * n + j] = sum / J[j * n + j];
            else if (sum > DBL_EPSILON * pairs->theta * ss(pairs, i, i))
                J[i * n + i] = sqrt(sum);
            else
                return false;
        }
    pairs->factored = true;
    return true;
}

void blv_lbfgs_pairs_multiply(const blv_lbfgs_pairs *pairs, const blv_vec *v, blv_vec *out) {
    const size_t n = pairs->count;
    const double *const J = pairs->factor;
    double yv[BLV_LBFGS_MEMORY_MAX], q1[BLV_LBFGS_MEMORY_MAX], q2[BLV_LBFGS_MEMORY_MAX];
    dots_with(pairs, v, q2, yv);
    for (size_t i = 0; i < n; i++) {
        q2[i] *= pairs->theta;
        for (size_t j = 0; j < i; j++)
            q2[i] += sy(pairs, i, j) * yv[j] / sy(pairs, j, j) - J[i * n + j] * q2[j];
        q2[i] /= J[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            q2[i] -= J[j * n + i] * q2[j];
        q2[i] /= J[i * n + i];
    }
    for (size_t i = 0; i < n; i++) {
        q1[i] = -yv[i];
        for (size_t j = i + 1; j < n; j++)
            q1[i] += sy(pairs, j, i) * q2[j];
        q1[i] /= sy(pairs, i, i);
    }
    blv_vec_copy(out, v);
    blv_vec_scale(out, pairs->theta);
    add_combination(pairs, out, -1.0, pairs->y, q1);
    add_combination(pairs, out, -pairs->theta, pairs->s, q2);
}
