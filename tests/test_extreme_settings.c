/* Numbers at the ends of what a parameter may be, one at a time and all steps at once: steps that
 * leave the numbers there are, and steps that move nothing. A run ends with an outcome and a
 * sentence at a finite point, whatever was given. */
#include "run_testing.h"

#include "registry/builtin.h"

static void expect_sound(const blv_run *run, const char *what) {
    if (!all_finite(run, "x") || !all_finite(run, "y") || !blv_run_message(run)[0] ||
        outcome_of(run) == BLV_RUNNING)
        fail_msg("%s with %s: outcome '%s': %s", blv_run_solver(run)->name, what,
                 blv_outcome_word(outcome_of(run)), blv_run_message(run));
}

static const char *const usual[] = {"iters", "5", "seed", "1", "certify", "never", NULL};

static void format_within(const blv_param *p, double value, char text[40]) {
    snprintf(text, 40, "%.17g", fmin(fmax(value, p->lo), p->hi));
}

/* A value may be rejected on its own, where others have to be set along with it. */
static bool try_value(const blv_problem *problem, const blv_solver *solver, const blv_param *p,
                      double value, const char *batch) {
    char text[40];
    blv_run *run = make_run(problem, solver->name, usual);
    format_within(p, value, text);
    if (batch)
        set_all(run, SETTINGS("batch", batch));
    blv_error error = blv_run_set(run, p->key, text);
    if (error == BLV_OK)
        error = blv_run_solve(run);
    const bool diverged = error == BLV_OK && outcome_of(run) == BLV_DIVERGED;
    if (error == BLV_OK)
        expect_sound(run, p->key);
    else
        expect_text(blv_run_message(run), p->key);
    blv_run_destroy(run);
    return diverged;
}

/* Every real parameter whose range goes that far. */
static long try_each(const blv_problem *problem, double value, const char *batch) {
    long diverged = 0;
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        for (const blv_param *p = blv_builtin_solvers[s]->params; p && p->key; p++)
            if (p->type == BLV_REAL && (value > 1.0 ? p->hi > 1e30 : p->lo < 1e-30))
                diverged += try_value(problem, blv_builtin_solvers[s], p, value, batch);
    return diverged;
}

static void test_each_alone(void **state) {
    (void)state;
    static const double values[] = {1e308, 1e150, 1e20, 1e-308, 1e-20};
    blv_problem *problem = small_quadratic(BLV_F64), *single = small_quadratic(BLV_F32);
    blv_problem *terms = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "20"));
    for (size_t i = 0; i < LENGTH(values); i++) {
        const long diverged = try_each(problem, values[i], NULL);
        if (i == 0)
            assert_true(diverged > 20);
        try_each(single, values[i], NULL);
        try_each(terms, values[i], "5");
    }
    blv_problem_destroy(terms);
    blv_problem_destroy(single);
    blv_problem_destroy(problem);
}

/* All steps at once are of that size, in which every one of them may be the first to overflow. */
static void try_all_steps(const blv_problem *problem, const blv_solver *solver, double value,
                          const char *others, const char *batch) {
    blv_run *run = make_run(problem, solver->name, usual);
    if (batch)
        set_all(run, SETTINGS("batch", batch));
    for (const blv_param *p = solver->params; p && p->key; p++) {
        if (p->type != BLV_REAL || !p->words || !(p->hi > 1e30))
            continue;
        char text[40];
        format_within(p, strstr(p->key, others) ? value : 1e-3, text);
        blv_run_set(run, p->key, text);
    }
    blv_error error = blv_run_solve(run);
    if (error == BLV_OK)
        expect_sound(run, others);
    else
        assert_true(blv_run_message(run)[0]);
    blv_run_destroy(run);
}

static void test_steps_together(void **state) {
    (void)state;
    static const char *const which[] = {"", "_x", "_y", "_v", "alpha", "beta", "step", "gamma"};
    static const double values[] = {1e308, 1e160, 1e38};
    blv_problem *problem = small_quadratic(BLV_F64), *single = small_quadratic(BLV_F32);
    blv_problem *terms = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "20"));
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        for (size_t k = 0; k < LENGTH(which); k++)
            for (size_t i = 0; i < LENGTH(values); i++) {
                try_all_steps(problem, blv_builtin_solvers[s], values[i], which[k], NULL);
                try_all_steps(single, blv_builtin_solvers[s], values[i], which[k], NULL);
                try_all_steps(terms, blv_builtin_solvers[s], values[i], which[k], "5");
            }
    blv_problem_destroy(terms);
    blv_problem_destroy(single);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_alone),
        cmocka_unit_test(test_steps_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
