/* Scaling over ranks: full-batch steps of hyper-cleaning, 784 columns, 10 classes, f64, one thread
 * for each rank. Started with mpirun; all numbers of ranks up to those that are there are measured,
 * in powers of two, each with its share of time in exchanges and what the cost model of
 * docs/clusters.md says from the constants that are measured first.
 *
 *     mpirun -n 16 build/release/bench/bench_mpi [ROWS [STEPS]]
 *
 * ROWS: training rows of each rank in weak scaling (default 20000). Strong scaling has as many rows
 * in all as weak scaling has at its end. A fourth of that are validation rows. */
#include "bilevel/bilevel.h"
#include "bilevel/mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    COLUMNS = 784,
    CLASSES = 10,
    USUAL_ROWS = 20000,
    USUAL_STEPS = 12,
    WARM = 2,
    PAUSE_US = 200
};

static int world_rank, world_size;

static void stop(const char *what) {
    fprintf(stderr, "bench_mpi: rank %d: %s\n", world_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Data: every rank makes its own rows ---- */

static double scattered(uint64_t i) {
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* ranks NULL: all rows are here. */
static blv_dataset *make_set(size_t rows, uint64_t seed, const blv_ranks *ranks) {
    const size_t step = ranks ? (size_t)ranks->count : 1, first = ranks ? (size_t)ranks->rank : 0;
    const size_t held = rows > first ? (rows - first + step - 1) / step : 0;
    double *values = malloc((held + 1) * COLUMNS * sizeof *values);
    int32_t *label = malloc(rows * sizeof *label);
    size_t *row = malloc((held + 1) * sizeof *row);
    if (!values || !label || !row)
        stop("out of memory");
    for (size_t i = 0; i < rows; i++)
        label[i] = (int32_t)(scattered(seed * 7919 + i) * CLASSES);
    for (size_t k = 0; k < held; k++) {
        const size_t i = row[k] = first + k * step;
        for (size_t j = 0; j < COLUMNS; j++)
            values[k * COLUMNS + j] =
                scattered((seed + i) * COLUMNS + j) * (j % CLASSES == (size_t)label[i] ? 1.0 : 0.5);
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = rows,
                                   .columns = COLUMNS,
                                   .dense = values,
                                   .stride = COLUMNS,
                                   .classes = CLASSES,
                                   .label = label,
                                   .ranks = ranks,
                                   .held = held,
                                   .held_row = row};
    blv_dataset *set;
    blv_message why;
    if (blv_dataset_create(&set, &view, NULL, &why) != BLV_OK)
        stop(why.text);
    free(values);
    free(label);
    free(row);
    return set;
}

/* ---- Steps ---- */

typedef struct timing {
    double step;      /* seconds, the median */
    double exchange;  /* share of the time in exchanges */
    double exchanges; /* in a step */
} timing;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static timing time_steps(size_t rows, int steps, blv_ranks *ranks) {
    blv_sets sets = {.size = sizeof sets,
                     .train = make_set(rows, 1, ranks),
                     .val = make_set(rows / 4 > 0 ? rows / 4 : 1, 2, ranks)};
    const blv_problem_options options = {.size = sizeof options, .threads = 1};
    blv_problem *problem;
    blv_run *run;
    blv_message why;
    if (blv_hyperclean_create(&sets, 0.001, &options, &problem, &why) != BLV_OK ||
        blv_run_create(&run, problem, blv_solver_find(NULL, "s-tfbo", &why), &why) != BLV_OK)
        stop(why.text);
    double *taken = calloc((size_t)steps, sizeof *taken), before = 0.0, after = 0.0, whole = 0.0;
    uint64_t first = 0, last = 0;
    for (int i = 0; taken && i < WARM + steps; i++) {
        if (i == WARM && ranks)
            blv_mpi_use(ranks, &first, &before);
        const double began = now();
        if (blv_run_step(run) != BLV_OK)
            stop(blv_run_message(run));
        if (i >= WARM)
            whole += taken[i - WARM] = now() - began;
    }
    if (ranks)
        blv_mpi_use(ranks, &last, &after);
    qsort(taken, (size_t)steps, sizeof *taken, ascending);
    const timing t = {taken[steps / 2], (after - before) / whole, (double)(last - first) / steps};
    free(taken);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    blv_dataset_release((blv_dataset *)sets.train);
    blv_dataset_release((blv_dataset *)sets.val);
    return t;
}

/* ---- The model: rows x seconds of a row, and exchanges of latency and bytes ---- */

static double time_sum(blv_ranks *ranks, size_t count) {
    enum { TIMES = 60 };
    double *values = calloc(count, sizeof *values), taken[TIMES];
    for (int i = 0; values && i < TIMES; i++) {
        const double began = now();
        ranks->sum(ranks->context, count, values);
        taken[i] = now() - began;
    }
    free(values);
    qsort(taken, TIMES, sizeof *taken, ascending);
    return taken[TIMES / 2];
}

typedef struct costs {
    double row;     /* seconds of a row in a step */
    double latency; /* of a message */
    double byte;
} costs;

/* One rank has the seconds of a row; two have what a message costs. */
static double predicted(const costs *c, size_t rows, int ranks, double exchanges) {
    const double rounds = ceil(log2((double)ranks)), share = 1.0 - 1.0 / (double)ranks;
    const double gradients = 3.0 * COLUMNS * CLASSES * sizeof(double); /* gy, hv, fy */
    return (double)rows / ranks * c->row + exchanges * rounds * c->latency +
           2.0 * gradients * share * c->byte;
}

/* ---- The tables ---- */

/* Waits for all without taking the cores of those that work. */
static void meet(void) {
    MPI_Request all;
    int here = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    while (!here) {
        MPI_Test(&all, &here, MPI_STATUS_IGNORE);
        if (!here)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_US * 1000}, NULL);
    }
}

static void scale(const char *kind, size_t rows, int steps, costs *c) {
    double alone = 0.0;
    for (int p = 1; p <= world_size; p *= 2) {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < p ? 0 : MPI_UNDEFINED, world_rank, &some);
        const bool weak = strcmp(kind, "weak") == 0;
        const size_t all = weak ? rows * (size_t)p : rows;
        if (world_rank < p) {
            blv_ranks *ranks;
            blv_message why;
            if (blv_mpi_open(&ranks, some, &why) != BLV_OK)
                stop(why.text);
            if (p == 2 && c->latency == 0.0) {
                c->latency = time_sum(ranks, 1);
                const size_t many = 2 * COLUMNS * CLASSES;
                c->byte =
                    (time_sum(ranks, many) - 2.0 * c->latency) / (double)(many * sizeof(double));
                c->byte = c->byte > 0.0 ? c->byte : 0.0;
            }
            const timing t = time_steps(all, steps, ranks);
            alone = p == 1 ? t.step : alone;
            if (c->row == 0.0)
                c->row = t.step / (double)all;
            if (world_rank == 0) {
                const double gain = alone / t.step;
                const double model = predicted(c, all, p, t.exchanges);
                printf("%-6s  %5d  %8zu  %9.2f  %10.2f  %9.1f%%  %9.1f  %9.2f  %+6.1f%%\n", kind, p,
                       all, 1e3 * t.step, weak ? gain * 100.0 : gain, 100.0 * t.exchange,
                       t.exchanges, 1e3 * model, 100.0 * (model / t.step - 1.0));
                fflush(stdout);
            }
            blv_mpi_close(ranks);
            MPI_Comm_free(&some);
        }
        MPI_Bcast(c, sizeof *c, MPI_BYTE, 0, MPI_COMM_WORLD);
        meet();
    }
}

/* One rank against no ranks, in turn. */
static void compare_with_none(size_t rows, int steps) {
    if (world_rank == 0) {
        blv_ranks *ranks;
        double best[2] = {INFINITY, INFINITY};
        if (blv_mpi_open(&ranks, MPI_COMM_SELF, NULL) != BLV_OK)
            stop("no ranks");
        for (int turn = 0; turn < 4; turn++) {
            const timing t = time_steps(rows, steps, turn % 2 ? ranks : NULL);
            best[turn % 2] = fmin(best[turn % 2], t.step);
        }
        printf("one rank: %.2f ms, without ranks: %.2f ms, ratio %.3f\n\n", 1e3 * best[1],
               1e3 * best[0], best[0] / best[1]);
        blv_mpi_close(ranks);
    }
    meet();
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    const size_t rows = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : USUAL_ROWS;
    const int steps = argc > 2 ? atoi(argv[2]) : USUAL_STEPS;
    costs c = {0};
    if (rows < 4 || steps < 1)
        stop("usage: bench_mpi [ROWS [STEPS]]");
    compare_with_none(rows, steps);
    if (world_rank == 0)
        printf("kind    ranks      rows    ms/step  %% or gain   exchange  exchanges   model ms  "
               "  off\n");
    int largest = 1;
    while (2 * largest <= world_size)
        largest *= 2;
    scale("strong", rows * (size_t)largest, steps, &c); /* first: rows that no cache holds */
    scale("weak", rows, steps, &c);
    if (world_rank == 0)
        printf("\nconstants: %.3g us a row, %.3g us a message, %.3g GB/s\n", 1e6 * c.row,
               1e6 * c.latency, c.byte > 0.0 ? 1e-9 / c.byte : INFINITY);
    MPI_Finalize();
    return 0;
}
