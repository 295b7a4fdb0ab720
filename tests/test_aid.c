/* The AID and ITD family: oracle counts, untouched defaults, limits, memory and divergence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

/* ---- Costs ---- */

static void count_steps(const char *solver, const char *const *settings, const char *terms,
                        uint64_t batch, const blv_counts *each, size_t count) {
    blv_problem *inner =
        make_problem("quadratic", SETTINGS("dx", "6", "dy", "20", "kappa", "30", "terms", terms));
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run = make_run(watched, solver, settings);
    blv_counts sum = {0, 0, 0, 0, 0};
    for (size_t t = 0; t < count; t++) {
        step_run(run);
        sum.f_grad += batch * each[t].f_grad;
        sum.g_grad += batch * each[t].g_grad;
        sum.hvp += batch * each[t].hvp;
        sum.cross += batch * each[t].cross;
        assert_counts_equal(watch.counts, sum);
        assert_counts_equal(blv_run_result(run)->counts, sum);
        assert_counts_equal(blv_run_result(run)->setup_counts, (blv_counts){0, 0, 0, 0, 0});
    }
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

#define STEPS "step_x", "0.1", "step_y", "0.02"

/* The same in every iteration, on the whole sum of 8 terms and on batches of 3. */
static void check_costs(const char *solver, const char *const *settings,
                        const char *const *on_batches, blv_counts each) {
    blv_counts all[17];
    for (size_t t = 0; t < 17; t++)
        all[t] = each;
    count_steps(solver, settings, "8", 8, all, 17);
    count_steps(solver, on_batches, "30", 3, all, 17);
}

#define BOTH(...) SETTINGS(__VA_ARGS__), SETTINGS(__VA_ARGS__, "batch", "3")

static void test_costs(void **state) {
    (void)state;
    check_costs("aid-fp", BOTH(STEPS, "step_v", "0.02"), (blv_counts){1, 10, 10, 1, 0});
    check_costs("aid-fp", BOTH(STEPS, "step_v", "0.02", "inner", "3", "linear", "7"),
                (blv_counts){1, 3, 7, 1, 0});
    check_costs("bcsr", BOTH(STEPS, "step_v", "0.02"), (blv_counts){1, 5, 3, 1, 0});
    check_costs("bcsr", BOTH(STEPS, "step_v", "0.02", "inner", "2", "linear", "7"),
                (blv_counts){1, 2, 7, 1, 0});
    check_costs("amigo", BOTH(STEPS, "step_v", "0.02", "inner", "4", "linear", "1"),
                (blv_counts){1, 4, 1, 1, 0});
    check_costs("aid-neumann", BOTH(STEPS, "eta", "0.02", "inner", "4", "linear", "6"),
                (blv_counts){1, 4, 6, 1, 0});
    check_costs("aid-neumann", BOTH(STEPS, "eta", "0.02", "inner", "1", "linear", "0"),
                (blv_counts){1, 1, 0, 1, 0});
    check_costs("t1-t2", BOTH(STEPS, "eta", "0.02", "inner", "5"), (blv_counts){1, 5, 0, 1, 0});
    check_costs("itd", BOTH(STEPS, "inner", "9"), (blv_counts){1, 9, 9, 9, 0});
    check_costs("itd", BOTH(STEPS, "inner", "9", "K0", "4"), (blv_counts){1, 9, 4, 4, 0});
    check_costs("itd", BOTH(STEPS, "inner", "9", "K0", "20"), (blv_counts){1, 9, 9, 9, 0});
    check_costs("itd", BOTH(STEPS, "inner", "9", "K0", "4", "momentum", "0.5"),
                (blv_counts){1, 9, 4, 4, 0});
}

/* ceil(c (k+1)^(1/4)) for c = 2: 16^(1/4) is 2, so 2, then 3 up to k = 4, then 4 up to k = 15. */
static void test_costs_of_ba_cg(void **state) {
    (void)state;
    blv_counts each[17];
    for (size_t k = 0; k < 17; k++)
        each[k] = (blv_counts){1, k == 0 ? 2 : k <= 4 ? 3 : k <= 15 ? 4 : 5, 3, 1, 0};
    count_steps("ba-cg", SETTINGS(STEPS, "c", "2", "linear", "3"), "8", 8, each, 17);
    count_steps("ba-cg", SETTINGS(STEPS, "c", "2", "linear", "3", "batch", "3"), "30", 3, each, 17);
}

/* ---- Untouched defaults ---- */

static double true_gradient(const blv_problem *problem, const double *x) {
    size_t dx = blv_problem_definition(problem)->dim_x;
    double *gradient = make_numbers(dx);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    double norm = dense_size(dx, gradient);
    free(gradient);
    return norm;
}

static const char *const kappas[] = {"2", "20", "100"}, *const seeds[] = {"0", "1", "2"};
static const char *const sizes[][2] = {{"2", "2"}, {"7", "30"}, {"30", "7"}, {"60", "60"}};

static blv_problem *instance(size_t kappa, size_t size, size_t seed, const char *terms,
                             blv_precision precision) {
    return make_problem_as("quadratic",
                           SETTINGS("dx", sizes[size][0], "dy", sizes[size][1], "kappa",
                                    kappas[kappa], "seed", seeds[seed], "terms", terms),
                           precision, 1);
}

/* The largest |grad Phi| at the end, relative to the start at zero. */
static double worst_ratio(const char *solver, const char *iters, size_t kappa, const char *terms,
                          const char *batch, blv_precision precision) {
    double worst = 0.0, zero[60] = {0.0}, x[60];
    for (size_t size = 0; size < 4; size++)
        for (size_t seed = 0; seed < 3; seed++) {
            blv_problem *p = instance(kappa, size, seed, terms, precision);
            blv_run *run = make_run(p, solver, SETTINGS("iters", iters, "batch", batch));
            solve_run(run);
            if (blv_run_result(run)->outcome != BLV_LIMIT_ITERATIONS)
                fail_msg("%s: %s", solver, blv_run_message(run));
            read_state(run, "x", x);
            worst = fmax(worst, true_gradient(p, x) / true_gradient(p, zero));
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
    return worst;
}

static const struct {
    const char *solver, *iters;
} defaults[] = {{"aid-fp", "100"}, {"amigo", "100"},       {"bcsr", "300"},
                {"ba-cg", "700"},  {"aid-neumann", "100"}, {"itd", "20"}};
enum { DEFAULTS = sizeof defaults / sizeof *defaults };

static void test_defaults(void **state) {
    (void)state;
    for (size_t k = 0; k < DEFAULTS; k++)
        for (size_t kappa = 0; kappa < 3; kappa++) {
            double worst =
                worst_ratio(defaults[k].solver, defaults[k].iters, kappa, "1", "auto", BLV_F64);
            print_message("%s, kappa %s, %s iterations: %.3g\n", defaults[k].solver, kappas[kappa],
                          defaults[k].iters, worst);
            assert_at_most(worst, 0.1);
        }
}

static void test_defaults_in_single_precision(void **state) {
    (void)state;
    for (size_t k = 0; k < DEFAULTS; k++)
        assert_at_most(worst_ratio(defaults[k].solver, defaults[k].iters, 1, "1", "auto", BLV_F32),
                       0.1);
}

static bool few_steps(const char *solver) {
    return strcmp(solver, "ba-cg") == 0 || strcmp(solver, "bcsr") == 0;
}

/* On batches of a tenth the noise stays, but nothing grows. */
static void test_defaults_on_batches(void **state) {
    (void)state;
    for (size_t k = 0; k < DEFAULTS; k++)
        for (size_t kappa = 0; kappa < 3; kappa++)
            assert_at_most(worst_ratio(defaults[k].solver, "50", kappa, "100", "10", BLV_F64),
                           few_steps(defaults[k].solver) ? 1.0 : 0.7);
}

/* H = data + diag(exp(x)): as x moves, the constants of the start become wrong. */
static void test_logistic_on_batches(void **state) {
    (void)state;
    static const char *const solvers[] = {"amigo", "soba"};
    for (size_t i = 0; i < 4; i++) {
        blv_problem *p = make_problem("synthetic-logistic", SETTINGS("seed", seeds[i / 2]));
        blv_run *run = make_run(p, solvers[i % 2], SETTINGS("iters", "3000", "seed", seeds[i / 2]));
        double start = certify_run(run).grad_norm;
        solve_run(run);
        if (blv_run_result(run)->outcome != BLV_LIMIT_ITERATIONS)
            fail_msg("%s: %s", solvers[i % 2], blv_run_message(run));
        assert_at_most(certify_run(run).grad_norm, 0.6 * start);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

static double parameter(const blv_run *run, const char *key) {
    char text[64];
    const blv_param *param = blv_params_find(blv_run_solver(run)->params, key);
    assert_non_null(param);
    blv_params_format(param, blv_run_solver_fields(run), text, sizeof text);
    return strtod(text, NULL);
}

/* Where fx - eta J fy is zero: (ridge I + eta C'A^-1 C) x = -eta C'(A^-1 c + b). */
static void one_step_limit(const blv_problem *p, double eta, double *x) {
    size_t dx = blv_problem_definition(p)->dim_x, dy = blv_problem_definition(p)->dim_y;
    const double *A = array_of(p, "A"), *C = array_of(p, "C");
    double *m = make_numbers(dx * dx), *column = make_numbers(dy), *row = make_numbers(dx);
    for (size_t j = 0; j < dx; j++) {
        for (size_t i = 0; i < dy; i++)
            column[i] = C[i * dx + j];
        dense_solve(dy, A, column);
        dense_transposed_times(dy, dx, C, column, row);
        for (size_t k = 0; k < dx; k++)
            m[j * dx + k] = eta * row[k] + (j == k ? *array_of(p, "ridge") : 0.0);
    }
    memcpy(column, array_of(p, "c"), dy * sizeof *column);
    dense_solve(dy, A, column);
    for (size_t i = 0; i < dy; i++)
        column[i] = -eta * (column[i] + array_of(p, "b")[i]);
    dense_transposed_times(dy, dx, C, column, x);
    dense_solve(dx, m, x);
    free(m);
    free(column);
    free(row);
}

/* t1-t2 goes to a point of its own. For small kappa that is a good one; for large kappa eta fy is
 * so far from H^-1 fy that no eta would do. */
static void test_t1_t2(void **state) {
    (void)state;
    double zero[60] = {0.0}, x[60], limit[60];
    for (size_t kappa = 0; kappa < 3; kappa++)
        for (size_t size = 0; size < 4; size++)
            for (size_t seed = 0; seed < 3; seed++) {
                blv_problem *p = instance(kappa, size, seed, "1", BLV_F64);
                size_t dx = blv_problem_definition(p)->dim_x;
                blv_run *run = make_run(p, "t1-t2", SETTINGS("iters", "400"));
                solve_run(run);
                read_state(run, "x", x);
                one_step_limit(p, parameter(run, "eta"), limit);
                assert_at_most(dense_gap(dx, x, limit), 1e-8 * (1.0 + dense_size(dx, limit)));
                assert_at_most(true_gradient(p, x),
                               (kappa == 0 ? 0.6 : 1.0) * true_gradient(p, zero));
                blv_run_destroy(run);
                blv_problem_destroy(p);
            }
}

/* The bias that the page of the solver names: with K products at most (1 - mu eta)^K of v, in the
 * directions where g is flattest; here for one direction, where it is exact. */
static void test_neumann_bias(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "1", "dy", "1", "kappa", "1"));
    blv_run *run = make_run(
        p, "aid-neumann",
        SETTINGS("step_x", "0.5", "step_y", "1", "eta", "0.1", "linear", "6", "iters", "200"));
    double x, v, y, exact;
    solve_run(run);
    read_state(run, "x", &x);
    read_state(run, "y", &y);
    read_state(run, "v", &v);
    exact = (y - *array_of(p, "b")) / *array_of(p, "A");
    assert_near(v, (1.0 - pow(0.9, 7.0)) * exact, 1e-12);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- Memory ---- */

static size_t memory_of(const blv_problem *p, const char *inner, const char *back,
                        const char *note) {
    blv_run *run = make_run(p, "itd", SETTINGS("inner", inner, "K0", back));
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_true(has_note(run, note));
    size_t bytes = blv_run_memory(run);
    blv_run_destroy(run);
    return bytes;
}

static void test_trajectory_memory(void **state) {
    (void)state;
    blv_problem *p = make_problem("pl-shift", SETTINGS("dim", "10000"));
    size_t point = blv_space_vec_bytes(blv_problem_definition(p)->space_y);
    size_t all = memory_of(p, "40", "auto", "room for 40 points of y besides the last: 3.2");
    size_t some = memory_of(p, "40", "5", "room for 5 points of y besides the last: 0.4");
    assert_in_range(all - some, 35 * point, 35 * (point + 128));
    assert_int_equal(memory_of(p, "90", "5", "room for 5 points"), some);
    blv_problem_destroy(p);
    /* automatic: at most 256 MB, but ten steps in any case */
    p = make_problem("pl-shift", SETTINGS("dim", "1000000"));
    memory_of(p, "auto", "auto", "room for 3");
    blv_problem_destroy(p);
}

/* A trajectory without end is refused; a long way there with a short way back is not. */
static void test_too_long_a_trajectory(void **state) {
    (void)state;
    blv_problem *p = make_problem("pl-shift", NULL);
    blv_run *run = make_run(p, "itd", SETTINGS("inner", "4e15"));
    assert_int_equal(blv_run_open(run), BLV_E_VALUE);
    assert_non_null(strstr(blv_run_message(run), "4000000000000000 points"));
    assert_non_null(strstr(blv_run_message(run), "K0"));
    blv_run_destroy(run);
    run = make_run(p, "itd", SETTINGS("inner", "4e15", "K0", "3"));
    assert_int_equal(blv_run_open(run), BLV_OK);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- Steps that are too long ---- */

static void check_divergence(const char *solver, const char *key, const char *value) {
    blv_problem *p =
        make_problem("quadratic", SETTINGS("dx", "6", "dy", "8", "kappa", "10", "scale", "1"));
    blv_run *run = make_run(p, solver, SETTINGS("iters", "5000", key, value));
    double x[6], y[8];
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    solve_run(run);
    if (blv_run_result(run)->outcome != BLV_DIVERGED)
        fail_msg("%s with %s = %s: %s", solver, key, value, blv_run_message(run));
    assert_non_null(strstr(blv_run_message(run), blv_run_solver(run)->hint));
    assert_non_null(strstr(blv_run_solver(run)->hint, key));
    read_state(run, "x", x);
    read_state(run, "y", y);
    assert_true(isfinite(dense_size(6, x)) && isfinite(dense_size(8, y)));
    if (blv_run_dim(run, "v") > 0) {
        read_state(run, "v", y);
        assert_true(isfinite(dense_size(8, y)));
    }
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void test_divergence(void **state) {
    (void)state;
    static const char *const solvers[] = {"ba-cg",       "aid-fp", "amigo", "bcsr",
                                          "aid-neumann", "t1-t2",  "itd"};
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
        check_divergence(solvers[i], "step_x", "500");
        check_divergence(solvers[i], "step_y", "0.3");
    }
    check_divergence("aid-fp", "step_v", "0.3");
    check_divergence("amigo", "step_v", "0.3");
    check_divergence("bcsr", "step_v", "0.3");
    check_divergence("aid-neumann", "eta", "1e9");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_costs_of_ba_cg),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_defaults_in_single_precision),
        cmocka_unit_test(test_defaults_on_batches),
        cmocka_unit_test(test_logistic_on_batches),
        cmocka_unit_test(test_t1_t2),
        cmocka_unit_test(test_neumann_bias),
        cmocka_unit_test(test_trajectory_memory),
        cmocka_unit_test(test_too_long_a_trajectory),
        cmocka_unit_test(test_divergence),
    };
    leave_out_under_sanitizers("test_defaults*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
