/* Scaling over ranks: full-batch steps of hyper-cleaning, 784 columns, 10 classes, f64, one thread
 * for each rank. Started with mpirun, a core for each rank; all numbers of ranks up to those that
 * are there are measured, in powers of two. Steps on ranks alternate with steps of as many
 * processes that exchange nothing, each with the same rows for itself:
 *
 *   alone      the mean of these processes, and the slowest of each step. What these lose against
 *              one process, no exchange can mend
 *   messages   what the exchanges of a step take where no rank has to be waited for
 *   exchange   share of a step in exchanges: messages, and the wait for the slowest rank
 *   model      docs/clusters.md: the slowest process alone, and the messages by latency and bytes
 *
 *     mpirun --bind-to core -n 16 build/release/bench/bench_mpi [ROWS [STEPS]]
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

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory)
        stop("out of memory");
    return memory;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* ---- Data: every rank makes its own rows ---- */

static double scattered(uint64_t i) {
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void keep(void *context) {
    (void)context;
}

/* set[0]: spread over the ranks; set[1]: the rows that are here, as if there were no others. Both
 * have the same numbers, which are returned, to be freed. */
static double *make_sets(size_t rows, uint64_t seed, const blv_ranks *ranks, blv_dataset *set[2]) {
    const size_t step = (size_t)ranks->count, first = (size_t)ranks->rank;
    const size_t held = rows > first ? (rows - first + step - 1) / step : 0;
    double *values = allocate(held * COLUMNS, sizeof *values);
    int32_t *label = allocate(rows, sizeof *label), *own = allocate(held, sizeof *own);
    size_t *row = allocate(held, sizeof *row);
    blv_message why;
    for (size_t i = 0; i < rows; i++)
        label[i] = (int32_t)(scattered(seed * 7919 + i) * CLASSES);
    for (size_t k = 0; k < held; k++) {
        const size_t i = row[k] = first + k * step;
        own[k] = label[i];
        for (size_t j = 0; j < COLUMNS; j++)
            values[k * COLUMNS + j] =
                scattered((seed + i) * COLUMNS + j) * (j % CLASSES == (size_t)label[i] ? 1.0 : 0.5);
    }
    blv_dataset_view view = {.size = sizeof view,
                             .rows = rows,
                             .columns = COLUMNS,
                             .dense = values,
                             .stride = COLUMNS,
                             .classes = CLASSES,
                             .label = label,
                             .ranks = ranks,
                             .held = held,
                             .held_row = row};
    if (blv_dataset_borrow(&set[0], &view, NULL, keep, NULL, &why) != BLV_OK)
        stop(why.text);
    view.rows = held;
    view.label = own;
    view.ranks = NULL;
    if (blv_dataset_borrow(&set[1], &view, NULL, keep, NULL, &why) != BLV_OK)
        stop(why.text);
    free(label);
    free(own);
    free(row);
    return values;
}

/* ---- Steps ---- */

typedef struct work {
    blv_problem *problem;
    blv_run *run;
    double *taken; /* seconds of each step */
} work;

static work open_work(const blv_dataset *train, const blv_dataset *val, int steps) {
    const blv_problem_options options = {.size = sizeof options, .threads = 1};
    const blv_sets sets = {
        .size = sizeof sets, .train = (blv_dataset *)train, .val = (blv_dataset *)val};
    work w = {.taken = allocate((size_t)steps, sizeof *w.taken)};
    blv_message why;
    if (blv_hyperclean_create(&sets, 0.001, &options, &w.problem, &why) != BLV_OK ||
        blv_run_create(&w.run, w.problem, blv_solver_find(NULL, "s-tfbo", &why), &why) != BLV_OK)
        stop(why.text);
    return w;
}

static void close_work(work *w) {
    blv_run_destroy(w->run);
    blv_problem_destroy(w->problem);
    free(w->taken);
}

static void time_step(work *w, int number, MPI_Comm all) {
    MPI_Barrier(all);
    const double began = now();
    if (blv_run_step(w->run) != BLV_OK)
        stop(blv_run_message(w->run));
    if (number >= 0)
        w->taken[number] = now() - began;
}

typedef struct timing {
    double step;           /* seconds, the median */
    double alone, slowest; /* of processes without exchanges: the mean and the slowest */
    double exchange;       /* share of the time in exchanges */
    double exchanges;      /* in a step */
} timing;

/* The mean over the processes of their medians, and the median of the slowest. */
static void compare(const double *taken, int steps, MPI_Comm all, double *mean, double *slowest) {
    double *sorted = allocate((size_t)steps, sizeof *sorted), own;
    int count;
    MPI_Comm_size(all, &count);
    MPI_Allreduce(taken, sorted, steps, MPI_DOUBLE, MPI_MAX, all);
    *slowest = median(sorted, steps);
    memcpy(sorted, taken, (size_t)steps * sizeof *sorted);
    own = median(sorted, steps) / count;
    MPI_Allreduce(&own, mean, 1, MPI_DOUBLE, MPI_SUM, all);
    free(sorted);
}

static timing time_steps(size_t rows, int steps, blv_ranks *ranks, MPI_Comm all) {
    blv_dataset *train[2], *val[2];
    double *values[] = {make_sets(rows, 1, ranks, train), make_sets(rows / 4, 2, ranks, val)};
    work spread = open_work(train[0], val[0], steps), alone = open_work(train[1], val[1], steps);
    double before = 0.0, after = 0.0, whole = 0.0, unused;
    uint64_t first = 0, last = 0;
    for (int i = -WARM; i < steps; i++) {
        if (i == 0)
            blv_mpi_use(ranks, &first, &before);
        time_step(&alone, i, all);
        time_step(&spread, i, all);
    }
    blv_mpi_use(ranks, &last, &after);
    for (int i = 0; i < steps; i++)
        whole += spread.taken[i];
    timing t = {.exchange = (after - before) / whole, .exchanges = (double)(last - first) / steps};
    compare(spread.taken, steps, all, &unused, &t.step);
    compare(alone.taken, steps, all, &t.alone, &t.slowest);
    close_work(&spread);
    close_work(&alone);
    for (int i = 0; i < 2; i++) {
        blv_dataset_release(train[i]);
        blv_dataset_release(val[i]);
    }
    free(values[0]);
    free(values[1]);
    return t;
}

/* ---- Messages: by latency and bytes, both measured with two ranks ---- */

static double time_sum(blv_ranks *ranks, size_t count) {
    enum { TIMES = 200 };
    double *values = allocate(count, sizeof *values), taken[TIMES];
    for (int i = 0; i < TIMES; i++) {
        const double began = now();
        ranks->sum(ranks->context, count, values);
        taken[i] = now() - began;
    }
    free(values);
    return median(taken, TIMES);
}

/* gy and Hv are one exchange, fy is one, and the others are a few numbers each. */
static const size_t gradient = (size_t)COLUMNS * CLASSES;

static double time_messages(blv_ranks *ranks, double exchanges) {
    return time_sum(ranks, 2 * gradient + 1) + time_sum(ranks, gradient + 1) +
           (exchanges - 2.0) * time_sum(ranks, 1);
}

typedef struct costs {
    double latency, byte; /* seconds */
} costs;

static costs measure_costs(blv_ranks *ranks) {
    const double few = time_sum(ranks, 1), bytes = (double)(2 * gradient * sizeof(double));
    return (costs){few, fmax(time_sum(ranks, 2 * gradient) - 2.0 * few, 0.0) / bytes};
}

/* Many values take two rounds there and back, with 2 (1 - 1/p) times the bytes in all. */
static double predicted(const costs *c, const timing *t, int p) {
    const double rounds = ceil(log2((double)p)), bytes = 3.0 * (double)(gradient * sizeof(double));
    return t->slowest + (t->exchanges + 2.0) * rounds * c->latency +
           2.0 * (1.0 - 1.0 / p) * bytes * c->byte;
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

static void print_line(bool weak, size_t rows, int p, const timing *one, const timing *t,
                       double messages, const costs *c) {
    const double scale = weak ? 100.0 : 1.0, model = predicted(c, t, p);
    printf("%-6s  %5d  %8zu  %8.2f  %9.2f  %8.2f  %8.2f  %9.2f  %8.3f  %7.1f%%  %8.2f  %+6.1f%%\n",
           weak ? "weak" : "strong", p, rows, 1e3 * t->step, scale * one->step / t->step,
           1e3 * t->alone, 1e3 * t->slowest, scale * one->alone / t->slowest, 1e3 * messages,
           100.0 * t->exchange, 1e3 * model, 100.0 * (model / t->step - 1.0));
    fflush(stdout);
}

static void scale(bool weak, size_t rows, int steps, costs *c) {
    timing one = {0};
    for (int p = 1; p <= world_size; p *= 2) {
        const size_t all = weak ? rows * (size_t)p : rows;
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < p ? 0 : MPI_UNDEFINED, world_rank, &some);
        if (world_rank < p) {
            blv_ranks *ranks;
            blv_message why;
            if (blv_mpi_open(&ranks, some, &why) != BLV_OK)
                stop(why.text);
            if (p == 2 && c->latency == 0.0)
                *c = measure_costs(ranks);
            const timing t = time_steps(all, steps, ranks, some);
            const double messages = p > 1 ? time_messages(ranks, t.exchanges) : 0.0;
            one = p == 1 ? t : one;
            if (world_rank == 0)
                print_line(weak, all, p, &one, &t, messages, c);
            blv_mpi_close(ranks);
            MPI_Comm_free(&some);
        }
        MPI_Bcast(c, sizeof *c, MPI_BYTE, 0, MPI_COMM_WORLD);
        meet();
    }
    if (world_rank == 0)
        printf("one rank against none: %.3f\n", one.alone / one.step);
}

int main(int argc, char **argv) {
    int level, largest = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    const size_t rows = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : USUAL_ROWS;
    const int steps = argc > 2 ? atoi(argv[2]) : USUAL_STEPS;
    costs c = {0};
    if (rows < 4 || steps < 1)
        stop("usage: bench_mpi [ROWS [STEPS]]");
    while (2 * largest <= world_size)
        largest *= 2;
    if (world_rank == 0)
        printf("kind    ranks      rows   ms/step  gain or %%     alone   slowest  gain or %%  "
               "messages  exchange  model ms     off\n");
    scale(false, rows * (size_t)largest, steps, &c);
    scale(true, rows, steps, &c);
    if (world_rank == 0)
        printf("latency of a message %.3g us, %.3g GB/s\n", 1e6 * c.latency,
               c.byte > 0.0 ? 1e-9 / c.byte : INFINITY);
    MPI_Finalize();
    return 0;
}
