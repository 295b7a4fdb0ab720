/* blv_solve: the same as a run made by hand, every option, and every way to fail. */
#include "bilevel/solve.h"
#include "run_testing.h"

#include "memory_sweep.h"

#define OPTIONS(...) (&(const blv_solve_options){.size = sizeof(blv_solve_options), __VA_ARGS__})

static blv_solution *solve(const blv_problem *problem, const blv_solve_options *options) {
    blv_message why = {""};
    blv_solution *solution = NULL;
    if (blv_solve(&solution, problem, options, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return solution;
}

/* Fails with these words, and leaves no solution. */
static void reject(const blv_problem *problem, const blv_solve_options *options, blv_error expected,
                   const char *words) {
    blv_message why = {""};
    blv_solution *solution = (blv_solution *)&why;
    assert_int_equal(blv_solve(&solution, problem, options, &why), expected);
    assert_null(solution);
    expect_text(why.text, words);
}

/* ---- The same as by hand ---- */

static void expect_same_counts(const blv_counts *a, const blv_counts *b) {
    assert_memory_equal(a, b, sizeof *a);
}

/* Runs the settings by hand and compares everything. */
static void expect_as_by_hand(const blv_solution *s, const blv_problem *problem, const char *solver,
                              const char *const *settings) {
    double host[DIM_MAX];
    blv_certificate certificate;
    blv_run *run = make_run(problem, solver, settings);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    const blv_result *result = blv_run_result(run);
    assert_ptr_equal(s->solver, blv_run_solver(run));
    assert_string_equal(s->message.text, blv_run_message(run));
    assert_int_equal(s->outcome, result->outcome);
    assert_int_equal(s->converged, result->outcome > 0);
    assert_int_equal(s->iterations, result->iterations);
    expect_same_counts(&s->counts, &result->counts);
    expect_same_counts(&s->setup_counts, &result->setup_counts);
    assert_true(s->seconds >= 0.0);
    assert_memory_equal(&s->metrics, &result->metrics, sizeof s->metrics);
    assert_int_equal(blv_run_certify(run, &certificate), BLV_OK);
    expect_same_counts(&s->check_counts, &result->check_counts);
    for (size_t i = 0; s->notes[i] || blv_run_notes(run, i); i++)
        assert_string_equal(s->notes[i], blv_run_notes(run, i));
    assert_true(s->certified && s->no_certificate.text[0] == '\0');
    assert_true(s->phi == certificate.phi && s->certificate.phi == certificate.phi);
    assert_true(s->grad_norm == certificate.grad_norm);
    assert_int_equal(s->dim_x, blv_run_dim(run, "x"));
    assert_int_equal(s->dim_y, blv_run_dim(run, "y"));
    assert_int_equal(blv_run_read(run, "x", host), BLV_OK);
    assert_memory_equal(s->x, host, s->dim_x * sizeof *host);
    assert_int_equal(blv_run_read(run, "y", host), BLV_OK);
    assert_memory_equal(s->y, host, s->dim_y * sizeof *host);
    blv_run_destroy(run);
}

static void test_defaults(void **state) {
    (void)state;
    blv_problem *problem = make_problem("scalar-penalty", NULL);
    blv_solution *s = solve(problem, NULL);
    expect_as_by_hand(s, problem, BLV_DEFAULT_SOLVER, NULL);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

static void test_options(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "32"));
    blv_solution *s = solve(problem, OPTIONS(.solver = "exact", .tol = 1e-6));
    assert_true(s->converged && s->grad_norm <= 1e-6);
    expect_as_by_hand(s, problem, "exact", SETTINGS("tol", "1e-6"));
    blv_solution_destroy(s);

    s = solve(problem, OPTIONS(.solver = "soba", .iters = 40, .seed = 3));
    expect_as_by_hand(s, problem, "soba", SETTINGS("iters", "40", "seed", "3"));
    assert_int_equal(s->iterations, 40);
    blv_solution *other = solve(problem, OPTIONS(.solver = "soba", .iters = 40, .seed = 4));
    assert_memory_not_equal(s->x, other->x, 3 * sizeof *s->x);
    blv_solution_destroy(other);
    blv_solution_destroy(s);

    s = solve(problem, OPTIONS(.solver = "soba", .budget = 5000));
    assert_int_equal(s->outcome, BLV_LIMIT_BUDGET);
    blv_solution_destroy(s);
    s = solve(problem, OPTIONS(.seconds = 1e-9));
    assert_int_equal(s->outcome, BLV_LIMIT_SECONDS);
    assert_false(s->converged);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

static void test_settings(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const char *const *settings = SETTINGS("s-tfbo.beta0", "3", "beta0", "2", "iters", "30");
    blv_solution *s = solve(problem, OPTIONS(.solver = "s-tfbo", .settings = settings));
    expect_as_by_hand(s, problem, "s-tfbo", SETTINGS("iters", "30", "beta0", "3"));
    blv_solution_destroy(s);
    reject(problem, OPTIONS(.settings = SETTINGS("soba.step_x", "1")), BLV_E_NAME,
           "soba.step_x: among the solvers that run is no 'soba'");
    reject(problem, OPTIONS(.solver = "s-tfbo", .settings = SETTINGS("beta00", "1")), BLV_E_NAME,
           "solver s-tfbo has no parameter 'beta00'; did you mean 'beta0'?");
    reject(problem, OPTIONS(.solver = "s-tfbo", .settings = SETTINGS("beta0", "-1")), BLV_E_VALUE,
           "a number > 0");
    reject(problem, OPTIONS(.solver = "s-tfbo", .settings = SETTINGS("iters", "1", "beta0")),
           BLV_E_ARGUMENT, "'beta0' has no value");
    reject(problem, OPTIONS(.tol = NAN), BLV_E_VALUE, "tol");
    reject(problem, OPTIONS(.seconds = -1.0), BLV_E_VALUE, "seconds");
    reject(problem, OPTIONS(.iters = -1), BLV_E_VALUE, "iters");
    reject(problem, OPTIONS(.budget = -1), BLV_E_VALUE, "budget");
    reject(problem, OPTIONS(.seed = -1), BLV_E_VALUE, "seed");
    blv_problem_destroy(problem);
}

static void test_start(void **state) {
    (void)state;
    const double x[] = {1.0, 2.0, 3.0}, y[] = {4.0, 5.0, 6.0, 7.0}, bad[] = {0.0, NAN, 0.0, 0.0};
    const char *const *no_steps = SETTINGS("iters", "0");
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_solution *s = solve(problem, OPTIONS(.x = x, .y = y, .settings = no_steps));
    assert_memory_equal(s->x, x, sizeof x);
    assert_memory_equal(s->y, y, sizeof y);
    assert_int_equal(s->outcome, BLV_LIMIT_ITERATIONS);
    blv_solution_destroy(s);
    reject(problem, OPTIONS(.x = bad), BLV_E_VALUE, "vector x: element 1");
    reject(problem, OPTIONS(.y = bad), BLV_E_VALUE, "vector y: element 1");
    blv_problem_destroy(problem);
}

static void test_notes_and_measures(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_DIFFERENCES);
    blv_solution *s = solve(w.problem, OPTIONS(.iters = 3));
    expect_as_by_hand(s, w.problem, BLV_DEFAULT_SOLVER, SETTINGS("iters", "3"));
    expect_text(s->notes[0], "no lower_hvp");
    expect_text(s->notes[1], "no lower_cross");
    assert_int_equal(s->measure_count, 0);
    blv_solution_destroy(s);
    unwrap(&w);

    const blv_problem_family *family = blv_family_find(NULL, "hyperclean", NULL);
    blv_problem *problem = make_problem("hyperclean", needed_settings(family));
    s = solve(problem, OPTIONS(.iters = 3));
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x = NULL, *y = NULL;
    double values[BLV_MEASURES_MAX];
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    blv_vec_write(x, s->x);
    blv_vec_write(y, s->y);
    assert_int_equal(def->measure(def->user, x, y, values), 0);
    assert_true(s->measure_count > 0 && !def->measures[s->measure_count]);
    assert_memory_equal(s->measures, values, s->measure_count * sizeof *values);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

/* ---- The struct's size ---- */

static void test_size(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_solve_options options = {.solver = "exact"};
    reject(problem, &options, BLV_E_ARGUMENT, "sizeof(blv_solve_options)");
    options.size = sizeof options + 8; /* of a later version */
    reject(problem, &options, BLV_E_ARGUMENT, "sizeof(blv_solve_options)");
    options.size = offsetof(blv_solve_options, registry); /* of an earlier one */
    options.iters = -1;                                   /* not known to it */
    blv_solution *s = solve(problem, &options);
    assert_string_equal(s->solver->name, "exact");
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

static void test_arguments(void **state) {
    (void)state;
    blv_message why = {""};
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_solution *solution;
    assert_int_equal(blv_solve(NULL, problem, NULL, &why), BLV_E_ARGUMENT);
    expect_text(why.text, "NULL");
    assert_int_equal(blv_solve(&solution, NULL, NULL, NULL), BLV_E_ARGUMENT);
    reject(problem, OPTIONS(.solver = "exakt"), BLV_E_NAME, "did you mean 'exact'?");
    blv_solution_destroy(NULL);
    blv_problem_destroy(problem);
    problem = make_problem("non-singleton", NULL);
    reject(problem, OPTIONS(.solver = "s-tfbo"), BLV_E_UNSUPPORTED, "does not suit solver s-tfbo");
    blv_problem_destroy(problem);
}

/* ---- Functions of the caller ---- */

typedef struct diary {
    int begun, ended, calls;
    int stop_at; /* the call of `progress` that stops */
    bool fails, explains;
    const char *trace;
    bool had_solution;
} diary;

static int note_progress(void *context, const blv_progress *progress) {
    diary *d = context;
    assert_int_equal(d->begun, 1);
    assert_non_null(blv_run_solver(progress->run));
    return ++d->calls == d->stop_at;
}

static blv_error note_begin(void *context, blv_run *run, blv_message *why) {
    diary *d = context;
    d->begun++;
    if (d->explains)
        snprintf(why->text, sizeof why->text, "no room in the diary");
    if (d->trace)
        assert_int_equal(blv_run_trace(run, d->trace), BLV_OK);
    return d->fails ? BLV_E_FILE : BLV_OK;
}

static void note_end(void *context, blv_run *run, const blv_solution *solution, blv_error error,
                     const char *why) {
    diary *d = context;
    assert_true(error == BLV_OK ? solution != NULL : *why != '\0');
    assert_int_equal(d->begun, d->ended + 1);
    assert_non_null(blv_run_result(run));
    d->ended++;
    d->had_solution = solution != NULL;
}

#define WITH_DIARY(d, ...)                                                                         \
    OPTIONS(.solver = "s-tfbo", .context = (d), .progress = note_progress,                         \
            .progress_seconds = 1e-9, .begin = note_begin, .end = note_end, __VA_ARGS__)

static void test_hooks(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    diary d = {0};
    blv_solution *s = solve(problem, WITH_DIARY(&d, .iters = 20));
    assert_true(d.begun == 1 && d.ended == 1 && d.calls >= 20 && d.had_solution);
    blv_solution_destroy(s);

    d = (diary){.stop_at = 3};
    s = solve(problem, WITH_DIARY(&d, .iters = 20));
    assert_int_equal(s->outcome, BLV_STOPPED_MONITOR);
    assert_false(s->converged);
    blv_solution_destroy(s);

    d = (diary){.fails = true};
    reject(problem, WITH_DIARY(&d, .iters = 20), BLV_E_FILE, blv_error_text(BLV_E_FILE));
    assert_true(d.begun == 1 && d.ended == 1 && d.calls == 0 && !d.had_solution);
    d = (diary){.fails = true, .explains = true};
    reject(problem, WITH_DIARY(&d, .iters = 20), BLV_E_FILE, "no room in the diary");
    d = (diary){.trace = "/no/such/folder/trace"};
    reject(problem, WITH_DIARY(&d, .iters = 20), BLV_E_FILE, "/no/such/folder/trace");
    assert_true(d.ended == 1 && !d.had_solution);
    blv_problem_destroy(problem);
}

/* The run ended: its solution is there although the trace is not whole. */
static void test_full_disk(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    blv_problem *problem = small_quadratic(BLV_F64);
    diary d = {.trace = "/dev/full"};
    blv_message why = {""};
    blv_solution *s = NULL;
    assert_int_equal(blv_solve(&s, problem, WITH_DIARY(&d, .iters = 20), &why), BLV_E_FILE);
    expect_text(why.text, "/dev/full");
    assert_non_null(s);
    assert_true(s->outcome == BLV_LIMIT_ITERATIONS && s->certified && d.had_solution);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

/* ---- Runs that end badly, and no certificate ---- */

static void test_bad_ends(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
    plan(&w, LOWER, DIE, 9, 1);
    blv_solution *s = solve(w.problem, OPTIONS(.iters = 50));
    assert_int_equal(s->outcome, BLV_ORACLE_FAILED);
    assert_true(!s->converged && s->certified);
    expect_text(s->message.text, "returned -7");
    blv_solution_destroy(s);
    plan(&w, LOWER, DIE, 9, 0); /* the certificate needs it too */
    s = solve(w.problem, OPTIONS(.iters = 50));
    assert_true(!s->certified && isnan(s->phi) && isnan(s->grad_norm));
    assert_true(isnan(s->certificate.inner_residual) && s->no_certificate.text[0]);
    blv_solution_destroy(s);
    unwrap(&w);

    blv_problem *problem = small_quadratic(BLV_F64);
    s = solve(problem, OPTIONS(.iters = 5, .no_certificate = true));
    assert_true(!s->certified && isnan(s->phi));
    assert_string_equal(s->no_certificate.text, "not asked for");
    assert_int_equal(s->check_counts.f_grad + s->check_counts.g_grad, 0);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

static blv_error solve_briefly(void *context, blv_message *why) {
    blv_solution *s = NULL;
    blv_error error = blv_solve(&s, context, OPTIONS(.iters = 5), why);
    blv_solution_destroy(s);
    return error;
}

static void test_short_memory(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    fail_every_request("blv_solve", solve_briefly, problem, true);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),           cmocka_unit_test(test_options),
        cmocka_unit_test(test_settings),           cmocka_unit_test(test_start),
        cmocka_unit_test(test_notes_and_measures), cmocka_unit_test(test_size),
        cmocka_unit_test(test_arguments),          cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_full_disk),          cmocka_unit_test(test_bad_ends),
        cmocka_unit_test(test_short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
