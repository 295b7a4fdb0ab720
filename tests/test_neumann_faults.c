/* The Neumann and recursive-momentum solvers when oracles return NaN, refuse a point or fail, and
 * when steps are too long: as in test_faults.c. */
#include "bilevel/certificate.h"
#include "run_testing.h"

enum { FAULTY_CALLS = 40 };

typedef struct variant {
    const char *solver;
    const char *settings[14];
} variant;

#define SERIES "step_x", "0.1", "step_y", "0.1", "eta", "0.1", "Q", "3", "iters", "8"

static const variant variants[] = {
    {"mrbo", {SERIES, NULL}},
    {"sustain", {SERIES, NULL}},
    {"mstsa", {SERIES, NULL}},
    {"vrbo", {SERIES, "inner", "1", NULL}},
    {"stocbio", {SERIES, "inner", "2", NULL}},
    {"bsa", {SERIES, "inner", "2", NULL}},
    {"ttsa", {SERIES, NULL}},
    {"fsla", {"step_x", "0.1", "step_y", "0.1", "step_v", "0.1", "iters", "12", NULL}},
};

typedef struct trial {
    const variant *variant;
    wrapped *w;
    blv_run *run;
    oracle at;
    long call;
} trial;

static void require(const trial *t, bool holds, const char *what) {
    if (!holds)
        fail_msg("%s, oracle %s, call %ld: %s; outcome '%s' after %llu: %s", t->variant->solver,
                 oracle_names[t->at], t->call, what, blv_outcome_word(outcome_of(t->run)),
                 (unsigned long long)blv_run_result(t->run)->iterations, blv_run_message(t->run));
}

static bool says(const trial *t, const char *part) {
    return strstr(blv_run_message(t->run), part) != NULL;
}

static bool went_on(const trial *t) {
    return outcome_of(t->run) == BLV_LIMIT_ITERATIONS;
}

typedef void (*verdict_fn)(const trial *t);

/* Every variant, every oracle that the problem has, the first calls. */
static void try_everywhere(fault_kind fault, long times, verdict_fn verdict) {
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), (product_kind)products);
        for (size_t i = 0; i < LENGTH(variants); i++)
            for (oracle at = UPPER; at <= ALL; at++)
                for (long call = 1; call <= FAULTY_CALLS; call++) {
                    trial t = {&variants[i], &w, NULL, at, call};
                    t.run = make_run(w.problem, variants[i].solver, variants[i].settings);
                    assert_int_equal(blv_run_start_random(t.run, 1.0), BLV_OK);
                    plan(&w, at, fault, call, times);
                    assert_int_equal(blv_run_solve(t.run), BLV_OK);
                    bool fired = w.fired > 0;
                    require(&t, all_finite(t.run, "x") && all_finite(t.run, "y"), "not finite");
                    if (fired)
                        verdict(&t);
                    else
                        require(&t, went_on(&t), "nothing went wrong");
                    blv_run_destroy(t.run);
                    if (!fired)
                        break;
                }
        unwrap(&w);
    }
}

static void diverged(const trial *t) {
    require(t, outcome_of(t->run) == BLV_DIVERGED, "should have diverged");
    require(t, says(t, blv_run_solver(t->run)->hint), "no hint");
    require(t, !says(t, ": ;"), "no cause is named");
}

static void test_nan(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 1, diverged);
    try_everywhere(NAN_ENTRY, 0, diverged);
}

static void refused_some_times(const trial *t) {
    require(t, went_on(t), "should have gone on");
    require(t, has_note(t->run, "halved"), "no note");
}

static void test_refused_some_times(void **state) {
    (void)state;
    try_everywhere(REFUSE, 1, refused_some_times);
    try_everywhere(REFUSE, 5, refused_some_times);
}

static void refused_forever(const trial *t) {
    diverged(t);
    require(t, says(t, oracle_names[t->at]), "the oracle is not named");
}

static void test_refused_forever(void **state) {
    (void)state;
    try_everywhere(REFUSE, 0, refused_forever);
}

static void fatal(const trial *t) {
    require(t, outcome_of(t->run) == BLV_ORACLE_FAILED, "should have failed");
    require(t, says(t, oracle_names[t->at]), "the oracle is not named");
    require(t, t->w->fired == 1, "called again after a fatal failure");
}

static void test_fatal(void **state) {
    (void)state;
    try_everywhere(DIE, 0, fatal);
}

/* A refusal in between leaves estimates that belong to their points: on whole sums the recursive
 * ones are exact whatever happened before, so the run still arrives. */
static void test_arrives_after_refusals(void **state) {
    (void)state;
    static const char *const solvers[] = {"mrbo", "mstsa", "vrbo", "fsla"};
    for (size_t i = 0; i < LENGTH(solvers); i++)
        for (oracle at = UPPER; at <= CROSS; at++) {
            wrapped w;
            wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
            bool fsla = strcmp(solvers[i], "fsla") == 0, vrbo = strcmp(solvers[i], "vrbo") == 0;
            blv_run *run =
                make_run(w.problem, solvers[i],
                         SETTINGS("step_x", "0.1", "step_y", "0.09", fsla ? "step_v" : "eta",
                                  "0.09", "iters", vrbo ? "300" : "2000"));
            if (fsla)
                set_all(run, SETTINGS("decay", "0", "c1", "0.01"));
            else
                set_all(run, SETTINGS("Q", "200"));
            if (!fsla && !vrbo)
                set_all(run, SETTINGS("m", "1e9", "dd", "1000", "c1", "0.01"));
            plan(&w, at, REFUSE, 31, 3);
            assert_int_equal(blv_run_solve(run), BLV_OK);
            assert_int_equal(w.fired, 3);
            w.fault = NO_FAULT;
            blv_certificate c;
            assert_int_equal(blv_run_certify(run, &c), BLV_OK);
            if (!(c.grad_norm <= 1e-6))
                fail_msg("%s, oracle %s: %.3g is left", solvers[i], oracle_names[at], c.grad_norm);
            blv_run_destroy(run);
            unwrap(&w);
        }
}

/* ---- Steps that are too long ---- */

static void test_wild_steps(void **state) {
    (void)state;
    static const char *const wild[][2] = {{"step_x", "1e8"}, {"step_y", "1e6"}, {"eta", "1e6"}};
    for (int precision = BLV_F64; precision <= BLV_F32; precision++)
        for (size_t i = 0; i < LENGTH(variants); i++)
            for (size_t k = 0; k < LENGTH(wild); k++) {
                bool fsla = strcmp(variants[i].solver, "fsla") == 0;
                const char *key = fsla && k == 2 ? "step_v" : wild[k][0];
                blv_problem *problem = small_quadratic((blv_precision)precision);
                blv_run *run = make_run(problem, variants[i].solver, variants[i].settings);
                set_all(run, SETTINGS("iters", "3000", key, wild[k][1]));
                if (blv_params_find(blv_run_solver(run)->params, "decay_x"))
                    set_all(run, SETTINGS("decay_x", "0", "decay_y", "0"));
                if (fsla)
                    set_all(run, SETTINGS("decay", "0"));
                assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
                assert_int_equal(blv_run_solve(run), BLV_OK);
                expect_outcome(run, BLV_DIVERGED);
                expect_text(blv_run_message(run), key);
                assert_true(all_finite(run, "x") && all_finite(run, "y"));
                blv_run_destroy(run);
                blv_problem_destroy(problem);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_refused_some_times),
        cmocka_unit_test(test_refused_forever),
        cmocka_unit_test(test_fatal),
        cmocka_unit_test(test_arrives_after_refusals),
        cmocka_unit_test(test_wild_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
