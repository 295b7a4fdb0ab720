/* L-BFGS and its projected form, against LAPACK and against slow methods that cannot be wrong. */
#include "lbfgs_problems.h"
#include "naive_space.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "dense_lapack.h"

/* Minimizes from x, in place, and checks what holds for every run. */
static blv_lbfgs_result minimize(problem *p, size_t memory, double *x, double tolerance,
                                 size_t max_iterations) {
    naive_counts counts;
    blv_space *space = naive_space(p->n, &counts);
    blv_lbfgs *lbfgs = NULL;
    blv_vec *v = NULL;
    double g[DENSE_MAX], own[DENSE_MAX];
    assert_int_equal(blv_lbfgs_create(&lbfgs, space, memory), BLV_OK);
    assert_int_equal(counts.live, 2 * memory + 7);
    assert_true(blv_lbfgs_bytes(lbfgs) >= counts.live * p->n * sizeof(double));
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    blv_vec_write(v, x);
    const size_t created = counts.created;
    const blv_lbfgs_problem handed = callbacks(p);
    p->evaluations = p->projections = 0;
    blv_lbfgs_result result = blv_lbfgs_minimize(lbfgs, &handed, v, tolerance, max_iterations);
    blv_vec_read(v, x);
    assert_int_equal(counts.created, created);
    assert_int_equal(result.evaluations, p->evaluations);
    assert_true(result.iterations <= max_iterations);
    if (result.end != BLV_LBFGS_CALLBACK && result.end != BLV_LBFGS_NONFINITE) {
        assert_true(result.value == value_and_gradient(p, x, g));
        blv_vec_read(blv_lbfgs_gradient(lbfgs), own);
        assert_memory_equal(own, g, p->n * sizeof *g);
        assert_true(fabs(result.stationarity - stationarity(p, x)) <= 1e-12 * dense_norm(p->n, g));
    }
    if (p->region == BOX)
        for (size_t i = 0; i < p->n; i++)
            assert_true(x[i] >= p->lo && x[i] <= p->hi);
    blv_vec_destroy(v);
    blv_lbfgs_destroy(lbfgs);
    assert_int_equal(counts.live, 0);
    blv_space_destroy(space);
    return result;
}

static void test_quadratics(void **state) {
    (void)state;
    uint64_t seed = 21;
    const double kappas[] = {1.0, 30.0, 1e4};
    for (size_t n = 1; n <= DENSE_MAX; n++)
        for (size_t k = 0; k < 3; k++)
            for (int shifted = 0; shifted < 2; shifted++) {
                problem p;
                double x[DENSE_MAX], expected[DENSE_MAX], g[DENSE_MAX];
                random_quadratic(&p, WHOLE, n, kappas[k], &seed);
                solve_definite_by_lapack(&p.a, p.b, expected);
                if (shifted) /* a value that is all rounding at the minimum */
                    p.shift = -value_and_gradient(&p, expected, g);
                dense_random_vector(&seed, n, x);
                const double tol = 1e-12 * (1.0 + dense_norm(n, expected));
                blv_lbfgs_result result = minimize(&p, 10, x, tol, 5000);
                assert_int_equal(result.end, BLV_LBFGS_CONVERGED);
                assert_true(distance(n, x, expected) <= 2.0 * kappas[k] * tol);
            }
}

static void test_rosenbrock(void **state) {
    (void)state;
    for (size_t n = 2; n <= 20; n += 18)
        for (size_t memory = 1; memory <= 20; memory += 3) {
            problem p = {.shape = ROSENBROCK, .n = n};
            double x[DENSE_MAX];
            for (size_t i = 0; i < n; i++)
                x[i] = i % 2 ? 1.0 : -1.2;
            blv_lbfgs_result result = minimize(&p, memory, x, 1e-10, 2000);
            assert_int_equal(result.end, BLV_LBFGS_CONVERGED);
            assert_true(stationarity(&p, x) <= 1e-10);
            if (n == 2) {
                assert_true(fabs(x[0] - 1.0) <= 1e-8 && fabs(x[1] - 1.0) <= 1e-8);
                assert_true(memory == 1 || result.evaluations < 100);
            }
        }
}

/* Projected gradients with step 1/L, which is 1 here, until nothing moves. */
static void minimize_slowly(const problem *p, double *x) {
    double g[DENSE_MAX];
    for (size_t k = 0; k < 200000 && stationarity(p, x) > 1e-12; k++) {
        value_and_gradient(p, x, g);
        for (size_t i = 0; i < p->n; i++)
            x[i] -= g[i];
        project_point(p, x);
    }
    assert_true(stationarity(p, x) <= 1e-11);
}

static void test_constrained_quadratics(void **state) {
    (void)state;
    uint64_t seed = 22;
    const double kappas[] = {1.0, 30.0, 1000.0};
    size_t on_boundary = 0, runs = 0;
    for (size_t n = 1; n <= DENSE_MAX; n += n < 10 ? 1 : 7)
        for (size_t k = 0; k < 3; k++)
            for (region_kind region = BOX; region <= BALL; region++) {
                problem p;
                double x[DENSE_MAX], expected[DENSE_MAX] = {0.0}, whole[DENSE_MAX];
                random_quadratic(&p, region, n, kappas[k], &seed);
                solve_definite_by_lapack(&p.a, p.b, whole);
                project_point(&p, expected);
                minimize_slowly(&p, expected);
                on_boundary += distance(n, whole, expected) > 1e-6;
                runs++;
                for (size_t i = 0; i < n; i++)
                    x[i] = 5.0 * dense_random(&seed);
                blv_lbfgs_result result = minimize(&p, 10, x, 1e-11, 2000);
                assert_int_equal(result.end, BLV_LBFGS_CONVERGED);
                assert_true(stationarity(&p, x) <= 1.1e-11);
                assert_true(distance(n, x, expected) <= 1e-10 * kappas[k]);
                assert_true(result.evaluations <= 40 + 10 * n);
            }
    assert_true(on_boundary > runs / 2);
}

/* Boxes so small that every corner, edge and face can be tried: the best feasible point that solves
 * its face's equations is the minimum. */
static void test_box_by_enumeration(void **state) {
    (void)state;
    uint64_t seed = 23;
    enum { n = 4, faces = 81 };
    for (int repeat = 0; repeat < 50; repeat++) {
        problem p;
        double x[n], best[n] = {0.0}, best_value = INFINITY, g[n];
        random_quadratic(&p, BOX, n, 100.0, &seed);
        for (int face = 0; face < faces; face++) {
            double a[n * n] = {0.0}, candidate[n];
            int code = face, pivots[n];
            for (size_t i = 0; i < n; i++, code /= 3) {
                candidate[i] = code % 3 == 0 ? p.b[i] : code % 3 == 1 ? p.lo : p.hi;
                for (size_t j = 0; j < n; j++)
                    a[i * n + j] = code % 3 == 0 ? p.a.a[i * n + j] : i == j ? 1.0 : 0.0;
            }
            assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, a, n, pivots, candidate, 1), 0);
            bool inside = true;
            for (size_t i = 0; i < n; i++)
                inside = inside && candidate[i] >= p.lo - 1e-12 && candidate[i] <= p.hi + 1e-12;
            const double value = value_and_gradient(&p, candidate, g);
            if (inside && value < best_value) {
                best_value = value;
                memcpy(best, candidate, sizeof best);
            }
        }
        dense_random_vector(&seed, n, x);
        assert_int_equal(minimize(&p, 5, x, 1e-12, 500).end, BLV_LBFGS_CONVERGED);
        assert_true(distance(n, x, best) <= 1e-9);
    }
}

static void test_other_functions(void **state) {
    (void)state;
    uint64_t seed = 24;
    const size_t n = 12;
    double x[DENSE_MAX];
    /* linear on the simplex: all weight on the smallest coefficient */
    problem p = {.shape = LINEAR, .region = SIMPLEX, .n = n};
    dense_random_vector(&seed, n, p.b);
    p.b[7] = -1.5;
    memset(x, 0, sizeof x);
    assert_int_equal(minimize(&p, 5, x, 1e-12, 100).end, BLV_LBFGS_CONVERGED);
    assert_true(fabs(x[7] - 1.0) <= 1e-12);
    /* linear on a box far away: the steps must grow */
    p.region = BOX;
    p.lo = -1e6;
    p.hi = 1e6;
    blv_lbfgs_result result = minimize(&p, 5, x, 1e-12, 100);
    assert_int_equal(result.end, BLV_LBFGS_CONVERGED);
    for (size_t i = 0; i < n; i++)
        assert_true(x[i] == (p.b[i] > 0.0 ? -1e6 : 1e6));
    /* linear in the whole space has no minimum: it must end, and not with a claim */
    p.region = WHOLE;
    memset(x, 0, sizeof x);
    result = minimize(&p, 5, x, 1e-12, 100);
    assert_true(result.end == BLV_LBFGS_LIMIT || result.end == BLV_LBFGS_STALLED);
    assert_true(result.value < -1e6);
    /* Rosenbrock with bounds that cut the minimum off: (0.5, 0.25) in the plane */
    problem valley = {.shape = ROSENBROCK, .region = BOX, .n = 2, .lo = -2.0, .hi = 0.5};
    x[0] = -1.2;
    x[1] = 0.4;
    assert_int_equal(minimize(&valley, 5, x, 1e-10, 500).end, BLV_LBFGS_CONVERGED);
    assert_true(fabs(x[0] - 0.5) <= 1e-9 && fabs(x[1] - 0.25) <= 1e-9);
    /* a quartic from far off */
    problem quartic = {.shape = QUARTIC, .n = n};
    dense_random_vector(&seed, n, quartic.b);
    for (size_t i = 0; i < n; i++)
        x[i] = 100.0;
    assert_int_equal(minimize(&quartic, 5, x, 1e-11, 200).end, BLV_LBFGS_CONVERGED);
    assert_true(distance(n, x, quartic.b) <= 1e-11);
}

static void test_regions_to_avoid(void **state) {
    (void)state;
    for (outside_kind outside = NAN_VALUE; outside <= REFUSAL; outside++) {
        problem p = {.shape = LOG_BARRIER, .n = 8, .outside = outside};
        double x[8];
        for (size_t i = 0; i < 8; i++)
            x[i] = 2.0 + 3.0 * (double)i;
        assert_int_equal(minimize(&p, 5, x, 1e-11, 500).end, BLV_LBFGS_CONVERGED);
        assert_true(p.avoided > 0);
        for (size_t i = 0; i < 8; i++)
            assert_true(fabs(x[i] - 1.0) <= 1e-10);
        x[2] = -1.0;
        assert_int_equal(minimize(&p, 5, x, 1e-11, 500).end,
                         outside == REFUSAL ? BLV_LBFGS_CALLBACK : BLV_LBFGS_NONFINITE);
        assert_true(x[2] == -1.0);
    }
    /* recoverable failures not far from the path */
    for (region_kind region = WHOLE; region <= BOX; region++) {
        uint64_t seed = 25;
        problem p;
        double x[DENSE_MAX], expected[DENSE_MAX];
        random_quadratic(&p, region, 10, 100.0, &seed);
        p.lo = -1e3;
        p.hi = 1e3;
        solve_definite_by_lapack(&p.a, p.b, expected);
        memset(x, 0, sizeof x);
        p.refuse_beyond = 1.0001 * dense_norm(10, expected);
        assert_int_equal(minimize(&p, 5, x, 1e-11, 1000).end, BLV_LBFGS_CONVERGED);
        assert_true(distance(10, x, expected) <= 2e-9);
        assert_true(p.avoided > 0);
        /* refused at the start: handed on, for want of a step to shorten */
        for (size_t i = 0; i < 10; i++)
            x[i] = 900.0;
        blv_lbfgs_result result = minimize(&p, 5, x, 1e-11, 1000);
        assert_int_equal(result.end, BLV_LBFGS_CALLBACK);
        assert_int_equal(result.code, 3);
        assert_int_equal(result.evaluations, 1);
    }
}

/* A valley at 0.002 beside a plateau 1,000 higher, whose slope is hardly above 0: the first trial
 * lands there. */
static int plateau(void *context, const blv_vec *x, double *value, blv_vec *gradient) {
    double z[1], s, wall;
    size_t *calls = context;
    (*calls)++;
    blv_vec_read(x, z);
    wall = 1.0 / (1.0 + exp(-5000.0 * (z[0] - 0.005)));
    *value = 4.0 * (z[0] - 0.002) * (z[0] - 0.002) * (1.0 - wall) + 1000.0 * wall + 1e-4 * z[0];
    s = 5000.0 * wall * (1.0 - wall);
    z[0] = 8.0 * (z[0] - 0.002) * (1.0 - wall) - 4.0 * (z[0] - 0.002) * (z[0] - 0.002) * s +
           1000.0 * s + 1e-4;
    blv_vec_write(gradient, z);
    return 0;
}

static void test_leaves_a_plateau(void **state) {
    (void)state;
    naive_counts counts;
    size_t calls = 0;
    blv_space *space = naive_space(1, &counts);
    blv_lbfgs *lbfgs = NULL;
    blv_vec *x = NULL;
    assert_int_equal(blv_lbfgs_create(&lbfgs, space, 5), BLV_OK);
    assert_int_equal(blv_vec_create(&x, space), BLV_OK);
    const blv_lbfgs_problem handed = {.objective = plateau, .context = &calls};
    blv_lbfgs_result result = blv_lbfgs_minimize(lbfgs, &handed, x, 1e-6, 50);
    double z;
    blv_vec_read(x, &z);
    assert_int_equal(result.end, BLV_LBFGS_CONVERGED);
    assert_true(z > 0.0 && z < 0.0021);
    assert_true(calls < 40);
    blv_vec_destroy(x);
    blv_lbfgs_destroy(lbfgs);
    blv_space_destroy(space);
}

/* Down at a slope of 1 to 0.3, then up by 10 at once: no slope ever bends. */
static int cliff(void *context, const blv_vec *x, double *value, blv_vec *gradient) {
    double z;
    size_t *calls = context;
    (*calls)++;
    blv_vec_read(x, &z);
    *value = -z - 5.0 + (z > 0.3 ? 10.0 : 0.0);
    z = -1.0;
    blv_vec_write(gradient, &z);
    return 0;
}

static void test_ends_before_a_cliff(void **state) {
    (void)state;
    naive_counts counts;
    size_t calls = 0;
    blv_space *space = naive_space(1, &counts);
    blv_lbfgs *lbfgs = NULL;
    blv_vec *x = NULL;
    assert_int_equal(blv_lbfgs_create(&lbfgs, space, 5), BLV_OK);
    assert_int_equal(blv_vec_create(&x, space), BLV_OK);
    const blv_lbfgs_problem handed = {.objective = cliff, .context = &calls};
    blv_lbfgs_start(lbfgs, &handed, x, 0.0);
    blv_lbfgs_result result = blv_lbfgs_iterate(lbfgs);
    double z;
    blv_vec_read(x, &z);
    assert_int_equal(result.iterations, 1);
    assert_true(z > 0.2 && z <= 0.3);
    assert_true(result.value == -z - 5.0);
    assert_true(calls < 14);
    blv_vec_destroy(x);
    blv_lbfgs_destroy(lbfgs);
    blv_space_destroy(space);
}

/* The Nth call fails: its code comes back and x is an accepted iterate. */
static void test_fatal_callbacks(void **state) {
    (void)state;
    uint64_t seed = 26;
    problem p;
    random_quadratic(&p, BALL, 6, 50.0, &seed);
    p.code = -9;
    for (size_t at = 1; at <= 10; at++)
        for (int projecting = 0; projecting < 2; projecting++) {
            double x[6] = {0.1, 0.2, 0.3, 0.0, 0.4, 0.0}, g[6];
            p.fail_at = projecting ? 0 : at;
            p.project_fail_at = projecting ? at : 0;
            blv_lbfgs_result result = minimize(&p, 5, x, -1.0, 1000); /* never satisfied */
            assert_int_equal(result.end, BLV_LBFGS_CALLBACK);
            assert_int_equal(result.code, -9);
            assert_int_equal(projecting ? p.projections : p.evaluations, at);
            if (at > 2)
                assert_true(result.value == value_and_gradient(&p, x, g));
        }
}

/* One at a time is the same as all at once; at the optimum there is nothing to do. */
static void test_single_iterations(void **state) {
    (void)state;
    uint64_t seed = 27;
    for (region_kind region = WHOLE; region <= BALL; region++) {
        problem p;
        naive_counts counts;
        double x[DENSE_MAX], start[DENSE_MAX], at_once[DENSE_MAX];
        random_quadratic(&p, region, 9, 20.0, &seed);
        dense_random_vector(&seed, 9, start);
        memcpy(at_once, start, sizeof start);
        blv_lbfgs_result whole = minimize(&p, 4, at_once, 1e-11, 300);
        assert_int_equal(whole.end, BLV_LBFGS_CONVERGED);

        blv_space *space = naive_space(9, &counts);
        blv_lbfgs *lbfgs = NULL;
        blv_vec *v = NULL;
        const blv_lbfgs_problem handed = callbacks(&p);
        assert_int_equal(blv_lbfgs_create(&lbfgs, space, 4), BLV_OK);
        assert_int_equal(blv_vec_create(&v, space), BLV_OK);
        for (int again = 0; again < 2; again++) { /* a second start knows nothing of the first */
            blv_vec_write(v, start);
            p.evaluations = 0;
            blv_lbfgs_result result = blv_lbfgs_start(lbfgs, &handed, v, 1e-11);
            assert_int_equal(p.evaluations, 1);
            assert_int_equal(result.iterations, 0);
            double before = result.value;
            while (result.end == BLV_LBFGS_ITERATING) {
                const size_t iterations = result.iterations;
                result = blv_lbfgs_iterate(lbfgs);
                assert_int_equal(result.iterations, iterations + 1);
                assert_true(result.value <= before + 1e-10 * fabs(before));
                before = result.value;
            }
            blv_vec_read(v, x);
            assert_memory_equal(x, at_once, 9 * sizeof *x);
            assert_int_equal(result.end, whole.end);
            assert_int_equal(result.iterations, whole.iterations);
            assert_int_equal(result.evaluations, whole.evaluations);
        }
        /* from the optimum */
        blv_lbfgs_result result = blv_lbfgs_minimize(lbfgs, &handed, v, 1e-10, 10);
        assert_int_equal(result.end, BLV_LBFGS_CONVERGED);
        assert_int_equal(result.iterations, 0);
        assert_int_equal(result.evaluations, 1);
        /* a tolerance of nothing ends all the same, near the optimum */
        result = blv_lbfgs_minimize(lbfgs, &handed, v, 0.0, 100000);
        assert_true(result.end == BLV_LBFGS_STALLED || result.stationarity == 0.0);
        assert_true(result.stationarity <= 1e-10 && result.iterations < 1000);
        blv_lbfgs_result repeated = blv_lbfgs_iterate(lbfgs);
        assert_true(repeated.end == result.end || result.end == BLV_LBFGS_CONVERGED);
        blv_vec_destroy(v);
        blv_lbfgs_destroy(lbfgs);
        blv_space_destroy(space);
    }
}

static void test_create(void **state) {
    (void)state;
    naive_counts counts;
    blv_space *space = naive_space(4, &counts);
    blv_lbfgs *lbfgs = NULL;
    for (size_t refuse = 1; refuse <= 11; refuse++) {
        counts = (naive_counts){.refuse = refuse};
        assert_int_equal(blv_lbfgs_create(&lbfgs, space, 3), BLV_E_MEMORY);
        assert_null(lbfgs);
        assert_int_equal(counts.live, 0);
    }
    blv_lbfgs_destroy(NULL);
    blv_space_destroy(space);
}

/* -sum exp(-x_i/2) in a box: it curves down, and the steps of a model that does not know that would
 * grow from one to the next only. `scale` multiplies it, as an objective that becomes another one.
 */
typedef struct falling {
    double scale;
} falling;

static int fall(void *context, const blv_vec *x, double *value, blv_vec *gradient) {
    const falling *p = context;
    double at[3];
    *value = 0.0;
    blv_vec_read(x, at);
    for (size_t i = 0; i < 3; i++) {
        at[i] = p->scale * exp(-0.5 * at[i]);
        *value -= at[i];
        at[i] *= 0.5;
    }
    blv_vec_write(gradient, at);
    return 0;
}

static int fall_into_box(void *context, blv_vec *x) {
    double at[3];
    (void)context;
    blv_vec_read(x, at);
    for (size_t i = 0; i < 3; i++)
        at[i] = fmin(fmax(at[i], -12.0), 30.0);
    blv_vec_write(x, at);
    return 0;
}

static void test_curving_down_in_a_box(void **state) {
    (void)state;
    naive_counts counts;
    falling p = {1.0};
    const blv_lbfgs_problem handed = {fall, fall_into_box, &p};
    blv_space *space = naive_space(3, &counts);
    blv_lbfgs *lbfgs = NULL;
    blv_vec *v = NULL;
    assert_int_equal(blv_lbfgs_create(&lbfgs, space, 4), BLV_OK);
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    blv_vec_write(v, (const double[]){20.0, 21.0, 22.0});
    blv_lbfgs_result r = blv_lbfgs_minimize(lbfgs, &handed, v, 1e-9, 50);
    assert_int_equal(r.end, BLV_LBFGS_CONVERGED);
    assert_true(fabs(r.value + 3.0 * exp(6.0)) < 1e-9 * exp(6.0));

    p.scale = 2.0;
    r = blv_lbfgs_refresh(lbfgs);
    assert_int_equal(r.end, BLV_LBFGS_CONVERGED);
    assert_true(fabs(r.value + 6.0 * exp(6.0)) < 1e-9 * exp(6.0));
    blv_vec_destroy(v);
    blv_lbfgs_destroy(lbfgs);
    blv_space_destroy(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quadratics),
        cmocka_unit_test(test_rosenbrock),
        cmocka_unit_test(test_constrained_quadratics),
        cmocka_unit_test(test_box_by_enumeration),
        cmocka_unit_test(test_other_functions),
        cmocka_unit_test(test_regions_to_avoid),
        cmocka_unit_test(test_leaves_a_plateau),
        cmocka_unit_test(test_ends_before_a_cliff),
        cmocka_unit_test(test_fatal_callbacks),
        cmocka_unit_test(test_curving_down_in_a_box),
        cmocka_unit_test(test_single_iterations),
        cmocka_unit_test(test_create),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
