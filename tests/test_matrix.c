/* Every solver of the registry on every small problem, with untouched defaults and a budget of
 * oracle calls. What counts is the certificate, which is computed from the oracles alone.
 *
 * A solver is as accurate as the table below says, and a solver that is not in it as the last row
 * says. Where the lower level has many solutions a solver serves the problem or refuses it in so
 * many words; elsewhere it has no choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "blv_testing.h"

#include <stdio.h>

/* ---- What is promised ---- */

/* The larger of |grad Phi| (the gradient mapping where there is a set X) and Phi - Phi*, both at
 * the end relative to the start. The first row that fits counts; a NULL fits all. */
static const struct {
    const char *solver, *family;
    double accuracy;
} promises[] = {
    {"exact", NULL, 1e-8},       /* to rounding */
    {"s-tfbo", NULL, 1e-3},      /* linear convergence, well scaled problems */
    {"aid-cg", NULL, 1e-3},      /* linear convergence */
    {"aid-fp", NULL, 1e-3},      /* linear convergence */
    {"amigo", NULL, 1e-3},       /* as aid-fp on whole sums */
    {"bcsr", NULL, 1e-2},        /* the same with fewer steps on y and v */
    {"ba-cg", NULL, 1e-3},       /* linear convergence */
    {"d-tfbo", NULL, 0.2},       /* loops end at |gy|, |r| = 1/sqrt(T) */
    {"soba", NULL, 0.5},         /* steps of 1/sqrt(t) */
    {"t1-t2", NULL, 1.0},        /* goes to a point of its own: no worse than the start */
    {"bsa", NULL, 0.2},          /* the random number of factors leaves noise */
    {"ttsa", NULL, 0.2},         /* the same */
    {"pbgd", "pl-shift", 0.25},  /* the bias of its penalty */
    {"pbsgd", "pl-shift", 0.25}, /* the same */
    {NULL, NULL, 0.1},
};

/* Solvers with many products in an iteration get more calls. */
static const struct {
    const char *solver;
    double more;
} budgets[] = {{"vrbo", 30}, {"mrbo", 10}, {"mstsa", 10}, {"sustain", 20}, {"ttsa", 10}, {NULL, 1}};

static double more_for(const blv_solver *solver) {
    size_t i = 0;
    while (budgets[i].solver && strcmp(budgets[i].solver, solver->name) != 0)
        i++;
    return budgets[i].more;
}

static double promised(const blv_solver *solver, const char *family) {
    size_t i = 0;
    while ((promises[i].solver && strcmp(promises[i].solver, solver->name) != 0) ||
           (promises[i].family && strcmp(promises[i].family, family) != 0))
        i++;
    return promises[i].accuracy;
}

/* ---- The problems ---- */

typedef struct trial {
    const char *family;
    const char *const *settings;
    double x, y; /* every entry of the start */
    bool unique; /* one stationary point: Phi is compared as well */
    bool noisy;  /* on batches: no worse than the start is enough */
} trial;

/* ---- One run ---- */

static void fill_state(blv_run *run, const char *name, double value) {
    size_t dim = blv_run_dim(run, name);
    double *values = make_numbers(dim);
    for (size_t i = 0; i < dim; i++)
        values[i] = value;
    write_state(run, name, values);
    free(values);
}

static bool is_finite_state(const blv_run *run, const char *name) {
    size_t dim = blv_run_dim(run, name);
    if (dim == 0)
        return true;
    double *values = make_numbers(dim);
    read_state(run, name, values);
    double size = dense_size(dim, values);
    free(values);
    return isfinite(size);
}

/* Phi at the known solution, by the certificate. */
static double best_phi(const blv_problem *p) {
    const blv_problem_def *def = blv_problem_definition(p);
    blv_vec *x, *y;
    blv_certificate c;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(def->known_solution(def->user, x, y), 0);
    assert_int_equal(blv_certify(p, x, y, NULL, &c, NULL, NULL), BLV_OK);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return c.phi;
}

/* A refusal says what is wrong and with what. NULL: the solver serves the problem. */
static blv_run *create_or_refuse(const blv_problem *p, const blv_solver *solver) {
    blv_message why = {""};
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, p, solver, &why);
    if (error == BLV_OK)
        return run;
    if (!blv_problem_definition(p)->singular_lower || error != BLV_E_UNSUPPORTED ||
        !strstr(why.text, solver->name) || !strstr(why.text, "singular"))
        fail_msg("%s on %s: %s", solver->name, blv_problem_definition(p)->name, why.text);
    return NULL;
}

static void check_end(const trial *t, const blv_problem *p, blv_run *run,
                      const blv_certificate *start, size_t *failed) {
    const blv_solver *solver = blv_run_solver(run);
    blv_outcome outcome = blv_run_result(run)->outcome;
    blv_certificate end = certify_run(run);
    bool singular = blv_problem_definition(p)->singular_lower;
    bool finite = is_finite_state(run, "x") && is_finite_state(run, "y") &&
                  is_finite_state(run, "v") && isfinite(end.phi);
    if (finite && singular && outcome == BLV_SINGULAR) /* refused on the way */
        return;
    double best = t->unique ? best_phi(p) : NAN, reached = 0.0;
    if (!singular)
        reached = end.grad_norm / start->grad_norm;
    if (t->unique)
        reached = fmax(reached, (end.phi - best) / (start->phi - best));
    bool met = outcome == BLV_CONVERGED || (singular && outcome == BLV_UNCERTIFIED);
    bool ended = met || outcome == BLV_LIMIT_BUDGET || outcome == BLV_STALLED;
    double allowed = promised(solver, t->family);
    if (t->noisy)
        allowed = fmax(allowed, 1.0);
    if (!finite || !ended || !(reached <= allowed)) {
        print_error("%s on %s (%zu, %zu): %.3g of the start, promised %.3g; %s\n", solver->name,
                    t->family, blv_run_dim(run, "x"), blv_run_dim(run, "y"), reached, allowed,
                    blv_run_message(run));
        ++*failed;
    }
}

static void check_problem(const trial *t) {
    const blv_solver *solver;
    size_t failed = 0;
    blv_problem *p = make_problem(t->family, t->settings);
    double terms = (double)blv_problem_definition(p)->lower_samples;
    char budget[32];
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        blv_run *run = create_or_refuse(p, solver);
        if (!run)
            continue;
        snprintf(budget, sizeof budget, "%.0f", (t->noisy ? 1e4 : 1e5) * terms * more_for(solver));
        assert_int_equal(blv_run_set(run, "budget", budget), BLV_OK);
        fill_state(run, "x", t->x);
        fill_state(run, "y", t->y);
        blv_certificate start = certify_run(run);
        solve_run(run);
        check_end(t, p, run, &start, &failed);
        blv_run_destroy(run);
    }
    blv_problem_destroy(p);
    assert_int_equal(failed, 0);
}

static void test_parabola(void **state) {
    (void)state;
    check_problem(&(trial){"parabola", NULL, 0.0, 0.0, true, false});
    check_problem(&(trial){"parabola", NULL, -2.0, 3.0, true, false});
}

static void test_saddle(void **state) {
    (void)state;
    check_problem(&(trial){"saddle", NULL, 1.0, 0.0, true, false});
}

static void test_scalar_penalty(void **state) {
    (void)state;
    check_problem(&(trial){"scalar-penalty", NULL, 0.2, 0.0, true, false});
    check_problem(&(trial){"scalar-penalty", NULL, 1.0, 0.0, true, false});
}

static void test_pl_sine(void **state) {
    (void)state;
    check_problem(&(trial){"pl-sine", NULL, 0.0, 0.0, false, false});
    check_problem(&(trial){"pl-sine", NULL, 1.5, -1.0, false, false});
}

static void test_pl_shift(void **state) {
    (void)state;
    check_problem(&(trial){"pl-shift", NULL, 0.0, 0.0, true, false});
    check_problem(&(trial){"pl-shift", SETTINGS("dim", "3"), 0.5, -0.5, true, false});
}

static void test_non_singleton(void **state) {
    (void)state;
    check_problem(&(trial){"non-singleton", NULL, 0.0, 0.0, true, false});
}

static void check_quadratic(const char *dx, const char *dy, const char *kappa, const char *terms) {
    const trial t = {.family = "quadratic",
                     .settings = SETTINGS("dx", dx, "dy", dy, "kappa", kappa, "terms", terms),
                     .unique = true,
                     .noisy = strtod(terms, NULL) > 64.0};
    check_problem(&t);
}

static void test_quadratics(void **state) {
    (void)state;
    check_quadratic("2", "2", "2", "1");
    check_quadratic("3", "8", "20", "1");
    check_quadratic("10", "4", "100", "1");
}

/* Fewer terms than are in a batch, so that all solvers use whole sums; then more. */
static void test_sums(void **state) {
    (void)state;
    check_quadratic("4", "5", "10", "4");
    check_quadratic("4", "5", "10", "200");
}

/* Families with a known answer that came after this test. */
static void test_other_families(void **state) {
    (void)state;
    static const char *const above[] = {"parabola", "saddle",        "scalar-penalty", "pl-sine",
                                        "pl-shift", "non-singleton", "quadratic"};
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++) {
        bool known = blv_params_find(family->params, "train") != NULL;
        for (size_t k = 0; k < sizeof above / sizeof *above; k++)
            known = known || strcmp(family->name, above[k]) == 0;
        if (known)
            continue;
        blv_problem *p = make_problem(family->name, NULL);
        bool answered = blv_problem_definition(p)->known_solution != NULL;
        blv_problem_destroy(p);
        if (answered)
            check_problem(&(trial){family->name, NULL, 0.3, 0.1, false, false});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parabola),       cmocka_unit_test(test_saddle),
        cmocka_unit_test(test_scalar_penalty), cmocka_unit_test(test_pl_sine),
        cmocka_unit_test(test_pl_shift),       cmocka_unit_test(test_non_singleton),
        cmocka_unit_test(test_quadratics),     cmocka_unit_test(test_sums),
        cmocka_unit_test(test_other_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
