/* Every solver with oracles of which one call goes wrong, for every call that it makes: the run
 * ends with an outcome and a sentence, x and y stay finite, and nothing is lost. With
 * BILEVEL_FAULTS set to `all` every call is tried, else those of the beginning and some of the
 * others. */
#include "run_testing.h"

#include "registry/builtin.h"

enum { FIRST_CALLS = 12, CALLS_MAX = 100000 };

static long injected, runs;

typedef struct trial {
    const blv_solver *solver;
    wrapped *w;
    oracle at;
    fault_kind fault;
    const char *const *settings;
    long call;
} trial;

static void complain(const trial *t, const blv_run *run, const char *what) {
    static const char *const words[] = {"", "NaN value", "NaN entry", "refusal", "failure"};
    fail_msg("%s, %s of %s in call %ld: %s; outcome '%s' after %llu: %s", t->solver->name,
             words[t->fault], oracle_names[t->at], t->call, what, blv_outcome_word(outcome_of(run)),
             (unsigned long long)blv_run_result(run)->iterations, blv_run_message(run));
}

static void judge(const trial *t, const blv_run *run) {
    if (!all_finite(run, "x") || !all_finite(run, "y"))
        complain(t, run, "not finite");
    if (!blv_run_message(run)[0])
        complain(t, run, "no message");
    if (t->fault != DIE)
        return;
    if (outcome_of(run) != BLV_ORACLE_FAILED)
        complain(t, run, "should have failed");
    if (!strstr(blv_run_message(run), oracle_names[t->at]))
        complain(t, run, "does not name the oracle");
    if (t->w->fired != 1)
        complain(t, run, "called again after a fatal failure");
}

/* Whether the fault came to pass. */
static bool try_call(const trial *t) {
    blv_run *run = make_run(t->w->problem, t->solver->name, t->settings);
    plan(t->w, t->at, t->fault, t->call, t->fault == DIE ? 0 : 1);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    bool fired = t->w->fired > 0;
    if (fired)
        judge(t, run);
    blv_run_destroy(run);
    runs++;
    injected += fired;
    return fired;
}

static long next_call(long call) {
    const char *wish = getenv("BILEVEL_FAULTS");
    bool all = wish && strcmp(wish, "all") == 0;
    return call < FIRST_CALLS || all ? call + 1 : 2 * call + 1;
}

static void try_solver(const blv_solver *solver, wrapped *w, oracle first, oracle last,
                       fault_kind mildest, const char *const *settings) {
    for (oracle at = first; at <= last; at++)
        for (int fault = (int)mildest; fault <= DIE; fault++) {
            trial t = {solver, w, at, (fault_kind)fault, settings, 1};
            while (try_call(&t) && t.call < CALLS_MAX)
                t.call = next_call(t.call);
        }
}

static void try_faults(wrapped *w, oracle first, oracle last, fault_kind mildest,
                       const char *const *settings) {
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        try_solver(blv_builtin_solvers[s], w, first, last, mildest, settings);
}

static void try_all(wrapped *w, oracle first, oracle last) {
    try_faults(w, first, last, NAN_VALUE, SETTINGS("iters", "3"));
}

static void test_oracles(void **state) {
    (void)state;
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), (product_kind)products);
        try_all(&w, UPPER, ALL);
        unwrap(&w);
    }
}

/* What estimates on samples call before the first step, and steps on batches. */
static void test_batches(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("quadratic", SETTINGS("dx", "2", "dy", "3", "terms", "12")), BY_PRODUCTS);
    try_faults(&w, UPPER, CROSS, DIE, SETTINGS("iters", "2", "batch", "3"));
    unwrap(&w);
}

/* Batches that are small beside the sums: `auto` begins on them, with rough constants. */
static void test_small_batches(void **state) {
    (void)state;
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        wrapped w;
        wrap(&w, make_problem("quadratic", SETTINGS("dx", "2", "dy", "3", "terms", "300")),
             (product_kind)products);
        try_solver(blv_solver_find(NULL, "auto", NULL), &w, UPPER, ALL, NAN_ENTRY,
                   SETTINGS("iters", "8", "batch", "2"));
        unwrap(&w);
    }
}

static void test_projection(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("scalar-penalty", NULL), BY_ALL);
    try_all(&w, PROJECT, PROJECT);
    unwrap(&w);
}

static void test_counts(void **state) {
    (void)state;
    size_t solvers = 0;
    while (blv_builtin_solvers[solvers])
        solvers++;
    print_message("%ld faults of oracles in %zu solvers, %ld runs\n", injected, solvers, runs);
    assert_true(injected > (long)solvers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles),       cmocka_unit_test(test_batches),
        cmocka_unit_test(test_small_batches), cmocka_unit_test(test_projection),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
