/* How a run ends: limits, tolerance, target, monitor, and stop requests, also inside a step. */
#include "bilevel/certificate.h"
#include "run_testing.h"

#include "registry/builtin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* A d-tfbo whose first inner loop never ends by itself. The seconds are for a test that fails. */
static const char *const endless[] = {"T",    "1",     "c_y",  "1e-300", "cap",
                                      "9e15", "eta_y", "1e-9", NULL};

static uint64_t total(const blv_counts *c) {
    return c->f_grad + c->g_grad + c->hvp + c->cross + c->values;
}

/* ---- Limits ---- */

static void test_iterations(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    static const char *const limits[] = {"0", "1", "7", "1e2"};
    static const uint64_t numbers[] = {0, 1, 7, 100};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", limits[i]));
        assert_int_equal(blv_run_solve(run), BLV_OK);
        expect_outcome(run, BLV_LIMIT_ITERATIONS);
        assert_int_equal(blv_run_result(run)->iterations, numbers[i]);
        blv_run_destroy(run);
    }
    blv_run *run = make_run(problem, "exact", NULL); /* auto: stops by itself before */
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_CONVERGED);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_seconds(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("seconds", "0.02"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_SECONDS);
    assert_true(blv_run_result(run)->seconds >= 0.02);
    assert_true(blv_run_result(run)->iterations > 0);
    blv_run_destroy(run);

    run = make_run(problem, "d-tfbo", endless); /* in the middle of a step */
    set_all(run, SETTINGS("seconds", "0.02"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_SECONDS);
    assert_int_equal(blv_run_result(run)->iterations, 0);
    blv_run_destroy(run);

    run = make_run(problem, "s-tfbo", SETTINGS("seconds", "0"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_SECONDS);
    assert_int_equal(blv_run_result(run)->iterations, 0);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_budget_reaches_every_solver(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *name = blv_builtin_solvers[s]->name;
        for (int budget = 1; budget < 120; budget += 7) {
            char text[16];
            snprintf(text, sizeof text, "%d", budget);
            blv_run *run = make_run(problem, name, SETTINGS("budget", text));
            assert_int_equal(blv_run_solve(run), BLV_OK);
            const blv_result *r = blv_run_result(run);
            uint64_t used = total(&r->counts) + total(&r->setup_counts);
            if (r->outcome == BLV_LIMIT_BUDGET) /* one call counts five at most */
                assert_in_range(used, budget, budget + 4);
            else
                assert_true(r->outcome == BLV_CONVERGED && used < (uint64_t)budget);
            assert_true(all_finite(run, "x") && all_finite(run, "y"));
            blv_run_destroy(run);
        }
    }
    blv_run *run = make_run(problem, "d-tfbo", endless);
    set_all(run, SETTINGS("budget", "5000"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_BUDGET);
    assert_int_equal(blv_run_result(run)->iterations, 0);
    assert_int_equal(total(&blv_run_result(run)->counts), 5000);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_tolerance(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const blv_solver *solver = blv_builtin_solvers[s];
        blv_run *run = make_run(problem, solver->name, SETTINGS("tol", "1e-2"));
        if (strcmp(solver->name, "exact") == 0)
            set_all(run, SETTINGS("accuracy", "0"));
        assert_int_equal(blv_run_solve(run), BLV_OK);
        const blv_metrics *m = &blv_run_result(run)->metrics;
        assert_true(m->d_norm <= 1e-2 && m->gy_norm <= 1e-2 && !(m->r_norm > 1e-2));
        blv_certificate c;
        assert_int_equal(blv_run_certify(run, &c), BLV_OK);
        expect_outcome(run, c.grad_norm <= 1e-2 ? BLV_CONVERGED : BLV_UNCERTIFIED);
        assert_true(c.grad_norm <= 1e-2 || solver->bias);
        assert_true(!solver->bias || has_note(run, solver->bias));
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

/* ---- Target ---- */

static void test_target_is_certified(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_run *run = make_run(problem, "exact", NULL);
    blv_certificate best, c;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_certify(run, &best), BLV_OK);
    blv_run_destroy(run);

    char text[32];
    double target = 1.001 * best.phi;
    snprintf(text, sizeof text, "%.17g", target);
    run = make_run(problem, "s-tfbo", SETTINGS("target", text, "every", "10"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_TARGET_REACHED);
    assert_int_equal(blv_run_result(run)->iterations % 10, 0);
    assert_int_equal(blv_run_certify(run, &c), BLV_OK);
    assert_true(c.phi <= target);
    assert_true(blv_run_result(run)->check_counts.values > 0);
    blv_run_destroy(run);

    /* f(x, y) below the target at the start, but Phi(x) not: y is far from y*(x) */
    double b[4] = {0.0}, phi;
    for (const blv_named_array *a = def->arrays; a->name; a++)
        if (strcmp(a->name, "b") == 0)
            memcpy(b, a->data, sizeof b);
    run = make_run(problem, "s-tfbo", SETTINGS("target", text, "every", "1", "iters", "0"));
    assert_int_equal(blv_run_write(run, "y", b), BLV_OK);
    assert_int_equal(def->known_phi(def->user, blv_run_x(run), &phi, NULL), 0);
    assert_true(phi > target);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_ITERATIONS);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* The last iterate is looked at too: a target that it reaches counts. */
static void test_target_reached_by_the_last_step(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run =
        make_run(problem, "s-tfbo", SETTINGS("target", "1e6", "every", "1000", "iters", "0"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_TARGET_REACHED); /* at the start */
    blv_run_destroy(run);

    run = make_run(problem, "exact", NULL);
    blv_certificate best;
    char text[32];
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_certify(run, &best), BLV_OK);
    blv_run_destroy(run);
    snprintf(text, sizeof text, "%.17g", 1.001 * best.phi);
    run = make_run(problem, "s-tfbo", SETTINGS("target", text, "every", "500", "iters", "500"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_TARGET_REACHED);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- Monitor ---- */

typedef struct watcher {
    blv_run *run;
    uint64_t calls, last, stop_at;
    blv_progress progress;
    bool meddle;
} watcher;

static int watch(void *context, const blv_progress *progress) {
    watcher *w = context;
    w->calls++;
    w->last = progress->iteration;
    w->progress = *progress;
    assert_ptr_equal(progress->run, w->run);
    assert_true(isfinite(progress->f) && isfinite(progress->g));
    if (w->meddle) {
        assert_int_equal(blv_run_step(w->run), BLV_E_ORDER);
        expect_text(blv_run_message(w->run), "monitor");
        assert_int_equal(blv_run_solve(w->run), BLV_E_ORDER);
        assert_int_equal(blv_run_set(w->run, "iters", "3"), BLV_E_ORDER);
    }
    return w->stop_at > 0 && progress->iteration >= w->stop_at;
}

static watcher watch_run(const blv_problem *problem, const char *const *settings, uint64_t every,
                         double seconds, uint64_t stop_at, blv_outcome expected) {
    blv_run *run = make_run(problem, "s-tfbo", settings);
    watcher w = {.run = run, .stop_at = stop_at, .meddle = true};
    assert_int_equal(blv_run_monitor(run, watch, &w, every, seconds), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, expected);
    assert_null(strstr(blv_run_message(run), "may not"));
    assert_int_equal(w.last, blv_run_result(run)->iterations); /* called at the end */
    assert_true(w.progress.counts.f_grad == blv_run_result(run)->counts.f_grad);
    blv_run_destroy(run);
    return w;
}

static void test_monitor(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const char *const *ten = SETTINGS("iters", "10");
    watcher w = watch_run(problem, ten, 3, 0.0, 0, BLV_LIMIT_ITERATIONS);
    assert_int_equal(w.calls, 4); /* 3, 6, 9 and the end */
    w = watch_run(problem, ten, 5, 0.0, 0, BLV_LIMIT_ITERATIONS);
    assert_int_equal(w.calls, 2); /* the end is one of them */
    w = watch_run(problem, ten, 0, 0.0, 0, BLV_LIMIT_ITERATIONS);
    assert_int_equal(w.calls, 1);
    w = watch_run(problem, ten, 0, 1e-9, 0, BLV_LIMIT_ITERATIONS);
    assert_in_range(w.calls, 9, 11); /* after every step */
    w = watch_run(problem, ten, 0, 1e6, 0, BLV_LIMIT_ITERATIONS);
    assert_int_equal(w.calls, 1);
    w = watch_run(problem, ten, 2, 0.0, 4, BLV_STOPPED_MONITOR);
    assert_int_equal(w.calls, 2);
    assert_int_equal(w.last, 4);
    blv_problem_destroy(problem);
}

static void test_monitor_is_called_at_every_end(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    watcher w = watch_run(problem, SETTINGS("iters", "0"), 1, 0.0, 0, BLV_LIMIT_ITERATIONS);
    assert_int_equal(w.calls, 1);
    w = watch_run(problem, SETTINGS("target", "1e6", "every", "10"), 7, 0.0, 0, BLV_TARGET_REACHED);
    assert_int_equal(w.calls, 1);
    blv_problem_destroy(problem);
}

/* ---- Stop requests ---- */

static void test_stop_from_within_an_oracle(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *name = blv_builtin_solvers[s]->name;
        bool d_tfbo = strcmp(name, "d-tfbo") == 0;
        for (long call = 1; call < 40; call += 3) {
            blv_run *run = make_run(w.problem, name, d_tfbo ? endless : NULL);
            plan(&w, LOWER, NO_FAULT, 0, 0);
            w.stop = run;
            w.stop_call = call;
            set_all(run, SETTINGS("iters", "1e6", "seconds", "20", "certify", "never"));
            assert_int_equal(blv_run_solve(run), BLV_OK);
            if (w.calls[LOWER] < call) { /* `exact` may need fewer */
                assert_true(outcome_of(run) == BLV_UNCERTIFIED);
            } else {
                expect_outcome(run, BLV_STOPPED_REQUEST);
                assert_int_equal(w.calls[LOWER], call);
            }
            assert_true(all_finite(run, "x") && all_finite(run, "y"));
            blv_run_destroy(run);
        }
    }
    unwrap(&w);
}

static void test_stop_before_the_start(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", NULL);
    blv_run_stop(run);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_STOPPED_REQUEST);
    assert_int_equal(blv_run_result(run)->iterations, 0);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static atomic_bool inside; /* the inner loop has begun */

static void tell_inside(long call) {
    if (call == 100)
        inside = true;
}

static void *stop_when_inside(void *run) {
    while (!inside)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    blv_run_stop(run);
    return NULL;
}

static void test_stop_from_another_thread(void **state) {
    (void)state;
    wrapped w;
    pthread_t thread;
    wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
    w.on_lower = tell_inside;
    blv_run *run = make_run(w.problem, "d-tfbo", endless);
    set_all(run, SETTINGS("seconds", "60"));
    inside = false;
    assert_int_equal(pthread_create(&thread, NULL, stop_when_inside, run), 0);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    pthread_join(thread, NULL);
    expect_outcome(run, BLV_STOPPED_REQUEST);
    assert_int_equal(blv_run_result(run)->iterations, 0);
    assert_true(w.calls[LOWER] >= 100);
    blv_run_destroy(run);
    unwrap(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_budget_reaches_every_solver),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_target_is_certified),
        cmocka_unit_test(test_target_reached_by_the_last_step),
        cmocka_unit_test(test_monitor),
        cmocka_unit_test(test_monitor_is_called_at_every_end),
        cmocka_unit_test(test_stop_from_within_an_oracle),
        cmocka_unit_test(test_stop_before_the_start),
        cmocka_unit_test(test_stop_from_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
