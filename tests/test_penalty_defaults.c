/* How far the penalty family and the accelerated solvers come with untouched defaults, by a number
 * of iterations. True gradients are recomputed from the instances' arrays with LAPACK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

enum { ROOM = 64 };

static const char *const first_order[] = {"f2sa",       "f2ba", "accf2ba", "ragd-gs",
                                          "minimaxopt", "pbgd", "pbsgd",   "bome"};
enum { FIRST_ORDER = sizeof first_order / sizeof *first_order };

static double true_gradient(const blv_problem *problem, const blv_run *run) {
    double x[ROOM], gradient[ROOM];
    read_state(run, "x", x);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    return dense_size(blv_run_dim(run, "x"), gradient);
}

static const struct {
    const char *solver, *iters;
} budgets[] = {{"ragd-gs", "40"}, {"f2ba", "40"},         {"accf2ba", "40"},
               {"rahgd", "30"},   {"minimaxopt", "4000"}, {"f2sa", "2500"},
               {"pbgd", "3000"},  {"pbsgd", "3000"},      {"bome", "9000"}};
enum { BUDGETS = sizeof budgets / sizeof *budgets };

static void test_defaults(void **state) {
    (void)state;
    static const char *const kappas[] = {"2", "20", "100"}, *const seeds[] = {"0", "1", "2"};
    static const char *const sizes[][2] = {{"2", "2"}, {"7", "30"}, {"30", "7"}, {"60", "60"}};
    for (size_t b = 0; b < BUDGETS; b++) {
        double worst = 0.0, seconds = 0.0;
        for (size_t i = 0; i < 3 * 4 * 3; i++) {
            const char *kappa = kappas[i / 12], *const *size = sizes[i / 3 % 4],
                       *seed = seeds[i % 3];
            blv_problem *p = make_problem(
                "quadratic", SETTINGS("dx", size[0], "dy", size[1], "kappa", kappa, "seed", seed));
            blv_run *run = make_run(p, budgets[b].solver, SETTINGS("iters", budgets[b].iters));
            double before = true_gradient(p, run);
            solve_run(run);
            double ratio = true_gradient(p, run) / before;
            if (blv_run_result(run)->outcome <= BLV_DIVERGED || !(ratio <= 0.1))
                fail_msg("%s, (%s, %s), kappa %s, seed %s: %.3g of the start; %s",
                         budgets[b].solver, size[0], size[1], kappa, seed, ratio,
                         blv_run_message(run));
            worst = fmax(worst, ratio);
            seconds = fmax(seconds, blv_run_result(run)->seconds);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
        print_message("%s, %s iterations: %.3g of the start at most, %.2f s at most\n",
                      budgets[b].solver, budgets[b].iters, worst, seconds);
    }
}

/* On batches of a finite sum nothing diverges, and the gradient does not grow. */
static void test_defaults_on_batches(void **state) {
    (void)state;
    static const char *const batches[] = {"8", "32"}, *const kappas[] = {"2", "100"};
    for (size_t b = 0; b < BUDGETS; b++)
        for (size_t i = 0; i < 4; i++) {
            blv_problem *p =
                make_problem("quadratic", SETTINGS("dx", "20", "dy", "30", "terms", "100", "kappa",
                                                   kappas[i / 2], "seed", "1"));
            blv_run *run =
                make_run(p, budgets[b].solver, SETTINGS("iters", "400", "batch", batches[i % 2]));
            double before = true_gradient(p, run);
            solve_run(run);
            assert_true(blv_run_result(run)->outcome > BLV_DIVERGED);
            if (!(true_gradient(p, run) <= 2.0 * before))
                fail_msg("%s, batch %s, kappa %s: %.3g, at first %.3g", budgets[b].solver,
                         batches[i % 2], kappas[i / 2], true_gradient(p, run), before);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

static void test_defaults_in_f32(void **state) {
    (void)state;
    for (size_t b = 0; b < BUDGETS; b++) {
        blv_problem *p = make_problem_as("quadratic", NULL, BLV_F32, 1);
        blv_run *run = make_run(p, budgets[b].solver, SETTINGS("iters", budgets[b].iters));
        double before = true_gradient(p, run);
        solve_run(run);
        assert_true(blv_run_result(run)->outcome > BLV_DIVERGED);
        assert_at_most(true_gradient(p, run), 0.1 * before);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* Many lower-level solutions: H is singular, the penalized function is not. */
static void test_non_singleton(void **state) {
    (void)state;
    for (size_t i = 0; i < FIRST_ORDER; i++) {
        blv_problem *p = make_problem("non-singleton", NULL);
        bool slow = strcmp(first_order[i], "f2sa") == 0;
        blv_run *run = make_run(p, first_order[i], SETTINGS("iters", slow ? "60000" : "20000"));
        double x, y[2], tolerance = slow ? 0.02 : 1e-6;
        solve_run(run);
        read_state(run, "x", &x);
        read_state(run, "y", y);
        assert_near(x, 1.0, tolerance);
        assert_near(y[0], 1.0, tolerance);
        assert_near(y[1], 1.0, 2.0 * tolerance);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* x >= 0, and x in [0, 3]; the lower level of the second is not convex. */
static void test_toys_by_default(void **state) {
    (void)state;
    static const struct {
        const char *problem;
        double goal; /* for the certified gradient mapping, the bias included */
    } toys[] = {{"scalar-penalty", 0.5}, {"pl-sine", 0.25}, {"parabola", 0.1}, {"pl-shift", 0.15}};
    for (size_t b = 0; b < BUDGETS; b++)
        for (size_t k = 0; k < sizeof toys / sizeof *toys; k++) {
            blv_problem *p = make_problem(toys[k].problem, NULL);
            blv_run *run = make_run(p, budgets[b].solver, SETTINGS("iters", "20000"));
            solve_run(run);
            assert_true(blv_run_result(run)->outcome > BLV_DIVERGED);
            double norm = certify_run(run).grad_norm;
            if (!(norm <= toys[k].goal))
                fail_msg("%s on %s: %.3g", budgets[b].solver, toys[k].problem, norm);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),        cmocka_unit_test(test_defaults_on_batches),
        cmocka_unit_test(test_defaults_in_f32), cmocka_unit_test(test_non_singleton),
        cmocka_unit_test(test_toys_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
