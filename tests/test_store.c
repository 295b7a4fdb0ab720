/* The run store: records, traces, attachments, other processes, files that are none. */
#include "bilevel/arithmetic.h"
#include "bilevel/checkpoint.h"
#include "bilevel/store.h"
#include "store/run_groups.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "blv_testing.h"

static char folder[] = "/tmp/test-store-XXXXXX";
static char path[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/runs.db", folder);
    return 0;
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

static int remove_folder(void **state) {
    remove_files(state);
    return rmdir(folder);
}

static blv_store *open_store(void) {
    blv_store *store = NULL;
    blv_message why = {0};
    if (blv_store_open(&store, path, BLV_STORE_CREATE, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return store;
}

#define WELL(store, call)                                                                          \
    do {                                                                                           \
        if ((call) != BLV_OK)                                                                      \
            fail_msg("%s", blv_store_message(store));                                              \
    } while (0)

static int64_t begin(blv_store *store, const char *solver, const char *seed) {
    blv_value options[] = {{"iters", BLV_VALUE_INT, 0.0, 100, NULL},
                           {"seed", BLV_VALUE_TEXT, 0.0, 0, (char *)(uintptr_t)seed}};
    blv_value parameters[] = {{"step", BLV_VALUE_REAL, 0.5, 0, NULL}};
    const blv_run_info info = {.size = sizeof info,
                               .kind = "solve",
                               .command_count = 2,
                               .command = (char *[]){"bilevel solve", "parabola"},
                               .request = "{\"start\": \"zero\"}",
                               .problem = "parabola",
                               .problem_parameters = {1, parameters},
                               .dim_x = 3,
                               .dim_y = 4,
                               .precision = "f64",
                               .fingerprint = 255,
                               .solver = solver,
                               .parameters = {1, parameters},
                               .options = {2, options}};
    int64_t id = 0;
    WELL(store, blv_store_begin(store, &info, &id));
    return id;
}

static void finish(blv_store *store, int64_t id, double phi) {
    const blv_run_info end = {.size = sizeof end,
                              .status = BLV_STATUS_FINISHED,
                              .outcome = "converged",
                              .message = "the tolerance was reached",
                              .iterations = 7,
                              .seconds = 0.25,
                              .phi = phi,
                              .grad_norm = NAN,
                              .result = "{\"phi\": 1}"};
    WELL(store, blv_store_finish(store, id, &end));
}

static blv_run_info *find(blv_store *store, int64_t id) {
    blv_run_info *run = NULL;
    WELL(store, blv_store_find(store, id, &run));
    return run;
}

/* ---- Records ---- */

static void keeps_a_run(void **state) {
    (void)state;
    blv_store *store = open_store();
    assert_string_equal(blv_store_path(store), path);
    int64_t id = begin(store, "soba", "1");
    blv_run_info *run = find(store, id);
    assert_true(run->status == BLV_STATUS_RUNNING && !run->ended && !run->has_iterations);
    assert_true(isnan(run->phi) && !run->has_checkpoint && run->pid == getpid());
    blv_run_info_free(run);
    finish(store, id, 1.5);
    blv_store_close(store);

    store = open_store();
    run = find(store, id);
    assert_true(run->size == sizeof *run && run->id == id && run->status == BLV_STATUS_FINISHED);
    assert_string_equal(run->kind, "solve");
    assert_string_equal(run->command[1], "parabola");
    assert_string_equal(run->request, "{\"start\": \"zero\"}");
    assert_true(run->dim_x == 3 && run->dim_y == 4 && run->fingerprint == 255);
    assert_string_equal(run->options.items[1].text, "1");
    assert_true(run->parameters.items[0].real == 0.5);
    assert_true(run->has_iterations && run->iterations == 7 && run->seconds == 0.25);
    assert_true(run->phi == 1.5 && isnan(run->grad_norm));
    assert_string_equal(run->result, "{\"phi\": 1}");
    assert_string_equal(run->version, blv_arithmetic_version());
    blv_run_info_free(run);
    WELL(store, blv_store_remove(store, id));
    assert_int_equal(blv_store_find(store, id, &run), BLV_E_NAME);
    assert_non_null(strstr(blv_store_message(store), "there is no run"));
    blv_store_close(store);
}

static void lists_and_filters(void **state) {
    (void)state;
    blv_store *store = open_store();
    for (int i = 0; i < 4; i++)
        finish(store, begin(store, i % 2 ? "soba" : "exact", "1"), 4.0 - i);
    begin(store, "soba", "2");
    const struct {
        blv_run_filter filter;
        size_t count;
        int64_t first;
    } cases[] = {{{.limit = 0}, 5, 1},
                 {{.limit = 2}, 2, 4},
                 {{.solver = "soba"}, 3, 2},
                 {{.solver = "soba", .by_status = true, .status = BLV_STATUS_RUNNING}, 1, 5},
                 {{.problem = "quadratic"}, 0, 0},
                 {{.kind = "solve", .problem = "parabola"}, 5, 1}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        blv_run_filter filter = cases[i].filter;
        blv_run_info **runs = NULL;
        size_t count = 0;
        filter.size = sizeof filter;
        WELL(store, blv_store_list(store, &filter, &runs, &count));
        assert_int_equal(count, cases[i].count);
        assert_true(count == 0 || runs[0]->id == cases[i].first);
        blv_run_list_free(runs, count);
    }
    double best = NAN;
    WELL(store, blv_store_best(store, 1, &best));
    assert_true(best == 1.0);
    blv_store_close(store);
}

static void sizes_must_be_set(void **state) {
    (void)state;
    blv_store *store = open_store();
    int64_t id = 0;
    size_t count = 0;
    blv_run_info **runs = NULL;
    assert_int_equal(blv_store_begin(store, &(blv_run_info){.kind = "solve"}, &id), BLV_E_ARGUMENT);
    assert_int_equal(blv_store_finish(store, 1, &(blv_run_info){0}), BLV_E_ARGUMENT);
    assert_int_equal(blv_store_list(store, &(blv_run_filter){0}, &runs, &count), BLV_E_ARGUMENT);
    blv_store_close(store);
}

/* ---- Traces and attachments ---- */

static void keeps_rows(void **state) {
    (void)state;
    blv_store *store = open_store();
    int64_t id = begin(store, "soba", "1");
    static const char *const rows[] = {"{\"iteration\":0,\"f\":1.5,\"x\":[1,2]}",
                                       "{\"iteration\":1,\"f\":null,\"phi\":0.5,\"x\":[3]}",
                                       "not JSON"};
    for (size_t i = 0; i < LENGTH(rows); i++)
        WELL(store, blv_store_row(store, id, i, 0.1 * (double)i, rows[i]));
    WELL(store, blv_store_flush(store));
    blv_trace trace;
    WELL(store, blv_store_trace(store, id, &trace));
    assert_true(trace.rows == 3 && trace.columns == 5);
    static const char *const names[] = {"iteration", "f", "x[0]", "x[1]", "phi"};
    for (size_t i = 0; i < LENGTH(names); i++)
        assert_string_equal(trace.names[i], names[i]);
    assert_true(blv_trace_at(&trace, 0, "x[1]") == 2.0 && blv_trace_at(&trace, 1, "x[0]") == 3.0);
    assert_true(isnan(blv_trace_at(&trace, 1, "f")) && isnan(blv_trace_at(&trace, 2, "f")));
    assert_true(isnan(blv_trace_at(&trace, 9, "f")) && isnan(blv_trace_at(&trace, 0, "none")));
    blv_trace_free(&trace);
    blv_run_info *run = find(store, id);
    assert_true(run->rows == 3 && run->has_iterations && run->iterations == 2);
    blv_run_info_free(run);
    blv_store_close(store);
}

static void keeps_attachments(void **state) {
    (void)state;
    blv_store *store = open_store();
    int64_t id = begin(store, "soba", "1");
    size_t large = (20 << 20) + 5, size = 0, count = 0;
    unsigned char *bytes = malloc(large);
    for (size_t i = 0; i < large; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 1000);
    WELL(store, blv_store_attach(store, id, "large", bytes, large));
    WELL(store, blv_store_attach(store, id, "empty", NULL, 0));
    WELL(store, blv_store_attach(store, id, "empty", "", 0));
    void *read = NULL;
    WELL(store, blv_store_read(store, id, "large", &read, &size));
    assert_int_equal(size, large);
    assert_memory_equal(read, bytes, large);
    free(read);
    free(bytes);
    WELL(store, blv_store_read(store, id, "empty", &read, &size));
    assert_true(read && size == 0);
    free(read);
    blv_attachment *list = NULL;
    WELL(store, blv_store_attachments(store, id, &list, &count));
    assert_int_equal(count, 2);
    assert_string_equal(list[1].name, "large");
    assert_int_equal(list[1].bytes, large);
    blv_attachments_free(list, count);
    WELL(store, blv_store_detach(store, id, "large"));
    WELL(store, blv_store_read(store, id, "large", &read, &size));
    assert_null(read);
    blv_store_close(store);
}

static void keeps_a_checkpoint(void **state) {
    (void)state;
    blv_store *store = open_store();
    int64_t id = begin(store, "soba", "1");
    blv_problem *problem = make_problem("parabola", NULL);
    blv_run *run = make_run(problem, "soba", SETTINGS("iters", "5"));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    const double carried[] = {1.0, 2.0};
    WELL(store, blv_store_row(store, id, 9, 0.0, "{}"));
    WELL(store, blv_store_checkpoint(store, id, run, carried, sizeof carried));
    blv_run_info *info = find(store, id);
    assert_true(info->has_checkpoint && info->checkpoint_iteration == 5 && info->checkpoint_saved);
    assert_int_equal(info->rows, 1); /* it is stored with the checkpoint */
    blv_run_info_free(info);
    void *bytes = NULL;
    size_t size = 0;
    WELL(store, blv_store_read(store, id, "checkpoint", &bytes, &size));
    blv_run *other = make_run(problem, "soba", SETTINGS("iters", "6"));
    assert_int_equal(blv_run_load_from(other, bytes, size), BLV_OK);
    free(bytes);
    WELL(store, blv_store_attach_end(store, id, "end-0", "e", 1));
    info = find(store, id);
    assert_false(info->has_checkpoint);
    blv_run_info_free(info);
    WELL(store, blv_store_read(store, id, "carried", &bytes, &size));
    assert_null(bytes);
    blv_run_destroy(other);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    blv_store_close(store);
}

/* ---- Groups ---- */

static void groups_by_what_differs(void **state) {
    (void)state;
    blv_store *store = open_store();
    finish(store, begin(store, "soba", "1"), 3.0);
    finish(store, begin(store, "soba", "2"), 2.0);
    finish(store, begin(store, "exact", "1"), 1.0);
    blv_run_groups groups;
    const int64_t ids[] = {1, 2, 3, 1};
    WELL(store, blv_run_groups_load(&groups, store, ids, 4, NULL));
    assert_true(groups.count == 3 && groups.groups == 2 && groups.problems == 1);
    assert_true(groups.runs[0].group == groups.runs[1].group);
    assert_string_equal(groups.group[0].label, "soba");
    assert_string_equal(groups.group[1].label, "exact");
    assert_true(groups.runs[0].best == 1.0);
    assert_string_equal(groups.runs[0].start, "zero");
    blv_run_groups_free(&groups);
    blv_message why = {0};
    const int64_t missing = 99;
    assert_int_equal(blv_run_groups_load(&groups, store, &missing, 1, &why), BLV_E_NAME);
    assert_non_null(strstr(why.text, "there is no run 99"));
    blv_store_close(store);
}

/* ---- Processes ---- */

/* Another process begins a run and waits to be killed. */
static pid_t start_process(int64_t *id) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        blv_store *store = open_store();
        int64_t begun = begin(store, "soba", "1");
        if (write(pipes[1], &begun, sizeof begun) != sizeof begun)
            _exit(1);
        for (;;)
            pause();
    }
    close(pipes[1]); /* or a child that has died would be waited for */
    assert_int_equal(read(pipes[0], id, sizeof *id), sizeof *id);
    close(pipes[0]);
    return child;
}

static void a_killed_process_leaves_an_interrupted_run(void **state) {
    (void)state;
    if (getenv("BLV_EMULATED"))
        skip(); /* in a child qemu stands still before the first call of the system */
    int64_t id = 0;
    pid_t child = start_process(&id);
    blv_store *store = open_store();
    blv_run_info *run = find(store, id);
    assert_true(run->status == BLV_STATUS_RUNNING && run->pid == child);
    blv_run_info_free(run);
    assert_int_equal(blv_store_resume(store, id, 0), BLV_E_ORDER);
    assert_non_null(strstr(blv_store_message(store), "under way in another process"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    run = find(store, id);
    assert_int_equal(run->status, BLV_STATUS_INTERRUPTED);
    assert_string_equal(run->message, "its process ended before the run did");
    blv_run_info_free(run);
    for (uint64_t i = 0; i < 4; i++)
        WELL(store, blv_store_row(store, id, i, 0.0, "{}"));
    WELL(store, blv_store_flush(store));
    WELL(store, blv_store_resume(store, id, 1));
    run = find(store, id);
    assert_true(run->status == BLV_STATUS_RUNNING && run->pid == getpid() && run->rows == 2);
    blv_run_info_free(run);
    blv_store_close(store);
}

static void processes_write_at_once(void **state) {
    (void)state;
    if (getenv("BLV_EMULATED"))
        skip();
    enum { PROCESSES = 4, RUNS = 10 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        blv_store *store = open_store();
        for (int k = 0; k < RUNS; k++) {
            int64_t id = begin(store, "soba", "1");
            blv_store_row(store, id, 1, 0.0, "{\"iteration\":1}");
            finish(store, id, 1.0);
        }
        blv_store_close(store);
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 1;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    blv_store *store = open_store();
    blv_run_info **runs = NULL;
    size_t count = 0;
    WELL(store, blv_store_list(store, NULL, &runs, &count));
    assert_int_equal(count, PROCESSES * RUNS);
    for (size_t i = 0; i < count; i++)
        assert_true(runs[i]->status == BLV_STATUS_FINISHED && runs[i]->iterations == 7);
    blv_run_list_free(runs, count);
    blv_store_close(store);
}

/* ---- Files that are none ---- */

static void expect_rejected(blv_error error, const char *message) {
    blv_store *store = NULL;
    blv_message why = {0};
    assert_int_equal(blv_store_open(&store, path, BLV_STORE_EXISTING, &why), error);
    assert_null(store);
    if (!strstr(why.text, message))
        fail_msg("'%s' is not in '%s'", message, why.text);
}

static void write_bytes(const char *text, long at) {
    FILE *file = fopen(path, at < 0 ? "w" : "r+");
    assert_non_null(file);
    fseek(file, at < 0 ? 0 : at, SEEK_SET);
    fputs(text, file);
    fclose(file);
}

static void rejects_other_files(void **state) {
    (void)state;
    expect_rejected(BLV_E_FILE, "unable to open");
    write_bytes("label,feature\n1,2\n and more text than a header of SQLite is long ..........",
                -1);
    expect_rejected(BLV_E_FORMAT, "it is no run store, and no SQLite database at all");
    unlink(path);
    blv_store_close(open_store());
    write_bytes("\x7f", 63); /* the version of the tables, in the header */
    expect_rejected(BLV_E_FORMAT, "knows version 1: use a newer one");
    write_bytes("\x01", 63);
    write_bytes("XXXX", 68); /* the mark of the program */
    expect_rejected(BLV_E_FORMAT, "it is a SQLite database, but no run store");
}

static void a_damaged_page_is_an_error(void **state) {
    (void)state;
    blv_store *store = open_store();
    for (int i = 0; i < 200; i++)
        finish(store, begin(store, "soba", "1"), 1.0);
    blv_store_close(store);
    for (long page = 1; page < 40; page++)
        write_bytes("damaged damaged damaged damaged damaged", 4096 * page);
    store = open_store();
    blv_run_info **runs = NULL;
    size_t count = 0;
    assert_int_equal(blv_store_list(store, NULL, &runs, &count), BLV_E_FORMAT);
    assert_non_null(strstr(blv_store_message(store), "it is damaged"));
    assert_true(!runs && count == 0);
    blv_store_close(store);
}

/* ---- Arguments that are not given ---- */

#define REFUSES(call) assert_int_equal((call), BLV_E_ARGUMENT)

static void rejects_missing_arguments(void **state) {
    (void)state;
    blv_store *none = NULL, *store = open_store();
    blv_message why;
    blv_run_info **runs, *run, info = {.size = sizeof info};
    blv_attachment *list;
    blv_trace trace;
    blv_run_status status;
    size_t n;
    int64_t id;
    double phi;
    void *bytes;
    REFUSES(blv_store_open(NULL, "x", BLV_STORE_CREATE, &why));
    REFUSES(blv_store_open(&none, NULL, BLV_STORE_CREATE, NULL));
    blv_store_close(NULL);
    assert_non_null(blv_store_path(NULL));
    assert_non_null(blv_store_message(NULL));
    REFUSES(blv_store_list(NULL, NULL, &runs, &n));
    REFUSES(blv_store_list(store, NULL, NULL, &n));
    REFUSES(blv_store_find(NULL, 1, &run));
    REFUSES(blv_store_find(store, 1, NULL));
    REFUSES(blv_store_best(NULL, 1, &phi));
    REFUSES(blv_store_best(store, 1, NULL));
    REFUSES(blv_store_remove(NULL, 1));
    REFUSES(blv_store_shrink(NULL));
    REFUSES(blv_store_trace(NULL, 1, &trace));
    REFUSES(blv_store_trace(store, 1, NULL));
    assert_true(blv_trace_find(NULL, "x") == SIZE_MAX);
    assert_true(isnan(blv_trace_at(NULL, 0, "x")));
    blv_trace_free(NULL);
    REFUSES(blv_store_attachments(NULL, 1, &list, &n));
    REFUSES(blv_store_attachments(store, 1, NULL, &n));
    REFUSES(blv_store_read(NULL, 1, "a", &bytes, &n));
    REFUSES(blv_store_read(store, 1, NULL, &bytes, &n));
    REFUSES(blv_store_read(store, 1, "a", NULL, &n));
    REFUSES(blv_store_attach(NULL, 1, "a", "b", 1));
    REFUSES(blv_store_attach(store, 1, NULL, "b", 1));
    REFUSES(blv_store_attach(store, 1, "a", NULL, 1));
    REFUSES(blv_store_attach_end(store, 1, "a", NULL, 1));
    REFUSES(blv_store_detach(NULL, 1, "a"));
    REFUSES(blv_store_detach(store, 1, NULL));
    REFUSES(blv_store_begin(NULL, &info, &id));
    REFUSES(blv_store_begin(store, NULL, &id));
    REFUSES(blv_store_begin(store, &info, NULL));
    REFUSES(blv_store_resume(NULL, 1, 0));
    REFUSES(blv_store_row(NULL, 1, 0, 0.0, "{}"));
    REFUSES(blv_store_row(store, 1, 0, 0.0, NULL));
    REFUSES(blv_store_flush(NULL));
    REFUSES(blv_store_checkpoint(NULL, 1, NULL, NULL, 0));
    REFUSES(blv_store_checkpoint(store, 1, NULL, NULL, 0));
    REFUSES(blv_store_finish(NULL, 1, &info));
    REFUSES(blv_store_finish(store, 1, NULL));
    assert_false(blv_run_status_parse(NULL, &status));
    assert_non_null(strstr(blv_store_message(store), "an argument is NULL"));
    blv_store_close(store);
}

int main(void) {
#define TEST(name) cmocka_unit_test_teardown(name, remove_files)
    const struct CMUnitTest tests[] = {
        TEST(keeps_a_run),
        TEST(lists_and_filters),
        TEST(sizes_must_be_set),
        TEST(keeps_rows),
        TEST(keeps_attachments),
        TEST(keeps_a_checkpoint),
        TEST(groups_by_what_differs),
        TEST(a_killed_process_leaves_an_interrupted_run),
        TEST(processes_write_at_once),
        TEST(rejects_other_files),
        TEST(a_damaged_page_is_an_error),
        TEST(rejects_missing_arguments),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
