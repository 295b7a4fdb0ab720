/* A run that is saved, dropped and loaded ends with the same bits as one that was never stopped:
 * every solver, sampler and precision. What is saved, how it is refused, and what is left alone. */
#include "checkpoint_testing.h"

#include "alloc_testing.h"
#include "core/builtin.h"
#include "core/workspace.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char folder[] = "checkpoint-XXXXXX";

static const char *file_in_folder(const char *name) {
    static char path[2][128];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"run.npz", "other.npz", "trace", "trace2"};
    for (size_t i = 0; i < LENGTH(names); i++)
        remove(file_in_folder(names[i]));
    return rmdir(folder); /* fails when something else was left there */
}

/* ---- The same bits ---- */

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
    const blv_problem_family *family = blv_problem_find(NULL, "synthetic-logistic", NULL);
    const blv_problem_options one = {.threads = 1}, four = {.threads = 4};
    blv_problem *here = NULL, *there = NULL;
    const char *const *few = SETTINGS("rows", "300");
    assert_int_equal(blv_family_create(family, few, &one, &here, NULL), BLV_OK);
    assert_int_equal(blv_family_create(family, few, &four, &there, NULL), BLV_OK);
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

static const blv_solver mover_solver = {.name = "mover",
                                        .summary = "",
                                        .state_size = sizeof(mover),
                                        .open = mover_open,
                                        .step = mover_step};

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

/* ---- Blocks ---- */

typedef struct blocky {
    double *matrix;
    double hidden;
} blocky;

static blv_error blocky_open(blv_run *run, void *state) {
    blocky *b = state;
    BLV_CHECK(blv_state_hidden(run, "hidden", &b->hidden));
    return blv_state_block(run, "matrix", 6, &b->matrix);
}

static blv_flow blocky_step(blv_run *run, void *state) {
    blocky *b = state;
    for (int i = 0; i < 6; i++)
        b->matrix[i] = b->matrix[i] * 0.5 + i + b->hidden;
    b->hidden += 0.125;
    double x[3] = {b->matrix[5], b->hidden, 0.0};
    blv_vec_write(blv_run_x(run), x);
    return BLV_GO;
}

static void test_blocks_and_hidden_scalars(void **state) {
    (void)state;
    static const blv_solver solver = {.name = "blocky",
                                      .summary = "",
                                      .state_size = sizeof(blocky),
                                      .open = blocky_open,
                                      .step = blocky_step};
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *straight = NULL, *resumed = NULL;
    assert_int_equal(blv_run_create(&straight, problem, &solver, NULL), BLV_OK);
    assert_int_equal(blv_run_create(&resumed, problem, &solver, NULL), BLV_OK);
    steps(straight, 5);
    image at = image_of(straight);
    steps(straight, 5);
    load_image(resumed, &at);
    steps(resumed, 5);
    expect_same_state(resumed, straight, "blocks");
    blv_npz *file = open_image(&at);
    blv_array about;
    assert_int_equal(blv_npz_info(file, "block/matrix", &about, NULL), BLV_OK);
    assert_int_equal(about.count, 6);
    assert_int_equal(blv_npz_info(file, "scalar/hidden", &about, NULL), BLV_OK);
    assert_int_equal(about.ndim, 0);
    blv_npz_close(file);
    free_image(&at);
    blv_run_destroy(straight);
    blv_run_destroy(resumed);
    blv_problem_destroy(problem);
}

/* ---- Ends ---- */

static void test_more_iterations_after_a_limit(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *name = blv_builtin_solvers[s]->name;
        const char *const *plan = strcmp(name, "d-tfbo") == 0 ? SETTINGS("T", "50") : NULL;
        blv_run *brief = make_run(problem, name, plan), *again = make_run(problem, name, plan);
        blv_run *more = make_run(problem, name, plan), *straight = make_run(problem, name, plan);
        set_all(brief, SETTINGS("iters", "5"));
        set_all(again, SETTINGS("iters", "5"));
        set_all(more, SETTINGS("iters", "9"));
        set_all(straight, SETTINGS("iters", "9"));
        solve_to_end(brief);
        solve_to_end(straight);
        image at = image_of(brief);
        load_image(again, &at);
        assert_int_equal(blv_run_step(again), BLV_OK);
        expect_same_state(again, brief, "loaded at its limit");
        load_image(more, &at);
        solve_to_end(more);
        expect_same_state(more, straight, "a later limit");
        free_image(&at);
        blv_run_destroy(brief);
        blv_run_destroy(again);
        blv_run_destroy(more);
        blv_run_destroy(straight);
    }
    blv_problem_destroy(problem);
}

/* Converged, or stopped in the middle of a step: it has ended and stays so. */
static void test_ended_runs_stay_ended(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_ALL);
    for (int stopped = 0; stopped < 2; stopped++) {
        blv_run *run = make_run(w.problem, "exact", NULL);
        blv_run *loaded = make_run(w.problem, "exact", SETTINGS("iters", "1000"));
        plan(&w, LOWER, NO_FAULT, 0, 0);
        w.stop = stopped ? run : NULL;
        w.stop_call = 20;
        solve_to_end(run);
        expect_outcome(run, stopped ? BLV_STOPPED_REQUEST : BLV_CONVERGED);
        image at = image_of(run);
        w.stop = NULL;
        load_image(loaded, &at);
        assert_string_equal(blv_run_message(loaded), blv_run_message(run));
        assert_int_equal(outcome_of(loaded), outcome_of(run));
        long calls = w.calls[LOWER];
        solve_to_end(loaded);
        assert_int_equal(w.calls[LOWER], calls);
        expect_same_state(loaded, run, "ended");
        free_image(&at);
        blv_run_destroy(run);
        blv_run_destroy(loaded);
    }
    unwrap(&w);
}

static void test_order_of_calls(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "soba", NULL);
    steps(run, 2);
    image at = image_of(run);
    assert_int_equal(blv_run_load_from(run, at.bytes, at.size), BLV_E_ORDER);
    expect_text(blv_run_message(run), "before its first step");
    free_image(&at);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- From a monitor and from a pause ---- */

typedef struct saver {
    blv_run *run;
    image last;
    uint64_t at, calls;
    blv_error at_end;
} saver;

static int save_in_monitor(void *context, const blv_progress *progress) {
    saver *s = context;
    image i = {NULL, 0};
    s->at_end = blv_run_save_to(s->run, take_bytes, &i);
    if (s->at_end == BLV_OK) {
        free_image(&s->last);
        s->last = i;
        s->at = progress->iteration;
    }
    return 0;
}

static void save_in_pause(void *context, blv_run *run) {
    saver *s = context;
    free_image(&s->last);
    s->last = image_of(run);
    s->at = blv_run_result(run)->iterations;
    s->calls++;
}

static void test_saved_on_the_way(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (int by_monitor = 0; by_monitor < 2; by_monitor++) {
        const char *const *settings = SETTINGS("iters", "500");
        blv_run *straight = make_run(problem, "s-tfbo", settings);
        blv_run *saved = make_run(problem, "s-tfbo", settings);
        blv_run *resumed = make_run(problem, "s-tfbo", settings);
        saver s = {.run = saved};
        if (by_monitor)
            assert_int_equal(blv_run_monitor(saved, save_in_monitor, &s, 100, 0.0), BLV_OK);
        else
            assert_int_equal(blv_run_pause(saved, save_in_pause, &s, 1e-9), BLV_OK);
        solve_to_end(straight);
        solve_to_end(saved);
        assert_int_equal(s.at, by_monitor ? 400 : 499);
        if (by_monitor)
            assert_int_equal(s.at_end, BLV_E_ORDER); /* the last call, while the run ends */
        else
            assert_int_equal(s.calls, 499);
        load_image(resumed, &s.last);
        solve_to_end(resumed);
        expect_same_vector(resumed, straight, "x");
        expect_same_vector(resumed, straight, "y");
        expect_same_vector(resumed, straight, "v");
        free_image(&s.last);
        blv_run_destroy(straight);
        blv_run_destroy(saved);
        blv_run_destroy(resumed);
    }
    blv_run *run = make_run(problem, "s-tfbo", NULL);
    assert_int_equal(blv_run_pause(run, save_in_pause, NULL, 0.0), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_pause(run, NULL, NULL, 0.0), BLV_OK);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* The clock goes on from where it stood. */
static void test_clock_goes_on(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("seconds", "0.05"));
    solve_to_end(run);
    expect_outcome(run, BLV_LIMIT_SECONDS);
    blv_run *half = make_run(problem, "s-tfbo", NULL);
    steps(half, 300);
    double before = blv_run_result(half)->seconds;
    assert_true(before > 0.0);
    image at = image_of(half);
    blv_run *loaded = make_run(problem, "s-tfbo", NULL);
    load_image(loaded, &at);
    assert_true(blv_run_result(loaded)->seconds == before);
    steps(loaded, 1);
    assert_true(blv_run_result(loaded)->seconds > before);
    free_image(&at);
    blv_run_destroy(run);
    blv_run_destroy(half);
    blv_run_destroy(loaded);
    blv_problem_destroy(problem);
}

/* ---- The trace ---- */

static char *without_seconds(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 100000);
    assert_non_null(file);
    assert_non_null(text);
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        char *seconds = strstr(line, ",\"seconds\":"),
             *end = seconds ? strchr(seconds + 1, ',') : 0;
        assert_non_null(end);
        memmove(seconds, end, strlen(end) + 1);
        strcat(text, line);
    }
    fclose(file);
    return text;
}

static void trace_to(blv_run *run, const char *path) {
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
}

static void test_trace_goes_on(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const char *const *settings = SETTINGS("iters", "23", "every", "5");
    char whole[128], parts[128];
    snprintf(whole, sizeof whole, "%s", file_in_folder("trace"));
    snprintf(parts, sizeof parts, "%s", file_in_folder("trace2"));
    for (int k = 0; k <= 23; k++) {
        blv_run *straight = make_run(problem, "s-tfbo", settings);
        blv_run *saved = make_run(problem, "s-tfbo", settings);
        blv_run *resumed = make_run(problem, "s-tfbo", settings);
        trace_to(straight, whole);
        trace_to(saved, parts);
        trace_to(resumed, parts);
        solve_to_end(straight);
        steps(saved, k);
        image at = image_of(saved);
        steps(saved, 6); /* rows that come again */
        load_image(resumed, &at);
        solve_to_end(resumed);
        char *expected = without_seconds(whole), *found = without_seconds(parts);
        assert_string_equal(found, expected);
        assert_false(has_note(resumed, "trace"));
        free(expected);
        free(found);
        free_image(&at);
        blv_run_destroy(straight);
        blv_run_destroy(saved);
        blv_run_destroy(resumed);
    }
    blv_problem_destroy(problem);
}

static void test_trace_that_is_gone(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const char *const *settings = SETTINGS("iters", "20", "every", "5");
    blv_run *saved = make_run(problem, "s-tfbo", settings);
    blv_run *resumed = make_run(problem, "s-tfbo", settings);
    trace_to(saved, file_in_folder("trace"));
    trace_to(resumed, file_in_folder("trace2"));
    steps(saved, 12);
    image at = image_of(saved);
    remove(file_in_folder("trace2"));
    load_image(resumed, &at);
    solve_to_end(resumed);
    assert_true(has_note(resumed, "lost its first rows"));
    char *rows = without_seconds(file_in_folder("trace2"));
    assert_non_null(strstr(rows, "\"iteration\":15"));
    assert_null(strstr(rows, "\"iteration\":10"));
    free(rows);
    free_image(&at);
    blv_run_destroy(saved);
    blv_run_destroy(resumed);
    blv_problem_destroy(problem);
}

/* ---- Refusals ---- */

typedef struct difference {
    const char *solver;
    const char *problem;
    blv_precision precision;
    const char *problem_settings[8];
    const char *settings[8];
    const char *words;
} difference;

static void test_refused_with_the_difference(void **state) {
    (void)state;
    static const difference same = {
        "s-tfbo", "quadratic", BLV_F64, {"dx", "3", "terms", "5", NULL}, {"seed", "1", NULL}, NULL};
    static const difference others[] = {
        {"soba",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1"},
         "solver is soba here and s-tfbo in the checkpoint"},
        {"s-tfbo",
         "parabola",
         BLV_F64,
         {NULL},
         {"seed", "1"},
         "problem is parabola here and quadratic in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F32,
         {"dx", "3", "terms", "5"},
         {"seed", "1"},
         "precision is f32 here and f64 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "4", "terms", "5"},
         {"seed", "1"},
         "dimension of x is 4 here and 3 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "dy", "2", "terms", "5"},
         {"seed", "1"},
         "dimension of y is 2 here and "},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "6"},
         {"seed", "1"},
         "samples of f is 6 here and 5 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5", "kappa", "7"},
         {"seed", "1"},
         "fingerprint of the data is "},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "2"},
         "seed is 2 here and 1 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1", "batch", "2"},
         "batch is 2 here and auto in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1", "sampler", "iid"},
         "sampler is iid here and block in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1", "eta_x", "0.5"},
         "parameter eta_x is 0.5 here and 1 in the checkpoint"},
    };
    blv_problem *problem = make_problem(same.problem, same.problem_settings);
    blv_run *run = make_run(problem, same.solver, same.settings);
    steps(run, 5);
    image at = image_of(run);
    for (size_t i = 0; i < LENGTH(others); i++) {
        const difference *d = &others[i];
        blv_problem *elsewhere = make_problem_in(d->problem, d->problem_settings, d->precision);
        blv_run *other = make_run(elsewhere, d->solver, d->settings);
        blv_run *fresh = make_run(elsewhere, d->solver, d->settings);
        assert_int_equal(blv_run_load_from(other, at.bytes, at.size), BLV_E_VALUE);
        expect_text(blv_run_message(other), d->words);
        steps(other, 3);
        steps(fresh, 3);
        expect_same_state(other, fresh, "a refused checkpoint changed the run");
        blv_run_destroy(other);
        blv_run_destroy(fresh);
        blv_problem_destroy(elsewhere);
    }
    free_image(&at);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* What `open` makes of an automatic parameter counts: T follows the iteration limit. */
static void test_planned_iterations_differ(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "d-tfbo", SETTINGS("iters", "5"));
    blv_run *other = make_run(problem, "d-tfbo", SETTINGS("iters", "9"));
    solve_to_end(run);
    image at = image_of(run);
    assert_int_equal(blv_run_load_from(other, at.bytes, at.size), BLV_E_VALUE);
    expect_text(blv_run_message(other), "parameter T is 9 here and 5 in the checkpoint");
    free_image(&at);
    blv_run_destroy(run);
    blv_run_destroy(other);
    blv_problem_destroy(problem);
}

/* ---- Damage ---- */

/* Refused with a message, or a byte that does not count: then the state is whole. */
static void expect_refused_or_whole(const blv_problem *problem, const image *damaged,
                                    blv_run *whole, size_t at, long *refused) {
    blv_run *run = make_run(problem, "soba", SETTINGS("batch", "2"));
    blv_error error = blv_run_load_from(run, damaged->bytes, damaged->size);
    if (error == BLV_OK) {
        char what[60];
        snprintf(what, sizeof what, "byte %zu is damaged", at);
        expect_same_state(run, whole, what);
    } else {
        ++*refused;
        if (strlen(blv_run_message(run)) < 15)
            fail_msg("byte %zu: message '%s'", at, blv_run_message(run));
        assert_true(blv_run_result(run)->iterations == 0);
    }
    blv_run_destroy(run);
}

static void test_damaged_bytes(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "2", "dy", "2", "terms", "5"));
    blv_run *whole = make_run(problem, "soba", SETTINGS("batch", "2"));
    steps(whole, 7);
    image at = image_of(whole);
    long refused = 0, cut = 0;
    for (size_t i = 0; i < at.size; i++) {
        at.bytes[i] ^= 0x41;
        expect_refused_or_whole(problem, &at, whole, i, &refused);
        at.bytes[i] ^= 0x41;
    }
    assert_true(refused > (long)at.size / 2); /* the rest is padding */
    for (size_t size = 0; size < at.size; size += 13)
        expect_refused_or_whole(problem, &(image){at.bytes, size}, whole, size, &cut);
    assert_int_equal(cut, (at.size + 12) / 13);
    free_image(&at);
    blv_run_destroy(whole);
    blv_problem_destroy(problem);
}

typedef struct change {
    const char *from, *to; /* in the lines */
    const char *drop;      /* array to leave out */
    const char *spoil;     /* array to get this first number */
    double number;
    const char *add; /* array to add */
    const char *words;
} change;

static void copy_changed(blv_npz *file, const change *c, image *out) {
    blv_message why = {""};
    blv_npz_writer *writer = NULL;
    assert_int_equal(blv_npz_create_to(&writer, "copy", take_bytes, out, &why), BLV_OK);
    for (size_t i = 0; i < blv_npz_count(file); i++) {
        const char *name = blv_npz_name(file, i);
        if (c->drop && strcmp(name, c->drop) == 0)
            continue;
        if (strcmp(name, "checkpoint") == 0) {
            char *text = lines_of(file), changed[8192];
            char *found = c->from ? strstr(text, c->from) : NULL;
            assert_true(!c->from || found);
            if (found)
                snprintf(changed, sizeof changed, "%.*s%s%s", (int)(found - text), text, c->to,
                         found + strlen(c->from));
            else
                snprintf(changed, sizeof changed, "%s", text);
            assert_int_equal(blv_npz_add_text(writer, name, changed, &why), BLV_OK);
            free(text);
            continue;
        }
        double *values = NULL;
        blv_array about;
        assert_int_equal(blv_npz_read_f64(file, name, &values, &about, &why), BLV_OK);
        if (c->spoil && strcmp(name, c->spoil) == 0)
            values[0] = c->number;
        assert_int_equal(blv_npz_add_f64(writer, name, about.ndim, about.shape, values, &why),
                         BLV_OK);
        free(values);
    }
    if (c->add)
        assert_int_equal(blv_npz_add_f64(writer, c->add, 0, NULL, &c->number, &why), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, &why), BLV_OK);
}

static void test_refused_contents(void **state) {
    (void)state;
    static const change changes[] = {
        {"version\t1\n", "version\t2\n", NULL, NULL, 0, NULL, "version 2"},
        {"version\t1\n", "", NULL, NULL, 0, NULL, "version"},
        {"bilevel checkpoint", "something else", NULL, NULL, 0, NULL, "not a checkpoint"},
        {"run/iterations\t2", "run/iterations\tmany", NULL, NULL, 0, NULL, "run/iterations"},
        {"run/moves\t", "run/mover\t", NULL, NULL, 0, NULL, "run/moves"},
        {"run/phase\tstepping", "run/phase\tdancing", NULL, NULL, 0, NULL, "run/phase"},
        {"run/outcome\t0", "run/outcome\t77", NULL, NULL, 0, NULL, "run/outcome"},
        {"moved/y\t", "moved/z\t", NULL, NULL, 0, NULL, "moved/y"},
        {"same/seed\t0", "same/seed\t0\nsame/weather\tfine", NULL, NULL, 0, NULL,
         "weather is not known here and fine in the checkpoint"},
        {"same/solver\texact\n", "", NULL, NULL, 0, NULL,
         "solver is exact here and not known in the checkpoint"},
        {NULL, NULL, "checkpoint", NULL, 0, NULL, "not a checkpoint"},
        {NULL, NULL, "vector/v", NULL, 0, NULL, "vector/v"},
        {NULL, NULL, NULL, "vector/x", NAN, NULL, "vector/x"},
        {NULL, NULL, NULL, "lbfgs/lbfgs", 99.0, NULL, "lbfgs/lbfgs"},
        {NULL, NULL, NULL, "lbfgs/lbfgs", 0.5, NULL, "lbfgs/lbfgs"},
        {NULL, NULL, NULL, "run/clock and metrics", -1.0, NULL, "clock"},
        {NULL, NULL, NULL, NULL, 1.0, "vector/w", "another version"},
    };
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "exact", SETTINGS("memory", "2"));
    steps(run, 2);
    image at = image_of(run);
    blv_npz *file = open_image(&at);
    for (size_t i = 0; i < LENGTH(changes); i++) {
        image changed = {NULL, 0};
        copy_changed(file, &changes[i], &changed);
        blv_run *other = make_run(problem, "exact", SETTINGS("memory", "2"));
        assert_int_not_equal(blv_run_load_from(other, changed.bytes, changed.size), BLV_OK);
        expect_text(blv_run_message(other), changes[i].words);
        blv_run_destroy(other);
        free_image(&changed);
    }
    blv_npz_close(file);
    free_image(&at);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_bad_sampler_position(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("terms", "9"));
    blv_run *run = make_run(problem, "soba", SETTINGS("batch", "4"));
    steps(run, 4);
    image at = image_of(run), changed = {NULL, 0};
    blv_npz *file = open_image(&at);
    copy_changed(file, &(const change){.spoil = "sampler/g batch", .number = -1.0}, &changed);
    blv_run *other = make_run(problem, "soba", SETTINGS("batch", "4"));
    assert_int_equal(blv_run_load_from(other, changed.bytes, changed.size), BLV_E_FORMAT);
    expect_text(blv_run_message(other), "sampler/g batch");
    blv_npz_close(file);
    free_image(&at);
    free_image(&changed);
    blv_run_destroy(run);
    blv_run_destroy(other);
    blv_problem_destroy(problem);
}

/* ---- Files ---- */

static image file_image(const char *path) {
    image i = {NULL, 0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        take_bytes(&i, chunk, n);
    fclose(file);
    return i;
}

static void save_file(blv_run *run, const char *path) {
    if (blv_run_save(run, path) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
}

static void test_files(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "soba", NULL), *other = make_run(problem, "soba", NULL);
    steps(run, 3);
    save_file(run, file_in_folder("run.npz"));
    steps(run, 3);
    save_file(run, file_in_folder("run.npz"));
    if (blv_run_load(other, file_in_folder("run.npz")) != BLV_OK)
        fail_msg("%s", blv_run_message(other));
    expect_same_state(other, run, "file");
    blv_run_destroy(other);
    other = make_run(problem, "soba", NULL);
    assert_int_equal(blv_run_load(other, file_in_folder("missing.npz")), BLV_E_FILE);
    expect_text(blv_run_message(other), "missing.npz");
    assert_int_equal(blv_run_save(run, file_in_folder("no/folder.npz")), BLV_E_FILE);
    expect_text(blv_run_message(run), "folder.npz");
    FILE *text = fopen(file_in_folder("other.npz"), "w");
    assert_non_null(text);
    fputs("no archive\n", text);
    fclose(text);
    assert_int_equal(blv_run_load(other, file_in_folder("other.npz")), BLV_E_FORMAT);
    expect_text(blv_run_message(other), "other.npz");
    blv_run_destroy(run);
    blv_run_destroy(other);
    blv_problem_destroy(problem);
}

/* The disk is full, at any place in the file: a message, the file before is whole, nothing is left
 * behind, and the run goes on as if nothing had happened. */
static void test_full_disk(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "soba", SETTINGS("iters", "40"));
    blv_run *straight = make_run(problem, "soba", SETTINGS("iters", "40"));
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    steps(run, 3);
    save_file(run, file_in_folder("run.npz"));
    image kept = file_image(file_in_folder("run.npz"));
    for (rlim_t limit = 0; limit < kept.size; limit += 501) {
        steps(run, 1);
        const struct rlimit small = {.rlim_cur = limit, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        blv_error error = blv_run_save(run, file_in_folder("run.npz"));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(error, BLV_E_FILE);
        expect_text(blv_run_message(run), "run.npz: cannot");
        image now = file_image(file_in_folder("run.npz"));
        assert_int_equal(now.size, kept.size);
        assert_memory_equal(now.bytes, kept.bytes, now.size);
        free_image(&now);
    }
    solve_to_end(run);
    solve_to_end(straight);
    expect_same_state(run, straight, "after a full disk");
    signal(SIGXFSZ, SIG_DFL);
    free_image(&kept);
    blv_run_destroy(run);
    blv_run_destroy(straight);
    blv_problem_destroy(problem);
}

static int refuse_bytes(void *context, const void *bytes, size_t count) {
    size_t *left = context;
    (void)bytes;
    if (count > *left)
        return -1;
    *left -= count;
    return 0;
}

static void test_receiver_that_fails(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "soba", NULL);
    steps(run, 2);
    image at = image_of(run);
    for (size_t room = 0; room < at.size; room += 97) {
        size_t left = room;
        assert_int_equal(blv_run_save_to(run, refuse_bytes, &left), BLV_E_FILE);
        expect_text(blv_run_message(run), "not taken");
    }
    free_image(&at);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- Short memory ---- */

static int drop_bytes(void *context, const void *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

static void test_short_memory(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "exact", SETTINGS("memory", "2"));
    blv_run *straight = make_run(problem, "exact", SETTINGS("memory", "2"));
    steps(run, 2);
    steps(straight, 2);
    image at = image_of(straight);
    blv_error error = BLV_E_MEMORY;
    long n = 0;
    for (; error != BLV_OK; n++) {
        fail_request(n);
        error = blv_run_save_to(run, drop_bytes, NULL);
        assert_int_equal(a_request_failed(), error != BLV_OK);
        assert_true(error == BLV_OK || error == BLV_E_MEMORY);
    }
    assert_true(n > 4);
    expect_same_state(run, straight, "saving without memory changed the run");
    blv_run *loaded = make_run(problem, "exact", SETTINGS("memory", "2"));
    blv_run *fresh = make_run(problem, "exact", SETTINGS("memory", "2"));
    assert_int_equal(blv_run_open(loaded), BLV_OK);
    error = BLV_E_MEMORY;
    for (n = 0; error != BLV_OK && n < 1000; n++) {
        fail_request(n);
        error = blv_run_load_from(loaded, at.bytes, at.size);
        bool failed = a_request_failed();
        if (error == BLV_OK)
            break;
        assert_true(failed);
        assert_int_equal(error, BLV_E_MEMORY);
        expect_same_state(loaded, fresh, "loading without memory changed the run");
    }
    assert_int_equal(error, BLV_OK);
    expect_same_state(loaded, straight, "loaded in the end");
    free_image(&at);
    blv_run_destroy(run);
    blv_run_destroy(loaded);
    blv_run_destroy(fresh);
    blv_run_destroy(straight);
    blv_problem_destroy(problem);
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
        cmocka_unit_test(test_blocks_and_hidden_scalars),
        cmocka_unit_test(test_more_iterations_after_a_limit),
        cmocka_unit_test(test_ended_runs_stay_ended),
        cmocka_unit_test(test_order_of_calls),
        cmocka_unit_test(test_saved_on_the_way),
        cmocka_unit_test(test_clock_goes_on),
        cmocka_unit_test(test_trace_goes_on),
        cmocka_unit_test(test_trace_that_is_gone),
        cmocka_unit_test(test_refused_with_the_difference),
        cmocka_unit_test(test_planned_iterations_differ),
        cmocka_unit_test(test_damaged_bytes),
        cmocka_unit_test(test_refused_contents),
        cmocka_unit_test(test_bad_sampler_position),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_receiver_that_fails),
        cmocka_unit_test(test_short_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
