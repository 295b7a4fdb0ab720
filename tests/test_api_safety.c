/* The interface under wrong use: calls out of order, use after an error, calls from within a run,
 * runs in two threads. What each call answers is in the headers. */
#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "bilevel/registry.h"
#include "run_testing.h"
#include "small_sets.h"

#include <pthread.h>

/* ---- Order ---- */

static int never_called(void *context, const blv_progress *progress) {
    (void)context, (void)progress;
    return 0;
}

static void no_row(void *context, const blv_progress *progress, const char *text) {
    (void)context, (void)progress, (void)text;
}

static void test_order_of_calls(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "3"));
    assert_int_equal(outcome_of(run), BLV_RUNNING);
    assert_true(blv_run_memory(run) > 0); /* before it is opened, too */
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_int_equal(blv_run_open(run), BLV_OK); /* again: nothing to do */
    assert_int_equal(blv_run_set(run, "seed", "2"), BLV_E_ORDER);
    assert_int_equal(blv_run_trace(run, "nowhere"), BLV_E_ORDER);
    assert_int_equal(blv_run_trace_callback(run, no_row, NULL, true), BLV_E_ORDER);
    assert_int_equal(blv_run_monitor(run, never_called, NULL, 1, 0.0), BLV_OK);
    assert_int_equal(blv_run_step(run), BLV_OK);
    assert_int_equal(blv_run_load_from(run, "PK", 2), BLV_E_ORDER);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_ITERATIONS);
    assert_int_equal(blv_run_step(run), BLV_OK); /* ended: nothing happens */
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_result(run)->iterations, 3);
    assert_int_equal(blv_run_load_from(run, "PK", 2), BLV_E_ORDER);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* A run may be destroyed at every stage of its life. */
static void test_destroyed_at_every_stage(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++)
        for (int stage = 0; stage < 4; stage++) {
            blv_run *run = make_run(problem, solver->name, SETTINGS("iters", "2"));
            if (stage == 1)
                assert_int_equal(blv_run_open(run), BLV_OK);
            if (stage == 2)
                assert_int_equal(blv_run_step(run), BLV_OK);
            if (stage == 3)
                assert_int_equal(blv_run_solve(run), BLV_OK);
            blv_run_destroy(run);
        }
    blv_problem_destroy(problem);
}

/* ---- After an error ---- */

static void test_refused_settings_leave_the_run_alone(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *plain = make_run(problem, "s-tfbo", SETTINGS("iters", "50")),
            *tried = make_run(problem, "s-tfbo", SETTINGS("iters", "50"));
    double wrong[] = {1.0, NAN, 0.0, 0.0};
    assert_int_equal(blv_run_set(tried, "no-such-key", "1"), BLV_E_NAME);
    assert_int_equal(blv_run_set(tried, "seed", "one"), BLV_E_VALUE);
    assert_int_equal(blv_run_write(tried, "x", wrong), BLV_E_VALUE);
    assert_int_equal(blv_run_write(tried, "no-such-vector", wrong), BLV_E_NAME);
    assert_int_equal(blv_run_load(tried, "no-such-file.npz"), BLV_E_FILE);
    assert_int_equal(blv_run_load_from(tried, "rubbish", 7), BLV_E_FORMAT);
    assert_int_equal(blv_run_save(tried, "no-such-folder/a.npz"), BLV_E_FILE);
    assert_int_equal(blv_run_solve(plain), BLV_OK);
    assert_int_equal(blv_run_solve(tried), BLV_OK);
    expect_same_vector(plain, tried, "x");
    expect_same_vector(plain, tried, "y");
    blv_run_destroy(plain);
    blv_run_destroy(tried);
    blv_problem_destroy(problem);
}

static blv_error refusing_open(blv_run *run, void *state) {
    ++*(int *)state;
    return blv_run_fail(run, BLV_E_VALUE, "not today");
}

static blv_flow never_stepped(blv_run *run, void *state) {
    (void)run, (void)state;
    fail_msg("a step of a solver that did not open");
    return BLV_FATAL;
}

static const blv_solver refusing_solver = {BLV_SIZED(blv_solver), .name = "refusing",
                                           .state_size = sizeof(int), .open = refusing_open,
                                           .step = never_stepped};

static void test_open_that_failed(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run;
    assert_int_equal(blv_run_create(&run, problem, &refusing_solver, NULL), BLV_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(blv_run_open(run), BLV_E_VALUE);
        expect_text(blv_run_message(run), "not today");
        assert_int_equal(blv_run_step(run), BLV_E_VALUE);
        assert_int_equal(blv_run_solve(run), BLV_E_VALUE);
        assert_int_equal(blv_run_save(run, "nowhere.npz"), BLV_E_VALUE);
        assert_int_equal(blv_run_load(run, "nowhere.npz"), BLV_E_VALUE);
    }
    assert_int_equal(*(const int *)blv_run_solver_fields(run), 1); /* not opened again */
    assert_int_equal(blv_run_result(run)->iterations, 0);
    assert_true(all_finite(run, "x"));
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_after_a_fatal_oracle(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_ALL);
    blv_run *run = make_run(w.problem, "s-tfbo", NULL);
    plan(&w, UPPER, DIE, 3, 0);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_ORACLE_FAILED);
    uint64_t iterations = blv_run_result(run)->iterations;
    plan(&w, UPPER, NO_FAULT, 0, 0);
    assert_int_equal(blv_run_step(run), BLV_OK); /* it has ended, and ended it stays */
    expect_outcome(run, BLV_ORACLE_FAILED);
    assert_int_equal(blv_run_result(run)->iterations, iterations);
    assert_true(all_finite(run, "x") && all_finite(run, "y"));
    blv_certificate certificate;
    assert_int_equal(blv_run_certify(run, &certificate), BLV_OK); /* the problem works again */
    blv_run_destroy(run);
    unwrap(&w);
}

/* A projection that fails, or makes a NaN, leaves x as it was. */
static void test_write_with_a_bad_projection(void **state) {
    (void)state;
    const fault_kind faults[] = {REFUSE, DIE, NAN_ENTRY};
    const blv_l2reg_setting boxed = {.size = sizeof boxed,
                                     .penalty = BLV_PENALTY_PER_FEATURE,
                                     .scale = 1.0,
                                     .lo = -1.0,
                                     .hi = 1.0};
    const blv_sets sets = small_sets();
    blv_problem *base;
    assert_int_equal(blv_l2reg_create(&sets, &boxed, NULL, &base, NULL), BLV_OK);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    wrapped w;
    wrap(&w, base, BY_ALL);
    assert_non_null(w.def->project_x);
    blv_run *run = make_run(w.problem, "s-tfbo", NULL);
    double before[DIM_MAX], after[DIM_MAX], value[DIM_MAX] = {0.25};
    size_t bytes = blv_run_dim(run, "x") * sizeof *before;
    assert_int_equal(blv_run_write(run, "x", value), BLV_OK);
    assert_int_equal(blv_run_read(run, "x", before), BLV_OK);
    value[0] = 0.5;
    for (size_t i = 0; i < LENGTH(faults); i++) {
        plan(&w, PROJECT, faults[i], 1, 0);
        assert_int_equal(blv_run_write(run, "x", value), BLV_E_ORACLE);
        assert_int_equal(blv_run_read(run, "x", after), BLV_OK);
        assert_memory_equal(before, after, bytes);
    }
    blv_run_destroy(run);
    unwrap(&w);
}

/* ---- From within ---- */

typedef struct meddler {
    blv_run *run;
    long calls;
    bool destroys;
    double values[DIM_MAX];
} meddler;

static void meddle(meddler *m) {
    blv_run *run = m->run;
    m->calls++;
    assert_int_equal(blv_run_step(run), BLV_E_ORDER);
    expect_text(blv_run_message(run), "may not step");
    assert_int_equal(blv_run_solve(run), BLV_E_ORDER);
    assert_int_equal(blv_run_set(run, "seed", "2"), BLV_E_ORDER);
    assert_int_equal(blv_run_write(run, "x", m->values), BLV_E_ORDER);
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_E_ORDER);
    assert_int_equal(blv_run_load(run, "nowhere.npz"), BLV_E_ORDER);
    assert_int_equal(blv_run_load_from(run, "PK", 2), BLV_E_ORDER);
    assert_int_equal(blv_run_trace(run, "nowhere"), BLV_E_ORDER);
    assert_int_equal(blv_run_trace_callback(run, NULL, NULL, true), BLV_E_ORDER);
    assert_int_equal(blv_run_open(run), BLV_OK); /* it is */
    assert_int_equal(blv_run_read(run, "x", m->values), BLV_OK);
    assert_non_null(blv_run_result(run));
    blv_certificate certificate;
    assert_int_equal(blv_run_certify(run, &certificate), BLV_OK);
    if (m->destroys)
        blv_run_destroy(run);
}

static int meddling_monitor(void *context, const blv_progress *progress) {
    meddler *m = context;
    assert_ptr_equal(progress->run, m->run);
    meddle(m);
    return 0;
}

static void meddling_row(void *context, const blv_progress *progress, const char *text) {
    (void)progress, (void)text;
    meddle(context);
}

static void meddling_pause(void *context, blv_run *run) {
    assert_ptr_equal(run, ((meddler *)context)->run);
    meddle(context);
}

static int drop(void *context, const void *bytes, size_t count) {
    (void)bytes;
    *(size_t *)context += count;
    return 0;
}

/* Saves, certifies, and sets itself anew every other time. */
static int busy_monitor(void *context, const blv_progress *progress) {
    meddler *m = context;
    size_t saved = 0;
    (void)progress;
    m->calls++;
    blv_error error = blv_run_save_to(m->run, drop, &saved);
    assert_true(error == BLV_OK ? saved > 0 : error == BLV_E_ORDER); /* not at the very end */
    assert_int_equal(blv_run_monitor(m->run, busy_monitor, m, 2, 0.0), BLV_OK);
    return 0;
}

static blv_run *solved_alone(const blv_problem *problem) {
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "20"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    return run;
}

static void expect_same_end(const blv_run *a, const blv_run *b) {
    expect_same_vector(a, b, "x");
    expect_same_vector(a, b, "y");
    assert_string_equal(blv_run_message(a), blv_run_message(b));
}

static void test_calls_from_monitor_rows_and_pause(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *alone = solved_alone(problem);
    for (int kind = 0; kind < 4; kind++) {
        meddler m = {.run = make_run(problem, "s-tfbo", SETTINGS("iters", "20", "every", "3"))};
        if (kind == 0)
            assert_int_equal(blv_run_monitor(m.run, meddling_monitor, &m, 3, 0.0), BLV_OK);
        else if (kind == 1)
            assert_int_equal(blv_run_trace_callback(m.run, meddling_row, &m, true), BLV_OK);
        else if (kind == 2)
            assert_int_equal(blv_run_every(m.run, meddling_pause, &m, 1e-9), BLV_OK);
        else
            assert_int_equal(blv_run_monitor(m.run, busy_monitor, &m, 1, 0.0), BLV_OK);
        assert_int_equal(blv_run_solve(m.run), BLV_OK);
        assert_true(m.calls >= 5);
        expect_same_end(alone, m.run);
        blv_run_destroy(m.run);
    }
    blv_run_destroy(alone);
    blv_problem_destroy(problem);
}

static void test_destroyed_from_within(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (int kind = 0; kind < 3; kind++) {
        meddler m = {.run = make_run(problem, "s-tfbo", NULL), .destroys = true};
        if (kind == 0)
            assert_int_equal(blv_run_monitor(m.run, meddling_monitor, &m, 2, 0.0), BLV_OK);
        else if (kind == 1)
            assert_int_equal(blv_run_trace_callback(m.run, meddling_row, &m, true), BLV_OK);
        else
            assert_int_equal(blv_run_every(m.run, meddling_pause, &m, 1e-9), BLV_OK);
        assert_int_equal(blv_run_solve(m.run), BLV_OK);
        expect_outcome(m.run, BLV_STOPPED_REQUEST); /* it is still there to be asked */
        assert_in_range(blv_run_result(m.run)->iterations, 0, 3);
        blv_run_destroy(m.run);
    }
    blv_problem_destroy(problem);
}

static blv_run *run_inside;

static void meddle_from_oracle(long call) {
    if (call != 3)
        return;
    assert_int_equal(blv_run_step(run_inside), BLV_E_ORDER);
    assert_int_equal(blv_run_set(run_inside, "seed", "2"), BLV_E_ORDER);
    blv_run_destroy(run_inside);
}

static void test_destroyed_from_an_oracle(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
    blv_run *run = run_inside = make_run(w.problem, "s-tfbo", NULL);
    w.on_lower = meddle_from_oracle;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_STOPPED_REQUEST);
    blv_run_destroy(run);
    unwrap(&w);
}

/* ---- Two threads ---- */

typedef struct job {
    const blv_problem *problem;
    const char *solver;
    double x[DIM_MAX], y[DIM_MAX];
    blv_outcome outcome;
    blv_certificate certificate;
    blv_error errors;
} job;

static void *work(void *context) {
    job *j = context;
    blv_run *run = NULL;
    const blv_solver *solver = blv_solver_find(NULL, j->solver, NULL);
    j->errors = blv_run_create(&run, j->problem, solver, NULL);
    j->errors |= blv_run_set(run, "iters", "40");
    j->errors |= blv_run_solve(run);
    j->errors |= blv_run_certify(run, &j->certificate);
    j->errors |= blv_run_read(run, "x", j->x);
    j->errors |= blv_run_read(run, "y", j->y);
    j->outcome = outcome_of(run);
    blv_run_destroy(run);
    return NULL;
}

static void expect_same_job(const job *a, const job *b) {
    assert_int_equal(a->errors, BLV_OK);
    assert_int_equal(b->errors, BLV_OK);
    assert_int_equal(a->outcome, b->outcome);
    assert_memory_equal(a->x, b->x, sizeof a->x);
    assert_memory_equal(a->y, b->y, sizeof a->y);
    assert_memory_equal(&a->certificate.phi, &b->certificate.phi, sizeof a->certificate.phi);
}

/* Every solver, twice at once on one problem whose own threads are two as well. */
static void test_two_runs_in_two_threads(void **state) {
    (void)state;
    const blv_problem_options two = {.size = sizeof(blv_problem_options), .threads = 2};
    blv_problem *problem = NULL;
    const blv_problem_family *family = blv_family_find(NULL, "synthetic-logistic", NULL);
    assert_int_equal(blv_problem_from_family(family, SETTINGS("rows", "40", "columns", "5"), &two,
                                             &problem, NULL),
                     BLV_OK);
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        job alone = {.problem = problem, .solver = solver->name}, first = alone, second = alone;
        pthread_t threads[2];
        work(&alone);
        assert_int_equal(pthread_create(&threads[0], NULL, work, &first), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, work, &second), 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        expect_same_job(&alone, &first);
        expect_same_job(&alone, &second);
    }
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_calls),
        cmocka_unit_test(test_destroyed_at_every_stage),
        cmocka_unit_test(test_refused_settings_leave_the_run_alone),
        cmocka_unit_test(test_open_that_failed),
        cmocka_unit_test(test_after_a_fatal_oracle),
        cmocka_unit_test(test_write_with_a_bad_projection),
        cmocka_unit_test(test_calls_from_monitor_rows_and_pause),
        cmocka_unit_test(test_destroyed_from_within),
        cmocka_unit_test(test_destroyed_from_an_oracle),
        cmocka_unit_test(test_two_runs_in_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
