/* One way to hear of an error: a call on a run leaves its reason in the run's message, every other
 * call in the message that it is given. Each call here fails, and must say why in that place. */
#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "bilevel/registry.h"
#include "run_testing.h"

/* ---- Calls on a run ---- */

static blv_run *run;

/* The call fails with this error and leaves a message with these words in place of an old one. */
#define FAILS(call, error, words)                                                                  \
    do {                                                                                           \
        blv_run_fail(run, BLV_OK, "stale");                                                        \
        assert_int_equal((call), (error));                                                         \
        assert_string_not_equal(blv_run_message(run), "stale");                                    \
        expect_text(blv_run_message(run), (words));                                                \
    } while (0)

static void no_rows(void *context, const blv_progress *progress, const char *text) {
    (void)context, (void)progress, (void)text;
}

static void no_pause(void *context, blv_run *paused) {
    (void)context, (void)paused;
}

static void test_before_opening(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_certificate certificate;
    blv_vec *vec;
    double *block, host[4] = {0.0, NAN, 0.0, 0.0};
    run = make_run(problem, "s-tfbo", NULL);
    FAILS(blv_run_set(run, NULL, "1"), BLV_E_ARGUMENT, "a key");
    FAILS(blv_run_set(run, "iters", NULL), BLV_E_ARGUMENT, "a value");
    FAILS(blv_run_set(run, "itres", "1"), BLV_E_NAME, "did you mean 'iters'?");
    FAILS(blv_run_set(run, "iters", "-1"), BLV_E_VALUE, "expected");
    FAILS(blv_run_set_real(run, "tol", NAN), BLV_E_VALUE, "expected");
    FAILS(blv_run_set_int(run, "every", 0), BLV_E_VALUE, "expected");
    FAILS(blv_run_write(run, "z", host), BLV_E_NAME, "'z'");
    FAILS(blv_run_write(run, NULL, host), BLV_E_ARGUMENT, "without a name");
    FAILS(blv_run_write(run, "x", NULL), BLV_E_ARGUMENT, "no values");
    FAILS(blv_run_write(run, "y", host), BLV_E_VALUE, "element 1 is not finite");
    FAILS(blv_run_start_random(run, INFINITY), BLV_E_ARGUMENT, "finite");
    FAILS(blv_run_monitor(run, NULL, NULL, 0, -1.0), BLV_E_ARGUMENT, "monitor");
    FAILS(blv_run_every(run, no_pause, NULL, -1.0), BLV_E_ARGUMENT, "seconds");
    FAILS(blv_run_certify(run, NULL), BLV_E_ARGUMENT, "certi");
    FAILS(blv_run_own(run, NULL, NULL, 1), BLV_E_ARGUMENT, "NULL");
    FAILS(blv_state_vec(run, NULL, BLV_LEVEL_X, &vec), BLV_E_NAME, "name");
    FAILS(blv_state_iterate(run, "x", BLV_LEVEL_X, &vec), BLV_E_NAME, "taken");
    FAILS(blv_state_scalar(run, "s", NULL), BLV_E_ARGUMENT, "NULL");
    FAILS(blv_state_hidden(run, "s", NULL), BLV_E_ARGUMENT, "NULL");
    FAILS(blv_state_block(run, NULL, 1, &block), BLV_E_ARGUMENT, "NULL");
    FAILS(blv_scratch_vec(run, BLV_LEVEL_X, NULL), BLV_E_ARGUMENT, "NULL");
    FAILS(blv_state_sampler(run, "s", BLV_LEVEL_X, 0, NULL), BLV_E_ARGUMENT, "NULL");
    FAILS(blv_run_load(run, "/no/such/file"), BLV_E_FILE, "/no/such/file");
    FAILS(blv_run_load_from(run, "not a file", 10), BLV_E_FORMAT, "in memory");
    FAILS(blv_run_save(run, "/no/such/folder/file"), BLV_E_FILE, "/no/such/folder");
    FAILS(blv_run_save_to(run, NULL, NULL), BLV_E_ARGUMENT, "checkpoint");
    assert_int_equal(blv_run_certify(run, &certificate), BLV_OK);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_after_opening(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    double host[4];
    run = make_run(problem, "s-tfbo", SETTINGS("iters", "3"));
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_string_equal(blv_run_message(run), "not started");
    FAILS(blv_run_set(run, "iters", "4"), BLV_E_ORDER, "before");
    FAILS(blv_run_set_real(run, "tol", 1.0), BLV_E_ORDER, "before");
    FAILS(blv_run_set_int(run, "iters", 4), BLV_E_ORDER, "before");
    FAILS(blv_run_trace(run, "trace.jsonl"), BLV_E_ORDER, "before");
    FAILS(blv_run_trace_callback(run, no_rows, NULL, true), BLV_E_ORDER, "before");
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_text(blv_run_message(run), "iteration limit");
    FAILS(blv_run_load(run, "/no/such/file"), BLV_E_ORDER, "first step");
    blv_run_fail(run, BLV_OK, "kept");
    assert_int_equal(blv_run_read(run, "z", host), BLV_E_NAME);
    assert_string_equal(blv_run_message(run), "kept"); /* looking leaves the message alone */
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static blv_error fail_to_open(blv_run *opened, void *fields) {
    (void)opened, (void)fields;
    return BLV_E_UNSUPPORTED;
}

static blv_flow never_step(blv_run *stepped, void *fields) {
    (void)stepped, (void)fields;
    return BLV_GO;
}

/* The reason stays the reason, whatever else fails in between. */
static void test_failed_opening(void **state) {
    (void)state;
    static const blv_solver silent = {BLV_SIZED(blv_solver), .name = "silent", .open = fail_to_open,
                                      .step = never_step};
    const char *reason = "solver silent: not possible with this problem";
    blv_problem *problem = small_quadratic(BLV_F64);
    assert_int_equal(blv_run_create(&run, problem, &silent, NULL), BLV_OK);
    assert_int_equal(blv_run_set(run, "itres", "1"), BLV_E_NAME);
    FAILS(blv_run_open(run), BLV_E_UNSUPPORTED, reason);
    FAILS(blv_run_set(run, "iters", "1"), BLV_E_ORDER, "before");
    FAILS(blv_run_solve(run), BLV_E_UNSUPPORTED, reason);
    FAILS(blv_run_step(run), BLV_E_UNSUPPORTED, reason);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- Calls without a run ---- */

/* The same for a message that the call is given. */
#define EXPLAINS(call, error, words)                                                               \
    do {                                                                                           \
        snprintf(why.text, sizeof why.text, "stale");                                              \
        assert_int_equal((call), (error));                                                         \
        assert_string_not_equal(why.text, "stale");                                                \
        expect_text(why.text, (words));                                                            \
    } while (0)

static void test_without_a_run(void **state) {
    (void)state;
    blv_message why;
    blv_problem *problem = small_quadratic(BLV_F64), *made;
    const blv_problem_def *def = blv_problem_definition(problem);
    const blv_problem_def empty = {BLV_SIZED(blv_problem_def), .dim_x = 1, .dim_y = 1};
    const blv_solver nothing = {BLV_SIZED(blv_solver), .name = "nothing"};
    const blv_problem_family *family = blv_family_find(NULL, "quadratic", NULL);
    blv_certificate certificate;
    blv_check_report report;
    blv_registry *registry;
    double norm;
    blv_vec *x = NULL;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    EXPLAINS(blv_problem_create(&made, &empty, &why), BLV_E_ARGUMENT, "`upper` is missing");
    EXPLAINS(blv_problem_from_family(family, SETTINGS("dy", "0"), NULL, &made, &why), BLV_E_VALUE,
             "expected");
    EXPLAINS(blv_problem_from_family(NULL, NULL, NULL, &made, &why), BLV_E_ARGUMENT, "famil");
    EXPLAINS(blv_problem_check(NULL, 1, 1.0, &report, &why), BLV_E_ARGUMENT, "blv_problem_check");
    EXPLAINS(blv_certify(problem, x, x, NULL, &certificate, NULL, &why), BLV_E_ARGUMENT, "space");
    EXPLAINS(blv_solve_lower(problem, x, x, 0.0, NULL, NULL, &norm, &why), BLV_E_ARGUMENT, "space");
    EXPLAINS(blv_run_create(&run, problem, &nothing, &why), BLV_E_ARGUMENT, "step");
    EXPLAINS(blv_registry_add_solver(registry, &nothing, &why), BLV_E_ARGUMENT, "step");
    EXPLAINS(blv_registry_add_family(registry, family, &why), BLV_E_NAME, "quadratic");
    EXPLAINS(blv_params_set(blv_run_options(), NULL, NULL, "tol", "1", &why), BLV_E_ARGUMENT,
             "fields");
    why.text[0] = '\0';
    assert_null(blv_solver_find(NULL, "sobaa", &why));
    expect_text(why.text, "did you mean 'soba'?");
    assert_null(blv_family_find(NULL, "quadratics", &why));
    expect_text(why.text, "did you mean 'quadratic'?");
    blv_registry_destroy(registry);
    blv_vec_destroy(x);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_opening),
        cmocka_unit_test(test_after_opening),
        cmocka_unit_test(test_failed_opening),
        cmocka_unit_test(test_without_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
