/* A process that saves its run again and again is killed at a moment nobody chose: the file is
 * whole, and the run that goes on from it ends with the bits of one that was never killed. */
#include "checkpoint_testing.h"

#include "bilevel/checkpoint.h"
#include "bilevel/npz.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 25 };

static char folder[] = "killed-XXXXXX";
static char path[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/run.npz", folder);
    return 0;
}

/* Files in the folder besides the checkpoint. */
static int count_leftovers(void) {
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e; (e = readdir(entries));)
        count += e->d_name[0] != '.' && strcmp(e->d_name, "run.npz") != 0;
    closedir(entries);
    return count;
}

/* A killed process leaves its temporary file behind. */
static int remove_folder(void **state) {
    (void)state;
    DIR *entries = opendir(folder);
    for (struct dirent *e; (e = readdir(entries));) {
        char entry[400];
        snprintf(entry, sizeof entry, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            remove(entry);
    }
    closedir(entries);
    return rmdir(folder);
}

/* One thread: what follows a fork must not need others. */
static blv_problem *problem_here(void) {
    return make_problem("quadratic", SETTINGS("dx", "40", "dy", "30", "terms", "7"));
}

static blv_run *run_on(const blv_problem *problem) {
    return make_run(problem, "soba", SETTINGS("iters", "4000", "batch", "3"));
}

static void step_and_save_forever(const blv_problem *problem) {
    blv_run *run = run_on(problem);
    if (access(path, F_OK) == 0 && blv_run_load(run, path) != BLV_OK)
        _exit(2);
    for (;;) {
        if (blv_run_step(run) != BLV_OK || blv_run_save(run, path) != BLV_OK)
            _exit(3);
        if (blv_run_result(run)->outcome != BLV_RUNNING)
            _exit(0);
    }
}

static void sleep_milliseconds(long n) {
    const struct timespec pause = {n / 1000, n % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

static void test_killed_anywhere(void **state) {
    (void)state;
    blv_problem *problem = problem_here();
    blv_run *straight = run_on(problem);
    solve_to_end(straight);
    unsigned random = (unsigned)getpid();
    uint64_t before = 0;
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            step_and_save_forever(problem);
        random = random * 1103515245u + 12345u;
        sleep_milliseconds(5 + (long)(random >> 16) % 40);
        kill(child, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status))
            assert_int_equal(WEXITSTATUS(status), 0);
        if (access(path, F_OK) != 0)
            continue; /* killed before its first file */
        blv_run *resumed = run_on(problem);
        if (blv_run_load(resumed, path) != BLV_OK)
            fail_msg("%s", blv_run_message(resumed));
        uint64_t reached = blv_run_result(resumed)->iterations;
        assert_true(reached >= before);
        before = reached;
        solve_to_end(resumed);
        expect_same_state(resumed, straight, "after a kill");
        assert_true(count_leftovers() <= 1);
        blv_run_destroy(resumed);
    }
    assert_true(before > 0);
    blv_run_destroy(straight);
    blv_problem_destroy(problem);
}

/* What processes left behind that were killed goes when the checkpoint is saved once more; what
 * another process is writing at the time does not. */
static void test_leftovers_go(void **state) {
    (void)state;
    char leftover[100];
    blv_problem *problem = problem_here();
    blv_run *run = run_on(problem);
    assert_int_equal(blv_run_step(run), BLV_OK);
    for (int i = 0; i < 4; i++) {
        snprintf(leftover, sizeof leftover, "%s.%012x.tmp", path, (unsigned)i);
        FILE *file = fopen(leftover, "w");
        assert_non_null(file);
        fputs("PK", file);
        fclose(file);
    }
    assert_true(count_leftovers() >= 4);
    assert_int_equal(blv_run_save(run, path), BLV_OK);
    assert_int_equal(count_leftovers(), 0);
    blv_npz_writer *writers[6];
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(blv_npz_create(&writers[i], path, NULL), BLV_OK);
    assert_int_equal(count_leftovers(), 6);
    assert_int_equal(blv_run_save(run, path), BLV_OK);
    assert_int_equal(count_leftovers(), 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(blv_npz_commit(writers[i], NULL), BLV_OK);
    assert_int_equal(blv_run_save(run, path), BLV_OK);
    assert_int_equal(count_leftovers(), 0);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static bool is_whole(const blv_problem *problem) {
    blv_run *run = run_on(problem);
    bool whole = blv_run_load(run, path) == BLV_OK;
    blv_run_destroy(run);
    return whole;
}

enum { WRITERS = 3, SAVES = 200 };

/* Processes that save to one path at once: every save succeeds, and the file is always whole. */
static void test_writers_at_once(void **state) {
    (void)state;
    blv_problem *problem = problem_here();
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0)
            continue;
        blv_run *run = run_on(problem);
        bool well = blv_run_step(run) == BLV_OK;
        for (int k = 0; k < SAVES && well; k++)
            well = blv_run_save(run, path) == BLV_OK && is_whole(problem);
        _exit(well ? 0 : 1);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(count_leftovers(), 0);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_anywhere),
                                       cmocka_unit_test(test_leftovers_go),
                                       cmocka_unit_test(test_writers_at_once)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
