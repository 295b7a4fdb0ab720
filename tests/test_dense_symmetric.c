/* Small dense matrices against LAPACK: systems by residual and by solution, eigenvalues, and values
 * clipped to an interval recomputed from LAPACK's decompositions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <string.h>

#include "dense_lapack.h"
#include "linsolve/dense_symmetric.h"

enum { N = DENSE_MAX };

static const size_t sizes[] = {1, 2, 3, 5, 8, 17, 33, 60};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double largest_gap(size_t count, const double *a, const double *b) {
    double gap = 0.0;
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(a[i]));
        gap = fmax(gap, fabs(a[i] - b[i]));
    }
    return gap;
}

/* Solves with the library, from the lower triangle alone. */
static bool solve(const dense_operator *op, const double *b, double *x) {
    static double factors[N * N], work[2 * N];
    size_t order[N];
    memcpy(factors, op->a, op->n * op->n * sizeof *factors);
    for (size_t i = 0; i < op->n; i++)
        for (size_t j = i + 1; j < op->n; j++)
            factors[i * op->n + j] = NAN;
    if (!blv_dense_factor(op->n, factors, order, work))
        return false;
    blv_dense_solve(op->n, factors, order, b, x, work);
    return true;
}

static void check_system(const dense_operator *op, double condition, uint64_t *seed) {
    double b[N], x[N], expected[N], residual[N], size = 0.0;
    dense_random_vector(seed, op->n, b);
    assert_true(solve(op, b, x));
    solve_symmetric_by_lapack(op, b, expected);
    for (size_t i = 0; i < op->n; i++) {
        residual[i] = b[i];
        for (size_t j = 0; j < op->n; j++) {
            residual[i] -= op->a[i * op->n + j] * x[j];
            size = fmax(size, fabs(op->a[i * op->n + j]));
        }
    }
    double n = (double)op->n, x_norm = dense_norm(op->n, x);
    double off = dense_norm(op->n, residual), gap = distance(op->n, x, expected);
    if (!(off <= 20.0 * n * DBL_EPSILON * size * x_norm))
        fail_msg("n = %zu: residual %.3g with |x| = %.3g", op->n, off, x_norm);
    if (!(gap <= 20.0 * n * DBL_EPSILON * condition * x_norm))
        fail_msg("n = %zu, condition %.3g: off by %.3g of %.3g", op->n, condition, gap, x_norm);
}

static void test_systems(void **state) {
    (void)state;
    static dense_operator op;
    static const double conditions[] = {1.0, 100.0, 1e8};
    double values[N];
    uint64_t seed = 1;
    for (size_t k = 0; k < SIZES; k++)
        for (size_t c = 0; c < 3; c++)
            for (int indefinite = 0; indefinite < 2; indefinite++) {
                random_spectrum(values, sizes[k], conditions[c], indefinite, 0);
                dense_with_spectrum(&op, sizes[k], values, &seed);
                check_system(&op, conditions[c], &seed);
            }
}

/* Zeros on the diagonal want pivots of two rows, at every place. */
static void test_zero_diagonal(void **state) {
    (void)state;
    static dense_operator op;
    uint64_t seed = 7;
    for (size_t n = 2; n <= 40; n += 2)
        for (int scaled = 0; scaled < 2; scaled++) {
            op = (dense_operator){.n = n};
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++)
                    op.a[i * n + j] = op.a[j * n + i] =
                        dense_random(&seed) * (scaled && (i + j) % 3 == 0 ? 1e-6 : 1.0);
            double values[N], smallest = INFINITY, largest = 0.0;
            eigenvalues_by_lapack(&op, values);
            for (size_t i = 0; i < n; i++) {
                smallest = fmin(smallest, fabs(values[i]));
                largest = fmax(largest, fabs(values[i]));
            }
            check_system(&op, largest / smallest, &seed);
        }
}

/* x may be b. */
static void test_in_place(void **state) {
    (void)state;
    double a[4] = {0.0, NAN, 2.0, 0.0}, work[4], x[2] = {6.0, 10.0};
    size_t order[2];
    assert_true(blv_dense_factor(2, a, order, work));
    blv_dense_solve(2, a, order, x, x, work);
    assert_true(x[0] == 5.0 && x[1] == 3.0);
}

static void test_singular(void **state) {
    (void)state;
    static dense_operator op;
    double values[N], b[N], x[N];
    uint64_t seed = 3;
    for (size_t k = 0; k < SIZES; k++) {
        random_spectrum(values, sizes[k], 10.0, true, 1);
        dense_with_spectrum(&op, sizes[k], values, &seed);
        dense_random_vector(&seed, sizes[k], b);
        assert_false(solve(&op, b, x));
        random_spectrum(values, sizes[k], 10.0, true, 0);
        dense_with_spectrum(&op, sizes[k], values, &seed);
        assert_true(solve(&op, b, x));
        for (int bad = 0; bad < 2; bad++) {
            size_t at = (size_t)seed % sizes[k];
            op.a[(sizes[k] - 1) * sizes[k] + at] = bad ? (double)INFINITY : (double)NAN;
            assert_false(solve(&op, b, x));
        }
    }
}

static void test_eigen(void **state) {
    (void)state;
    static dense_operator op;
    static double a[N * N], rows[N * N];
    double values[N], found[N];
    uint64_t seed = 5;
    for (size_t k = 0; k < SIZES; k++)
        for (int indefinite = 0; indefinite < 2; indefinite++) {
            size_t n = sizes[k];
            random_spectrum(values, n, 1e4, indefinite, n > 4 ? 2 : 0);
            dense_with_spectrum(&op, n, values, &seed);
            memcpy(a, op.a, n * n * sizeof *a);
            blv_dense_eigen(n, a, rows);
            for (size_t i = 0; i < n; i++) {
                double image[N];
                for (size_t j = 0; j < n; j++) {
                    double inner = 0.0;
                    image[j] = -a[i * n + i] * rows[i * n + j];
                    for (size_t l = 0; l < n; l++) {
                        inner += rows[i * n + l] * rows[j * n + l];
                        image[j] += op.a[j * n + l] * rows[i * n + l];
                    }
                    assert_true(fabs(inner - (i == j)) <= 1e-13);
                    assert_true(i == j || fabs(a[i * n + j]) <= 1e-15);
                }
                assert_true(dense_norm(n, image) <= 1e-13);
                found[i] = a[i * n + i];
            }
            eigenvalues_by_lapack(&op, values);
            for (size_t i = 1; i < n; i++) /* into LAPACK's order */
                for (size_t j = i; j > 0 && found[j] < found[j - 1]; j--) {
                    double kept = found[j];
                    found[j] = found[j - 1];
                    found[j - 1] = kept;
                }
            assert_true(largest_gap(n, found, values) <= 1e-13);
        }
}

static void clipped_by_lapack(const dense_operator *op, double lo, double hi, double *out) {
    static double vectors[N * N];
    size_t n = op->n;
    double values[N];
    memcpy(vectors, op->a, n * n * sizeof *vectors);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', (int)n, vectors, (int)n, values), 0);
    memset(out, 0, n * n * sizeof *out);
    for (size_t k = 0; k < n; k++) {
        double size = fabs(values[k]);
        double value = (values[k] < 0.0 ? -1.0 : 1.0) * (size < lo ? lo : size > hi ? hi : size);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += value * vectors[i * n + k] * vectors[j * n + k];
    }
}

static void test_clip_eigenvalues(void **state) {
    (void)state;
    static dense_operator op;
    static double a[N * N], expected[N * N], room[2 * N * N];
    static const double ranges[][2] = {{0.3, 0.6}, {0.0, 0.5}, {0.05, 9.0}, {2.0, 3.0}};
    double values[N];
    uint64_t seed = 11;
    for (size_t k = 0; k < SIZES; k++)
        for (size_t r = 0; r < 4; r++)
            for (int indefinite = 0; indefinite < 2; indefinite++) {
                size_t n = sizes[k];
                random_spectrum(values, n, 1000.0, indefinite, 0);
                dense_with_spectrum(&op, n, values, &seed);
                clipped_by_lapack(&op, ranges[r][0], ranges[r][1], expected);
                memcpy(a, op.a, n * n * sizeof *a);
                blv_dense_clip_eigenvalues(n, a, ranges[r][0], ranges[r][1], room);
                assert_true(largest_gap(n * n, a, expected) <= 1e-13);
                blv_dense_clip_eigenvalues(n, op.a, 1e-4, 2.0, room);
                clipped_by_lapack(&op, 1e-4, 2.0, expected);
                assert_true(largest_gap(n * n, op.a, expected) <= 1e-13);
            }
}

/* Nothing to clip: not one bit changes. A zero eigenvalue becomes positive. */
static void test_clip_leaves_alone(void **state) {
    (void)state;
    static dense_operator op;
    static double a[N * N], room[2 * N * N + N];
    double values[N], zero[1] = {0.0};
    uint64_t seed = 13;
    random_spectrum(values, 20, 50.0, true, 0);
    dense_with_spectrum(&op, 20, values, &seed);
    memcpy(a, op.a, 400 * sizeof *a);
    blv_dense_clip_eigenvalues(20, a, 0.01, 1.5, room);
    assert_memory_equal(a, op.a, 400 * sizeof *a);
    blv_dense_clip_singular_values(20, 20, a, 1.5, room);
    assert_memory_equal(a, op.a, 400 * sizeof *a);
    blv_dense_clip_eigenvalues(1, zero, 0.5, 2.0, room);
    assert_true(zero[0] == 0.5);
}

static void test_clip_singular_values(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {6, 17}, {17, 6}, {30, 30}, {60, 7}};
    static double m[N * N], copy[N * N], u[N * N], vt[N * N], expected[N * N], room[2 * N * N + N];
    double s[N], spare[N];
    uint64_t seed = 17;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int tight = 0; tight < 2; tight++) {
            size_t rows = shapes[k][0], columns = shapes[k][1];
            size_t least = rows < columns ? rows : columns;
            dense_random_vector(&seed, rows * columns, m);
            memcpy(copy, m, rows * columns * sizeof *m);
            assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', (int)rows, (int)columns,
                                            copy, (int)columns, s, u, (int)least, vt, (int)columns,
                                            spare),
                             0);
            double hi = tight ? 0.01 * s[0] : 0.6 * s[0];
            memset(expected, 0, rows * columns * sizeof *expected);
            for (size_t l = 0; l < least; l++)
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = 0; j < columns; j++)
                        expected[i * columns + j] +=
                            (s[l] < hi ? s[l] : hi) * u[i * least + l] * vt[l * columns + j];
            blv_dense_clip_singular_values(rows, columns, m, hi, room);
            assert_true(largest_gap(rows * columns, m, expected) <= 1e-11 * s[0]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems),
        cmocka_unit_test(test_zero_diagonal),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_eigen),
        cmocka_unit_test(test_clip_eigenvalues),
        cmocka_unit_test(test_clip_leaves_alone),
        cmocka_unit_test(test_clip_singular_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
