/* Conjugate gradients and MINRES against LAPACK on random systems, and every way they can end. */
#include "dense_operator.h"
#include "linsolve/operator.h"
#include "naive_space.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <float.h>

#include "dense_lapack.h"

typedef enum method { CG, MINRES } method;

/* One space, both workspaces, and the vectors of a system in it. */
typedef struct fixture {
    naive_counts counts;
    blv_space *space;
    blv_linear_work *cg;
    blv_linear_work *minres;
    blv_vec *b, *x;
    size_t n;
} fixture;

static void fixture_open(fixture *f, size_t n) {
    f->n = n;
    f->space = naive_space(n, &f->counts);
    assert_non_null(f->space);
    assert_int_equal(blv_linear_work_create(&f->cg, f->space, BLV_CG_VECTORS), BLV_OK);
    assert_int_equal(blv_linear_work_create(&f->minres, f->space, BLV_MINRES_VECTORS), BLV_OK);
    assert_int_equal(blv_vec_create(&f->b, f->space), BLV_OK);
    assert_int_equal(blv_vec_create(&f->x, f->space), BLV_OK);
}

static void fixture_close(fixture *f) {
    blv_linear_work_destroy(f->cg);
    blv_linear_work_destroy(f->minres);
    blv_vec_destroy(f->b);
    blv_vec_destroy(f->x);
    assert_int_equal(f->counts.live, 0);
    blv_space_destroy(f->space);
}

/* Solves, and checks what holds for every solve: the count of products, and no new vectors. start
 * is NULL for zero. x may be NULL. */
static blv_linear_result solve(fixture *f, method which, dense_operator *op, const double *b,
                               const double *start, double tol, size_t max_products, double *x) {
    const size_t created = f->counts.created;
    blv_vec_write(f->b, b);
    if (start)
        blv_vec_write(f->x, start);
    else
        blv_vec_fill(f->x, NAN); /* must not be looked at */
    op->products = 0;
    blv_linear_result result =
        which == CG
            ? blv_cg_solve(f->cg, dense_apply, op, f->b, f->x, !start, tol, max_products)
            : blv_minres_solve(f->minres, dense_apply, op, f->b, f->x, !start, tol, max_products);
    assert_int_equal(result.products, op->products);
    assert_true(result.products <= max_products);
    assert_int_equal(f->counts.created, created);
    assert_true(result.end == BLV_LINEAR_OPERATOR || result.code == 0);
    if (x)
        blv_vec_read(f->x, x);
    return result;
}

/* What a caller does who wants the true residual below tol: solve again from x until one product
 * confirms it. */
static blv_linear_result solve_confirmed(fixture *f, method which, dense_operator *op,
                                         const double *b, double tol, double *x) {
    blv_linear_result result = solve(f, which, op, b, NULL, tol, 100 * f->n + 100, x);
    for (int again = 0; again < 10; again++) {
        result = solve(f, which, op, b, x, tol, 100 * f->n + 100, x);
        if (result.end == BLV_LINEAR_CONVERGED && result.products == 1)
            break;
    }
    return result;
}

static void test_definite(void **state) {
    (void)state;
    uint64_t seed = 1;
    const double kappas[] = {1.0, 10.0, 1e3, 1e6};
    for (size_t n = 1; n <= DENSE_MAX; n++)
        for (size_t k = 0; k < 4; k++) {
            fixture f;
            dense_operator op;
            double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], expected[DENSE_MAX];
            fixture_open(&f, n);
            random_spectrum(values, n, kappas[k], false, 0);
            dense_with_spectrum(&op, n, values, &seed);
            dense_random_vector(&seed, n, b);
            solve_definite_by_lapack(&op, b, expected);
            const double tol = 1e-9 * dense_norm(n, b);
            for (method which = CG; which <= MINRES; which++) {
                blv_linear_result result = solve_confirmed(&f, which, &op, b, tol, x);
                assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
                assert_true(dense_residual(&op, b, x) <= tol * (1.0 + 1e-6));
                assert_true(distance(n, x, expected) <= 1.1 * kappas[k] * tol);
            }
            /* CG alone: the recurrence can be believed, and the iterate is the converged one */
            blv_linear_result result = solve(&f, CG, &op, b, NULL, tol, 100 * n + 100, x);
            assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
            const double rounding = 20.0 * DBL_EPSILON * dense_norm(n, expected);
            assert_true(fabs(dense_residual(&op, b, x) - result.residual) <= rounding);
            fixture_close(&f);
        }
}

/* Four systems with one matrix, and four with it changed a little: solutions as by LAPACK, and from
 * the second system on fewer products than without what was learned. */
static void test_recycled(void **state) {
    (void)state;
    enum { CAPACITY = 16, SYSTEMS = 8 };
    uint64_t seed = 9;
    const size_t n = DENSE_MAX;
    for (int with = 0, plain_products = 0; with <= 1; with++) {
        fixture f;
        dense_operator op;
        double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], expected[DENSE_MAX];
        double pq[2 * CAPACITY], qq[2 * CAPACITY];
        blv_recycled recycled = {.capacity = CAPACITY, .pq = pq, .qq = qq};
        int products = 0;
        seed = 9;
        fixture_open(&f, n);
        for (size_t i = 0; i < 2 * CAPACITY; i++) {
            assert_int_equal(blv_vec_create(&recycled.p[i], f.space), BLV_OK);
            assert_int_equal(blv_vec_create(&recycled.q[i], f.space), BLV_OK);
        }
        f.cg->recycled = with ? &recycled : NULL;
        random_spectrum(values, n, 1e3, false, 0);
        dense_with_spectrum(&op, n, values, &seed);
        for (int k = 0; k < SYSTEMS; k++) {
            if (k == SYSTEMS / 2)
                for (size_t i = 0; i < n; i++)
                    op.a[i * n + i] += 0.01 * values[n - 1];
            dense_random_vector(&seed, n, b);
            solve_definite_by_lapack(&op, b, expected);
            const double tol = 1e-8 * dense_norm(n, b);
            blv_linear_result result = solve(&f, CG, &op, b, NULL, tol, 100 * n, x);
            assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
            assert_true(dense_residual(&op, b, x) <= 1.01 * tol);
            assert_true(distance(n, x, expected) <= 1.1e3 * tol / values[0]);
            products += k > 0 ? (int)result.products : 0;
        }
        if (with)
            assert_true(products < plain_products);
        plain_products = products;
        for (size_t i = 0; i < 2 * CAPACITY; i++) {
            blv_vec_destroy(recycled.p[i]);
            blv_vec_destroy(recycled.q[i]);
        }
        fixture_close(&f);
    }
}

/* The matrix itself as preconditioner: its own systems take a product or two, and those of a matrix
 * near it a few. One that is not definite has no effect. */
static void test_matrix(void **state) {
    (void)state;
    const size_t n = DENSE_MAX;
    uint64_t seed = 10;
    fixture f;
    dense_operator op;
    static double upper[DENSE_MAX * DENSE_MAX];
    double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], expected[DENSE_MAX], room[DENSE_MAX];
    blv_recycled recycled = {.upper = upper, .room = room};
    fixture_open(&f, n);
    f.cg->recycled = &recycled;
    random_spectrum(values, n, 1e5, false, 0);
    dense_with_spectrum(&op, n, values, &seed);
    assert_false(blv_recycled_wants_matrix(&recycled, n));
    recycled.products = 2.0 * (double)n + 1.0;
    assert_true(blv_recycled_wants_matrix(&recycled, n));
    for (int near = 0; near <= 1; near++) {
        memcpy(upper, op.a, n * n * sizeof *upper);
        blv_recycled_take_matrix(&recycled, n);
        assert_true(recycled.is_dense == 1.0 && recycled.products == 0.0);
        for (size_t i = 0; near && i < n; i++)
            op.a[i * n + i] *= 1.01;
        dense_random_vector(&seed, n, b);
        solve_definite_by_lapack(&op, b, expected);
        const double tol = 1e-8 * dense_norm(n, b);
        blv_linear_result result = solve(&f, CG, &op, b, NULL, tol, 100 * n, x);
        assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
        assert_true(dense_residual(&op, b, x) <= 1.01 * tol);
        assert_true(near || result.products <= 3);
    }
    for (size_t i = 0; i < n * n; i++)
        upper[i] = -op.a[i];
    blv_recycled_take_matrix(&recycled, n);
    assert_true(recycled.is_dense == 0.0);
    fixture_close(&f);
}

static void test_indefinite(void **state) {
    (void)state;
    uint64_t seed = 2;
    const double kappas[] = {1.0, 10.0, 1e3, 1e5};
    for (size_t n = 1; n <= DENSE_MAX; n++)
        for (size_t k = 0; k < 4; k++) {
            fixture f;
            dense_operator op;
            double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], expected[DENSE_MAX];
            fixture_open(&f, n);
            random_spectrum(values, n, kappas[k], true, 0);
            dense_with_spectrum(&op, n, values, &seed);
            dense_random_vector(&seed, n, b);
            solve_symmetric_by_lapack(&op, b, expected);
            const double tol = 1e-9 * dense_norm(n, b);
            blv_linear_result result = solve_confirmed(&f, MINRES, &op, b, tol, x);
            assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
            assert_true(dense_residual(&op, b, x) <= tol * (1.0 + 1e-6));
            assert_true(distance(n, x, expected) <= 1.1 * kappas[k] * tol);
            fixture_close(&f);
        }
}

/* CG on an indefinite system stops at negative curvature, and x and direction are as promised. */
static void test_negative_curvature(void **state) {
    (void)state;
    uint64_t seed = 3;
    size_t found = 0, moved = 0;
    for (size_t n = 2; n <= DENSE_MAX; n++) {
        fixture f;
        dense_operator op;
        double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], d[DENSE_MAX], ad[DENSE_MAX];
        double ax[DENSE_MAX], slope = 0.0, bend = 0.0;
        fixture_open(&f, n);
        random_spectrum(values, n, 50.0, false, 0);
        values[n / 2] = -0.3;
        dense_with_spectrum(&op, n, values, &seed);
        dense_random_vector(&seed, n, b);
        blv_linear_result result = solve(&f, CG, &op, b, NULL, 1e-10, 10 * n, x);
        if (result.end == BLV_LINEAR_INDEFINITE) {
            found++;
            moved += f.cg->moved;
            blv_vec_read(f.cg->vec[1], d); /* the search direction */
            dense_multiply(&op, d, ad);
            dense_multiply(&op, x, ax);
            for (size_t i = 0; i < n; i++) {
                bend += d[i] * ad[i];
                slope += d[i] * (b[i] - ax[i]);
            }
            assert_true(bend < 0.0);
            assert_true(slope > 0.0);
            assert_true(f.cg->moved == (dense_norm(n, x) > 0.0));
            assert_true(fabs(dense_residual(&op, b, x) - result.residual) <= 1e-10);
            assert_int_equal(f.cg->moved, result.products > 1);
        }
        fixture_close(&f);
    }
    assert_true(found > 50 && moved > 40);

    fixture f;
    double x[1];
    fixture_open(&f, 1);
    dense_operator op = {.n = 1, .a = {-2.0}};
    blv_linear_result result = solve(&f, CG, &op, (double[]){1.0}, NULL, 0.0, 5, x);
    assert_int_equal(result.end, BLV_LINEAR_INDEFINITE);
    assert_int_equal(result.products, 1);
    assert_false(f.cg->moved);
    assert_true(x[0] == 0.0);
    result = solve(&f, MINRES, &op, (double[]){1.0}, NULL, 1e-15, 5, x);
    assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
    assert_true(x[0] == -0.5);
    fixture_close(&f);
}

static void test_singular(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (size_t n = 2; n <= DENSE_MAX; n++)
        for (int indefinite = 0; indefinite < 2; indefinite++) {
            fixture f;
            dense_operator op;
            double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], expected[DENSE_MAX];
            double r[DENSE_MAX], ar[DENSE_MAX];
            fixture_open(&f, n);
            random_spectrum(values, n, 100.0, indefinite, 1 + n / 10);
            dense_with_spectrum(&op, n, values, &seed);

            /* b in the range */
            dense_random_vector(&seed, n, x);
            dense_multiply(&op, x, b);
            const double tol = 1e-9 * dense_norm(n, b);
            for (method which = indefinite ? MINRES : CG; which <= MINRES; which++) {
                blv_linear_result result = solve(&f, which, &op, b, NULL, tol, 10 * n, x);
                assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
                assert_true(dense_residual(&op, b, x) <= 2.0 * tol);
            }

            /* b outside */
            dense_random_vector(&seed, n, b);
            solve_least_squares_by_lapack(&op, b, expected);
            const double least = dense_residual(&op, b, expected);
            blv_linear_result result = solve(&f, MINRES, &op, b, NULL, 1e-9 * least, 20 * n, x);
            assert_int_equal(result.end, BLV_LINEAR_SINGULAR);
            assert_true(fabs(dense_residual(&op, b, x) - least) <= 1e-8 * least);
            assert_true(fabs(result.residual - least) <= 1e-8 * least);
            dense_multiply(&op, x, r);
            for (size_t i = 0; i < n; i++)
                r[i] = b[i] - r[i];
            dense_multiply(&op, r, ar);
            assert_true(dense_norm(n, ar) <= 1e-6 * least);
            assert_true(dense_norm(n, x) <= 1e4 * dense_norm(n, b));
            if (!indefinite) {
                result = solve(&f, CG, &op, b, NULL, 1e-9 * least, 1000 * n, x);
                assert_int_equal(result.end, BLV_LINEAR_SINGULAR);
            }
            fixture_close(&f);
        }
}

static void test_easy_systems(void **state) {
    (void)state;
    const double zero[3] = {0.0, 0.0, 0.0}, b[3] = {1.0, -2.0, 0.5};
    fixture f;
    double x[3];
    fixture_open(&f, 3);
    for (method which = CG; which <= MINRES; which++) {
        dense_operator op = {.n = 3, .a = {2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 8.0}};
        /* b = 0, from zero and from the solution */
        blv_linear_result result = solve(&f, which, &op, zero, NULL, 0.0, 10, x);
        assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
        assert_int_equal(result.products, 0);
        assert_true(result.residual == 0.0 && dense_norm(3, x) == 0.0);
        const double solution[3] = {0.5, -0.5, 0.0625};
        result = solve(&f, which, &op, b, solution, 0.0, 10, x);
        assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
        assert_int_equal(result.products, 1);
        assert_memory_equal(x, solution, sizeof x);
        /* b = 0 from elsewhere comes back to zero */
        result = solve(&f, which, &op, zero, b, 1e-12, 10, x);
        assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
        assert_true(dense_norm(3, x) <= 1e-12);
        assert_int_equal(result.products, 4);
        /* an eigenvector takes one product */
        const double axis[3] = {0.0, 0.0, 3.0};
        result = solve(&f, which, &op, axis, NULL, 1e-14, 10, x);
        assert_int_equal(result.end, BLV_LINEAR_CONVERGED);
        assert_int_equal(result.products, 1);
        assert_true(x[2] == 0.375);
        /* A = 0 */
        dense_operator nothing = {.n = 3};
        result = solve(&f, which, &nothing, b, NULL, 1e-6, 10, x);
        assert_int_equal(result.end, BLV_LINEAR_SINGULAR);
        assert_int_equal(result.products, 1);
        assert_true(dense_norm(3, x) == 0.0 && fabs(result.residual - dense_norm(3, b)) < 1e-15);
        result = solve(&f, which, &nothing, b, b, 1e-6, 10, x);
        assert_int_equal(result.end, BLV_LINEAR_SINGULAR);
        assert_memory_equal(x, b, sizeof x);
        /* no products allowed */
        result = solve(&f, which, &op, b, b, 1e-6, 0, x);
        assert_int_equal(result.end, BLV_LINEAR_LIMIT);
        assert_true(isnan(result.residual));
        assert_memory_equal(x, b, sizeof x);
        result = solve(&f, which, &op, b, NULL, 1e-6, 0, x);
        assert_int_equal(result.end, BLV_LINEAR_LIMIT);
        assert_true(result.residual > 1.0);
        /* more than rounding allows is not claimed */
        result = solve(&f, which, &op, (double[]){1.0, 1e-3, 1.0 / 3.0}, NULL, 1e-300, 100, x);
        assert_true(result.end == BLV_LINEAR_STALLED || result.residual == 0.0);
        assert_true(result.products < 20);
    }
    fixture_close(&f);
}

/* Exactly K products, and the same iterate as the first K of a longer solve. */
static void test_limit(void **state) {
    (void)state;
    uint64_t seed = 5;
    const size_t n = 40;
    fixture f;
    dense_operator op;
    double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], start[DENSE_MAX];
    fixture_open(&f, n);
    random_spectrum(values, n, 1e3, false, 0);
    dense_with_spectrum(&op, n, values, &seed);
    dense_random_vector(&seed, n, b);
    dense_random_vector(&seed, n, start);
    for (method which = CG; which <= MINRES; which++) {
        double before = INFINITY;
        for (size_t k = 1; k <= 15; k++) {
            blv_linear_result result = solve(&f, which, &op, b, NULL, 1e-10, k, x);
            assert_int_equal(result.end, BLV_LINEAR_LIMIT);
            assert_int_equal(result.products, k);
            const double residual = dense_residual(&op, b, x);
            assert_true(fabs(residual - result.residual) <= 1e-12);
            assert_true(which == CG || residual <= before);
            before = residual;
            result = solve(&f, which, &op, b, start, 1e-10, k, x);
            assert_int_equal(result.end, BLV_LINEAR_LIMIT);
            assert_int_equal(result.products, k);
            assert_true(fabs(dense_residual(&op, b, x) - result.residual) <= 1e-11);
        }
    }
    fixture_close(&f);
}

/* The Nth product fails, or returns a NaN: x is what N - 1 products give, to the bit. */
static void test_broken_operator(void **state) {
    (void)state;
    uint64_t seed = 6;
    const size_t n = 12;
    fixture f;
    dense_operator op;
    double values[DENSE_MAX], b[DENSE_MAX], x[DENSE_MAX], expected[DENSE_MAX], start[DENSE_MAX];
    fixture_open(&f, n);
    random_spectrum(values, n, 100.0, false, 0);
    dense_with_spectrum(&op, n, values, &seed);
    dense_random_vector(&seed, n, b);
    dense_random_vector(&seed, n, start);
    op.code = -77;
    for (method which = CG; which <= MINRES; which++)
        for (size_t at = 1; at <= 8; at++)
            for (int warm = 0; warm < 2; warm++)
                for (int is_nan = 0; is_nan < 2; is_nan++) {
                    const double *from = warm ? start : NULL;
                    op.fail_at = op.nan_at = 0;
                    blv_linear_result whole = solve(&f, which, &op, b, from, 0.0, at - 1, expected);
                    op.fail_at = is_nan ? 0 : at;
                    op.nan_at = is_nan ? at : 0;
                    blv_linear_result result = solve(&f, which, &op, b, from, 0.0, 100, x);
                    assert_int_equal(result.products, at);
                    assert_int_equal(result.end,
                                     is_nan ? BLV_LINEAR_NONFINITE : BLV_LINEAR_OPERATOR);
                    assert_int_equal(result.code, is_nan ? 0 : -77);
                    assert_memory_equal(x, expected, n * sizeof *x);
                    if (at > 1)
                        assert_true(result.residual == whole.residual);
                }
    op.fail_at = op.nan_at = 0;
    b[3] = NAN;
    assert_int_equal(solve(&f, CG, &op, b, NULL, 0.0, 9, x).end, BLV_LINEAR_NONFINITE);
    assert_int_equal(solve(&f, MINRES, &op, b, start, 0.0, 9, x).end, BLV_LINEAR_NONFINITE);
    assert_memory_equal(x, start, n * sizeof *x);
    fixture_close(&f);
}

static void test_create(void **state) {
    (void)state;
    naive_counts counts;
    blv_space *space = naive_space(7, &counts);
    blv_linear_work *cg = NULL;
    blv_linear_work *minres = NULL;
    for (size_t refuse = 1; refuse <= 3; refuse++) {
        counts = (naive_counts){.refuse = refuse};
        assert_int_equal(blv_linear_work_create(&cg, space, BLV_CG_VECTORS), BLV_E_MEMORY);
        assert_null(cg);
        assert_int_equal(counts.live, 0);
    }
    for (size_t refuse = 1; refuse <= BLV_MINRES_VECTORS; refuse++) {
        counts = (naive_counts){.refuse = refuse};
        assert_int_equal(blv_linear_work_create(&minres, space, BLV_MINRES_VECTORS), BLV_E_MEMORY);
        assert_null(minres);
        assert_int_equal(counts.live, 0);
    }
    counts = (naive_counts){0};
    assert_int_equal(blv_linear_work_create(&cg, space, BLV_CG_VECTORS), BLV_OK);
    assert_true(blv_linear_work_bytes(cg) >= counts.live * 7 * sizeof(double));
    assert_int_equal(counts.live, BLV_CG_VECTORS);
    blv_linear_work_destroy(cg);
    blv_linear_work_destroy(NULL);
    assert_int_equal(blv_linear_work_create(&minres, space, BLV_MINRES_VECTORS), BLV_OK);
    assert_int_equal(counts.live, 5);
    assert_true(blv_linear_work_bytes(minres) >= counts.live * 7 * sizeof(double));
    blv_linear_work_destroy(minres);
    blv_linear_work_destroy(NULL);
    blv_space_destroy(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definite), cmocka_unit_test(test_indefinite),
        cmocka_unit_test(test_singular), cmocka_unit_test(test_negative_curvature),
        cmocka_unit_test(test_limit),    cmocka_unit_test(test_easy_systems),
        cmocka_unit_test(test_create),   cmocka_unit_test(test_broken_operator),
        cmocka_unit_test(test_recycled), cmocka_unit_test(test_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
