/* Checkpoints: what is saved, when, and what is left alone. That runs go on with the same bits is
 * tested in test_checkpoint_bits.c, that wrong checkpoints are refused in
 * test_checkpoint_refused.c.
 */
#include "bilevel/checkpoint.h"
#include "checkpoint_testing.h"

#include "alloc_testing.h"
#include "core/workspace.h"
#include "registry/builtin.h"

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
    static const blv_solver solver = {BLV_SIZED(blv_solver), .name = "blocky",
                                      .summary = "",         .state_size = sizeof(blocky),
                                      .open = blocky_open,   .step = blocky_step};
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
            assert_int_equal(blv_run_every(saved, save_in_pause, &s, 0.0), BLV_OK);
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
    assert_int_equal(blv_run_every(run, save_in_pause, NULL, -1.0), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_every(run, NULL, NULL, 0.0), BLV_OK);
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
        cmocka_unit_test(test_blocks_and_hidden_scalars),
        cmocka_unit_test(test_more_iterations_after_a_limit),
        cmocka_unit_test(test_ended_runs_stay_ended),
        cmocka_unit_test(test_order_of_calls),
        cmocka_unit_test(test_saved_on_the_way),
        cmocka_unit_test(test_clock_goes_on),
        cmocka_unit_test(test_trace_goes_on),
        cmocka_unit_test(test_trace_that_is_gone),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_receiver_that_fails),
        cmocka_unit_test(test_short_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
