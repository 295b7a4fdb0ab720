/* Every parameter of every solver on its own, the others as they are: automatic steps of which one
 * is given, every word of a choice, the ends of a range. What was set is what the run has, and the
 * run ends with an outcome at a finite point. Likewise all automatic numbers but one. */
#include "run_testing.h"

#include "registry/builtin.h"

enum { VALUES = 6, LONGEST = 40 };

/* Values that a user may give, as texts; how many. */
static size_t values_of(const blv_param *p, char values[VALUES][LONGEST]) {
    size_t count = 0;
    const char *word = p->words;
    for (; word && *word && count < VALUES - 3; word += strcspn(word, "|"), word += *word == '|')
        snprintf(values[count++], LONGEST, "%.*s", (int)strcspn(word, "|"), word);
    if (p->type == BLV_REAL) {
        const double usual = fmin(fmax(0.02, p->lo), p->hi);
        snprintf(values[count++], LONGEST, "%.17g", usual);
        snprintf(values[count++], LONGEST, "%.17g", fmin(fmax(0.7, p->lo), p->hi));
    } else if (p->type == BLV_INT) {
        snprintf(values[count++], LONGEST, "%.0f", fmax(1.0, p->lo));
        snprintf(values[count++], LONGEST, "%.0f", fmin(fmax(3.0, p->lo), p->hi));
    }
    return count;
}

static void expect_kept(const blv_run *run, const blv_param *p, const char *value) {
    char text[BLV_TEXT_SIZE];
    blv_params_format(p, blv_run_solver_fields(run), text, sizeof text);
    char *end, *other;
    const double had = strtod(text, &end), given = strtod(value, &other);
    if (*end || *other ? strcmp(text, value) != 0 : had != given)
        fail_msg("%s: %s is %s, and was set to %s", blv_run_solver(run)->name, p->key, text, value);
}

static void expect_sound(const blv_run *run, const char *what) {
    if (!all_finite(run, "x") || !all_finite(run, "y") || !blv_run_message(run)[0] ||
        outcome_of(run) == BLV_RUNNING)
        fail_msg("%s with %s: outcome '%s': %s", blv_run_solver(run)->name, what,
                 blv_outcome_word(outcome_of(run)), blv_run_message(run));
}

static const char *const usual[] = {"iters", "4", "seed", "1", NULL};

/* A value may be rejected on its own, where others have to be set along with it: with a sentence.
 */
static bool try_value(const blv_problem *problem, const blv_solver *solver, const blv_param *p,
                      const char *value, const char *batch) {
    blv_run *run = make_run(problem, solver->name, usual);
    if (batch)
        set_all(run, SETTINGS("batch", batch));
    blv_error error = blv_run_set(run, p->key, value);
    if (error == BLV_OK) {
        expect_kept(run, p, value);
        error = blv_run_solve(run);
    }
    if (error == BLV_OK) {
        expect_sound(run, p->key);
    } else {
        assert_true(error == BLV_E_VALUE || error == BLV_E_UNSUPPORTED);
        expect_text(blv_run_message(run), p->key);
    }
    blv_run_destroy(run);
    return error == BLV_OK;
}

static void try_solver(const blv_problem *problem, const blv_solver *solver, const char *batch,
                       long *tried, long *accepted) {
    char values[VALUES][LONGEST];
    for (const blv_param *p = solver->params; p && p->key; p++) {
        const size_t count = values_of(p, values);
        for (size_t i = 0; i < count; i++) {
            ++*tried;
            *accepted += try_value(problem, solver, p, values[i], batch);
        }
    }
}

static void try_all(const blv_problem *problem, const char *batch) {
    long tried = 0, accepted = 0;
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        try_solver(problem, blv_builtin_solvers[s], batch, &tried, &accepted);
    print_message("%ld of %ld settings accepted on their own\n", accepted, tried);
    assert_true(accepted > tried * 9 / 10);
}

static void test_whole_sums(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    try_all(problem, NULL);
    blv_problem_destroy(problem);
}

static void test_batches(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "20"));
    try_all(problem, "5");
    blv_problem_destroy(problem);
}

/* All automatic numbers are given but one. */
static void try_without(const blv_problem *problem, const blv_solver *solver, const char *left) {
    char values[VALUES][LONGEST];
    blv_run *run = make_run(problem, solver->name, usual);
    for (const blv_param *p = solver->params; p && p->key; p++) {
        const size_t count = p->type == BLV_REAL && p->words ? values_of(p, values) : 0;
        if (count > 0 && strcmp(p->key, left) != 0)
            set_all(run, SETTINGS(p->key, values[count - 2]));
    }
    if (blv_run_solve(run) != BLV_OK)
        fail_msg("%s with all but %s: %s", solver->name, left, blv_run_message(run));
    expect_sound(run, left);
    blv_run_destroy(run);
}

static void test_all_but_one(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        for (const blv_param *p = blv_builtin_solvers[s]->params; p && p->key; p++)
            if (p->type == BLV_REAL && p->words)
                try_without(problem, blv_builtin_solvers[s], p->key);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_sums),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_all_but_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
