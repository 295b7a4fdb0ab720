/* How fast the gradient of Phi falls: the slope of log |grad Phi| against log iterations.
 *
 * The papers promise that the smallest |grad Phi|^2 of T iterations falls like 1/T at least, for
 * smooth Phi of any kind, so the slope of its root is -1/2 or steeper; on a quadratic, where
 * descent converges linearly, it is much steeper in the end. D-TFBO solves its inner problems to
 * 1/sqrt(T), T being announced, so there the slope is -1/2 and not steeper. The gradient is
 * recomputed from the arrays of the instance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

#include <stdio.h>

enum { DIM = 30, LENGTHS = 7 };
static const size_t lengths[LENGTHS] = {10, 25, 60, 150, 400, 1000, 2500};
static const char *const seeds[] = {"0", "1", "2"};

static double true_gradient(const blv_problem *p, const blv_run *run) {
    double x[DIM], gradient[DIM];
    read_state(run, "x", x);
    quadratic_truth(p, x, NULL, NULL, gradient);
    return dense_size(DIM, gradient);
}

/* Least squares through (log lengths[i], log size[i]). */
static double slope_of(const double *size) {
    double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0, n = LENGTHS;
    for (size_t i = 0; i < LENGTHS; i++) {
        double x = log((double)lengths[i]), y = log(size[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* ridge: 1, or less for a Phi that is badly conditioned */
static blv_problem *make_instance(const char *seed, const char *ridge) {
    return make_problem(
        "quadratic", SETTINGS("dx", "30", "dy", "30", "kappa", "20", "ridge", ridge, "seed", seed));
}

/* The smallest |grad Phi| of the first T iterations of one run, for each length. */
static void smallest_gradients(const char *solver, const char *seed, const char *ridge,
                               const char *const *settings, double *size) {
    blv_problem *p = make_instance(seed, ridge);
    blv_run *run = make_run(p, solver, settings);
    double smallest = INFINITY;
    size_t done = 0;
    for (size_t i = 0; i < LENGTHS; i++) {
        for (; done < lengths[i]; done++) {
            step_run(run);
            smallest = fmin(smallest, true_gradient(p, run));
        }
        size[i] = fmax(smallest, 1e-14);
    }
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void expect_slope(const char *solver, const char *ridge, const char *const *settings) {
    for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
        double size[LENGTHS];
        smallest_gradients(solver, seeds[k], ridge, settings, size);
        double slope = slope_of(size);
        print_message("%s, seed %s: T^%.2f, %.3g to %.3g\n", solver, seeds[k], slope, size[0],
                      size[LENGTHS - 1]);
        assert_at_most(slope, -0.5);
    }
}

static void test_s_tfbo(void **state) {
    (void)state;
    expect_slope("s-tfbo", "1", NULL);
}

static void test_mgbio(void **state) {
    (void)state;
    expect_slope("mgbio", "1", NULL);
}

/* The penalty is large, so that its bias is far below what is reached in most of the iterations. */
static void test_f2ba(void **state) {
    (void)state;
    expect_slope("f2ba", "0.01", SETTINGS("lambda", "1e5"));
}

static void test_ragd_gs(void **state) {
    (void)state;
    expect_slope("ragd-gs", "0.001", SETTINGS("lambda", "1e6"));
}

/* D-TFBO is told T beforehand: a run for each length, and what it ends with. */
static void test_d_tfbo(void **state) {
    (void)state;
    double size[LENGTHS] = {0.0};
    for (size_t i = 0; i < LENGTHS; i++)
        for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
            char T[24];
            snprintf(T, sizeof T, "%zu", lengths[i]);
            blv_problem *p = make_instance(seeds[k], "1");
            blv_run *run = make_run(p, "d-tfbo", SETTINGS("iters", T));
            solve_run(run);
            size[i] += true_gradient(p, run) / 3.0;
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
    double slope = slope_of(size);
    print_message("d-tfbo: T^%.2f, %.3g to %.3g\n", slope, size[0], size[LENGTHS - 1]);
    assert_at_most(fabs(slope + 0.5), 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s_tfbo), cmocka_unit_test(test_d_tfbo),  cmocka_unit_test(test_mgbio),
        cmocka_unit_test(test_f2ba),   cmocka_unit_test(test_ragd_gs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
