/* Names, and solvers and problems of one's own: handed over as descriptors and through a registry.
 */
#include "bilevel/registry.h"
#include "run_testing.h"

#include "registry/builtin.h"

/* ---- A solver: gradient descent in y, and in x along fx alone ---- */

typedef struct descent {
    double rate;
    int64_t count;
    int mode;
    blv_vec *gy, *fx, *memory;
    double steps;
    int opened, prepared, closed;
} descent;

static int descent_closed; /* outlives the state */

static blv_error descent_open(blv_run *run, void *fields) {
    descent *s = fields;
    s->opened++;
    assert_int_equal(blv_run_limit(run), 4);
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->gy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->fx));
    BLV_CHECK(blv_state_vec(run, "memory", BLV_LEVEL_Y, &s->memory));
    blv_vec *twice = s->gy;
    assert_int_equal(blv_state_vec(run, "memory", BLV_LEVEL_Y, &twice), BLV_E_NAME);
    assert_null(twice);
    expect_text(blv_run_message(run), "memory");
    return blv_state_scalar(run, "steps", &s->steps);
}

static blv_flow descent_prepare(blv_run *run, void *fields) {
    descent *s = fields;
    s->prepared++;
    return blv_oracle_lower(run, NULL, blv_run_x(run), blv_run_y(run), NULL, NULL, s->gy);
}

static blv_flow descent_step(blv_run *run, void *fields) {
    descent *s = fields;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    s->steps += 1.0;
    if (s->mode == 1)
        return blv_move(run, s->memory, 1.0, s->gy); /* not an iterate */
    if (s->mode == 2)
        return BLV_FINISHED;
    if (s->mode == 3)
        return BLV_STUCK;
    if (s->mode == 4)
        return BLV_NO_INVERSE;
    BLV_TRY(blv_oracle_lower(run, NULL, x, y, NULL, NULL, s->gy));
    BLV_TRY(blv_move(run, y, s->rate, s->gy));
    BLV_TRY(blv_oracle_upper(run, NULL, x, y, NULL, s->fx, NULL));
    blv_run_metrics(run)->d_norm = blv_vec_norm(s->fx);
    blv_run_note(run, "a note of %s", "ours");
    return blv_move(run, x, s->rate, s->fx);
}

static void descent_close(blv_run *run, void *fields) {
    (void)run;
    descent *s = fields;
    descent_closed += s->opened;
}

static const blv_param descent_params[] = {
    {"rate", BLV_REAL, offsetof(descent, rate), "0.1", 0, 1, NULL, "step of both levels"},
    {"mode", BLV_CHOICE, offsetof(descent, mode), "plain", 0, 0,
     "plain|misuse|finished|stuck|singular", "what a step does"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static const blv_solver descent_solver = {
    BLV_SIZED(blv_solver),         .name = "descent",        .summary = "for tests",
    .state_size = sizeof(descent), .params = descent_params, .open = descent_open,
    .prepare = descent_prepare,    .step = descent_step,     .close = descent_close,
};

static blv_run *descent_run(const blv_problem *problem, const char *mode) {
    blv_run *run;
    assert_int_equal(blv_run_create(&run, problem, &descent_solver, NULL), BLV_OK);
    set_all(run, SETTINGS("mode", mode, "iters", "4"));
    return run;
}

static void test_own_solver(void **state) {
    (void)state;
    blv_problem *problem = make_problem("parabola", NULL);
    blv_run *run = descent_run(problem, "plain");
    assert_int_equal(blv_run_set(run, "rate", "2"), BLV_E_VALUE);
    expect_text(blv_run_message(run), "descent");
    assert_int_equal(blv_run_set(run, "rat", "0.1"), BLV_E_NAME);
    expect_text(blv_run_message(run), "'rate'");
    set_all(run, SETTINGS("rate", "0.25"));
    descent_closed = 0;
    assert_int_equal(blv_run_write(run, "x", (double[]){1.0}), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_LIMIT_ITERATIONS);
    double x = 1.0, y = 0.0, got;
    for (int k = 0; k < 4; k++) { /* g = (x+y-1)^2, f = x^2 + y^2 */
        y -= 0.25 * 2.0 * (x + y - 1.0);
        x -= 0.25 * 2.0 * x;
    }
    assert_int_equal(blv_run_read(run, "x", &got), BLV_OK);
    assert_true(got == x);
    assert_int_equal(blv_run_read(run, "y", &got), BLV_OK);
    assert_true(got == y);
    assert_int_equal(blv_run_dim(run, "memory"), 1);
    const descent *s = blv_run_solver_fields(run);
    assert_true(s->opened == 1 && s->prepared == 1 && s->steps == 4.0);
    const blv_result *r = blv_run_result(run);
    assert_int_equal(r->setup_counts.g_grad, 1);
    assert_int_equal(r->counts.g_grad, 4);
    assert_int_equal(r->counts.f_grad, 4);
    assert_true(has_note(run, "a note of ours"));
    assert_null(blv_run_notes(run, 1)); /* once, not four times */
    blv_run_destroy(run);
    assert_int_equal(descent_closed, 1);
    blv_problem_destroy(problem);
}

static void test_own_solver_ends(void **state) {
    (void)state;
    static const struct {
        const char *mode;
        blv_outcome outcome;
        uint64_t iterations;
    } cases[] = {{"finished", BLV_UNCERTIFIED, 1},
                 {"stuck", BLV_STALLED, 0},
                 {"singular", BLV_SINGULAR, 0},
                 {"misuse", BLV_ORACLE_FAILED, 0}};
    blv_problem *problem = make_problem("parabola", NULL);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        blv_run *run = descent_run(problem, cases[i].mode);
        assert_int_equal(blv_run_solve(run), BLV_OK);
        expect_outcome(run, cases[i].outcome);
        assert_int_equal(blv_run_result(run)->iterations, cases[i].iterations);
        expect_text(blv_run_message(run), blv_outcome_text(cases[i].outcome));
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

/* A message that blames an oracle which did nothing wrong helps nobody. */
static void test_misuse_is_named(void **state) {
    (void)state;
    blv_problem *problem = make_problem("parabola", NULL);
    blv_run *run = descent_run(problem, "misuse");
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_text(blv_run_message(run), "not an iterate");
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static const blv_param bad_params[] = {
    {"rate", BLV_REAL, offsetof(descent, rate), "7", 0, 1, NULL, "default out of its range"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static blv_error refuse_to_open(blv_run *run, void *fields) {
    (void)fields;
    return blv_run_fail(run, BLV_E_UNSUPPORTED, "not on a %s", "Sunday");
}

static void test_solvers_that_cannot_run(void **state) {
    (void)state;
    blv_problem *problem = make_problem("parabola", NULL);
    blv_message why = {""};
    blv_run *run;
    blv_solver solver = descent_solver;
    solver.params = bad_params;
    assert_int_equal(blv_run_create(&run, problem, &solver, &why), BLV_E_VALUE);
    expect_text(why.text, "rate");
    solver = descent_solver;
    solver.open = refuse_to_open;
    assert_int_equal(blv_run_create(&run, problem, &solver, &why), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_E_UNSUPPORTED);
    assert_string_equal(blv_run_message(run), "not on a Sunday");
    assert_int_equal(blv_run_result(run)->iterations, 0);
    assert_true(blv_run_solve(run) != BLV_OK); /* it still has not been run */
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- The registry ---- */

static blv_error create_parabola(const void *params, const blv_problem_options *options,
                                 blv_problem **problem, blv_message *why) {
    return blv_family_find(NULL, "parabola", NULL)->create(params, options, problem, why);
}

static const blv_problem_family my_problem = {BLV_SIZED(blv_problem_family), .name = "my-problem",
                                              .create = create_parabola};

static size_t count_solvers(const blv_registry *registry) {
    size_t n = 0;
    while (blv_solver_at(registry, n))
        n++;
    return n;
}

static size_t count_problems(const blv_registry *registry) {
    size_t n = 0;
    while (blv_family_at(registry, n))
        n++;
    return n;
}

static void test_registry(void **state) {
    (void)state;
    blv_registry *registry, *other;
    blv_message why = {""};
    size_t solvers = count_solvers(NULL), problems = count_problems(NULL);
    assert_int_equal(blv_registry_create(NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    assert_int_equal(blv_registry_create(&other), BLV_OK);
    assert_int_equal(count_solvers(registry), solvers);
    assert_int_equal(blv_registry_add_solver(registry, &descent_solver, NULL), BLV_OK);
    assert_int_equal(blv_registry_add_solver(registry, &descent_solver, &why), BLV_E_NAME);
    assert_string_equal(why.text, "there is a solver 'descent' already");
    blv_solver taken = descent_solver, more[5];
    taken.name = "exact";
    assert_int_equal(blv_registry_add_solver(registry, &taken, NULL), BLV_E_NAME);
    assert_int_equal(blv_registry_add_family(registry, &my_problem, NULL), BLV_OK);
    assert_int_equal(blv_registry_add_family(registry, &my_problem, &why), BLV_E_NAME);
    expect_text(why.text, "already");
    assert_int_equal(blv_registry_add_solver(registry, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_registry_add_solver(NULL, &descent_solver, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_registry_add_family(registry, NULL, NULL), BLV_E_ARGUMENT);
    taken.step = NULL;
    taken.name = "no-step";
    assert_int_equal(blv_registry_add_solver(registry, &taken, NULL), BLV_E_ARGUMENT);

    assert_ptr_equal(blv_solver_find(registry, "descent", &why), &descent_solver);
    assert_ptr_equal(blv_solver_at(registry, solvers), &descent_solver);
    assert_null(blv_solver_at(registry, solvers + 1));
    assert_null(blv_solver_at(registry, SIZE_MAX));
    assert_ptr_equal(blv_family_find(registry, "my-problem", &why), &my_problem);
    assert_int_equal(count_problems(registry), problems + 1);
    assert_null(blv_solver_find(other, "descent", NULL)); /* registries do not share */
    assert_null(blv_solver_find(NULL, "descent", &why));

    static const char *const names[] = {"one", "two", "three", "four", "five"};
    for (size_t i = 0; i < LENGTH(more); i++) {
        more[i] = descent_solver;
        more[i].name = names[i];
        assert_int_equal(blv_registry_add_solver(registry, &more[i], NULL), BLV_OK);
    }
    for (size_t i = 0; i < LENGTH(more); i++) {
        assert_ptr_equal(blv_solver_find(registry, names[i], NULL), &more[i]);
        assert_ptr_equal(blv_solver_at(registry, solvers + 1 + i), &more[i]);
    }
    blv_registry_destroy(registry);
    blv_registry_destroy(other);
    blv_registry_destroy(NULL);
}

static void test_nearest_names(void **state) {
    (void)state;
    blv_registry *registry;
    blv_message why;
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    assert_int_equal(blv_registry_add_solver(registry, &descent_solver, NULL), BLV_OK);
    assert_null(blv_solver_find(registry, "descnet", &why));
    expect_text(why.text, "there is no solver 'descnet'; did you mean 'descent'?");
    assert_null(blv_solver_find(NULL, "stfbo", &why));
    expect_text(why.text, "'s-tfbo'");
    assert_null(blv_solver_find(NULL, "aid", &why));
    assert_null(blv_family_find(NULL, "quadratics", &why));
    expect_text(why.text, "'quadratic'");
    assert_null(blv_family_find(registry, "nonsingleton", &why));
    expect_text(why.text, "'non-singleton'");
    assert_null(blv_family_find(NULL, "completely-different-name", &why));
    assert_null(strstr(why.text, "did you mean"));
    assert_null(blv_solver_find(NULL, NULL, &why));
    assert_null(blv_solver_find(NULL, "", &why));
    char longest[200];
    memset(longest, 'q', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(blv_solver_find(NULL, longest, &why));
    assert_null(strstr(why.text, "did you mean"));
    blv_registry_destroy(registry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_solver),      cmocka_unit_test(test_own_solver_ends),
        cmocka_unit_test(test_misuse_is_named), cmocka_unit_test(test_solvers_that_cannot_run),
        cmocka_unit_test(test_registry),        cmocka_unit_test(test_nearest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
