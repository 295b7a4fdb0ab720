/* Automatic constants of large problems. The quadratic stands in for one: it says that it is a mean
 * of very many samples, all alike, so that its eigenvalues are known and its oracles are fast. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bilevel/registry.h"
#include "blv_testing.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { DIM = 20, ROOM = 64 };

typedef struct large {
    blv_problem *inner, *problem;
    const blv_problem_def *def;
} large;

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    (void)batch;
    const blv_problem_def *def = user;
    return def->upper(def->user, NULL, x, y, f, fx, fy);
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    (void)batch;
    const blv_problem_def *def = user;
    return def->lower(def->user, NULL, x, y, g, gx, gy);
}

static int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *hv) {
    (void)batch;
    const blv_problem_def *def = user;
    return def->lower_hvp(def->user, NULL, x, y, v, hv);
}

static int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *jv) {
    (void)batch;
    const blv_problem_def *def = user;
    return def->lower_cross(def->user, NULL, x, y, v, jv);
}

static large make_large(const char *kappa, const char *seed, size_t samples) {
    large l = {.inner =
                   make_problem("quadratic", SETTINGS("dx", "10", "dy", "20", "kappa", kappa,
                                                      "seed", seed, "scale", "1", "ridge", "0.1"))};
    l.def = blv_problem_definition(l.inner);
    assert_int_equal(l.def->dim_y, DIM);
    blv_problem_def def = *l.def;
    def.user = (void *)(uintptr_t)l.def;
    def.free_user = NULL;
    def.upper = upper;
    def.lower = lower;
    def.lower_hvp = hvp;
    def.lower_cross = cross;
    def.lower_all = NULL;
    def.lower_hessian_matrix = def.lower_cross_matrix = NULL;
    def.known_phi = NULL;
    def.known_solution = NULL;
    def.measure = NULL;
    def.measures = NULL;
    def.fingerprint = NULL;
    def.lower_samples = samples;
    def.upper_samples = samples;
    def.shuffled = true;
    assert_int_equal(blv_problem_create(&l.problem, &def, NULL), BLV_OK);
    return l;
}

static void destroy_large(large *l) {
    blv_problem_destroy(l->problem);
    blv_problem_destroy(l->inner);
}

static void gradient_at(const large *l, const double *x, double *gradient) {
    quadratic_truth(l->inner, x, NULL, NULL, gradient);
}

/* The largest eigenvalue of the Hessian of Phi, by many steps of the power method on differences of
 * the closed form of its gradient, which is linear. */
static double largest_curvature(const large *l) {
    size_t dim = l->def->dim_x;
    double zero[ROOM] = {0}, x[ROOM], at_zero[ROOM], at_x[ROOM], norm = 0.0;
    gradient_at(l, zero, at_zero);
    for (size_t i = 0; i < dim; i++)
        x[i] = 1.0 + 0.1 * (double)i;
    for (int k = 0; k < 500; k++) {
        double size = dense_size(dim, x);
        for (size_t i = 0; i < dim; i++)
            x[i] /= size;
        gradient_at(l, x, at_x);
        for (size_t i = 0; i < dim; i++)
            x[i] = at_x[i] - at_zero[i];
        norm = dense_size(dim, x);
    }
    return norm;
}

typedef struct constants {
    double L, mu, L_phi;
} constants;

static constants estimated(const blv_run *run) {
    constants c = {NAN, NAN, NAN};
    for (size_t i = 0; blv_run_notes(run, i); i++)
        if (sscanf(blv_run_notes(run, i),
                   "estimated on samples: L = %lf and mu = %lf of g in y, L_phi = %lf", &c.L, &c.mu,
                   &c.L_phi) == 3)
            return c;
    fail_msg("no note on constants");
    return c;
}

static void expect_between(const char *what, double low, double value, double high) {
    if (!(value >= low && value <= high))
        fail_msg("%s: %g is not from %g to %g", what, value, low, high);
}

enum { SAMPLES_OF_EFFORT_4 = 250000, SAMPLES_OF_EFFORT_1 = 10000000 };

/* With 24 Lanczos steps and 12 products in 20 dimensions next to nothing is missing. */
static void test_constants(void **state) {
    (void)state;
    static const char *const solvers[] = {"aid-cg", "rahgd", "f2ba", "bome"};
    static const char *const kappas[] = {"2", "20"};
    for (size_t i = 0; i < LENGTH(solvers) * LENGTH(kappas); i++) {
        const char *kappa = kappas[i % 2];
        large l = make_large(kappa, "3", SAMPLES_OF_EFFORT_4);
        blv_run *run = make_run(l.problem, solvers[i / 2], SETTINGS("iters", "0"));
        solve_run(run);
        constants c = estimated(run);
        double truth = largest_curvature(&l), L = strtod(kappa, NULL);
        expect_between("L", 0.999 * L, c.L, 1.01 * L);
        expect_between("mu", 0.5, c.mu, 1.01);
        expect_between("L_phi", 0.5 * truth, c.L_phi, 1.02 * truth);
        blv_run_destroy(run);
        destroy_large(&l);
    }
}

/* Whatever the solver and the condition: at most 42 gradients or products, in whole sums. */
static void test_price(void **state) {
    (void)state;
    large l = make_large("1000", "0", SAMPLES_OF_EFFORT_1);
    const double samples = SAMPLES_OF_EFFORT_1;
    for (size_t i = 0; blv_solver_at(NULL, i); i++) {
        const blv_solver *solver = blv_solver_at(NULL, i);
        if (strcmp(solver->name, "saba") == 0) /* keeps tables for all of the samples */
            continue;
        blv_run *run = make_run(l.problem, solver->name, SETTINGS("iters", "0"));
        solve_run(run);
        const blv_counts *c = &blv_run_result(run)->setup_counts;
        double f = (double)c->f_grad / samples,
               g = (double)(c->g_grad + c->hvp + c->cross) / samples;
        if (!(f <= 8.0) || !(g <= 42.0))
            fail_msg("%s: %g gradients of f, %g of g and products", solver->name, f, g);
        blv_run_destroy(run);
    }
    destroy_large(&l);
}

/* allowed: of the gradient at the start. Solvers with a fixed penalty end at its bias. */
static const struct {
    const char *solver, *iters;
    double allowed;
} plans[] = {{"aid-cg", "100", 0.1},      {"rahgd", "40", 0.1},   {"f2ba", "150", 0.1},
             {"accf2ba", "40", 0.1},      {"ragd-gs", "40", 0.1}, {"mgbio", "2000", 0.1},
             {"minimaxopt", "4000", 0.2}, {"itd", "100", 0.1},    {"bome", "9000", 0.1},
             {"f2sa", "2500", 0.5},       {"pbgd", "3000", 0.5}};

/* Rough constants must do for the steps, on whole sums. */
static void test_steps(void **state) {
    (void)state;
    static const char *const kappas[] = {"2", "20", "100"}, *const seeds[] = {"0", "1"};
    for (size_t i = 0; i < LENGTH(plans) * 6; i++) {
        const char *kappa = kappas[i % 3], *seed = seeds[i / 3 % 2], *solver = plans[i / 6].solver;
        large l = make_large(kappa, seed, SAMPLES_OF_EFFORT_1);
        blv_run *run =
            make_run(l.problem, solver, SETTINGS("iters", plans[i / 6].iters, "batch", "full"));
        double x[ROOM] = {0}, before[ROOM], after[ROOM];
        gradient_at(&l, x, before);
        solve_run(run);
        read_state(run, "x", x);
        gradient_at(&l, x, after);
        double ratio = dense_size(l.def->dim_x, after) / dense_size(l.def->dim_x, before);
        if (!(ratio <= plans[i / 6].allowed))
            fail_msg("%s, kappa %s, seed %s: %.3g of the start", solver, kappa, seed, ratio);
        blv_run_destroy(run);
        destroy_large(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constants),
                                       cmocka_unit_test(test_price), cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
