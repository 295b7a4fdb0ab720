/* Penalties whose best values are at infinity: `auto` ends certified all the same, and solvers on
 * batches do not run in circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FEATURES 10
#include "penalized_sums.h"

static blv_solution *solved_from(const blv_problem *problem, const char *solver, int64_t calls,
                                 const double *x) {
    const char *settings[] = {"batch", solver ? "64" : NULL, NULL};
    const blv_solve_options options = {BLV_SIZED(blv_solve_options), .solver = solver,
                                       .budget = calls, .settings = solver ? settings : NULL,
                                       .x = x};
    blv_solution *solution = NULL;
    blv_message why = {""};
    if (blv_solve(&solution, problem, &options, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return solution;
}

static blv_solution *solved(const blv_problem *problem, const char *solver, int64_t calls) {
    return solved_from(problem, solver, calls, NULL);
}

/* ---- The gradient of Phi of least squares, by elimination ---- */

/* b = a^-1 b. a is definite; its entries may be decades apart. */
static void eliminate(double a[FEATURES][FEATURES], double *b) {
    for (size_t k = 0; k < FEATURES; k++)
        for (size_t i = k + 1; i < FEATURES; i++) {
            double share = a[i][k] / a[k][k];
            for (size_t j = k; j < FEATURES; j++)
                a[i][j] -= share * a[k][j];
            b[i] -= share * b[k];
        }
    for (size_t k = FEATURES; k-- > 0;) {
        for (size_t j = k + 1; j < FEATURES; j++)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

static void solve_with_hessian(const rows *r, const double *x, double *b) {
    double hessian[FEATURES][FEATURES] = {{0}};
    for (size_t i = 0; i < r->train; i++)
        for (size_t j = 0; j < FEATURES; j++)
            for (size_t k = 0; k < FEATURES; k++)
                hessian[j][k] += r->features[i * FEATURES + j] * r->features[i * FEATURES + k] /
                                 (double)r->train;
    for (size_t j = 0; j < FEATURES; j++)
        hessian[j][j] += exp(x[j]);
    eliminate(hessian, b);
}

/* sum of (w'a - t) a over the rows from `first` on, over their number. */
static void mean_slope(const rows *r, size_t first, size_t count, const double *w, double *out) {
    for (size_t j = 0; j < FEATURES; j++)
        out[j] = 0.0;
    for (size_t i = first; i < first + count; i++) {
        const double *a = r->features + i * FEATURES;
        double slope = -r->target[i];
        for (size_t j = 0; j < FEATURES; j++)
            slope += w[j] * a[j];
        for (size_t j = 0; j < FEATURES; j++)
            out[j] += slope * a[j] / (double)count;
    }
}

static double gradient_norm(const rows *r, const double *x) {
    const double zero[FEATURES] = {0};
    double y[FEATURES], v[FEATURES], squares = 0.0;
    mean_slope(r, 0, r->train, zero, y);
    for (size_t j = 0; j < FEATURES; j++)
        y[j] = -y[j];
    solve_with_hessian(r, x, y);
    mean_slope(r, r->train, r->val, y, v);
    solve_with_hessian(r, x, v);
    for (size_t j = 0; j < FEATURES; j++)
        squares += pow(exp(x[j]) * y[j] * v[j], 2.0);
    return sqrt(squares);
}

static void test_auto_ends_certified(void **state) {
    (void)state;
    const double start[FEATURES] = {0};
    rows sums[] = {{.squares = true, .train = 1000, .val = 500}, {.train = 800, .val = 400}};
    for (size_t i = 0; i < 2; i++) {
        blv_problem *problem = penalized_sums(&sums[i]);
        blv_solution *solution = solved(problem, NULL, 0);
        if (!solution->converged)
            fail_msg("%s", solution->message.text);
        double largest = 0.0;
        for (size_t j = 0; j < FEATURES; j++)
            largest = fmax(largest, fabs(solution->x[j]));
        assert_true(largest > 10.0); /* or this test says nothing about penalties far apart */
        if (sums[i].squares)
            assert_true(gradient_norm(&sums[i], solution->x) <=
                        1.1e-6 * gradient_norm(&sums[i], start));
        blv_solution_destroy(solution);
        free_sums(problem, &sums[i]);
    }
}

/* Each start leads by another way through penalties that are decades apart. Phi is nearly flat out
 * there, and has more than one valley. */
static void test_auto_from_ten_starts(void **state) {
    (void)state;
    rows sums[] = {{.squares = true, .train = 1000, .val = 500}, {.train = 800, .val = 400}};
    for (size_t i = 0; i < 2; i++) {
        blv_problem *problem = penalized_sums(&sums[i]);
        double start[FEATURES], least = (double)INFINITY, most = 0.0;
        unsigned long long numbers = 77;
        for (int k = 0; k < 10; k++) {
            for (size_t j = 0; j < FEATURES; j++)
                start[j] = normal(&numbers);
            blv_solution *solution = solved_from(problem, NULL, 0, start);
            if (!solution->converged)
                fail_msg("start %d: %s", k, solution->message.text);
            if (sums[i].squares)
                assert_true(gradient_norm(&sums[i], solution->x) <=
                            1.1e-6 * gradient_norm(&sums[i], start));
            least = fmin(least, solution->phi);
            most = fmax(most, solution->phi);
            blv_solution_destroy(solution);
        }
        assert_true(most - least <= 1e-5 * least);
        free_sums(problem, &sums[i]);
    }
}

/* With the constants of the start x runs ahead of y here once penalties have fallen, and circles.
 */
static void test_batches_arrive(void **state) {
    (void)state;
    static const char *const solvers[] = {"soba",  "saba",    "fsla",   "msgbio",
                                          "mstsa", "sustain", "d-tfbo", "f2sa"};
    rows sums = {.train = 800, .val = 400};
    blv_problem *problem = penalized_sums(&sums);
    blv_solution *best = solved(problem, NULL, 0);
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
        blv_solution *solution = solved(problem, solvers[i], 10000000);
        double gap = (solution->phi - best->phi) / (best->certificate.start_phi - best->phi);
        if (!(gap < 0.03))
            fail_msg("%s: %.2g of the gap is left", solvers[i], gap);
        blv_solution_destroy(solution);
    }
    blv_solution_destroy(best);
    free_sums(problem, &sums);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto_ends_certified),
        cmocka_unit_test(test_auto_from_ten_starts),
        cmocka_unit_test(test_batches_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
