/* Checkpoints of two ranks of which one is short of memory at any moment, and whose exchanges fail
 * at any moment: what was loaded is what was saved, and parts of checkpoints that came to nothing
 * are removed by the next. */
#include "bilevel/bilevel.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_testing.h"
#include "rank_turns.h"

static char folder[] = "/tmp/test-rank-checkpoints-XXXXXX";

static blv_error make_problem(const blv_ranks *ranks, const char *train, blv_problem **problem,
                              blv_message *why) {
    const char *const settings[] = {"train", train, "layout", "sparse", "order", "file", NULL};
    const blv_problem_options options = {.size = sizeof options, .threads = 1, .ranks = ranks};
    const blv_problem_family *family = blv_family_find(NULL, "hyperclean", why);
    return blv_problem_from_family(family, settings, &options, problem, why);
}

/* Two runs that do not fail before they are saved and loaded. */
static blv_error make_runs(const blv_ranks *ranks, blv_problem **problem, blv_run *run[2],
                           blv_message *why) {
    char path[200];
    snprintf(path, sizeof path, "%s/sparse.svm", folder);
    const bool spared = requests_spared;
    requests_spared = true;
    blv_error error = make_problem(ranks, path, problem, why);
    for (int i = 0; i < 2 && !error; i++)
        error = blv_run_create(&run[i], *problem, blv_solver_find(NULL, "soba", NULL), why);
    for (int i = 0; i < 2 && !error; i++) {
        error = blv_run_step(run[0]);
        if (error) /* which may be all that a failed exchange leaves */
            snprintf(why->text, sizeof why->text, "%s: %s", blv_error_text(error),
                     blv_run_message(run[0]));
    }
    if (!error && blv_run_result(run[0])->outcome == BLV_ORACLE_FAILED) { /* no exchange */
        snprintf(why->text, sizeof why->text, "%s", blv_run_message(run[0]));
        error = BLV_E_ORACLE;
    }
    requests_spared = spared;
    return error;
}

/* What is spread is gathered, which may fail. */
static blv_error compare_runs(const blv_problem *problem, blv_run *run[2], blv_message *why) {
    static const char *const names[] = {"x", "y"};
    for (int i = 0; i < 2; i++) {
        const blv_problem_def *def = blv_problem_definition(problem);
        double one[64] = {0}, other[64] = {0};
        assert_in_range(blv_run_dim(run[0], names[i]), 1, 64);
        assert_int_equal(blv_run_read(run[0], names[i], one), BLV_OK);
        assert_int_equal(blv_run_read(run[1], names[i], other), BLV_OK);
        blv_error error = blv_space_error(i == 0 ? def->space_x : def->space_y, why);
        if (error)
            return error;
        assert_memory_equal(one, other, sizeof one);
    }
    return BLV_OK;
}

static blv_error save_and_load(const blv_ranks *ranks, const void *context, blv_message *why) {
    blv_problem *problem = NULL;
    blv_run *run[2] = {NULL, NULL};
    char path[200];
    (void)context;
    snprintf(path, sizeof path, "%s/saved.npz", folder);
    blv_error error = make_runs(ranks, &problem, run, why);
    int at = 0;
    if (!error && !(error = blv_run_save(run[0], path))) {
        at = 1;
        error = blv_run_load(run[1], path);
    }
    if (!error)
        error = compare_runs(problem, run, why);
    if (error && run[at] && !why->text[0])
        snprintf(why->text, sizeof why->text, "%s", blv_run_message(run[at]));
    blv_run_destroy(run[0]);
    blv_run_destroy(run[1]);
    blv_problem_destroy(problem);
    return error;
}

/* After the last save the parts of that are there and no others. */
static void test_checkpoints(void **state) {
    const job both = {"checkpoint", save_and_load, NULL};
    char saved[200];
    (void)state;
    snprintf(saved, sizeof saved, "%s/saved.npz", folder);
    fail_everything(&both, 1);
    size_t parts = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        parts += strstr(e->d_name, "saved.npz.") != NULL;
    closedir(dir);
    assert_int_equal(parts, TWO);
    assert_int_equal(blv_run_drop_parts(saved, NULL), BLV_OK);
    unlink(saved);
}

static int write_rows(void **state) {
    char path[200];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/sparse.svm", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 24; i++)
        fprintf(file, "%d %d:0.5 %d:%d\n", i % 2 ? 1 : -1, i % 5 + 1, i % 5 + 3, i);
    return fclose(file);
}

static int remove_rows(void **state) {
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "%s/sparse.svm", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_checkpoints)};
    return cmocka_run_group_tests(tests, write_rows, remove_rows);
}
