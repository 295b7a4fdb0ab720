/* Whole iterations of stochastic solvers at batch 64 on logistic rows, through blv_run_solve, one
 * thread, f64: the shapes of ijcnn1 (22 features) and covtype (54 features, data larger than the
 * cache), on generated data.
 *
 *     bench_iteration [iterations]
 */
#include "bilevel/bilevel.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 9 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void give_up(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static double seconds_of(const blv_problem *problem, const char *solver,
                         const char *const *settings, const char *iterations) {
    blv_message why;
    blv_run *run = NULL;
    const blv_solver *found = blv_solver_find(NULL, solver, &why);
    if (!found || blv_run_create(&run, problem, found, &why) != BLV_OK)
        give_up(why.text);
    blv_run_set(run, "iters", iterations);
    blv_run_set(run, "batch", "64");
    for (size_t i = 0; settings[i]; i += 2)
        if (blv_run_set(run, settings[i], settings[i + 1]) != BLV_OK)
            give_up(blv_run_message(run));
    if (blv_run_open(run) != BLV_OK)
        give_up(blv_run_message(run));
    double start = now();
    if (blv_run_solve(run) != BLV_OK)
        give_up(blv_run_message(run));
    double seconds = now() - start;
    if (blv_run_result(run)->outcome != BLV_LIMIT_ITERATIONS)
        give_up(blv_run_message(run));
    blv_run_destroy(run);
    return seconds;
}

int main(int argc, char **argv) {
    const char *iterations = argc > 1 ? argv[1] : "20000";
    static const char *const plain[] = {NULL};
    static const char *const steps[] = {"step_x", "0.01", "step_y", "0.1", "step_v", "0.1", NULL};
    static const struct {
        const char *name, *rows, *columns;
    } shapes[] = {{"ijcnn1 shape, 49,990 x 22", "99980", "22"},
                  {"covtype shape, 371,847 x 54", "743694", "54"}};
    static const struct {
        const char *solver;
        const char *const *settings;
    } solvers[] = {{"soba", steps}, {"s-tfbo", plain}};
    const blv_problem_family *family = blv_family_find(NULL, "synthetic-logistic", NULL);
    const blv_problem_options options = {
        .size = sizeof(blv_problem_options), .precision = BLV_F64, .threads = 1};
    printf("batch 64, f64, one thread, %s iterations, median of %d\n", iterations, REPEATS);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const char *const settings[] = {"rows", shapes[s].rows, "columns", shapes[s].columns, NULL};
        blv_message why;
        blv_problem *problem;
        if (blv_problem_from_family(family, settings, &options, &problem, &why) != BLV_OK)
            give_up(why.text);
        for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
            double seconds[REPEATS];
            for (int i = 0; i < REPEATS; i++)
                seconds[i] =
                    seconds_of(problem, solvers[k].solver, solvers[k].settings, iterations);
            qsort(seconds, REPEATS, sizeof *seconds, by_value);
            printf("  %-28s %-8s %7.3f us an iteration\n", shapes[s].name, solvers[k].solver,
                   1e6 * seconds[REPEATS / 2] / atof(iterations));
        }
        blv_problem_destroy(problem);
    }
    return 0;
}
