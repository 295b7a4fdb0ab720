/* Oracles that return NaN, refuse a point or fail: the run ends as documented, x and y stay finite,
 * and the message says what happened and when. */
#include "bilevel/certificate.h"
#include "run_testing.h"

#include "registry/builtin.h"

enum { CALLS = 60 };

typedef struct variant {
    const char *solver;
    const char *settings[12];
    bool plain; /* every number it gets goes into a step at once: no line search, no estimates */
} variant;

static const variant variants[] = {
    {"s-tfbo", {"iters", "25", NULL}, true},
    {"d-tfbo", {"iters", "12", "T", "50", NULL}, true},
    {"d-tfbo", {"iters", "8", "inner", "fixed", "n_y", "2", "n_v", "3", NULL}, true},
    {"aid-cg",
     {"iters", "12", "step_x", "0.1", "step_y", "0.1", "inner", "3", "linear", "3", NULL},
     true},
    {"soba", {"iters", "25", "step_x", "0.1", "step_y", "0.1", "step_v", "0.1", NULL}, true},
    {"f2ba", {"iters", "6", "step_x", "0.1", "Lg", "11", "mu", "1", "inner", "3", NULL}, true},
    {"minimaxopt", {"iters", "12", "eta0", "0.02", NULL}, true},
    {"f2sa",
     {"iters", "6", "step_x", "0.1", "step_y", "1e-3", "step_z", "0.05", "inner", "3", NULL},
     true},
    {"pbgd",
     {"iters", "6", "step_x", "0.05", "step_y", "3e-3", "step_z", "0.05", "inner", "3", NULL},
     true},
    {"bome",
     {"iters", "6", "step_x", "0.05", "step_y", "3e-3", "Lg", "11", "inner", "3", NULL},
     true},
    {"s-tfbo", {"iters", "25", "scale", "auto", NULL}, false},
    {"ragd-gs", {"iters", "10", NULL}, false},
    {"f2ba", {"iters", "10", NULL}, false},
    {"accf2ba", {"iters", "10", NULL}, false},
    {"rahgd", {"iters", "10", NULL}, false},
    {"minimaxopt", {"iters", "20", NULL}, false},
    {"f2sa", {"iters", "10", NULL}, false},
    {"pbgd", {"iters", "10", NULL}, false},
    {"bome", {"iters", "10", NULL}, false},
    {"aid-cg", {"iters", "12", NULL}, false},
    {"soba", {"iters", "25", NULL}, false},
    {"exact", {"iters", "25", NULL}, false},
};

typedef struct trial {
    const variant *variant;
    wrapped *w;
    blv_run *run;
    oracle at;
    long call;
} trial;

static void complain(const trial *t, const char *what) {
    fail_msg("%s (%s=%s), oracle %s, call %ld: %s; outcome '%s' after %llu: %s", t->variant->solver,
             t->variant->settings[2] ? t->variant->settings[2] : "",
             t->variant->settings[2] ? t->variant->settings[3] : "", oracle_names[t->at], t->call,
             what, blv_outcome_word(outcome_of(t->run)),
             (unsigned long long)blv_run_result(t->run)->iterations, blv_run_message(t->run));
}

static void require(const trial *t, bool holds, const char *what) {
    if (!holds)
        complain(t, what);
}

static void require_text(const trial *t, const char *part) {
    if (!strstr(blv_run_message(t->run), part)) {
        char what[200];
        snprintf(what, sizeof what, "'%s' is not in the message", part);
        complain(t, what);
    }
}

static bool ended_well(const blv_run *run) {
    blv_outcome outcome = outcome_of(run);
    return outcome == BLV_LIMIT_ITERATIONS || outcome == BLV_UNCERTIFIED || outcome == BLV_STALLED;
}

/* "diverged in iteration K: cause; ...; hint" with K the iteration that was not completed. */
static void require_diverged(const trial *t) {
    char start[64];
    require(t, outcome_of(t->run) == BLV_DIVERGED, "should have diverged");
    snprintf(start, sizeof start, "diverged in iteration %llu: ",
             (unsigned long long)blv_run_result(t->run)->iterations + 1);
    require_text(t, start);
    require_text(t, blv_run_solver(t->run)->hint);
}

typedef void (*verdict_fn)(const trial *t);

static int look(void *context, const blv_progress *progress) {
    (void)context;
    (void)progress;
    return 0;
}

/* Every variant, every oracle that the problem has, the first CALLS calls. */
static void try_everywhere(fault_kind fault, long times, bool watched, verdict_fn verdict) {
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), (product_kind)products);
        for (size_t i = 0; i < LENGTH(variants); i++)
            for (oracle at = UPPER; at <= ALL; at++)
                for (long call = 1; call <= CALLS; call++) {
                    trial t = {&variants[i], &w, NULL, at, call};
                    t.run = make_run(w.problem, variants[i].solver, variants[i].settings);
                    set_all(t.run, SETTINGS("certify", "never")); /* faults of the steps */
                    if (watched)
                        assert_int_equal(blv_run_monitor(t.run, look, NULL, 1, 0.0), BLV_OK);
                    plan(&w, at, fault, call, times);
                    assert_int_equal(blv_run_solve(t.run), BLV_OK);
                    bool fired = w.fired > 0;
                    require(&t, all_finite(t.run, "x") && all_finite(t.run, "y"), "not finite");
                    if (fired)
                        verdict(&t);
                    else
                        require(&t, ended_well(t.run), "nothing went wrong");
                    blv_run_destroy(t.run);
                    if (!fired)
                        break; /* there are no more calls */
                }
        unwrap(&w);
    }
}

/* ---- NaN ---- */

/* A line search or a trial point may step back from a NaN; what comes out is then right. */
static void nan_once(const trial *t) {
    if (t->variant->plain || !ended_well(t->run))
        require_diverged(t);
    if (outcome_of(t->run) == BLV_UNCERTIFIED) {
        blv_certificate c;
        plan(t->w, t->at, NO_FAULT, 0, 0);
        assert_int_equal(blv_run_certify(t->run, &c), BLV_OK);
        require(t, c.grad_norm <= 1e-8, "not a solution");
    }
}

static void test_nan_once(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 1, false, nan_once);
}

/* A line search of the estimates may end where every trial is bad; steps that do not use that
 * oracle then go on. `exact` has tests of its own. */
static bool unused_by_steps(const trial *t) {
    bool estimates = !t->variant->plain && strcmp(t->variant->solver, "exact") != 0;
    return estimates && t->at == LOWER && ended_well(t->run);
}

static bool is_exact(const trial *t) {
    return strcmp(t->variant->solver, "exact") == 0;
}

static void nan_forever(const trial *t) {
    if (!is_exact(t) && !unused_by_steps(t))
        require_diverged(t);
}

static void test_nan_forever(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 0, false, nan_forever);
}

static void exact_diverges(const trial *t) {
    if (is_exact(t))
        require_diverged(t);
}

static void test_nan_forever_in_exact(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 0, false, exact_diverges);
}

static void names_a_cause(const trial *t) {
    require(t, !strstr(blv_run_message(t->run), ": ;"), "no cause is named");
}

static void test_nan_has_a_cause(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 0, false, names_a_cause);
}

/* No oracle failed, so none may be blamed. */
static void blames_no_oracle(const trial *t) {
    require(t, !strstr(blv_run_message(t->run), "returned 0"), "blames an oracle");
}

static void test_nan_is_not_blamed_on_a_return_code(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 0, false, blames_no_oracle);
}

/* A value that only the monitor asks for. Solvers with line searches ask for values too. */
static void nan_value(const trial *t) {
    bool at_the_end = t->w->fired == 1 && outcome_of(t->run) == BLV_LIMIT_ITERATIONS;
    if (t->variant->plain && !at_the_end)
        require_diverged(t);
}

static void test_nan_in_values(void **state) {
    (void)state;
    try_everywhere(NAN_VALUE, 0, true, nan_value);
}

/* The same when it is the last iterate whose value is not a number. */
static void test_nan_in_the_last_value(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_ALL);
    trial t = {&variants[0], &w, NULL, LOWER, 1};
    t.run = make_run(w.problem, "s-tfbo", SETTINGS("iters", "5"));
    assert_int_equal(blv_run_monitor(t.run, look, NULL, 0, 0.0), BLV_OK);
    plan(&w, LOWER, NAN_VALUE, 1, 0);
    assert_int_equal(blv_run_solve(t.run), BLV_OK);
    assert_int_equal(w.fired, 1);
    require(&t, outcome_of(t.run) == BLV_DIVERGED, "should have diverged");
    blv_run_destroy(t.run);
    unwrap(&w);
}

/* ---- Refusals ---- */

static void refused_some_times(const trial *t) {
    if (!t->variant->plain)
        return;
    require(t, ended_well(t->run), "should have gone on");
    require(t, has_note(t->run, "halved"), "no note");
}

static void test_refused_once(void **state) {
    (void)state;
    try_everywhere(REFUSE, 1, false, refused_some_times);
}

static void test_refused_several_times(void **state) {
    (void)state;
    try_everywhere(REFUSE, 7, false, refused_some_times);
}

static void goes_on(const trial *t) {
    require(t, ended_well(t->run), "should have gone on");
}

/* The same where estimates and line searches come first. */
static void test_refused_once_anywhere(void **state) {
    (void)state;
    try_everywhere(REFUSE, 1, false, goes_on);
}

static void refused_forever(const trial *t) {
    if (is_exact(t) || unused_by_steps(t))
        return;
    require_diverged(t);
    require_text(t, oracle_names[t->at]);
    require_text(t, "returned 1");
}

static void test_refused_forever(void **state) {
    (void)state;
    try_everywhere(REFUSE, 0, false, refused_forever);
}

static void test_refused_forever_in_exact(void **state) {
    (void)state;
    try_everywhere(REFUSE, 0, false, exact_diverges);
}

/* ---- Fatal ---- */

static void fatal(const trial *t) {
    char after[64];
    require(t, outcome_of(t->run) == BLV_ORACLE_FAILED, "should have failed");
    snprintf(after, sizeof after, "after %llu iterations",
             (unsigned long long)blv_run_result(t->run)->iterations);
    require_text(t, after);
    require_text(t, oracle_names[t->at]);
    require_text(t, "returned -7");
    require(t, t->w->fired == 1, "called again after a fatal failure");
}

static void test_fatal(void **state) {
    (void)state;
    try_everywhere(DIE, 0, false, fatal);
}

/* A fatal failure while the monitor looks ends the run as well, unless it has ended before. */
static void fatal_watched(const trial *t) {
    if (t->w->fired == 1 && ended_well(t->run))
        return;
    require(t, outcome_of(t->run) == BLV_ORACLE_FAILED, "should have failed");
    require_text(t, oracle_names[t->at]);
}

static void test_fatal_with_monitor(void **state) {
    (void)state;
    try_everywhere(DIE, 0, true, fatal_watched);
}

/* ---- The projection ---- */

static void test_projection_fails(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("scalar-penalty", NULL), BY_ALL);
    for (size_t i = 0; i < LENGTH(variants); i++)
        for (long call = 1; call < 20; call++) {
            trial t = {&variants[i], &w, NULL, PROJECT, call};
            t.run = make_run(w.problem, variants[i].solver, variants[i].settings);
            plan(&w, PROJECT, DIE, call, 0);
            assert_int_equal(blv_run_solve(t.run), BLV_OK);
            if (w.fired > 0) {
                require(&t, outcome_of(t.run) == BLV_ORACLE_FAILED, "should have failed");
                require_text(&t, "project");
            }
            require(&t, all_finite(t.run, "x") && all_finite(t.run, "y"), "not finite");
            blv_run_destroy(t.run);
        }
    unwrap(&w);
}

/* A projection that refuses once: the run goes on, and x stays in X. */
static void test_projection_refuses_once(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("scalar-penalty", NULL), BY_ALL);
    for (size_t i = 0; i < LENGTH(variants); i++)
        for (long call = 1; variants[i].plain && call < 20; call++) {
            trial t = {&variants[i], &w, NULL, PROJECT, call};
            double x;
            t.run = make_run(w.problem, variants[i].solver, variants[i].settings);
            plan(&w, PROJECT, REFUSE, call, 1);
            assert_int_equal(blv_run_solve(t.run), BLV_OK);
            require(&t, ended_well(t.run), "should have gone on");
            assert_int_equal(blv_run_read(t.run, "x", &x), BLV_OK);
            require(&t, x >= 0.0, "x left X");
            blv_run_destroy(t.run);
        }
    unwrap(&w);
}

/* ---- Certificate and check ---- */

static void test_certificate_and_check(void **state) {
    (void)state;
    static const fault_kind faults[] = {NAN_ENTRY, REFUSE, DIE};
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
    blv_run *run = make_run(w.problem, "s-tfbo", SETTINGS("iters", "5"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    for (size_t f = 0; f < LENGTH(faults); f++)
        for (oracle at = UPPER; at <= CROSS; at++)
            for (long call = 1; call <= CALLS; call++) {
                blv_certificate c;
                plan(&w, at, faults[f], call, faults[f] == DIE ? 1 : 0);
                blv_error error = blv_run_certify(run, &c);
                if (w.fired == 0) {
                    assert_int_equal(error, BLV_OK);
                } else if (error == BLV_OK) { /* stepped back from it */
                    assert_true(faults[f] != DIE && isfinite(c.phi) && isfinite(c.grad_norm));
                } else {
                    assert_int_equal(error, BLV_E_ORACLE);
                    expect_text(blv_run_message(run), "certificate");
                }
                blv_check_report report;
                blv_message why = {""};
                plan(&w, at, faults[f], call, 0);
                error = blv_problem_check(w.problem, 1, 1.0, &report, &why);
                if (w.fired > 0)
                    assert_true(!report.ok);
                if (w.fired > 0 && faults[f] != NAN_ENTRY) {
                    assert_int_equal(error, BLV_E_ORACLE);
                    expect_text(why.text, oracle_names[at]);
                } else {
                    assert_int_equal(error, BLV_OK);
                }
            }
    blv_run_destroy(run);
    unwrap(&w);
}

/* ---- Steps that are too long ---- */

typedef struct wild {
    const char *solver, *key, *value;
} wild;

static const wild wild_steps[] = {{"aid-cg", "step_x", "1e8"},
                                  {"aid-cg", "step_y", "100"},
                                  {"soba", "step_x", "1e8"},
                                  {"soba", "step_y", "1e6"},
                                  {"soba", "step_v", "1e6"}};

static uint64_t run_wild(blv_precision precision, const wild *s) {
    blv_problem *problem = small_quadratic(precision);
    blv_run *run = make_run(problem, s->solver, SETTINGS("iters", "3000", s->key, s->value));
    if (strcmp(s->solver, "soba") == 0)
        set_all(run, SETTINGS("decay", "0"));
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    trial t = {.variant = &(variant){.solver = s->solver, .settings = {s->key, s->value, NULL}},
               .run = run};
    require_diverged(&t);
    require_text(&t, s->key);
    require(&t, all_finite(run, "x") && all_finite(run, "y"), "not finite");
    uint64_t iterations = blv_run_result(run)->iterations;
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return iterations;
}

static void test_wild_steps(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(wild_steps); i++) {
        uint64_t f64 = run_wild(BLV_F64, &wild_steps[i]);
        uint64_t f32 = run_wild(BLV_F32, &wild_steps[i]);
        assert_true(f32 < f64); /* overflow comes earlier */
    }
}

/* ---- A lower level that exists inside a ball only ---- */

typedef struct ball_case {
    const char *solver;
    const char *settings[10];
    bool solved; /* y*(x) is inside the ball, and it gets there */
} ball_case;

static const ball_case ball_cases[] = {
    {"s-tfbo", {"eta_y", "3", "iters", "400", NULL}, true},
    {"d-tfbo", {"eta_y", "2", "T", "50", "iters", "50", NULL}, false},
    {"soba", {"step_x", "0.05", "step_y", "0.19", "step_v", "0.1", "iters", "50", NULL}, false},
};

static double norm_of_y(const blv_run *run) {
    double y[4], norm = 0.0;
    assert_int_equal(blv_run_read(run, "y", y), BLV_OK);
    for (int k = 0; k < 4; k++)
        norm = hypot(norm, y[k]);
    return norm;
}

/* Lets y go half of the way that the first step goes without the ball. */
static void test_halving_keeps_inside(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(ball_cases); i++) {
        const ball_case *b = &ball_cases[i];
        bool one_step = strcmp(b->solver, "d-tfbo") != 0; /* of y in an iteration */
        blv_problem *base = small_quadratic(BLV_F64);
        blv_run *free_run =
            one_step ? make_run(base, b->solver, b->settings)
                     : make_run(base, "s-tfbo", SETTINGS(b->settings[0], b->settings[1]));
        assert_int_equal(blv_run_step(free_run), BLV_OK);
        double reach = norm_of_y(free_run);
        wrapped w;
        wrap(&w, base, BY_ALL);
        w.radius = 0.7 * reach;
        blv_run *run = make_run(w.problem, b->solver, b->settings);
        assert_int_equal(blv_run_step(run), BLV_OK);
        if (one_step) {
            assert_true(norm_of_y(run) == reach); /* nobody has asked for it yet */
            assert_int_equal(blv_run_step(run), BLV_OK);
            assert_true(fabs(w.largest_y - 0.5 * reach) < 1e-12 * reach);
        }
        assert_int_equal(blv_run_solve(run), BLV_OK);
        assert_true(has_note(run, "halved"));
        assert_true(w.largest_y <= w.radius);
        if (b->solved) {
            if (!ended_well(run))
                fail_msg("%s: %s", b->solver, blv_run_message(run));
            assert_true(blv_run_result(run)->metrics.gy_norm < 0.2);
        }
        blv_run_destroy(run);
        blv_run_destroy(free_run);
        unwrap(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_once),
        cmocka_unit_test(test_nan_forever),
        cmocka_unit_test(test_nan_forever_in_exact),
        cmocka_unit_test(test_nan_has_a_cause),
        cmocka_unit_test(test_nan_is_not_blamed_on_a_return_code),
        cmocka_unit_test(test_nan_in_values),
        cmocka_unit_test(test_nan_in_the_last_value),
        cmocka_unit_test(test_refused_once),
        cmocka_unit_test(test_refused_several_times),
        cmocka_unit_test(test_refused_once_anywhere),
        cmocka_unit_test(test_refused_forever),
        cmocka_unit_test(test_refused_forever_in_exact),
        cmocka_unit_test(test_fatal),
        cmocka_unit_test(test_fatal_with_monitor),
        cmocka_unit_test(test_projection_fails),
        cmocka_unit_test(test_projection_refuses_once),
        cmocka_unit_test(test_certificate_and_check),
        cmocka_unit_test(test_wild_steps),
        cmocka_unit_test(test_halving_keeps_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
