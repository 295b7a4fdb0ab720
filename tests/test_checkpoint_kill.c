/* A process that saves its run again and again is killed at a moment nobody chose: the file is
 * whole, and the run that goes on from it ends with the bits of one that was never killed. */
#include "checkpoint_testing.h"

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
        blv_run_destroy(resumed);
    }
    assert_true(before > 0);
    blv_run_destroy(straight);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_anywhere)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
