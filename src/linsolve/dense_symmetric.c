/* Dense symmetric matrices.
 *
 * Systems: diagonal pivoting of Bunch and Kaufman, "Some stable methods for calculating inertia and
 * solving symmetric linear systems", Math. Comp. 1977. D has blocks of one or two rows; where it
 * has a block of two, its entry below the diagonal is kept where L would have it, and `order` marks
 * the first row of the block.
 *
 * Eigenvalues: cyclic Jacobi rotations. Slower than tridiagonal methods by some factor, but a page
 * shorter, as exact as can be, and the matrices here are small. Singular values of M come from the
 * eigenvalues of the smaller of M M' and M'M. */
#include "linsolve/dense_symmetric.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Systems ---- */

static const size_t pair_mark = ~(~(size_t)0 >> 1); /* the highest bit */

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Exchanges rows and columns p < q of the lower triangle, and the rows of L before them. */
static void swap_symmetric(size_t n, double *a, size_t p, size_t q, size_t *order) {
    for (size_t j = 0; j < p; j++)
        swap(&a[p * n + j], &a[q * n + j]);
    for (size_t j = p + 1; j < q; j++)
        swap(&a[j * n + p], &a[q * n + j]);
    for (size_t i = q + 1; i < n; i++)
        swap(&a[i * n + p], &a[i * n + q]);
    swap(&a[p * n + p], &a[q * n + q]);
    size_t kept = order[p];
    order[p] = order[q];
    order[q] = kept;
}

/* The row below k with the largest entry of column k; *size is that of the entry. */
static size_t largest_below(size_t n, const double *a, size_t k, double *size) {
    size_t row = k;
    *size = 0.0;
    for (size_t i = k + 1; i < n; i++)
        if (fabs(a[i * n + k]) > *size) {
            *size = fabs(a[i * n + k]);
            row = i;
        }
    return row;
}

/* The largest entry beside the diagonal in row r of the part from k on. */
static double largest_beside(size_t n, const double *a, size_t k, size_t r) {
    double size = 0.0;
    for (size_t j = k; j < r; j++)
        size = fmax(size, fabs(a[r * n + j]));
    for (size_t i = r + 1; i < n; i++)
        size = fmax(size, fabs(a[i * n + r]));
    return size;
}

/* Row k as the pivot: takes column k of L out of what is left. */
static void eliminate_one(size_t n, double *a, size_t k, double *column) {
    double pivot = a[k * n + k];
    for (size_t i = k + 1; i < n; i++)
        column[i] = a[i * n + k];
    for (size_t i = k + 1; i < n; i++) {
        double factor = column[i] / pivot, *row = a + i * n;
        for (size_t j = k + 1; j <= i; j++)
            row[j] -= factor * column[j];
        row[k] = factor;
    }
}

/* (p, q) = D^-1 (r, s) for the block of rows k and k + 1, scaled by its entry beside the diagonal,
 * which is the largest of the three. */
static void solve_pair(size_t n, const double *a, size_t k, double r, double s, double *p,
                       double *q) {
    double beside = a[(k + 1) * n + k];
    double d0 = a[k * n + k] / beside, d1 = a[(k + 1) * n + k + 1] / beside;
    double scale = 1.0 / ((d0 * d1 - 1.0) * beside);
    *p = scale * (d1 * r - s);
    *q = scale * (d0 * s - r);
}

/* Rows k and k + 1 as the pivot. */
static void eliminate_two(size_t n, double *a, size_t k, double *first, double *second) {
    for (size_t i = k + 2; i < n; i++) {
        first[i] = a[i * n + k];
        second[i] = a[i * n + k + 1];
    }
    for (size_t i = k + 2; i < n; i++) {
        double *row = a + i * n, p, q;
        solve_pair(n, a, k, first[i], second[i], &p, &q);
        for (size_t j = k + 2; j <= i; j++)
            row[j] -= p * first[j] + q * second[j];
        row[k] = p;
        row[k + 1] = q;
    }
}

/* Brings the pivot of step k to row k, or to rows k and k + 1; says whether it is of two rows. */
static bool choose_pivot(size_t n, double *a, size_t k, size_t row, double below, size_t *order) {
    const double alpha = (1.0 + sqrt(17.0)) / 8.0;
    double here = fabs(a[k * n + k]);
    if (here >= alpha * below)
        return false;
    double beside = largest_beside(n, a, k, row);
    if (here * beside >= alpha * below * below)
        return false;
    bool pair = fabs(a[row * n + row]) < alpha * beside;
    size_t to = pair ? k + 1 : k;
    if (row != to)
        swap_symmetric(n, a, to, row, order);
    return pair;
}

/* The largest size of an entry of the lower triangle; infinite when one is not finite. */
static double largest_entry(size_t n, const double *a) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            if (!isfinite(a[i * n + j]))
                return INFINITY;
            largest = fmax(largest, fabs(a[i * n + j]));
        }
    return largest;
}

bool blv_dense_factor(size_t n, double *a, size_t *order, double *work) {
    double largest = largest_entry(n, a), negligible = 8.0 * (double)n * DBL_EPSILON * largest;
    if (!isfinite(largest))
        return false;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t k = 0; k < n;) {
        double below;
        size_t row = largest_below(n, a, k, &below);
        if (!(fmax(fabs(a[k * n + k]), below) > negligible))
            return false;
        if (choose_pivot(n, a, k, row, below, order)) {
            eliminate_two(n, a, k, work, work + n);
            order[k] |= pair_mark;
            k += 2;
        } else {
            eliminate_one(n, a, k, work);
            k += 1;
        }
    }
    return true;
}

/* Columns of L in row i: the second row of a pair has none for the first. */
static size_t columns_of_l(const size_t *order, size_t i) {
    return i > 0 && (order[i - 1] & pair_mark) ? i - 1 : i;
}

void blv_dense_solve(size_t n, const double *a, const size_t *order, const double *b, double *x,
                     double *z) {
    for (size_t i = 0; i < n; i++) { /* z = L^-1 P b */
        z[i] = b[order[i] & ~pair_mark];
        for (size_t j = 0; j < columns_of_l(order, i); j++)
            z[i] -= a[i * n + j] * z[j];
    }
    for (size_t i = 0; i < n; i++) { /* z = D^-1 z */
        if (order[i] & pair_mark) {
            solve_pair(n, a, i, z[i], z[i + 1], &z[i], &z[i + 1]);
            i++;
        } else {
            z[i] /= a[i * n + i];
        }
    }
    for (size_t i = n; i-- > 0;) /* z = L'^-1 z */
        for (size_t j = 0; j < columns_of_l(order, i); j++)
            z[j] -= a[i * n + j] * z[i];
    for (size_t i = 0; i < n; i++)
        x[order[i] & ~pair_mark] = z[i];
}

/* ---- Eigenvalues ---- */

/* p, q = c p - s q, s p + c q: rows, or columns with their numbers `step` apart */
static void rotate_lines(size_t n, double *p, double *q, size_t step, double c, double s) {
    for (size_t k = 0; k < n * step; k += step) {
        double kept = p[k];
        p[k] = c * kept - s * q[k];
        q[k] = s * kept + c * q[k];
    }
}

/* The rotation that makes the entry (p, q) zero. */
static void rotate(size_t n, double *a, double *rows, size_t p, size_t q) {
    double beside = a[p * n + q], half = 0.5 * (a[q * n + q] - a[p * n + p]);
    double t = copysign(beside, half * beside) / (fabs(half) + hypot(half, beside));
    double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
    rotate_lines(n, a + p * n, a + q * n, 1, c, s);
    rotate_lines(n, a + p, a + q, n, c, s);
    a[p * n + q] = a[q * n + p] = 0.0;
    rotate_lines(n, rows + p * n, rows + q * n, 1, c, s);
}

void blv_dense_eigen(size_t n, double *a, double *rows) {
    enum { SWEEPS_MAX = 60 };
    memset(rows, 0, n * n * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i * n + i] = 1.0;
    const double negligible = DBL_EPSILON * largest_entry(n, a) / (double)n;
    bool rotated = true;
    for (int sweep = 0; sweep < SWEEPS_MAX && rotated; sweep++) {
        rotated = false;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > negligible) {
                    rotate(n, a, rows, p, q);
                    rotated = true;
                }
    }
}

/* ---- Clipping ---- */

/* m += a u v', m with rows of n numbers */
static void add_product(size_t rows, size_t n, double *m, double a, const double *u,
                        const double *v) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++)
            m[i * n + j] += a * u[i] * v[j];
}

void blv_dense_clip_eigenvalues(size_t n, double *a, double lo, double hi, double *room) {
    double *diagonal = room, *vectors = room + n * n;
    memcpy(diagonal, a, n * n * sizeof *a);
    blv_dense_eigen(n, diagonal, vectors);
    for (size_t k = 0; k < n; k++) {
        double value = diagonal[k * n + k];
        double clipped = copysign(fmin(fmax(fabs(value), lo), hi), value);
        const double *vector = vectors + k * n;
        if (clipped != value)
            add_product(n, n, a, clipped - value, vector, vector);
    }
}

static double dot(size_t n, const double *a, size_t a_step, const double *b, size_t b_step) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i * a_step] * b[i * b_step];
    return sum;
}

/* With M M' w = s^2 w, s w' z = w'M shows z; M - (s - hi) w z' has hi in place of s. */
void blv_dense_clip_singular_values(size_t rows, size_t columns, double *m, double hi,
                                    double *room) {
    bool wide = rows <= columns;
    size_t small = wide ? rows : columns, large = wide ? columns : rows;
    size_t next = wide ? columns : 1,
           along = wide ? 1 : columns; /* in m: line to line, in a line */
    double *gram = room, *vectors = gram + small * small, *image = vectors + small * small;
    for (size_t i = 0; i < small; i++)
        for (size_t j = 0; j < small; j++)
            gram[i * small + j] = dot(large, m + i * next, along, m + j * next, along);
    blv_dense_eigen(small, gram, vectors);
    for (size_t k = 0; k < small; k++) {
        double value = sqrt(fmax(gram[k * small + k], 0.0));
        const double *vector = vectors + k * small;
        if (!(value > hi))
            continue;
        for (size_t j = 0; j < large; j++)
            image[j] = dot(small, m + j * along, next, vector, 1);
        double a = hi / value - 1.0;
        if (wide)
            add_product(rows, columns, m, a, vector, image);
        else
            add_product(rows, columns, m, a, image, vector);
    }
}
