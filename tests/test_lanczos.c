/* Lanczos estimates against the eigenvalues that LAPACK finds. */
#include "dense_operator.h"
#include "linsolve/lanczos.h"
#include "naive_space.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "dense_lapack.h"

typedef struct fixture {
    naive_counts counts;
    blv_space *space;
    blv_linear_work *lanczos;
    blv_vec *start;
} fixture;

static void fixture_open(fixture *f, size_t n, size_t max_steps) {
    f->space = naive_space(n, &f->counts);
    assert_non_null(f->space);
    assert_int_equal(blv_lanczos_create(&f->lanczos, f->space, max_steps), BLV_OK);
    assert_int_equal(blv_vec_create(&f->start, f->space), BLV_OK);
}

static void fixture_close(fixture *f) {
    blv_linear_work_destroy(f->lanczos);
    blv_vec_destroy(f->start);
    assert_int_equal(f->counts.live, 0);
    blv_space_destroy(f->space);
}

/* start stays as it is, and no vectors are made. */
static blv_lanczos_result run(fixture *f, dense_operator *op, const double *start, size_t steps) {
    double after[DENSE_MAX];
    const size_t created = f->counts.created;
    blv_vec_write(f->start, start);
    op->products = 0;
    blv_lanczos_result result = blv_lanczos_run(f->lanczos, dense_apply, op, f->start, steps);
    blv_vec_read(f->start, after);
    assert_memory_equal(after, start, op->n * sizeof *start);
    assert_int_equal(f->counts.created, created);
    assert_int_equal(result.products, op->products);
    return result;
}

static double nearest(const double *values, size_t n, double to) {
    double best = INFINITY;
    for (size_t i = 0; i < n; i++)
        best = fmin(best, fabs(values[i] - to));
    return best;
}

/* Any number of steps: Ritz values inside the spectrum, an eigenvalue within each bound, and the
 * ends themselves once the steps are many. */
static void test_random(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (size_t n = 1; n <= DENSE_MAX; n++)
        for (int shape = 0; shape < 3; shape++) {
            fixture f;
            dense_operator op;
            double values[DENSE_MAX], start[DENSE_MAX], scale = 0.0;
            fixture_open(&f, n, BLV_LANCZOS_MAX);
            for (size_t i = 0; i < n; i++)
                values[i] = shape == 0   ? pow(1e6, -(double)i / (double)n)
                            : shape == 1 ? dense_random(&seed)
                                         : 1e8 * floor(3.0 * dense_random(&seed));
            dense_with_spectrum(&op, n, values, &seed);
            dense_random_vector(&seed, n, start);
            eigenvalues_by_lapack(&op, values);
            for (size_t i = 0; i < n; i++)
                scale = fmax(scale, fabs(values[i]));
            double widest = -1.0;
            for (size_t steps = 1; steps <= n; steps++) {
                blv_lanczos_result result = run(&f, &op, start, steps);
                const double slack = 1e-13 * scale;
                assert_true(result.end == BLV_LINEAR_LIMIT || result.end == BLV_LINEAR_CONVERGED);
                assert_int_equal(result.products, result.steps);
                assert_true(result.steps == steps || result.end == BLV_LINEAR_CONVERGED);
                assert_true(result.smallest <= result.largest);
                assert_true(result.smallest >= values[0] - slack);
                assert_true(result.largest <= values[n - 1] + slack);
                assert_true(nearest(values, n, result.smallest) <= result.smallest_bound + slack);
                assert_true(nearest(values, n, result.largest) <= result.largest_bound + slack);
                assert_true(result.largest - result.smallest >= widest - slack);
                widest = result.largest - result.smallest;
                if (steps == n) {
                    assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
                    assert_true(fabs(result.smallest - values[0]) <= slack);
                    assert_true(fabs(result.largest - values[n - 1]) <= slack);
                    assert_true(result.largest_bound <= slack && result.smallest_bound <= slack);
                }
            }
            fixture_close(&f);
        }
}

/* The bound is |A z - theta z| of the Ritz vector: with one step that can be had by hand. */
static void test_bound_by_hand(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, 2, 2);
    dense_operator op = {.n = 2, .a = {2.0, 1.0, 1.0, 5.0}};
    blv_lanczos_result result = run(&f, &op, (double[]){4.0, 0.0}, 1);
    assert_int_equal(result.end, BLV_LINEAR_LIMIT);
    assert_true(result.smallest == 2.0 && result.largest == 2.0);
    assert_true(result.smallest_bound == 1.0 && result.largest_bound == 1.0);
    fixture_close(&f);

    /* two steps of a 3x3 tridiagonal matrix: T is its leading block, of eigenvalues 1 and 3 with
     * vectors (1, -1)/sqrt 2 and (1, 1)/sqrt 2 */
    fixture_open(&f, 3, 3);
    dense_operator three = {.n = 3, .a = {2.0, 1.0, 0.0, 1.0, 2.0, 0.5, 0.0, 0.5, 7.0}};
    result = run(&f, &three, (double[]){1.0, 0.0, 0.0}, 2);
    assert_true(fabs(result.smallest - 1.0) < 1e-14 && fabs(result.largest - 3.0) < 1e-14);
    assert_true(fabs(result.smallest_bound - 0.5 * sqrt(0.5)) < 1e-14);
    assert_true(fabs(result.largest_bound - 0.5 * sqrt(0.5)) < 1e-14);
    fixture_close(&f);
}

static void test_invariant_subspaces(void **state) {
    (void)state;
    fixture f;
    fixture_open(&f, 4, 10);
    const double start[4] = {1.0, 2.0, 3.0, 4.0};
    dense_operator zero = {.n = 4};
    blv_lanczos_result result = run(&f, &zero, start, 10);
    assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
    assert_int_equal(result.products, 1);
    assert_true(result.smallest == 0.0 && result.largest == 0.0 && result.largest_bound == 0.0);

    dense_operator identity = {.n = 4};
    for (size_t i = 0; i < 4; i++)
        identity.a[5 * i] = -3.0;
    result = run(&f, &identity, start, 10);
    assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
    assert_int_equal(result.steps, 1);
    assert_true(fabs(result.smallest + 3.0) < 1e-14 && fabs(result.largest + 3.0) < 1e-14);

    dense_operator two_values = identity;
    two_values.a[0] = 8.0;
    result = run(&f, &two_values, start, 10);
    assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
    assert_int_equal(result.steps, 2);
    assert_true(fabs(result.smallest + 3.0) < 1e-14 && fabs(result.largest - 8.0) < 1e-14);

    result = run(&f, &identity, (double[]){0.0, 0.0, 0.0, 0.0}, 10);
    assert_int_equal(result.end, BLV_LINEAR_SINGULAR);
    assert_int_equal(result.products, 0);
    assert_int_equal(result.steps, 0);
    assert_true(isnan(result.largest));
    result = run(&f, &identity, start, 0);
    assert_int_equal(result.end, BLV_LINEAR_LIMIT);
    assert_true(isnan(result.largest));
    fixture_close(&f);
}

/* Values of very different size: no overflow, no lost digits. */
static void test_scales(void **state) {
    (void)state;
    uint64_t seed = 12;
    const double scales[] = {1e-150, 1e-60, 1.0, 1e60, 1e150};
    for (size_t k = 0; k < 5; k++) {
        const size_t n = 20;
        fixture f;
        dense_operator op;
        double values[DENSE_MAX], start[DENSE_MAX];
        fixture_open(&f, n, n);
        for (size_t i = 0; i < n; i++)
            values[i] = scales[k] * (1.0 + (double)i);
        dense_with_spectrum(&op, n, values, &seed);
        dense_random_vector(&seed, n, start);
        blv_lanczos_result result = run(&f, &op, start, n);
        assert_true(fabs(result.smallest / scales[k] - 1.0) < 1e-11);
        assert_true(fabs(result.largest / scales[k] - 20.0) < 1e-11);
        fixture_close(&f);
    }
}

/* The Nth product fails or returns a NaN: the values are those of N - 1 steps. */
static void test_broken_operator(void **state) {
    (void)state;
    uint64_t seed = 13;
    const size_t n = 15;
    fixture f;
    dense_operator op;
    double values[DENSE_MAX], start[DENSE_MAX];
    fixture_open(&f, n, n);
    dense_random_vector(&seed, n, values);
    dense_with_spectrum(&op, n, values, &seed);
    dense_random_vector(&seed, n, start);
    op.code = 5;
    for (size_t at = 1; at <= 6; at++)
        for (int is_nan = 0; is_nan < 2; is_nan++) {
            op.fail_at = op.nan_at = 0;
            blv_lanczos_result whole = run(&f, &op, start, at - 1);
            op.fail_at = is_nan ? 0 : at;
            op.nan_at = is_nan ? at : 0;
            blv_lanczos_result result = run(&f, &op, start, n);
            assert_int_equal(result.end, is_nan ? BLV_LINEAR_NONFINITE : BLV_LINEAR_OPERATOR);
            assert_int_equal(result.code, is_nan ? 0 : 5);
            assert_int_equal(result.products, at);
            assert_int_equal(result.steps, at - 1);
            if (at > 1) {
                assert_true(result.smallest == whole.smallest && result.largest == whole.largest);
                assert_true(result.largest_bound == whole.largest_bound);
            } else {
                assert_true(isnan(result.smallest) && isnan(result.largest_bound));
            }
        }
    fixture_close(&f);
}

static void test_create(void **state) {
    (void)state;
    naive_counts counts;
    blv_space *space = naive_space(9, &counts);
    blv_linear_work *lanczos = NULL;
    for (size_t refuse = 1; refuse <= 6; refuse++) {
        counts = (naive_counts){.refuse = refuse};
        assert_int_equal(blv_lanczos_create(&lanczos, space, 5), BLV_E_MEMORY);
        assert_null(lanczos);
        assert_int_equal(counts.live, 0);
    }
    counts = (naive_counts){0};
    assert_int_equal(blv_lanczos_create(&lanczos, space, 30), BLV_OK);
    assert_int_equal(counts.live, 10); /* no more than the dimension needs */
    assert_true(blv_linear_work_bytes(lanczos) >= 10 * 9 * sizeof(double));
    blv_linear_work_destroy(lanczos);
    blv_linear_work_destroy(NULL);
    assert_int_equal(counts.live, 0);
    blv_space_destroy(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_bound_by_hand),
        cmocka_unit_test(test_invariant_subspaces),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_broken_operator),
        cmocka_unit_test(test_create),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
