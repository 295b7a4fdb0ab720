/* The cost of the run itself, per iteration, for dx = dy = 50: the time in blv_run_solve outside
 * the oracles. The oracles here only count their calls, so nearly all of the time is the run's and
 * the solver's vector operations; the time of the same number of bare calls is taken off.
 *
 *     bench_overhead [iterations]
 */
#include "bilevel/bilevel.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DIM = 50, REPEATS = 15 };

static volatile long calls;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Outputs keep what is in them: small numbers that the solvers' own steps leave finite. */
static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    (void)user, (void)batch, (void)x, (void)y, (void)fx, (void)fy;
    calls++;
    if (f)
        *f = 0.0;
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    (void)user, (void)batch, (void)x, (void)y, (void)gx, (void)gy;
    calls++;
    if (g)
        *g = 0.0;
    return 0;
}

static int lower_product(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                         const blv_vec *v, blv_vec *out) {
    (void)user, (void)batch, (void)x, (void)y, (void)v, (void)out;
    calls++;
    return 0;
}

static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    (void)user, (void)batch, (void)x, (void)y, (void)v, (void)hv, (void)jv;
    if (gy) /* as one that writes it: its norm is not known from before */
        (void)blv_vec_f64_mut(gy), (void)blv_vec_f32_mut(gy);
    calls++;
    return 0;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, REPEATS, sizeof *values, by_value);
    return values[REPEATS / 2];
}

/* Seconds of one run, and of as many bare oracle calls. */
static double run_once(const blv_problem *problem, const char *solver, const char *const *settings,
                       const char *iterations, double *bare) {
    blv_run *run;
    blv_message why;
    if (blv_run_create(&run, problem, blv_solver_find(NULL, solver, NULL), &why) != BLV_OK) {
        fprintf(stderr, "%s\n", why.text);
        exit(1);
    }
    blv_run_set(run, "iters", iterations);
    for (size_t i = 0; settings[i]; i += 2)
        blv_run_set(run, settings[i], settings[i + 1]);
    blv_run_open(run);
    calls = 0;
    double start = now();
    blv_run_solve(run);
    double seconds = now() - start;
    long made = calls;
    start = now();
    for (long i = 0; i < made; i++)
        lower_all(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    *bare = now() - start;
    blv_run_destroy(run);
    return seconds;
}

int main(int argc, char **argv) {
    const char *iterations = argc > 1 ? argv[1] : "20000";
    double count = atof(iterations);
    static const char *const plain[] = {NULL};
    static const char *const steps[] = {"step_x", "1", "step_y", "1", "step_v", "1", NULL};
    const struct {
        const char *solver;
        const char *const *settings;
    } cases[] = {{"s-tfbo", plain}, {"soba", steps}};
    printf("run overhead, dx = dy = %d, %s iterations, median of %d\n", DIM, iterations, REPEATS);
    for (blv_precision precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_problem *problem;
        blv_problem_def def = {BLV_SIZED(blv_problem_def),
                               .dim_x = DIM,
                               .dim_y = DIM,
                               .precision = precision,
                               .upper = upper,
                               .lower = lower,
                               .lower_hvp = lower_product,
                               .lower_cross = lower_product,
                               .lower_all = lower_all};
        if (blv_problem_create(&problem, &def, NULL) != BLV_OK)
            return 1;
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            double total[REPEATS], bare[REPEATS];
            for (int i = 0; i < REPEATS; i++)
                total[i] =
                    run_once(problem, cases[c].solver, cases[c].settings, iterations, &bare[i]);
            double overhead = (median(total) - median(bare)) / count;
            printf("  %-8s %s  %6.0f ns an iteration\n", cases[c].solver,
                   precision == BLV_F64 ? "f64" : "f32", 1e9 * overhead);
        }
        blv_problem_destroy(problem);
    }
    return 0;
}
