/* The MGBiO family with oracles that return NaN, refuse a point or fail, at every call in turn. */
#include "run_testing.h"

enum { CALLS = 40 };

typedef struct variant {
    const char *solver;
    const char *settings[24];
} variant;

#define STEPS "iters", "10", "gamma", "0.05", "lambda", "0.05"
#define SCHEDULE STEPS, "k", "2", "m", "6"

static const variant variants[] = {
    {"mgbio", {STEPS, "products", "3", NULL}},
    {"mgbio", {STEPS, "linear", "explicit", NULL}},
    {"mgbio", {STEPS, "output", "best", NULL}},
    {"msgbio", {SCHEDULE, "representation", "explicit", NULL}},
    {"msgbio", {SCHEDULE, "representation", "operator", "window", "3", "products", "3", NULL}},
    {"vr-msgbio", {SCHEDULE, "representation", "explicit", "output", "random", NULL}},
    {"vr-msgbio", {SCHEDULE, "representation", "operator", "window", "3", "products", "3", NULL}},
};

typedef struct trial {
    const variant *variant;
    const wrapped *w;
    const blv_run *run;
    oracle at;
    long call;
} trial;

static void require(const trial *t, bool holds, const char *what) {
    if (!holds)
        fail_msg("%s, oracle %s, call %ld: %s: %s", t->variant->solver, oracle_names[t->at],
                 t->call, what, blv_run_message(t->run));
}

typedef void (*verdict_fn)(const trial *t);

static void try_everywhere(fault_kind fault, long times, verdict_fn verdict) {
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++)
        for (size_t i = 0; i < LENGTH(variants); i++) {
            wrapped w;
            bool bounded = i % 2;
            wrap(&w, bounded ? make_problem("pl-sine", NULL) : small_quadratic(BLV_F64),
                 (product_kind)products);
            for (oracle at = UPPER; at < ORACLES; at++)
                for (long call = 1; call <= CALLS; call++) {
                    blv_run *run = make_run(w.problem, variants[i].solver, variants[i].settings);
                    trial t = {&variants[i], &w, run, at, call};
                    plan(&w, at, NO_FAULT, 0, 0);
                    assert_int_equal(blv_run_start_random(run, 0.3), BLV_OK);
                    assert_int_equal(blv_run_open(run), BLV_OK);
                    plan(&w, at, fault, call, times);
                    assert_int_equal(blv_run_solve(run), BLV_OK);
                    bool fired = w.fired > 0;
                    require(&t, all_finite(run, "x") && all_finite(run, "y"), "not finite");
                    if (fired)
                        verdict(&t);
                    else
                        require(&t, outcome_of(run) == BLV_LIMIT_ITERATIONS, "nothing went wrong");
                    blv_run_destroy(run);
                    if (!fired)
                        break;
                }
            unwrap(&w);
        }
}

static void diverges(const trial *t) {
    require(t, outcome_of(t->run) == BLV_DIVERGED, "should have diverged");
    require(t, strstr(blv_run_message(t->run), "lower gamma or lambda"), "no hint");
}

/* A projection that turns NaN is seen as well. */
static void test_nan(void **state) {
    (void)state;
    try_everywhere(NAN_ENTRY, 0, diverges);
}

static void goes_on(const trial *t) {
    require(t, outcome_of(t->run) == BLV_LIMIT_ITERATIONS, "should have gone on");
}

static void test_refused_once(void **state) {
    (void)state;
    try_everywhere(REFUSE, 1, goes_on);
}

static void gives_up(const trial *t) {
    require(t, outcome_of(t->run) == BLV_DIVERGED, "should have given up");
}

static void test_refused_for_good(void **state) {
    (void)state;
    try_everywhere(REFUSE, 0, gives_up);
}

static void names_the_oracle(const trial *t) {
    require(t, outcome_of(t->run) == BLV_ORACLE_FAILED, "should have failed");
    require(t, strstr(blv_run_message(t->run), oracle_names[t->at]), "the oracle is not named");
    require(t, strstr(blv_run_message(t->run), "returned -7"), "the code is not named");
}

static void test_fatal(void **state) {
    (void)state;
    try_everywhere(DIE, 0, names_the_oracle);
}

enum { DX = 3, DY = 4, BEFORE = 5, AFTER = 4 };

static void read_point(const blv_run *run, double *x, double *y) {
    assert_int_equal(blv_run_read(run, "x", x), BLV_OK);
    assert_int_equal(blv_run_read(run, "y", y), BLV_OK);
}

/* Goes to the middle of the last move by hand. */
static void step_back(blv_run *run, const double *x_last, const double *y_last) {
    double x[DX], y[DY];
    read_point(run, x, y);
    for (size_t i = 0; i < DX; i++)
        x[i] = 0.5 * x[i] + 0.5 * x_last[i];
    for (size_t i = 0; i < DY; i++)
        y[i] = 0.5 * y[i] + 0.5 * y_last[i];
    assert_int_equal(blv_run_write(run, "x", x), BLV_OK);
    assert_int_equal(blv_run_write(run, "y", y), BLV_OK);
}

static void expect_close(const blv_run *a, const blv_run *b, const char *name) {
    double u[DY], v[DY];
    assert_int_equal(blv_run_read(a, name, u), BLV_OK);
    assert_int_equal(blv_run_read(b, name, v), BLV_OK);
    for (size_t i = 0; i < blv_run_dim(a, name); i++)
        if (!(fabs(u[i] - v[i]) <= 1e-12))
            fail_msg("%s: %s[%zu] is %.17g and %.17g", blv_run_solver(a)->name, name, i, u[i],
                     v[i]);
}

#define TIGHT "products", "100", "tolerance", "1e-15"

static const variant tight[] = {
    {"mgbio", {STEPS, TIGHT, NULL}},
    {"mgbio", {STEPS, "linear", "explicit", NULL}},
    {"msgbio", {SCHEDULE, "representation", "explicit", NULL}},
    {"msgbio", {SCHEDULE, "representation", "operator", "window", "4", TIGHT, NULL}},
    {"vr-msgbio", {SCHEDULE, "representation", "explicit", NULL}},
    {"vr-msgbio", {SCHEDULE, "representation", "operator", "window", "4", TIGHT, NULL}},
};

/* After a refusal all is as if the halved move had been the first choice: nothing of the refused
 * point is left in the estimates. */
static void test_nothing_is_counted_twice(void **state) {
    (void)state;
    static const char *const names[] = {"x", "y", "v", "fx estimate", "fy estimate", "gy estimate"};
    for (size_t i = 0; i < LENGTH(tight); i++)
        for (oracle at = UPPER; at <= CROSS; at++) {
            wrapped w;
            wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
            blv_run *refused = make_run(w.problem, tight[i].solver, tight[i].settings);
            blv_run *by_hand = make_run(w.problem, tight[i].solver, tight[i].settings);
            double x[DX], y[DY];
            plan(&w, at, NO_FAULT, 0, 0);
            for (int t = 0; t < BEFORE; t++) {
                read_point(by_hand, x, y);
                assert_int_equal(blv_run_step(by_hand), BLV_OK);
                assert_int_equal(blv_run_step(refused), BLV_OK);
            }
            step_back(by_hand, x, y);
            plan(&w, at, REFUSE, 1, 1);
            assert_int_equal(blv_run_step(refused), BLV_OK);
            assert_int_equal(w.fired, 1);
            plan(&w, at, NO_FAULT, 0, 0);
            assert_int_equal(blv_run_step(by_hand), BLV_OK);
            for (int t = 0; t < AFTER; t++) {
                for (size_t n = 0; n < (i < 2 ? 3 : LENGTH(names)); n++)
                    expect_close(refused, by_hand, names[n]);
                assert_int_equal(blv_run_step(refused), BLV_OK);
                assert_int_equal(blv_run_step(by_hand), BLV_OK);
            }
            blv_run_destroy(refused);
            blv_run_destroy(by_hand);
            unwrap(&w);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_refused_once),
        cmocka_unit_test(test_refused_for_good),
        cmocka_unit_test(test_fatal),
        cmocka_unit_test(test_nothing_is_counted_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
