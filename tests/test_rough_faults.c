/* Constants that are estimated roughly, on samples and with few calls, as on large problems: every
 * oracle call of the estimate goes wrong in turn. The run ends with an outcome and a sentence at a
 * finite point, and what is fatal is named. */
#include "run_testing.h"

#include "core/run_private.h"

enum { CALLS_MAX = 2000 };

static const char *const words[] = {"", "NaN value", "NaN entry", "refusal", "failure"};
static long injected;

/* Whether the fault came to pass. */
static bool try_call(wrapped *w, const char *solver, const char *const *settings, oracle at,
                     fault_kind fault, long call) {
    blv_run *run = make_run(w->problem, solver, settings);
    run->rough_constants = true;
    plan(w, at, fault, call, fault == DIE ? 0 : 1);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    const bool fired = w->fired > 0;
    const bool sound = all_finite(run, "x") && all_finite(run, "y") && blv_run_message(run)[0];
    const bool named = outcome_of(run) == BLV_ORACLE_FAILED &&
                       strstr(blv_run_message(run), oracle_names[at]) && w->fired == 1;
    if (fired && (!sound || (fault == DIE && !named)))
        fail_msg("%s, %s of %s in call %ld: outcome '%s': %s", solver, words[fault],
                 oracle_names[at], call, blv_outcome_word(outcome_of(run)), blv_run_message(run));
    blv_run_destroy(run);
    injected += fired;
    return fired;
}

static void try_solvers(wrapped *w, const char *const *settings, oracle last) {
    static const char *const solvers[] = {"soba", "f2sa", "accf2ba", "pbgd", "minimaxopt", "bome"};
    for (size_t s = 0; s < LENGTH(solvers); s++)
        for (oracle at = UPPER; at <= last; at++)
            for (int fault = NAN_ENTRY; fault <= DIE; fault++) {
                long call = 1;
                while (call < CALLS_MAX &&
                       try_call(w, solvers[s], settings, at, (fault_kind)fault, call))
                    call++;
            }
}

static void test_whole_sums(void **state) {
    (void)state;
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), (product_kind)products);
        try_solvers(&w, SETTINGS("iters", "1"), ALL);
        unwrap(&w);
    }
}

static void test_batches(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("quadratic", SETTINGS("dx", "2", "dy", "3", "terms", "12")), BY_PRODUCTS);
    try_solvers(&w, SETTINGS("iters", "1", "batch", "3"), CROSS);
    unwrap(&w);
}

/* Where x has bounds, points aside of it are projected. */
static void test_bounds(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("scalar-penalty", NULL), BY_ALL);
    try_solvers(&w, SETTINGS("iters", "1"), PROJECT);
    unwrap(&w);
    assert_true(injected > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_sums),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
