/* Runs that are recorded while they are made: by a task, whose runs are remembered and resumed, and
 * by blv_solve. */
#include "bilevel/solve.h"
#include "store/run_execution.h"
#include "store/task_session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blv_testing.h"

static char path[] = "/tmp/test-session-XXXXXX";
static char warning[600];

static int make_file(void **state) {
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_files(void **state) {
    (void)state;
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < LENGTH(ends); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    return 0;
}

static blv_store *open_store(void) {
    blv_store *store = NULL;
    blv_message why = {0};
    if (blv_store_open(&store, path, BLV_STORE_CREATE, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return store;
}

static void keep_warning(void *context, const char *text) {
    (void)context;
    snprintf(warning, sizeof warning, "%s", text);
}

/* ---- A task of three runs, each of which begins at the end of the one before ---- */

enum { RUNS = 3 };

typedef struct outcome {
    size_t made, recalled; /* runs */
    double carried;
    double y[8];
    blv_error error;
    blv_message why;
} outcome;

static blv_error count_rows(blv_task_session *s, size_t *rows) {
    blv_run_info *info = NULL;
    BLV_CHECK(blv_store_find(s->recorder.store, s->recorder.id, &info));
    *rows = info->rows;
    blv_run_info_free(info);
    return BLV_OK;
}

/* Makes one run; interrupted: stops it on the way, after a checkpoint. */
static blv_error make_one(blv_task_session *s, const blv_problem *problem, blv_task_run *which,
                          bool interrupted, outcome *o) {
    blv_run *run = make_run(problem, "soba", SETTINGS("iters", "40", "every", "10"));
    blv_error error = blv_task_session_begin(s, which, run, &o->why);
    for (int i = 0; error == BLV_OK && i < 25 && interrupted; i++)
        error = blv_run_step(run);
    if (error == BLV_OK && interrupted) {
        which->carried[0] += 100.0;
        error = blv_store_checkpoint(s->recorder.store, s->recorder.id, run, which->carried,
                                     sizeof(double));
    } else if (error == BLV_OK)
        error = blv_run_solve(run);
    const blv_result *result = blv_run_result(run);
    blv_run_end end = {.dim_x = blv_run_dim(run, "x"),
                       .dim_y = blv_run_dim(run, "y"),
                       .outcome = result->outcome,
                       .iterations = result->iterations};
    end.x = calloc(end.dim_x, sizeof *end.x);
    end.y = calloc(end.dim_y, sizeof *end.y);
    blv_run_read(run, "y", end.y);
    if (!interrupted)
        which->carried[0] += 1.0;
    blv_task_session_end(s, which, error == BLV_OK && !interrupted ? &end : NULL);
    memcpy(o->y, end.y, (end.dim_y < 8 ? end.dim_y : 8) * sizeof *end.y);
    blv_run_end_free(&end);
    blv_run_destroy(run);
    o->made++;
    return error;
}

/* stop_at: the run that is interrupted; RUNS: none. */
static outcome do_task(blv_store *store, const blv_run_info *resumed, uint64_t fingerprint,
                       size_t stop_at) {
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4"));
    blv_run *shown = make_run(problem, "soba", NULL);
    blv_task_session s = {.recorder = {.store = store, .warn = keep_warning},
                          .facts = {.kind = "clean", .request = "{}"},
                          .resumed = resumed,
                          .all_rows = true};
    const blv_task_start start = {
        .task = "clean", .problem = "quadratic", .fingerprint = fingerprint, .run = shown};
    outcome o = {0};
    o.error = blv_task_session_start(&s, &start, &o.why);
    bool interrupted = false;
    for (size_t i = 0; i < RUNS && o.error == BLV_OK && !interrupted; i++) {
        const blv_task_mark mark = {"fold", (double)i + 1.0};
        blv_task_run which = {.number = i,
                              .label = "fold",
                              .marks = &mark,
                              .mark_count = 1,
                              .carried = &o.carried,
                              .carried_count = 1};
        blv_run_end end = {0};
        if (blv_task_session_recall(&s, &which, &end)) {
            o.recalled++;
            memcpy(o.y, end.y, end.dim_y * sizeof *end.y);
            blv_run_end_free(&end);
            continue;
        }
        interrupted = i == stop_at;
        o.error = make_one(&s, problem, &which, interrupted, &o);
    }
    if (o.error == BLV_OK)
        blv_task_session_finish(&s, &(blv_run_info){.size = sizeof(blv_run_info),
                                                    .status = interrupted ? BLV_STATUS_INTERRUPTED
                                                                          : BLV_STATUS_FINISHED,
                                                    .phi = NAN,
                                                    .grad_norm = NAN});
    assert_false(s.recorder.failed);
    size_t rows = 0;
    if (o.error == BLV_OK && store)
        assert_int_equal(count_rows(&s, &rows), BLV_OK);
    if (o.error == BLV_OK && store && !interrupted)
        assert_int_equal(rows, 3 * 5); /* 0, 10, 20, 30 and 40 of each */
    blv_run_destroy(shown);
    blv_problem_destroy(problem);
    return o;
}

static void expect_same(const outcome *a, const outcome *b) {
    assert_memory_equal(a->y, b->y, sizeof a->y);
}

static void a_task_is_resumed(void **state) {
    (void)state;
    outcome straight = do_task(NULL, NULL, 7, RUNS);
    assert_true(straight.error == BLV_OK && straight.made == RUNS && straight.carried == 3.0);
    blv_store *store = open_store();
    outcome recorded = do_task(store, NULL, 7, RUNS);
    expect_same(&recorded, &straight);
    for (size_t stop = 0; stop < RUNS; stop++) {
        outcome first = do_task(store, NULL, 7, stop);
        assert_int_equal(first.error, BLV_OK);
        blv_run_info *info = NULL;
        assert_int_equal(blv_store_find(store, (int64_t)stop + 2, &info), BLV_OK);
        assert_true(info->status == BLV_STATUS_INTERRUPTED && info->has_checkpoint);
        outcome rest = do_task(store, info, 7, RUNS);
        assert_true(rest.error == BLV_OK && rest.recalled == stop && rest.made == RUNS - stop);
        assert_true(rest.carried == 3.0 + 100.0); /* as the checkpoint had it */
        expect_same(&rest, &straight);
        blv_run_info_free(info);
        blv_attachment *list = NULL;
        size_t count = 0;
        assert_int_equal(blv_store_attachments(store, (int64_t)stop + 2, &list, &count), BLV_OK);
        assert_int_equal(count, 0);
        blv_attachments_free(list, count);
    }
    blv_store_close(store);
}

static void other_data_and_versions(void **state) {
    (void)state;
    blv_store *store = open_store();
    do_task(store, NULL, 7, 1);
    blv_run_info *info = NULL;
    assert_int_equal(blv_store_find(store, 1, &info), BLV_OK);
    outcome o = do_task(store, info, 8, RUNS);
    assert_int_equal(o.error, BLV_E_VALUE);
    assert_non_null(strstr(o.why.text, "the data are not those of the run: their fingerprint is "
                                       "0000000000000008, it was 0000000000000007"));
    free((char *)(uintptr_t)info->version);
    info->version = strdup("0.0.1");
    o = do_task(store, info, 7, RUNS);
    assert_true(o.error == BLV_OK && o.recalled == 0 && o.made == RUNS);
    assert_non_null(strstr(warning, "made by version 0.0.1"));
    blv_run_info_free(info);
    blv_store_close(store);
}

/* ---- One run of blv_solve ---- */

typedef struct solving {
    blv_execution execution;
    char *result;
} solving;

static blv_error begin(void *context, blv_run *run, blv_message *why) {
    solving *s = context;
    return blv_execution_begin(&s->execution, run, why);
}

static void end(void *context, blv_run *run, const blv_solution *solution, blv_error error,
                const char *why) {
    solving *s = context;
    blv_execution_end(&s->execution, run, solution, error, why);
    if (s->execution.ran)
        blv_execution_finish(&s->execution, false);
}

static void a_run_is_recorded_and_resumed(void **state) {
    (void)state;
    blv_store *store = open_store();
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4"));
    blv_recorder recorder = {.store = store, .checkpoint_seconds = 1000.0, .warn = keep_warning};
    solving s = {.execution = {.recorder = &recorder,
                               .facts = {.kind = "solve", .problem = "quadratic"},
                               .start = "random"}};
    blv_solve_options options = {.size = sizeof options,
                                 .solver = "soba",
                                 .iters = 20,
                                 .context = &s,
                                 .begin = begin,
                                 .end = end};
    blv_solution *first = NULL, *second = NULL, *straight = NULL;
    blv_message why = {0};
    assert_int_equal(blv_solve(&first, problem, &options, &why), BLV_OK);
    assert_true(s.execution.ran && s.execution.status == BLV_STATUS_FINISHED);
    assert_true(s.execution.report.run == 1 && s.execution.report.solution.iterations == 20);
    blv_execution_free(&s.execution);

    void *checkpoint = NULL;
    size_t size = 0;
    assert_int_equal(blv_store_read(store, 1, "checkpoint", &checkpoint, &size), BLV_OK);
    assert_non_null(checkpoint); /* a limit ended it */
    recorder.id = 0;
    s.execution = (blv_execution){.recorder = &recorder,
                                  .facts = {.problem = "quadratic"},
                                  .start = "random",
                                  .resumed = 1,
                                  .resumed_iteration = 20,
                                  .checkpoint = checkpoint,
                                  .checkpoint_size = size};
    options.iters = 50;
    assert_int_equal(blv_solve(&second, problem, &options, &why), BLV_OK);
    blv_execution_free(&s.execution);

    recorder = (blv_recorder){0};
    s.execution = (blv_execution){.recorder = &recorder, .start = "random"};
    assert_int_equal(blv_solve(&straight, problem, &options, &why), BLV_OK);
    blv_execution_free(&s.execution);
    assert_memory_equal(second->x, straight->x, 3 * sizeof(double));
    assert_memory_equal(second->y, straight->y, 4 * sizeof(double));

    blv_run_info *info = NULL;
    blv_run_report report;
    assert_int_equal(blv_store_find(store, 1, &info), BLV_OK);
    assert_true(info->iterations == 50 && info->phi == straight->phi);
    assert_int_equal(blv_record_parse(blv_run_report_fields, &report, info->result, &why), BLV_OK);
    assert_true(report.solution.dim_y == 4 && report.solution.certified && report.solution_known);
    assert_true(report.solution.certificate.phi == straight->phi && report.x[0] == straight->x[0]);
    blv_record_free(blv_run_report_fields, &report);
    blv_run_info_free(info);
    free(checkpoint);
    blv_solution_destroy(first);
    blv_solution_destroy(second);
    blv_solution_destroy(straight);
    blv_problem_destroy(problem);
    blv_store_close(store);
}

static void a_start_that_does_not_fit(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4"));
    blv_recorder recorder = {0};
    double many[9] = {0};
    blv_vectors loaded = {.dim = {0, 0, 9}, .values = {NULL, NULL, many}};
    solving s = {.execution = {.recorder = &recorder, .start = "file.npz", .loaded = &loaded}};
    blv_solve_options options = {
        .size = sizeof options, .solver = "soba", .context = &s, .begin = begin, .end = end};
    blv_solution *solution = NULL;
    blv_message why = {0};
    assert_int_equal(blv_solve(&solution, problem, &options, &why), BLV_E_VALUE);
    assert_string_equal(why.text, "file.npz: array v: expected 4 entries, found 9");
    assert_false(s.execution.ran);
    blv_execution_free(&s.execution);
    blv_vectors read;
    assert_int_equal(blv_start_load(&read, "/nowhere/start.npz", problem, &why), BLV_E_FILE);
    assert_int_equal(blv_start_load(&read, "zero", problem, &why), BLV_OK);
    blv_problem_destroy(problem);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, remove_files)
    const struct CMUnitTest tests[] = {
        TEST(a_task_is_resumed),
        TEST(other_data_and_versions),
        TEST(a_run_is_recorded_and_resumed),
        TEST(a_start_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, make_file, remove_files);
}
