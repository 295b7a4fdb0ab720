/* The Neumann and recursive-momentum solvers as they are, with nothing set: how far they come in a
 * number of iterations that takes a fraction of a second, and that noise does not drive them off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

static const struct {
    const char *solver;
    uint64_t steps[3]; /* for kappa = 2, 20, 100 */
    double noise;      /* that the random number of factors leaves */
} budgets[] = {{"stocbio", {10, 20, 80}, 0.0},       {"bsa", {3000, 3000, 3000}, 0.2},
               {"ttsa", {3000, 3000, 4000}, 0.2},    {"mrbo", {20, 200, 900}, 0.0},
               {"mstsa", {20, 200, 900}, 0.0},       {"vrbo", {8, 10, 30}, 0.0},
               {"sustain", {1000, 2500, 7000}, 0.1}, {"fsla", {30, 350, 1600}, 0.0}};
enum { SOLVERS = sizeof budgets / sizeof *budgets };

static double true_gradient(const blv_problem *p, const blv_run *run) {
    double x[60], gradient[60];
    read_state(run, "x", x);
    quadratic_truth(p, x, NULL, NULL, gradient);
    return dense_size(blv_run_dim(run, "x"), gradient);
}

static void assert_not_diverged(const blv_run *run) {
    if (blv_run_result(run)->outcome <= BLV_DIVERGED)
        fail_msg("%s: %s", blv_run_solver(run)->name, blv_run_message(run));
}

/* |grad Phi| after `steps` over |grad Phi| at the start. */
static double share_left(const blv_problem *p, const char *solver, const char *const *settings,
                         uint64_t steps) {
    blv_run *run = make_run(p, solver, settings);
    double before = true_gradient(p, run);
    for (uint64_t t = 0; t < steps; t++)
        step_run(run);
    assert_not_diverged(run);
    double after = true_gradient(p, run);
    blv_run_destroy(run);
    return after / before;
}

static void test_a_tenth_of_the_gradient(void **state) {
    (void)state;
    static const char *const kappas[] = {"2", "20", "100"}, *const seeds[] = {"0", "1", "2"};
    static const char *const sizes[][2] = {{"2", "2"}, {"7", "30"}, {"30", "7"}, {"60", "60"}};
    for (size_t s = 0; s < SOLVERS; s++) {
        double worst = 0.0;
        for (size_t i = 0; i < 3 * 4 * 3; i++) {
            const char *kappa = kappas[i / 12], *const *size = sizes[i / 3 % 4];
            const char *seed = seeds[i % 3];
            blv_problem *p = make_problem(
                "quadratic", SETTINGS("dx", size[0], "dy", size[1], "kappa", kappa, "seed", seed));
            double left =
                share_left(p, budgets[s].solver, SETTINGS("seed", seed), budgets[s].steps[i / 12]);
            if (!(left <= 0.1 + budgets[s].noise))
                fail_msg("%s, kappa %s, (%s, %s), seed %s: %.3g of the gradient is left",
                         budgets[s].solver, kappa, size[0], size[1], seed, left);
            worst = fmax(worst, left);
            blv_problem_destroy(p);
        }
        print_message("%s: at most %.3g of the gradient is left\n", budgets[s].solver, worst);
    }
}

/* Batches of one and of sixteen: the gradient may stay at the level of the noise. */
static void test_batches(void **state) {
    (void)state;
    static const char *const kappas[] = {"2", "100"}, *const batches[] = {"1", "16"};
    for (size_t s = 0; s < SOLVERS; s++)
        for (size_t i = 0; i < 8; i++) {
            const char *seed = i & 4 ? "1" : "2";
            blv_problem *p =
                make_problem("quadratic", SETTINGS("dx", "10", "dy", "15", "kappa", kappas[i & 1],
                                                   "terms", "200", "seed", seed));
            double left = share_left(p, budgets[s].solver,
                                     SETTINGS("batch", batches[i >> 1 & 1], "seed", seed),
                                     strcmp(budgets[s].solver, "vrbo") == 0 ? 20 : 300);
            if (!(left <= 1.5))
                fail_msg("%s, kappa %s, batches of %s: %.3g times the gradient", budgets[s].solver,
                         kappas[i & 1], batches[i >> 1 & 1], left);
            blv_problem_destroy(p);
        }
}

/* Penalties exp(x): a long move of x changes L by orders of magnitude, and Phi is nearly flat at
 * the start, so that 1/(2 L_phi) is far too long for the noise. */
static void test_flat_start_with_batches(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2"}, *const batches[] = {"8", "64"};
    for (size_t s = 0; s < SOLVERS; s++)
        for (size_t i = 0; i < 6; i++) {
            blv_problem *p = make_problem("synthetic-logistic", SETTINGS("seed", seeds[i / 2]));
            blv_run *run = make_run(p, budgets[s].solver,
                                    SETTINGS("batch", batches[i % 2], "seed", seeds[i / 2]));
            for (int t = 0; t < (strcmp(budgets[s].solver, "vrbo") == 0 ? 30 : 500); t++)
                step_run(run);
            assert_not_diverged(run);
            double phi = certify_run(run).phi; /* log 2 at y = 0 */
            if (!(phi < 0.69))
                fail_msg("%s, batches of %s, seed %s: Phi = %.3g", budgets[s].solver,
                         batches[i % 2], seeds[i / 2], phi);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

/* In single precision the same, to the level of its rounding. */
static void test_single_precision(void **state) {
    (void)state;
    for (size_t s = 0; s < SOLVERS; s++) {
        blv_problem *p = make_problem_as(
            "quadratic", SETTINGS("dx", "12", "dy", "9", "kappa", "20", "seed", "6"), BLV_F32, 1);
        assert_at_most(share_left(p, budgets[s].solver, NULL, budgets[s].steps[1]), 0.1);
        blv_problem_destroy(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tenth_of_the_gradient),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_flat_start_with_batches),
        cmocka_unit_test(test_single_precision),
    };
    leave_out_under_sanitizers("test_a_tenth*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
