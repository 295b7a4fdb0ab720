/* Every request for memory fails in turn, until all of a piece of work succeeds: what comes back is
 * BLV_E_MEMORY with a message, nothing crashes, and nothing is kept. */
#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "run_testing.h"

#include "memory_sweep.h"
#include "registry/builtin.h"

/* ---- Problems ---- */

typedef struct family_work {
    const blv_problem_family *family;
    const char *const *settings;
    blv_problem_options options;
} family_work;

static blv_error create_problem(void *context, blv_message *why) {
    const family_work *w = context;
    blv_problem *problem = NULL;
    blv_error error = blv_problem_from_family(w->family, w->settings, &w->options, &problem, why);
    assert_true((error == BLV_OK) == (problem != NULL));
    blv_problem_destroy(problem);
    return error;
}

static void test_problem_families(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++)
        for (size_t i = 0; blv_builtin_problems[i]; i++) {
            family_work w = {.family = blv_builtin_problems[i],
                             .settings = needed_settings(blv_builtin_problems[i]),
                             .options = {.size = sizeof(blv_problem_options),
                                         .precision = (blv_precision)precision,
                                         .threads = 1}};
            refusal_may_not_matter = w.settings != NULL;
            fail_every_request(w.family->name, create_problem, &w, true);
            refusal_may_not_matter = false;
        }
    family_work sum = {.family = blv_family_find(NULL, "quadratic", NULL),
                       .settings = SETTINGS("dx", "3", "dy", "4", "terms", "5"),
                       .options = {.size = sizeof(blv_problem_options), .threads = 1}};
    fail_every_request("quadratic with terms", create_problem, &sum, true);
}

static int freed;

static void count_free(void *user) {
    (void)user;
    freed++;
}

static blv_error create_from_definition(void *context, blv_message *why) {
    const blv_problem_def *def = context;
    blv_problem *problem;
    freed = 0;
    blv_error error = blv_problem_create(&problem, def, why);
    blv_problem_destroy(problem);
    assert_int_equal(freed, 1); /* by destroy, or because create failed */
    return error;
}

static void test_definition(void **state) {
    (void)state;
    blv_problem *base = small_quadratic(BLV_F64);
    blv_problem_def def = *blv_problem_definition(base);
    def.space_x = def.space_y = NULL;
    def.free_user = count_free;
    fail_every_request("definition", create_from_definition, &def, true);
    blv_problem_destroy(base);
}

static blv_error check_problem(void *context, blv_message *why) {
    blv_check_report report;
    blv_error error = blv_problem_check(context, 1, 1.0, &report, why);
    assert_true(error != BLV_OK || report.ok);
    return error;
}

static void test_problem_check(void **state) {
    (void)state;
    wrapped w;
    blv_problem *quadratic = small_quadratic(BLV_F64);
    fail_every_request("check of quadratic", check_problem, quadratic, true);
    blv_problem_destroy(quadratic);
    wrap(&w, make_problem("scalar-penalty", NULL), BY_DIFFERENCES);
    fail_every_request("check with differences", check_problem, w.problem, true);
    unwrap(&w);
}

/* With the two dense matrices. */
static void test_problem_check_with_matrices(void **state) {
    (void)state;
    blv_problem *problem = make_problem("pl-shift", NULL);
    fail_every_request("check of pl-shift", check_problem, problem, true);
    blv_problem_destroy(problem);
}

/* ---- Runs ---- */

typedef struct run_work {
    const blv_problem *problem;
    const blv_solver *solver;
    const char *const *settings;
} run_work;

static blv_error steps_and_certificate(blv_run *run, const run_work *w) {
    for (size_t i = 0; w->settings && w->settings[i]; i += 2)
        BLV_CHECK(blv_run_set(run, w->settings[i], w->settings[i + 1]));
    BLV_CHECK(blv_run_trace(run, "/dev/null"));
    BLV_CHECK(blv_run_start_random(run, 1.0));
    BLV_CHECK(blv_run_open(run));
    for (int k = 0; k < 3; k++)
        BLV_CHECK(blv_run_step(run));
    blv_certificate certificate;
    return blv_run_certify(run, &certificate);
}

static blv_error create_and_step(void *context, blv_message *why) {
    const run_work *w = context;
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, w->problem, w->solver, why);
    assert_true((error == BLV_OK) == (run != NULL));
    if (error != BLV_OK)
        return error;
    error = steps_and_certificate(run, w);
    if (error != BLV_OK)
        snprintf(why->text, sizeof why->text, "%s", blv_run_message(run));
    assert_true(all_finite(run, "x") && all_finite(run, "y"));
    blv_run_destroy(run);
    return error;
}

static void fail_runs_on(const blv_problem *problem) {
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const blv_solver *solver = blv_builtin_solvers[s];
        run_work plain = {problem, solver, SETTINGS("sampler", "shuffle", "batch", "3")};
        fail_every_request(solver->name, create_and_step, &plain, true);
        run_work more = {problem, solver,
                         SETTINGS("certify", "on", "iterates", "on", "target", "0", "sampler",
                                  "iid", "batch", "2")};
        fail_every_request(solver->name, create_and_step, &more, true);
    }
    run_work scaled = {problem, blv_solver_find(NULL, "s-tfbo", NULL), SETTINGS("scale", "auto")};
    fail_every_request("s-tfbo with scale", create_and_step, &scaled, true);
}

static void test_runs(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "7"));
    fail_runs_on(problem);
    blv_problem_destroy(problem);
    problem = make_problem("pl-sine", NULL); /* with a set X */
    fail_runs_on(problem);
    blv_problem_destroy(problem);
    wrapped w;
    wrap(&w, small_quadratic(BLV_F32), BY_DIFFERENCES);
    fail_runs_on(w.problem);
    unwrap(&w);
}

static blv_error create_and_open(void *context, blv_message *why) {
    const run_work *w = context;
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, w->problem, w->solver, why);
    if (error != BLV_OK)
        return error;
    error = blv_run_set(run, w->settings[0], w->settings[1]);
    if (error == BLV_OK)
        error = blv_run_open(run);
    if (error != BLV_OK)
        snprintf(why->text, sizeof why->text, "%s", blv_run_message(run));
    blv_run_destroy(run);
    return error;
}

/* Every word of every choice that a solver offers. */
static void test_choices(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "7"));
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        for (const blv_param *p = blv_builtin_solvers[s]->params; p && p->key; p++) {
            char words[200], *rest = words;
            snprintf(words, sizeof words, "%s", p->type == BLV_CHOICE ? p->words : "");
            for (char *word; (word = strtok_r(rest, "|", &rest));) {
                run_work w = {problem, blv_builtin_solvers[s], SETTINGS(p->key, word)};
                fail_every_request(w.solver->name, create_and_open, &w, true);
            }
        }
    blv_problem_destroy(problem);
}

/* Whatever state it is in, a run can be looked at. */
static void test_failed_run_can_be_looked_at(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    bool failed = true;
    for (long n = 0; failed; n++) {
        double host[DIM_MAX];
        blv_run *run = make_run(problem, "s-tfbo", NULL);
        fail_request(n);
        blv_error error = blv_run_open(run);
        failed = a_request_failed();
        assert_int_equal(error, failed ? BLV_E_MEMORY : BLV_OK);
        assert_true(blv_run_memory(run) > 0);
        assert_in_range(blv_run_dim(run, "v"), 0, 4);
        if (blv_run_dim(run, "v") > 0)
            assert_int_equal(blv_run_read(run, "v", host), BLV_OK);
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

/* An open that failed is not forgotten: the run cannot be made, however often it is asked. */
static void test_failed_open_stays_failed(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", NULL);
    fail_request(1);
    assert_int_equal(blv_run_solve(run), BLV_E_MEMORY);
    assert_true(a_request_failed());
    assert_int_equal(blv_run_result(run)->iterations, 0);
    assert_true(blv_run_solve(run) != BLV_OK);
    assert_true(blv_run_step(run) != BLV_OK);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- Registry ---- */

static blv_error fill_registry(void *context, blv_message *why) {
    (void)context;
    (void)why;
    blv_solver a = *blv_builtin_solvers[0], b = a;
    blv_problem_family p = *blv_builtin_problems[0], q = p;
    a.name = "a";
    b.name = "b";
    p.name = "p";
    q.name = "q";
    blv_registry *registry;
    blv_error error = blv_registry_create(&registry);
    if (error == BLV_OK)
        error = blv_registry_add_solver(registry, &a, NULL);
    if (error == BLV_OK)
        error = blv_registry_add_solver(registry, &b, NULL);
    if (error == BLV_OK)
        error = blv_registry_add_family(registry, &p, NULL);
    if (error == BLV_OK)
        error = blv_registry_add_family(registry, &q, NULL);
    blv_registry_destroy(registry);
    return error;
}

static void test_registry(void **state) {
    (void)state;
    fail_every_request("registry", fill_registry, NULL, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problem_families),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_problem_check),
        cmocka_unit_test(test_problem_check_with_matrices),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_failed_run_can_be_looked_at),
        cmocka_unit_test(test_failed_open_stays_failed),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
