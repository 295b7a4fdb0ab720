/* The MGBiO family: oracle counts, nonconvex lower levels, representations and sizes. */
#include "mgbio_testing.h"

/* ---- Counts ---- */

enum { DX = 6, DY = 20, COUNTED = 9 };

/* What one step costs, in products for each sample: t is the iteration. */
typedef blv_counts (*cost_fn)(uint64_t t);

static void check_costs(const char *solver, const char *const *settings, int hidden, cost_fn cost) {
    static const char *const terms[] = {"1", "8"};
    for (uint64_t i = 0; i < 2; i++) {
        blv_problem *inner = make_problem(
            "quadratic", SETTINGS("dx", "6", "dy", "20", "kappa", "30", "terms", terms[i]));
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, hidden);
        blv_run *run = make_run(watched, solver, settings);
        assert_int_equal(blv_run_set(run, "batch", i == 0 ? "full" : "2"), BLV_OK);
        blv_counts sum = {0, 0, 0, 0, 0};
        uint64_t size = i == 0 ? 1 : 2;
        for (uint64_t t = 0; t < COUNTED; t++) {
            step_run(run);
            blv_counts one = cost(t);
            sum = (blv_counts){sum.f_grad + size * one.f_grad, sum.g_grad + size * one.g_grad,
                               sum.hvp + size * one.hvp, sum.cross + size * one.cross, 0};
            assert_counts_equal(watch.counts, sum);
            assert_counts_equal(blv_run_result(run)->counts, sum);
            assert_counts_equal(blv_run_result(run)->setup_counts, (blv_counts){0, 0, 0, 0, 0});
        }
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

static blv_counts four_products(uint64_t t) {
    (void)t;
    return (blv_counts){1, 1, 4, 1, 0};
}

static blv_counts dense_H(uint64_t t) {
    (void)t;
    return (blv_counts){1, 1, DY, 1, 0};
}

static blv_counts dense_both(uint64_t t) {
    (void)t;
    return (blv_counts){1, 1, DY, DY, 0};
}

static blv_counts dense_both_twice(uint64_t t) {
    uint64_t points = t == 0 ? 1 : 2;
    return (blv_counts){points, points, points * DY, points * DY, 0};
}

enum { WINDOW = 4, PRODUCTS = 3 };

static blv_counts window_of_averages(uint64_t t) {
    uint64_t terms = t + 1 < WINDOW ? t + 1 : WINDOW;
    return (blv_counts){1, 1, PRODUCTS * terms, terms, 0};
}

static blv_counts window_of_recursion(uint64_t t) {
    uint64_t points = t == 0 ? 1 : 2, terms = 2 * (t + 1 < WINDOW ? t + 1 : WINDOW) - 1;
    return (blv_counts){points, points, PRODUCTS * terms, terms, 0};
}

#define STEPS "gamma", "0.1", "lambda", "0.02"
#define SCHEDULE STEPS, "k", "3", "m", "10"

static void test_counts(void **state) {
    (void)state;
    const char *const *few = SETTINGS(STEPS, "products", "4", "tolerance", "0");
    const char *const *window = SETTINGS(SCHEDULE, "representation", "operator", "window", "4",
                                         "products", "3", "tolerance", "0");
    const char *const *dense = SETTINGS(SCHEDULE, "representation", "explicit");
    for (int hidden = 0; hidden <= SPY_HIDES_ALL; hidden += SPY_HIDES_ALL) {
        check_costs("mgbio", few, hidden, four_products);
        check_costs("mgbio", SETTINGS(STEPS, "linear", "explicit"), hidden, dense_H);
        check_costs("msgbio", dense, hidden, dense_both);
        check_costs("vr-msgbio", dense, hidden, dense_both_twice);
        check_costs("msgbio", window, hidden, window_of_averages);
        check_costs("vr-msgbio", window, hidden, window_of_recursion);
    }
}

/* A matrix that the problem hands out counts as its products would, and is the same to the bit. */
static void test_matrices_of_the_problem(void **state) {
    (void)state;
    blv_problem *own = make_problem("pl-shift", SETTINGS("dim", "8"));
    spy watch;
    blv_problem *products = spy_on(&watch, own, 0);
    for (size_t k = 0; k < 3; k++) {
        const char *const *settings = k == 0
                                          ? SETTINGS("iters", "20", "linear", "explicit")
                                          : SETTINGS("iters", "20", "representation", "explicit");
        blv_run *a = make_run(own, family[k], settings),
                *b = make_run(products, family[k], settings);
        double x[2][8];
        assert_int_equal(blv_run_start_random(a, 1.0), BLV_OK);
        assert_int_equal(blv_run_start_random(b, 1.0), BLV_OK);
        solve_run(a);
        solve_run(b);
        read_state(a, "x", x[0]);
        read_state(b, "x", x[1]);
        assert_memory_equal(x[0], x[1], sizeof x[0]);
        assert_counts_equal(blv_run_result(a)->counts, blv_run_result(b)->counts);
        blv_run_destroy(a);
        blv_run_destroy(b);
    }
    blv_problem_destroy(products);
    blv_problem_destroy(own);
    spy_free(&watch);
}

/* ---- Lower levels that are not convex ---- */

/* Ends at one of the three local minima from everywhere; at some starts H is negative. */
static void test_pl_sine(void **state) {
    (void)state;
    static const double minima[] = {0.38236, 1.21515, 2.82964};
    static const double offsets[] = {0.0, 1.0, -1.6, 3.3, -4.5};
    blv_problem *p = make_problem("pl-sine", NULL);
    for (size_t k = 0; k < 3; k++) {
        size_t reached[3] = {0};
        for (int i = 0; i <= 30; i++)
            for (size_t j = 0; j < 6; j++) {
                double x = 0.1 * i, y = j < 5 ? offsets[j] - x : 0.0;
                blv_run *run = make_run(p, family[k], SETTINGS("iters", "500"));
                write_state(run, "x", &x);
                write_state(run, "y", &y);
                solve_run(run);
                double at_x, at_y;
                read_state(run, "x", &at_x);
                read_state(run, "y", &at_y);
                size_t which = at_x < 0.8 ? 0 : at_x < 2.0 ? 1 : 2;
                if (fabs(at_x - minima[which]) > 1e-4 || fabs(at_x + at_y) > 1e-4)
                    fail_msg("%s from (%g, %g): at (%g, %g)", family[k], x, y, at_x, at_y);
                reached[which]++;
                blv_run_destroy(run);
            }
        print_message("%s on pl-sine: %zu, %zu and %zu runs at the minima\n", family[k], reached[0],
                      reached[1], reached[2]);
        assert_true(reached[0] > 0 && reached[1] > 0 && reached[2] > 0);
    }
    blv_problem_destroy(p);
}

/* x = (a+b)/2 and y = x, from zero and from random starts, in any dimension. */
static void test_pl_shift(void **state) {
    (void)state;
    static const struct {
        const char *dim, *iterations;
    } sizes[] = {{"1", "800"}, {"10", "800"}, {"1000", "400"}};
    for (size_t s = 0; s < 3; s++) {
        blv_problem *p = make_problem("pl-shift", SETTINGS("dim", sizes[s].dim, "seed", "3"));
        size_t dim = blv_problem_definition(p)->dim_x;
        const double *a = array_of(p, "a"), *b = array_of(p, "b");
        double *x = make_numbers(dim), *y = make_numbers(dim), *best = make_numbers(dim);
        for (size_t i = 0; i < dim; i++)
            best[i] = 0.5 * (a[i] + b[i]);
        for (size_t k = 0; k < 3; k++)
            for (int start = 0; start < 3; start++) {
                if (s == 2 && k > 0 && start > 0)
                    continue; /* the same, but slow */
                const char *iterations = s == 2 && k > 0 ? "150" : sizes[s].iterations;
                blv_run *run = make_run(p, family[k], SETTINGS("iters", iterations));
                assert_int_equal(blv_run_start_random(run, 2.0 * start), BLV_OK);
                solve_run(run);
                read_state(run, "x", x);
                read_state(run, "y", y);
                double off = fmax(dense_gap(dim, x, best), dense_gap(dim, y, best));
                print_message("%s on pl-shift, %s, start %d: off by %.2g\n", family[k],
                              sizes[s].dim, start, off);
                assert_at_most(off, s == 2 && k > 0 ? 1e-3 : 1e-6);
                blv_run_destroy(run);
            }
        free(x);
        free(y);
        free(best);
        blv_problem_destroy(p);
    }
}

/* H = 0 at the start: the run goes on, says so, and ends where it should. */
static void test_singular_once(void **state) {
    (void)state;
    blv_problem *p = make_problem("pl-sine", NULL);
    double x = 1.0, y = acos(-1.0) / 2.0 - 1.0;
    for (size_t k = 0; k < 4; k++) {
        const char *const *settings =
            k == 3 ? SETTINGS("iters", "500", "gamma", "0.02", "lambda", "0.2", "linear", "minres")
                   : SETTINGS("iters", "500", "gamma", "0.02", "lambda", "0.2", "output", "last");
        blv_run *run = make_run(p, family[k % 3], settings);
        write_state(run, "x", &x);
        write_state(run, "y", &y);
        solve_run(run);
        assert_true(ended_well(run));
        assert_true(has_note(run, "singular"));
        assert_at_most(certify_run(run).grad_norm, 1e-6);
        blv_run_destroy(run);
    }
    blv_problem_destroy(p);
}

static int flat_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      double *f, blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    if (f)
        *f = blv_vec_at(y, 0) + blv_vec_at(y, 1) + blv_vec_at(x, 0);
    blv_vec_put(fx, 0, 1.0);
    blv_vec_put(fy, 0, 1.0);
    blv_vec_put(fy, 1, 1.0);
    return 0;
}

/* g = (y_0 - x)^2/2, whatever y_1 is */
static int flat_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      double *g, blv_vec *gx, blv_vec *gy) {
    (void)user;
    (void)batch;
    double t = blv_vec_at(y, 0) - blv_vec_at(x, 0);
    if (g)
        *g = 0.5 * t * t;
    blv_vec_put(gx, 0, -t);
    blv_vec_put(gy, 0, t);
    blv_vec_put(gy, 1, 0.0);
    return 0;
}

/* Where H stays singular and the system has no solution, the run ends and says so. */
static void test_singular_for_good(void **state) {
    (void)state;
    blv_message why;
    blv_problem *p = NULL;
    const blv_problem_def def = {BLV_SIZED(blv_problem_def), .dim_x = 1, .dim_y = 2,
                                 .upper = flat_upper, .lower = flat_lower};
    assert_int_equal(blv_problem_create(&p, &def, &why), BLV_OK);
    for (size_t k = 0; k < 5; k++) {
        const char *const *settings =
            k < 3 ? SETTINGS("iters", "200", "gamma", "0.01", "lambda", "1")
            : k == 3
                ? SETTINGS("iters", "200", "gamma", "0.01", "lambda", "1", "linear", "explicit")
                : SETTINGS("iters", "200", "gamma", "0.01", "lambda", "1", "representation",
                           "operator", "k", "1", "m", "1");
        blv_run *run = make_run(p, k == 3 ? "mgbio" : k == 4 ? "msgbio" : family[k], settings);
        if (k == 1 || k == 2) { /* no estimates, which would meet the singular H themselves */
            assert_int_equal(blv_run_set(run, "k", "1"), BLV_OK);
            assert_int_equal(blv_run_set(run, "m", "1"), BLV_OK);
        }
        solve_run(run);
        assert_int_equal(blv_run_result(run)->outcome, BLV_SINGULAR);
        assert_true(blv_run_result(run)->iterations >= 10);
        assert_true(blv_run_result(run)->iterations <= 30);
        blv_run_destroy(run);
    }
    blv_problem_destroy(p);
}

/* ---- Two representations ---- */

static void compare_forms(const blv_problem *p, const char *solver, const char *batch,
                          double start) {
    enum { ITERATIONS = 60, DIM = 16 };
    double x[2][DIM], y[2][DIM];
    blv_run *runs[2];
    for (int form = 0; form < 2; form++) {
        runs[form] = make_run(p, solver,
                              SETTINGS("batch", batch, "sampler", "iid", "window", "60", "products",
                                       "500", "tolerance", "1e-15", "gamma", "0.01", "lambda",
                                       "0.02", "representation", form ? "operator" : "explicit"));
        assert_int_equal(blv_run_start_random(runs[form], start), BLV_OK);
    }
    for (int t = 0; t < ITERATIONS; t++) {
        for (int form = 0; form < 2; form++) {
            step_run(runs[form]);
            read_state(runs[form], "x", x[form]);
            read_state(runs[form], "y", y[form]);
        }
        size_t dx = blv_run_dim(runs[0], "x"), dy = blv_run_dim(runs[0], "y");
        assert_at_most(dense_gap(dx, x[0], x[1]), 1e-8 * (1.0 + dense_size(dx, x[0])));
        assert_at_most(dense_gap(dy, y[0], y[1]), 1e-8 * (1.0 + dense_size(dy, y[0])));
    }
    blv_run_destroy(runs[0]);
    blv_run_destroy(runs[1]);
}

static void test_representations_agree(void **state) {
    (void)state;
    blv_problem *quadratic =
        make_problem("quadratic", SETTINGS("dx", "9", "dy", "12", "kappa", "30", "terms", "40"));
    blv_problem *shift = make_problem("pl-shift", SETTINGS("dim", "6"));
    blv_problem *sine = make_problem("pl-sine", NULL);
    blv_problem *logistic =
        make_problem("synthetic-logistic", SETTINGS("rows", "60", "columns", "8"));
    for (size_t k = 1; k < 3; k++) {
        compare_forms(quadratic, family[k], "7", 0.5);
        compare_forms(quadratic, family[k], "full", 0.5);
        compare_forms(shift, family[k], "full", 0.3);
        compare_forms(sine, family[k], "full", 0.5);
        compare_forms(logistic, family[k], "10", 0.1);
    }
    blv_problem_destroy(quadratic);
    blv_problem_destroy(shift);
    blv_problem_destroy(sine);
    blv_problem_destroy(logistic);
}

static const char *parameter_of(const blv_run *run, const char *key, char *text, size_t size) {
    const blv_param *p = blv_params_find(blv_run_solver(run)->params, key);
    blv_params_format(p, blv_run_solver_fields(run), text, size);
    return text;
}

static void expect_refused(const blv_problem *p, const char *solver, const char *const *settings,
                           blv_error error, const char *part) {
    blv_run *run = make_run(p, solver, settings);
    assert_int_equal(blv_run_open(run), error);
    if (!strstr(blv_run_message(run), part))
        fail_msg("'%s' is not in '%s'", part, blv_run_message(run));
    blv_run_destroy(run);
}

/* auto picks by size; dense beyond the limit is refused with the sizes named. */
static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *dim, *word;
    } cases[] = {{"10", "explicit"}, {"200", "explicit"}, {"201", "operator"}};
    char text[32];
    for (size_t i = 0; i < 3; i++) {
        blv_problem *p = make_problem("pl-shift", SETTINGS("dim", cases[i].dim));
        for (size_t k = 1; k < 3; k++) {
            blv_run *run = make_run(p, family[k], NULL);
            assert_int_equal(blv_run_open(run), BLV_OK);
            assert_string_equal(parameter_of(run, "representation", text, sizeof text),
                                cases[i].word);
            blv_run_destroy(run);
        }
        blv_problem_destroy(p);
    }
    blv_problem *large = make_problem("pl-shift", SETTINGS("dim", "1001"));
    expect_refused(large, "mgbio", SETTINGS("linear", "explicit"), BLV_E_UNSUPPORTED, "1001");
    for (size_t k = 1; k < 3; k++) {
        expect_refused(large, family[k], SETTINGS("representation", "explicit"), BLV_E_UNSUPPORTED,
                       "at most 1000");
        expect_refused(large, family[k], SETTINGS("clip", "on"), BLV_E_UNSUPPORTED, "1001");
        expect_refused(large, family[k], SETTINGS("clip", "on", "representation", "operator"),
                       BLV_E_VALUE, "clip");
    }
    blv_problem_destroy(large);
    blv_problem *wide =
        make_problem("quadratic", SETTINGS("dx", "4001", "dy", "1000", "kappa", "2"));
    expect_refused(wide, "msgbio", SETTINGS("representation", "explicit"), BLV_E_UNSUPPORTED,
                   "4001 x 1000");
    blv_problem_destroy(wide);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_matrices_of_the_problem),
        cmocka_unit_test(test_pl_sine),
        cmocka_unit_test(test_pl_shift),
        cmocka_unit_test(test_singular_once),
        cmocka_unit_test(test_singular_for_good),
        cmocka_unit_test(test_representations_agree),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
