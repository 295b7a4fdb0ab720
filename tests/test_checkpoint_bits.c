/* A run that is saved, dropped and loaded ends with the same bits as one that was never stopped:
 * every solver, sampler, problem and precision. */
#include "bilevel/registry.h"
#include "checkpoint_testing.h"

#include "registry/builtin.h"

typedef struct schedule {
    const char *iters;
    int saves[5], save_count; /* iterations after which it is saved */
    int steps;                /* 0: to the end, with the certificate */
} schedule;

static const schedule many_saves = {"30", {0, 1, 2, 7, 29}, 5, 0};
static const schedule two_saves = {"30", {2, 7}, 2, 0};
static const schedule one_save = {"12", {5}, 1, 12};

typedef struct trial {
    const schedule *schedule;
    const blv_problem *problem, *elsewhere; /* where it is saved, and where it goes on */
    const char *solver;
    const char *const *settings;
} trial;

static void finish(blv_run *run, const schedule *plan) {
    if (plan->steps)
        steps(run, plan->steps); /* nothing happens after the last iteration */
    else
        solve_to_end(run);
}

/* NULL when the solver refuses the problem. */
static blv_run *run_of(const blv_problem *problem, const trial *t) {
    blv_message why = {""};
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, problem, blv_solver_find(NULL, t->solver, NULL), &why);
    if (error == BLV_E_UNSUPPORTED)
        return NULL;
    assert_int_equal(error, BLV_OK);
    set_all(run, t->settings);
    set_all(run, SETTINGS("iters", t->schedule->iters));
    if (blv_params_find(blv_run_solver(run)->params, "cap")) /* loops that need not get anywhere */
        set_all(run, SETTINGS("cap", "20"));
    if (blv_run_start_random(run, 0.3) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    return run;
}

static void go_on_from(const trial *t, const image *saved, int after, blv_run *straight) {
    char what[160];
    snprintf(what, sizeof what, "%s on %s, %s = %s, saved after %d", t->solver,
             blv_problem_definition(t->problem)->name, t->settings[0] ? t->settings[0] : "",
             t->settings[0] ? t->settings[1] : "", after);
    blv_run *resumed = run_of(t->elsewhere, t);
    assert_int_equal(blv_run_write(resumed, "x", (const double[DIM_MAX]){9.0, 8.0}), BLV_OK);
    load_image(resumed, saved);
    finish(resumed, t->schedule);
    expect_same_state(resumed, straight, what);
    blv_run_destroy(resumed);
}

static void expect_resumes(const trial *t) {
    blv_run *straight = run_of(t->problem, t), *saved = run_of(t->problem, t);
    if (!straight)
        return;
    finish(straight, t->schedule);
    int done = 0;
    for (int i = 0; i < t->schedule->save_count; i++) {
        steps(saved, t->schedule->saves[i] - done);
        done = t->schedule->saves[i];
        image at = image_of(saved);
        go_on_from(t, &at, done, straight);
        free_image(&at);
    }
    finish(saved, t->schedule);
    expect_same_state(saved, straight, "saving changed the run");
    blv_run_destroy(saved);
    blv_run_destroy(straight);
}

static void every_solver_resumes(const schedule *plan, const blv_problem *problem,
                                 const char *const *settings) {
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        expect_resumes(&(trial){plan, problem, problem, blv_builtin_solvers[s]->name, settings});
}

static void test_every_solver(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_problem *problem = make_problem_in(
            "quadratic", SETTINGS("dx", "7", "dy", "9", "kappa", "30"), (blv_precision)precision);
        every_solver_resumes(&many_saves, problem, SETTINGS("seed", "3"));
        blv_problem_destroy(problem);
    }
}

/* An epoch is four batches: saved in the middle of one, at its end, and in the first. */
static void test_every_sampler(void **state) {
    (void)state;
    static const struct {
        const char *sampler;
        blv_precision precision;
    } cases[] = {{"block", BLV_F64}, {"iid", BLV_F32}, {"shuffle", BLV_F64}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        blv_problem *problem = make_problem_in(
            "quadratic", SETTINGS("dx", "5", "dy", "6", "terms", "33"), cases[i].precision);
        every_solver_resumes(&two_saves, problem,
                             SETTINGS("sampler", cases[i].sampler, "batch", "10"));
        blv_problem_destroy(problem);
    }
}

static const char *const *small_settings(const blv_problem_family *family) {
    static const char *const few_rows[] = {"rows", "60", NULL};
    static const char *const few_unknowns[] = {"dx", "3", "dy", "4", "kappa", "5", NULL};
    if (blv_params_find(family->params, "rows"))
        return few_rows;
    return blv_params_find(family->params, "kappa") ? few_unknowns : needed_settings(family);
}

/* Every family: sets X, curved functions, data, samples that are shuffled already. */
static void test_every_problem(void **state) {
    (void)state;
    for (size_t p = 0; blv_builtin_problems[p]; p++) {
        const blv_problem_family *family = blv_builtin_problems[p];
        blv_problem *problem = make_problem(family->name, small_settings(family));
        if (blv_problem_definition(problem)->dim_x <= DIM_MAX) {
            every_solver_resumes(&one_save, problem, (const char *const[]){NULL});
            if (blv_problem_definition(problem)->lower_samples > 1)
                every_solver_resumes(&one_save, problem, SETTINGS("batch", "4"));
        }
        blv_problem_destroy(problem);
    }
}

/* Parameters other than the default ones: their state is kept as well. */
static void test_parameters(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "4", "dy", "5"));
    expect_resumes(&(trial){&many_saves, problem, problem, "s-tfbo", SETTINGS("scale", "auto")});
    expect_resumes(&(trial){&many_saves, problem, problem, "exact", SETTINGS("memory", "3")});
    expect_resumes(&(trial){&many_saves, problem, problem, "d-tfbo", SETTINGS("inner", "fixed")});
    blv_problem_destroy(problem);
}

/* The note on collapsed steps compares with the first step and with |d| at a power of two. */
static void test_note_that_looks_back(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "50", "dy", "50", "eigen_min",
                                                              "0.1", "kappa", "10", "scale", "1"));
    blv_run *straight = make_run(problem, "s-tfbo", NULL);
    blv_run *resumed = make_run(problem, "s-tfbo", NULL);
    uint64_t noted = 0, saved_at = 600;
    image at = {NULL, 0};
    for (uint64_t k = 1; k <= 20000 && noted == 0; k++) {
        steps(straight, 1);
        if (k == saved_at) { /* not long before the next look */
            free_image(&at);
            at = image_of(straight);
            saved_at *= 2;
        }
        noted = has_note(straight, "collapsed") ? k : 0;
    }
    assert_true(noted > 0);
    load_image(resumed, &at);
    assert_false(has_note(resumed, "collapsed"));
    steps(resumed, (int)(noted - blv_run_result(resumed)->iterations));
    expect_same_state(resumed, straight, "the note");
    free_image(&at);
    blv_run_destroy(straight);
    blv_run_destroy(resumed);
    blv_problem_destroy(problem);
}

static void test_other_threads(void **state) {
    (void)state;
    const blv_problem_family *family = blv_family_find(NULL, "synthetic-logistic", NULL);
    const blv_problem_options one = {.size = sizeof(blv_problem_options), .threads = 1},
                              four = {.size = sizeof(blv_problem_options), .threads = 4};
    blv_problem *here = NULL, *there = NULL;
    const char *const *few = SETTINGS("rows", "300");
    assert_int_equal(blv_problem_from_family(family, few, &one, &here, NULL), BLV_OK);
    assert_int_equal(blv_problem_from_family(family, few, &four, &there, NULL), BLV_OK);
    for (size_t s = 0; blv_builtin_solvers[s]; s++)
        expect_resumes(&(trial){&one_save, here, there, blv_builtin_solvers[s]->name,
                                SETTINGS("batch", "full")});
    blv_problem_destroy(here);
    blv_problem_destroy(there);
}

/* Points that an oracle refuses: the move before the checkpoint is halved after it. */
static void test_halved_moves(void **state) {
    (void)state;
    static const char *const settings[] = {"alpha0", "1e-6", "beta0", "1e-6",
                                           "gamma0", "1e-6", NULL};
    bool halved = false;
    for (int k = 0; k < 12; k++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), BY_ALL);
        w.radius = 1.0;
        const char *const *tuned = settings;
        blv_run *straight = make_run(w.problem, "d-tfbo", tuned);
        blv_run *saved = make_run(w.problem, "d-tfbo", tuned);
        blv_run *resumed = make_run(w.problem, "d-tfbo", tuned);
        steps(straight, 12);
        steps(saved, k);
        image at = image_of(saved);
        load_image(resumed, &at);
        steps(resumed, 12 - k);
        expect_same_state(resumed, straight, "after refused points");
        halved = halved || has_note(straight, "halved");
        free_image(&at);
        blv_run_destroy(straight);
        blv_run_destroy(saved);
        blv_run_destroy(resumed);
        unwrap(&w);
    }
    assert_true(halved);
}

/* y moves freely once in a step, and the next step's first oracle refuses it: only `moved` and the
 * previous value say what to halve. */
typedef struct mover {
    blv_vec *gy;
} mover;

static blv_error mover_open(blv_run *run, void *state) {
    return blv_scratch_vec(run, BLV_LEVEL_Y, &((mover *)state)->gy);
}

static blv_flow mover_step(blv_run *run, void *state) {
    mover *m = state;
    BLV_TRY(blv_oracle_lower(run, NULL, blv_run_x(run), blv_run_y(run), NULL, NULL, m->gy));
    return blv_move(run, blv_run_y(run), 0.4 + 0.3 * (double)(blv_run_iteration(run) % 3), m->gy);
}

static const blv_solver mover_solver = {BLV_SIZED(blv_solver), .name = "mover",
                                        .summary = "",         .state_size = sizeof(mover),
                                        .open = mover_open,    .step = mover_step};

static blv_run *mover_run(const blv_problem *problem) {
    blv_run *run = NULL;
    assert_int_equal(blv_run_create(&run, problem, &mover_solver, NULL), BLV_OK);
    return run;
}

static void test_move_refused_after_loading(void **state) {
    (void)state;
    bool halved_after_loading = false;
    for (int k = 1; k < 10; k++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), BY_ALL);
        w.radius = 0.5;
        blv_run *straight = mover_run(w.problem), *resumed = mover_run(w.problem);
        steps(straight, k);
        image at = image_of(straight);
        bool halved_before = has_note(straight, "halved");
        steps(straight, 12 - k);
        load_image(resumed, &at);
        steps(resumed, 1);
        halved_after_loading =
            halved_after_loading || (!halved_before && has_note(resumed, "halved"));
        steps(resumed, 11 - k);
        expect_same_state(resumed, straight, "mover");
        free_image(&at);
        blv_run_destroy(straight);
        blv_run_destroy(resumed);
        unwrap(&w);
    }
    assert_true(halved_after_loading);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_solver),
        cmocka_unit_test(test_every_sampler),
        cmocka_unit_test(test_every_problem),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_note_that_looks_back),
        cmocka_unit_test(test_other_threads),
        cmocka_unit_test(test_halved_moves),
        cmocka_unit_test(test_move_refused_after_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
