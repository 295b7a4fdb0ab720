/* After a run is opened, its library takes and gives back no memory until the run is destroyed. */
#include "run_testing.h"

#include "alloc_testing.h"
#include "registry/builtin.h"

#include <unistd.h>

static int look(void *context, const blv_progress *progress) {
    (void)progress;
    ++*(int *)context;
    return 0;
}

typedef struct trial {
    const char *solver;
    const char *const *settings;
    bool watched; /* with a monitor and a trace */
} trial;

static void expect_no_calls(const blv_problem *problem, const trial *t) {
    char path[] = "trace-XXXXXX";
    int seen = 0;
    blv_run *run = make_run(problem, t->solver, t->settings);
    set_all(run, SETTINGS("certify", "never")); /* certificates take memory */
    if (t->watched) {
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(blv_run_trace(run, path), BLV_OK);
        assert_int_equal(blv_run_monitor(run, look, &seen, 3, 1e-9), BLV_OK);
    }
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK); /* part of the preparation */
    long before = memory_calls;
    assert_int_equal(blv_run_step(run), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    long calls = memory_calls - before;
    if (calls != 0)
        fail_msg("%s: %ld calls for memory in the loop", t->solver, calls);
    if (outcome_of(run) <= BLV_DIVERGED)
        fail_msg("%s: %s", t->solver, blv_run_message(run));
    blv_run_destroy(run);
    if (t->watched) {
        assert_true(seen > 1);
        unlink(path);
    }
}

static void test_every_solver(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_problem *problem =
            make_problem_in("quadratic", SETTINGS("dx", "7", "dy", "9"), (blv_precision)precision);
        for (size_t s = 0; blv_builtin_solvers[s]; s++)
            for (int watched = 0; watched < 2; watched++)
                expect_no_calls(problem,
                                &(trial){blv_builtin_solvers[s]->name,
                                         SETTINGS("iters", "40", "every", "7"), watched != 0});
        blv_problem_destroy(problem);
    }
}

/* Certified columns, iterates in the trace, a target, automatic scales. */
static void test_extras(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "7", "dy", "9"));
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        expect_no_calls(problem, &(trial){blv_builtin_solvers[s]->name,
                                          SETTINGS("iters", "20", "every", "3", "certify", "on",
                                                   "iterates", "on", "target", "0"),
                                          true});
    expect_no_calls(problem, &(trial){"s-tfbo", SETTINGS("iters", "20", "scale", "auto"), false});
    blv_problem_destroy(problem);
}

/* Batches of 10 of 33 samples: an epoch is four batches, so many epochs begin. */
static void test_samplers_across_epochs(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "5", "dy", "6", "terms", "33"));
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        for (size_t i = 0; i < LENGTH(samplers); i++)
            expect_no_calls(problem,
                            &(trial){blv_builtin_solvers[s]->name,
                                     SETTINGS("iters", "50", "batch", "10", "sampler", samplers[i]),
                                     i == 1});
    blv_problem_destroy(problem);
}

/* Sets, and problems without second-order oracles. */
static void test_projection_and_differences(void **state) {
    (void)state;
    wrapped w;
    blv_problem *penalty = make_problem("pl-sine", NULL);
    wrap(&w, small_quadratic(BLV_F64), BY_DIFFERENCES);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *name = blv_builtin_solvers[s]->name;
        if (strcmp(name, "bsa") != 0) /* |gy| grows with its noise: it is certified at the end */
            expect_no_calls(penalty, &(trial){name, SETTINGS("iters", "20"), true});
        expect_no_calls(w.problem, &(trial){name, SETTINGS("iters", "20"), true});
    }
    unwrap(&w);
    blv_problem_destroy(penalty);
}

/* A run that goes wrong takes no memory either: refusals, a NaN, a fatal error. */
static void test_faults_take_none(void **state) {
    (void)state;
    static const fault_kind faults[] = {REFUSE, NAN_ENTRY, DIE};
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_PRODUCTS);
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        for (size_t i = 0; i < LENGTH(faults); i++) {
            blv_run *run = make_run(w.problem, blv_builtin_solvers[s]->name, NULL);
            set_all(run, SETTINGS("iters", "30"));
            bool products = blv_builtin_solvers[s]->uses & BLV_USES_HVP;
            plan(&w, products ? HVP : LOWER, faults[i], 5, 0);
            assert_int_equal(blv_run_open(run), BLV_OK);
            long before = memory_calls;
            assert_int_equal(blv_run_solve(run), BLV_OK);
            assert_int_equal(memory_calls - before, 0);
            assert_true(outcome_of(run) <= BLV_DIVERGED);
            blv_run_destroy(run);
        }
    unwrap(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_solver),
        cmocka_unit_test(test_extras),
        cmocka_unit_test(test_samplers_across_epochs),
        cmocka_unit_test(test_projection_and_differences),
        cmocka_unit_test(test_faults_take_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
