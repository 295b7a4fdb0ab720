/* How far the solvers come on the quadratic, and how exactly they repeat.
 *
 * The true gradient of Phi is recomputed here from the instance's arrays with LAPACK, and the
 * library's certificate is held against it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/certificate.h"
#include "blv_testing.h"

enum { DIM = 50 };

static double true_gradient(const blv_problem *problem, const blv_run *run) {
    double *x = make_numbers(blv_run_dim(run, "x")),
           *gradient = make_numbers(blv_run_dim(run, "x"));
    read_state(run, "x", x);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    double norm = dense_size(blv_run_dim(run, "x"), gradient);
    free(x);
    free(gradient);
    return norm;
}

/* Steps until the true gradient is at most tol; looks every `every` steps. SIZE_MAX: never. */
static size_t steps_to(const blv_problem *problem, blv_run *run, double tol, size_t limit,
                       size_t every) {
    for (size_t k = 1; k <= limit; k++) {
        step_run(run);
        if (k % every == 0 && true_gradient(problem, run) <= tol)
            return k;
    }
    return SIZE_MAX;
}

static blv_problem *make_quadratic(const char *seed) {
    return make_problem("quadratic",
                        SETTINGS("dx", "50", "dy", "50", "kappa", "100", "seed", seed));
}

/* ---- What the tuning-free solvers must reach ---- */

static void test_s_tfbo(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2"}, *const initial[] = {"0.01", "0.1", "1"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(seeds[i]);
            blv_run *run =
                make_run(p, "s-tfbo", SETTINGS("beta0", initial[k], "gamma0", initial[k]));
            size_t steps = steps_to(p, run, 1e-6, 2000, 10);
            print_message("s-tfbo, seed %s, beta0 = gamma0 = %s: %zu steps to 1e-6\n", seeds[i],
                          initial[k], steps);
            assert_true(steps <= 2000);
            assert_at_most(certify_run(run).grad_norm, 1.0001e-6);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

static void test_s_tfbo_from_far(void **state) {
    (void)state;
    blv_problem *p = make_quadratic("0");
    blv_run *run =
        make_run(p, "s-tfbo", SETTINGS("alpha0", "100", "beta0", "100", "gamma0", "100"));
    size_t steps = steps_to(p, run, 1e-4, 100000, 500);
    print_message("s-tfbo, everything 100: %zu steps to 1e-4\n", steps);
    assert_true(steps <= 100000);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void test_d_tfbo(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2"}, *const initial[] = {"0.01", "1", "100"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(seeds[i]);
            blv_run *run = make_run(p, "d-tfbo",
                                    SETTINGS("iters", "1000", "alpha0", initial[k], "beta0",
                                             initial[k], "gamma0", initial[k]));
            solve_run(run);
            double norm = true_gradient(p, run);
            print_message("d-tfbo, seed %s, T = 1000, everything %s: %.3g\n", seeds[i], initial[k],
                          norm);
            assert_at_most(norm, 2e-2);
            assert_false(has_note(run, "cut off"));
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

/* The same number of steps for every T: what falls is the floor. The mean over five instances,
 * since a loop may end anywhere below its tolerance. */
static void test_d_tfbo_floor(void **state) {
    (void)state;
    static const char *const T[] = {"100", "1000", "10000", "100000000"};
    static const char *const seeds[] = {"0", "1", "2", "3", "4"};
    double before = INFINITY;
    for (size_t i = 0; i < 4; i++) {
        double mean = 0.0;
        for (size_t k = 0; k < 5; k++) {
            blv_problem *p = make_quadratic(seeds[k]);
            blv_run *run = make_run(p, "d-tfbo", SETTINGS("iters", "2000", "T", T[i]));
            solve_run(run);
            mean += true_gradient(p, run) / 5.0;
            assert_at_most(blv_run_result(run)->metrics.gy_norm, 1.0 / sqrt(strtod(T[i], NULL)));
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
        print_message("d-tfbo, 2000 steps, T = %s: %.3g\n", T[i], mean);
        assert_at_most(mean, before / 3.0);
        before = mean;
    }
}

/* ---- exact, against the closed form ---- */

static void test_exact(void **state) {
    (void)state;
    static const char *const shapes[][3] = {
        {"50", "50", "100"}, {"7", "5", "10"}, {"4", "30", "1000"}, {"12", "1", "1"}};
    for (size_t i = 0; i < 4; i++) {
        blv_problem *p =
            make_problem("quadratic", SETTINGS("dx", shapes[i][0], "dy", shapes[i][1], "kappa",
                                               shapes[i][2], "terms", i % 2 ? "6" : "1"));
        size_t dx = blv_problem_definition(p)->dim_x, dy = blv_problem_definition(p)->dim_y;
        double *x = make_numbers(dx), *y = make_numbers(dy), *v = make_numbers(dy);
        double *best_x = make_numbers(dx), *best_y = make_numbers(dy), *best_v = make_numbers(dy);
        blv_run *run = make_run(p, "exact", NULL);
        assert_int_equal(blv_run_start_random(run, 2.0), BLV_OK);
        solve_run(run);
        assert_int_equal(blv_run_result(run)->outcome, BLV_CONVERGED);
        assert_at_most(true_gradient(p, run), 1e-9);
        read_state(run, "x", x);
        read_state(run, "y", y);
        read_state(run, "v", v);
        quadratic_best_x(p, best_x);
        quadratic_truth(p, best_x, best_y, NULL, NULL);
        for (size_t k = 0; k < dy; k++)
            best_v[k] = best_y[k] - array_of(p, "b")[k];
        dense_solve(dy, array_of(p, "A"), best_v);
        assert_at_most(dense_gap(dx, x, best_x), 1e-9 * (1.0 + dense_size(dx, best_x)));
        assert_at_most(dense_gap(dy, y, best_y), 1e-9 * (1.0 + dense_size(dy, best_y)));
        assert_at_most(dense_gap(dy, v, best_v), 1e-9 * (1.0 + dense_size(dy, best_v)));
        double *const all[] = {x, y, v, best_x, best_y, best_v};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            free(all[k]);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* ---- The certificate ---- */

/* |d - grad Phi| and |gy| at the run's x, y, v, from the arrays. */
static void own_figures(const blv_problem *p, const blv_run *run, double *error, double *gy_norm) {
    const double *A = array_of(p, "A"), *C = array_of(p, "C"), *c = array_of(p, "c");
    double x[DIM], y[DIM], v[DIM], gradient[DIM], d[DIM], gy[DIM];
    read_state(run, "x", x);
    read_state(run, "y", y);
    read_state(run, "v", v);
    quadratic_truth(p, x, NULL, NULL, gradient);
    dense_transposed_times(DIM, DIM, C, v, d);
    dense_times(DIM, DIM, C, x, gy);
    for (size_t i = 0; i < DIM; i++) {
        d[i] = *array_of(p, "ridge") * x[i] - d[i];
        gy[i] += c[i] + dense_inner(DIM, A + i * DIM, y);
    }
    *error = dense_gap(DIM, d, gradient);
    *gy_norm = dense_size(DIM, gy);
}

static void test_certificate(void **state) {
    (void)state;
    static const char *const solvers[] = {"s-tfbo", "d-tfbo", "aid-cg", "soba"};
    for (size_t k = 0; k < 4; k++) {
        blv_problem *p = make_quadratic("5");
        blv_run *run = make_run(p, solvers[k], NULL);
        assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
        for (int t = 0; t < 60; t++) {
            step_run(run);
            if (t % 20 > 0)
                continue;
            double x[DIM], phi, error, gy_norm, norm = true_gradient(p, run);
            blv_certificate certificate = certify_run(run);
            read_state(run, "x", x);
            quadratic_truth(p, x, NULL, &phi, NULL);
            own_figures(p, run, &error, &gy_norm);
            assert_near(certificate.grad_norm, norm, 1e-10 * (1.0 + norm));
            assert_near(certificate.phi, phi, 1e-10 * (1.0 + phi));
            assert_near(certificate.estimate_error, error, 1e-10 * (1.0 + error));
            assert_near(certificate.inner_residual, gy_norm, 1e-10 * (1.0 + gy_norm));
            assert_true(certificate.tight && !certificate.singular && !certificate.projected);
            assert_at_most(certificate.solve_residual, 1e-10);
            assert_at_most(certificate.linear_residual, 1e-10);
        }
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* ---- A badly scaled problem ---- */

static const char note[] = "steps have collapsed";

static void test_badly_scaled(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "50", "dy", "50", "eigen_min", "0.1",
                                                        "kappa", "10", "scale", "1"));
    blv_run *plain = make_run(p, "s-tfbo", SETTINGS("iters", "100000"));
    blv_run *scaled = make_run(p, "s-tfbo", SETTINGS("iters", "10000", "scale", "auto"));
    double before = true_gradient(p, plain);
    solve_run(plain);
    solve_run(scaled);
    double after_plain = true_gradient(p, plain), after_scaled = true_gradient(p, scaled);
    print_message("badly scaled: %.4g; plain, 100000 steps: %.4g; scale=auto, 10000: %.4g\n",
                  before, after_plain, after_scaled);
    assert_true(after_plain > before / 2.0);
    assert_true(after_plain < before);
    assert_true(has_note(plain, note));
    assert_true(has_note(plain, "scale=auto"));
    assert_at_most(after_scaled, before / 100.0);
    assert_false(has_note(scaled, note));
    blv_run_destroy(plain);
    blv_run_destroy(scaled);
    blv_problem_destroy(p);
}

/* The note is not made where the steps are well. */
static void test_no_note_when_well_scaled(void **state) {
    (void)state;
    blv_problem *p = make_quadratic("0");
    blv_run *run = make_run(p, "s-tfbo", SETTINGS("iters", "5000"));
    solve_run(run);
    assert_false(has_note(run, note));
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- float against double ---- */

/* Roundings of 6e-8 relative to numbers of size up to |A| |y| = 100 |y| move y*, v and x by at most
 * kappa times that: 1e-5 of their size. */
static void test_float_against_double(void **state) {
    (void)state;
    const struct {
        const char *solver;
        const char *const *settings;
    } cases[] = {
        {"s-tfbo", SETTINGS("iters", "2000")},
        {"aid-cg", SETTINGS("iters", "300", "step_x", "0.3", "step_y", "0.01")},
        {"soba", SETTINGS("iters", "300", "step_x", "0.1", "step_y", "0.01", "step_v", "0.01")},
        {"exact", SETTINGS("iters", "50", "accuracy", "1e-6")}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double x[2][DIM] = {{0}}, y[2][DIM] = {{0}}, gradient[DIM] = {0};
        for (int single = 0; single < 2; single++) {
            blv_problem *p =
                make_problem_as("quadratic", SETTINGS("seed", "3"), single ? BLV_F32 : BLV_F64, 1);
            blv_run *run = make_run(p, cases[k].solver, cases[k].settings);
            solve_run(run);
            assert_true(blv_run_result(run)->outcome > BLV_DIVERGED);
            read_state(run, "x", x[single]);
            read_state(run, "y", y[single]);
            quadratic_truth(p, x[single], NULL, NULL, gradient);
            double norm = dense_size(DIM, gradient);
            assert_near(certify_run(run).grad_norm, norm, (single ? 1e-5 : 1e-10) * (1.0 + norm));
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
        double off_x = dense_gap(DIM, x[0], x[1]), off_y = dense_gap(DIM, y[0], y[1]);
        print_message("%s: f32 off by %.2g in x, %.2g in y\n", cases[k].solver, off_x, off_y);
        assert_at_most(off_x, 1e-5 * (1.0 + dense_size(DIM, x[0])));
        assert_at_most(off_y, 1e-5 * (1.0 + dense_size(DIM, y[0])));
        assert_true(off_x > 0.0); /* f32 was really used */
    }
}

/* ---- Same bits ---- */

/* x of a run with this many threads, to be freed. */
static double *x_with_threads(const char *problem, const char *const *problem_settings,
                              blv_precision precision, int threads, const char *solver,
                              const char *const *settings) {
    blv_problem *p = make_problem_as(problem, problem_settings, precision, threads);
    assert_int_equal(blv_space_threads(blv_problem_definition(p)->space_x), threads);
    blv_run *run = make_run(p, solver, settings);
    assert_int_equal(blv_run_start_random(run, 0.1), BLV_OK);
    solve_run(run);
    double *x = make_numbers(blv_run_dim(run, "x"));
    read_state(run, "x", x);
    blv_run_destroy(run);
    blv_problem_destroy(p);
    return x;
}

static void check_bits(const char *problem, const char *const *problem_settings, size_t dim,
                       blv_precision precision, const char *solver, const char *const *settings) {
    double *one = x_with_threads(problem, problem_settings, precision, 1, solver, settings);
    for (int threads = 2; threads <= 3; threads++) {
        double *more =
            x_with_threads(problem, problem_settings, precision, threads, solver, settings);
        assert_memory_equal(one, more, dim * sizeof *one);
        free(more);
    }
    free(one);
}

/* Vectors longer than 2^19 are worked on by all threads; the odd end is a short chunk. */
static void test_bits_with_long_vectors(void **state) {
    (void)state;
    const size_t dim = 600011;
    const char *const *shift = SETTINGS("dim", "600011");
    check_bits("pl-shift", shift, dim, BLV_F64, "s-tfbo", SETTINGS("iters", "3"));
    check_bits("pl-shift", shift, dim, BLV_F32, "s-tfbo", SETTINGS("iters", "2"));
    check_bits("pl-shift", shift, dim, BLV_F64, "d-tfbo",
               SETTINGS("iters", "1", "inner", "fixed", "n_y", "2", "n_v", "2"));
    check_bits(
        "pl-shift", shift, dim, BLV_F64, "aid-cg",
        SETTINGS("iters", "1", "inner", "1", "linear", "3", "step_x", "0.1", "step_y", "0.1"));
}

static void test_bits_with_batches(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    const char *const *sum = SETTINGS("dx", "20", "dy", "30", "terms", "37");
    double *x[3];
    for (size_t k = 0; k < 3; k++) {
        const char *const *settings =
            SETTINGS("iters", "40", "batch", "5", "sampler", samplers[k], "seed", "2");
        check_bits("quadratic", sum, 20, BLV_F64, "s-tfbo", settings);
        check_bits("quadratic", sum, 20, BLV_F64, "soba", settings);
        x[k] = x_with_threads("quadratic", sum, BLV_F64, 1, "s-tfbo", settings);
    }
    assert_memory_not_equal(x[0], x[1], 20 * sizeof(double));
    assert_memory_not_equal(x[0], x[2], 20 * sizeof(double));
    assert_memory_not_equal(x[1], x[2], 20 * sizeof(double));
    for (size_t k = 0; k < 3; k++)
        free(x[k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s_tfbo),
        cmocka_unit_test(test_s_tfbo_from_far),
        cmocka_unit_test(test_d_tfbo),
        cmocka_unit_test(test_d_tfbo_floor),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_certificate),
        cmocka_unit_test(test_badly_scaled),
        cmocka_unit_test(test_no_note_when_well_scaled),
        cmocka_unit_test(test_float_against_double),
        cmocka_unit_test(test_bits_with_long_vectors),
        cmocka_unit_test(test_bits_with_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
