/* blv_compare: each row is what blv_solve gives, the best comes first, and solvers that do not suit
 * say why. */
#include "bilevel/solve.h"
#include "run_testing.h"

#include "memory_sweep.h"

#define OPTIONS(...) (&(const blv_solve_options){.size = sizeof(blv_solve_options), __VA_ARGS__})

static blv_comparison *compare(const blv_problem *problem, const char *const *solvers,
                               const blv_solve_options *options) {
    blv_message why = {""};
    blv_comparison *comparison = NULL;
    if (blv_compare(&comparison, problem, solvers, options, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return comparison;
}

static void reject(const blv_problem *problem, const char *const *solvers,
                   const blv_solve_options *options, blv_error expected, const char *words) {
    blv_message why = {""};
    blv_comparison *comparison = (blv_comparison *)&why;
    assert_int_equal(blv_compare(&comparison, problem, solvers, options, &why), expected);
    assert_null(comparison);
    expect_text(why.text, words);
}

static const blv_comparison_row *row_of(const blv_comparison *c, const char *solver) {
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->rows[i].solver->name, solver) == 0)
            return &c->rows[i];
    fail_msg("no row for %s", solver);
    return c->rows;
}

/* ---- Rows ---- */

static void expect_as_alone(const blv_comparison_row *row, const blv_problem *problem,
                            blv_solve_options options) {
    blv_solution *alone = NULL;
    options.solver = row->solver->name;
    assert_int_equal(blv_solve(&alone, problem, &options, NULL), BLV_OK);
    assert_int_equal(row->error, BLV_OK);
    assert_memory_equal(row->solution->x, alone->x, alone->dim_x * sizeof *alone->x);
    assert_memory_equal(row->solution->y, alone->y, alone->dim_y * sizeof *alone->y);
    assert_memory_equal(&row->solution->counts, &alone->counts, sizeof alone->counts);
    assert_int_equal(row->solution->outcome, alone->outcome);
    assert_true(row->solution->phi == alone->phi);
    blv_solution_destroy(alone);
}

static void expect_order(const blv_comparison *c) {
    for (size_t i = 0; i < c->count; i++) {
        assert_int_equal(c->rows[i].solution != NULL, i < c->ran);
        if (i + 1 < c->ran && !isnan(c->rows[i + 1].solution->phi))
            assert_true(c->rows[i].solution->phi <= c->rows[i + 1].solution->phi);
    }
}

static void test_all_solvers(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "32"));
    const blv_solve_options *options = OPTIONS(.iters = 30, .seed = 2);
    blv_comparison *c = compare(problem, NULL, options);
    size_t builtin = 0;
    while (blv_solver_at(NULL, builtin))
        builtin++;
    assert_int_equal(c->count, builtin);
    assert_true(c->ran > 30);
    expect_order(c);
    for (size_t i = 0; i < c->ran; i++)
        expect_as_alone(&c->rows[i], problem, *options);
    for (size_t i = c->ran; i < c->count; i++)
        assert_true(c->rows[i].remark.text[0] && c->rows[i].error == BLV_OK);
    blv_comparison_destroy(c);
    blv_problem_destroy(problem);
}

/* A solver that needs the inverse of a singular Hessian has a row that says so. */
static void test_solvers_that_do_not_suit(void **state) {
    (void)state;
    blv_problem *problem = make_problem("non-singleton", NULL);
    blv_comparison *c = compare(problem, NULL, OPTIONS(.iters = 10));
    for (size_t i = 0; i < c->count; i++) {
        blv_message remark;
        blv_fit fit = blv_solver_fit(c->rows[i].solver, problem, &remark);
        assert_int_equal(i < c->ran, fit == BLV_FIT_SUITED);
        if (i >= c->ran)
            assert_string_equal(c->rows[i].remark.text, remark.text);
    }
    expect_text(row_of(c, "exact")->remark.text, "singular");
    assert_non_null(row_of(c, "bome")->solution);
    blv_comparison_destroy(c);
    reject(problem, SETTINGS("exact", "soba"), NULL, BLV_E_UNSUPPORTED,
           "none of the solvers suits problem non-singleton as it is; exact: d2g/dy2 is singular");
    blv_problem_destroy(problem);
}

/* Finite differences: not among all, but where the solver is named. */
static void test_differences(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_DIFFERENCES);
    blv_comparison *c = compare(w.problem, NULL, OPTIONS(.iters = 3));
    assert_null(row_of(c, "soba")->solution);
    expect_text(row_of(c, "soba")->remark.text, "differences");
    assert_non_null(row_of(c, "f2ba")->solution);
    blv_comparison_destroy(c);
    c = compare(w.problem, SETTINGS("soba", "f2ba"), OPTIONS(.iters = 3));
    assert_int_equal(c->ran, 2);
    expect_text(row_of(c, "soba")->remark.text, "differences");
    blv_comparison_destroy(c);
    unwrap(&w);
}

/* ---- Settings ---- */

static int begun;

static blv_error count_begin(void *context, blv_run *run, blv_message *why) {
    (void)context, (void)run, (void)why;
    begun++;
    return BLV_OK;
}

static void test_settings(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const char *const *solvers = SETTINGS("s-tfbo", "soba", "exact");
    const char *const *settings = SETTINGS("step_x", "0.01", "soba.iters", "7", "iters", "5");
    blv_comparison *c = compare(problem, solvers, OPTIONS(.settings = settings));
    assert_int_equal(row_of(c, "soba")->solution->iterations, 7);
    assert_int_equal(row_of(c, "s-tfbo")->solution->iterations, 5);
    blv_comparison_destroy(c);
    reject(problem, solvers, OPTIONS(.settings = SETTINGS("step_xx", "1")), BLV_E_NAME,
           "none of the solvers that run has a parameter 'step_xx'; did you mean 'step_x'?");
    reject(problem, solvers, OPTIONS(.settings = SETTINGS("sobaa.step_x", "1")), BLV_E_NAME,
           "sobaa.step_x: among the solvers that run is no 'sobaa'; did you mean 'soba'?");
    reject(problem, solvers, OPTIONS(.settings = SETTINGS("step_x")), BLV_E_ARGUMENT, "no value");
    begun = 0; /* a value that the last one rejects: none has run */
    reject(problem, solvers,
           OPTIONS(.begin = count_begin, .settings = SETTINGS("exact.accuracy", "-1")), BLV_E_VALUE,
           "solver exact: accuracy");
    assert_int_equal(begun, 0);
    blv_problem_destroy(problem);
}

static void test_names(void **state) {
    (void)state;
    blv_message why = {""};
    blv_problem *problem = small_quadratic(BLV_F64);
    reject(problem, SETTINGS("soba", "exakt"), NULL, BLV_E_NAME, "did you mean 'exact'?");
    reject(problem, SETTINGS("soba", "exact", "soba"), NULL, BLV_E_ARGUMENT, "soba is named twice");
    reject(problem, (const char *const[]){NULL}, NULL, BLV_E_ARGUMENT, "no solver");
    reject(problem, SETTINGS("soba"), OPTIONS(.solver = "soba"), BLV_E_ARGUMENT, "argument");
    reject(problem, SETTINGS("soba"), &(const blv_solve_options){.size = 0}, BLV_E_ARGUMENT,
           "size");
    reject(NULL, NULL, NULL, BLV_E_ARGUMENT, "NULL");
    assert_int_equal(blv_compare(NULL, problem, NULL, NULL, &why), BLV_E_ARGUMENT);
    blv_comparison_destroy(NULL);
    blv_problem_destroy(problem);
}

/* ---- Runs that fail or are stopped ---- */

static blv_error refuse_to_open(blv_run *run, void *state) {
    (void)state;
    return blv_run_fail(run, BLV_E_UNSUPPORTED, "y is too short");
}

static blv_error break_on_open(blv_run *run, void *state) {
    (void)state;
    return blv_run_fail(run, BLV_E_FILE, "the tape is torn");
}

static blv_flow never_step(blv_run *run, void *state) {
    (void)run, (void)state;
    return BLV_FATAL;
}

static void test_runs_that_cannot_begin(void **state) {
    (void)state;
    static const blv_solver picky = {BLV_SIZED(blv_solver), .name = "picky", .open = refuse_to_open,
                                     .step = never_step};
    static const blv_solver broken = {BLV_SIZED(blv_solver), .name = "broken",
                                      .open = break_on_open, .step = never_step};
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_registry *registry;
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    assert_int_equal(blv_registry_add_solver(registry, &picky, NULL), BLV_OK);
    assert_int_equal(blv_registry_add_solver(registry, &broken, NULL), BLV_OK);
    const blv_solve_options *options = OPTIONS(.registry = registry, .iters = 3);
    blv_comparison *c = compare(problem, SETTINGS("picky", "broken", "soba"), options);
    assert_int_equal(c->ran, 1);
    assert_string_equal(c->rows[0].solver->name, "soba");
    assert_int_equal(row_of(c, "picky")->error, BLV_OK);
    assert_string_equal(row_of(c, "picky")->remark.text, "y is too short");
    assert_int_equal(row_of(c, "broken")->error, BLV_E_FILE);
    assert_string_equal(row_of(c, "broken")->remark.text, "the tape is torn");
    blv_comparison_destroy(c);
    reject(problem, SETTINGS("picky"), options, BLV_E_UNSUPPORTED, "picky: y is too short");
    c = compare(problem, SETTINGS("broken"), options); /* its error is to be seen */
    assert_true(c->ran == 0 && c->rows[0].error == BLV_E_FILE);
    blv_comparison_destroy(c);
    blv_registry_destroy(registry);
    blv_problem_destroy(problem);
}

static int stop_soba(void *context, const blv_progress *progress) {
    (void)context;
    return strcmp(blv_run_solver(progress->run)->name, "soba") == 0;
}

static blv_error stop_at_once(void *context, blv_run *run, blv_message *why) {
    (void)context, (void)why;
    if (strcmp(blv_run_solver(run)->name, "soba") == 0)
        blv_run_stop(run);
    return BLV_OK;
}

static void test_stop(void **state) {
    (void)state;
    const char *const *solvers = SETTINGS("exact", "soba", "s-tfbo", "f2ba");
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_solve_options *ways[] = {
        OPTIONS(.iters = 50, .progress = stop_soba, .progress_seconds = 1e-9),
        OPTIONS(.iters = 50, .begin = stop_at_once)};
    const blv_outcome outcomes[] = {BLV_STOPPED_MONITOR, BLV_STOPPED_REQUEST};
    for (size_t i = 0; i < LENGTH(ways); i++) {
        blv_comparison *c = compare(problem, solvers, ways[i]);
        assert_int_equal(c->ran, 2);
        assert_int_equal(row_of(c, "soba")->solution->outcome, outcomes[i]);
        assert_true(row_of(c, "exact")->solution->converged);
        assert_string_equal(row_of(c, "s-tfbo")->remark.text, "stopped before its turn");
        assert_string_equal(row_of(c, "f2ba")->remark.text, "stopped before its turn");
        assert_int_equal(row_of(c, "f2ba")->error, BLV_OK);
        blv_comparison_destroy(c);
    }
    blv_problem_destroy(problem);
}

/* Without a certificate a row comes after those with one. */
static void test_rows_without_certificate(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_solve_options *options = OPTIONS(.iters = 3, .no_certificate = true);
    blv_comparison *c = compare(problem, SETTINGS("soba", "exact", "s-tfbo"), options);
    static const char *const order[] = {"soba", "exact", "s-tfbo"};
    for (size_t i = 0; i < LENGTH(order); i++)
        assert_string_equal(c->rows[i].solver->name, order[i]);
    assert_true(c->ran == 3 && isnan(c->rows[0].solution->phi));
    blv_comparison_destroy(c);
    blv_problem_destroy(problem);
}

/* An error in a row counts as one of the call, for this test. */
static blv_error compare_briefly(void *context, blv_message *why) {
    blv_comparison *c = NULL;
    blv_error error =
        blv_compare(&c, context, SETTINGS("s-tfbo", "f2ba"), OPTIONS(.iters = 3), why);
    for (size_t i = 0; c && error == BLV_OK && i < c->count; i++) {
        error = c->rows[i].error;
        *why = c->rows[i].remark;
    }
    blv_comparison_destroy(c);
    return error;
}

static void test_short_memory(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    fail_every_request("blv_compare", compare_briefly, problem, true);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_solvers),  cmocka_unit_test(test_solvers_that_do_not_suit),
        cmocka_unit_test(test_differences),  cmocka_unit_test(test_settings),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_runs_that_cannot_begin),
        cmocka_unit_test(test_stop),         cmocka_unit_test(test_rows_without_certificate),
        cmocka_unit_test(test_short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
