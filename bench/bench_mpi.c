/* Scaling over ranks: full-batch steps of hyper-cleaning, 784 columns, 10 classes, one thread or
 * several for each rank. Started with mpirun, a core for each thread; all numbers of ranks up to
 * those that are there are measured, in powers of two, after one rank of one thread. First what the
 * machine allows processes that exchange nothing (mpi_probes.h). Then steps on ranks, which
 * alternate with those of as many processes that exchange nothing:
 *
 *   alone      each with the same rows for itself: the mean of the processes, the one that is
 *              always slowest, the slowest of each step. What these lose against one process, no
 *              exchange can mend
 *   kept       the slowest alone against the step on ranks: what exchanges leave of the speed
 *   messages   what the exchanges of a step take where no rank has to be waited for
 *   exchange   share of a step in exchanges: messages, and the wait for the slowest rank
 *   model      docs/clusters.md: seconds of a row, by processes alone with a fourth of ROWS, and
 *              messages by latency and bytes, by two ranks: none of it from the steps it predicts
 *
 *     mpirun --bind-to core -n 16 build/release/bench/bench_mpi [ROWS [STEPS [f64|f32 [THREADS
 *                                                                [TOTAL [last|steps]]]]]]
 *     mpirun --bind-to core --map-by slot:PE=4 -n 4 .../bench_mpi 20000 12 f64 4
 *
 * ROWS: training rows of each core in weak scaling (default 20000; 0: only what the machine
 * allows). TOTAL: those of strong scaling
 * (default: as many as weak scaling has at its end; 0: no strong scaling). A fourth of that are
 * validation rows. last: only one rank and all of them, without the numbers between and without
 * what the machine allows; steps: only without the latter. */
#include "bilevel/bilevel.h"
#include "bilevel/mpi.h"
#include "machine_peak.h"
#include "mpi_probes.h"

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
    PROBE_TIMES = 4, /* as long as a step of weak scaling */
    PAUSE_US = 200
};

static int world_rank, world_size;
static bool single; /* precision */

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

/* Rows of this rank: in a set that is spread over the ranks, and in one of its own, as if there
 * were no others. Both have the same numbers. */
typedef struct rows {
    void *values;
    blv_dataset *spread, *own;
} rows;

static blv_dataset *borrow(const blv_dataset_view *view) {
    blv_dataset *set;
    blv_message why;
    if (blv_dataset_borrow(&set, view, NULL, keep, NULL, &why) != BLV_OK)
        stop(why.text);
    return set;
}

static rows make_rows(size_t count, uint64_t seed, const blv_ranks *ranks) {
    const size_t step = (size_t)ranks->count, first = (size_t)ranks->rank;
    const size_t held = count > first ? (count - first + step - 1) / step : 0;
    rows r = {.values = allocate(held * COLUMNS, single ? sizeof(float) : sizeof(double))};
    int32_t *label = allocate(count, sizeof *label), *own = allocate(held, sizeof *own);
    size_t *row = allocate(held, sizeof *row);
    for (size_t i = 0; i < count; i++)
        label[i] = (int32_t)(scattered(seed * 7919 + i) * CLASSES);
    for (size_t k = 0; k < held; k++) {
        const size_t i = row[k] = first + k * step;
        own[k] = label[i];
        for (size_t j = 0; j < COLUMNS; j++) {
            const double value =
                scattered((seed + i) * COLUMNS + j) * (j % CLASSES == (size_t)label[i] ? 1.0 : 0.5);
            if (single)
                ((float *)r.values)[k * COLUMNS + j] = (float)value;
            else
                ((double *)r.values)[k * COLUMNS + j] = value;
        }
    }
    blv_dataset_view view = {.size = sizeof view,
                             .rows = count,
                             .columns = COLUMNS,
                             .precision = single ? BLV_F32 : BLV_F64,
                             .dense = r.values,
                             .stride = COLUMNS,
                             .classes = CLASSES,
                             .label = label,
                             .ranks = ranks,
                             .held = held,
                             .held_row = row};
    r.spread = borrow(&view);
    view.rows = held;
    view.label = own;
    view.ranks = NULL;
    r.own = borrow(&view);
    free(label);
    free(own);
    free(row);
    return r;
}

static void free_rows(rows *r) {
    blv_dataset_release(r->spread);
    blv_dataset_release(r->own);
    free(r->values);
}

/* ---- Steps ---- */

typedef struct work {
    blv_problem *problem;
    blv_run *run;
    double *taken; /* seconds of each step */
} work;

static work open_work(const blv_dataset *train, const blv_dataset *val, int steps, int threads) {
    const blv_problem_options options = {
        .size = sizeof options, .threads = threads, .precision = single ? BLV_F32 : BLV_F64};
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

/* number < 0: to warm up. */
static void time_step(work *w, int number, int times, MPI_Comm all) {
    MPI_Barrier(all);
    const double began = seconds_now();
    for (int i = 0; i < times; i++)
        if (blv_run_step(w->run) != BLV_OK)
            stop(blv_run_message(w->run));
    if (number >= 0)
        w->taken[number] = (seconds_now() - began) / times;
}

typedef struct scaling {
    size_t rows;  /* of each core in weak scaling */
    size_t total; /* of strong scaling */
    int steps, threads, largest;
    bool last; /* no numbers of ranks between one and all */
} scaling;

typedef struct timing {
    double step;      /* seconds, the median of the slowest rank */
    pace alone;       /* processes with the same rows, without exchanges */
    double row;       /* seconds of a training row, by processes with few rows */
    double exchange;  /* share of the time in exchanges */
    double exchanges; /* in a step */
} timing;

static timing time_steps(const scaling *s, size_t count, int threads, blv_ranks *ranks,
                         MPI_Comm all) {
    const size_t p = (size_t)ranks->count, few = s->rows / 4 * (size_t)threads;
    const int steps = s->steps;
    rows train = make_rows(count, 1, ranks), val = make_rows(count / 4, 2, ranks),
         few_train = make_rows(few * p, 1, ranks), few_val = make_rows(few / 4 * p, 2, ranks);
    work spread = open_work(train.spread, val.spread, steps, threads),
         alone = open_work(train.own, val.own, steps, threads),
         probe = open_work(few_train.own, few_val.own, steps, threads);
    double before = 0.0, after = 0.0, whole = 0.0;
    uint64_t first = 0, last = 0;
    for (int i = -WARM; i < steps; i++) {
        if (i == 0)
            blv_mpi_use(ranks, &first, &before);
        time_step(&alone, i, 1, all);
        time_step(&spread, i, 1, all);
        time_step(&probe, i, PROBE_TIMES, all);
    }
    blv_mpi_use(ranks, &last, &after);
    for (int i = 0; i < steps; i++)
        whole += spread.taken[i];
    const timing t = {.exchange = (after - before) / whole,
                      .exchanges = (double)(last - first) / steps,
                      .step = pace_of(spread.taken, steps, all).slowest,
                      .alone = pace_of(alone.taken, steps, all),
                      .row = pace_of(probe.taken, steps, all).slowest / (double)few};
    work *const works[] = {&spread, &alone, &probe};
    for (int i = 0; i < 3; i++)
        close_work(works[i]);
    rows *const all_rows[] = {&train, &val, &few_train, &few_val};
    for (int i = 0; i < 4; i++)
        free_rows(all_rows[i]);
    return t;
}

/* ---- Messages: by latency and bytes, both measured with two ranks ---- */

static double time_sum(blv_ranks *ranks, size_t count) {
    enum { TIMES = 200 };
    double *values = allocate(count, sizeof *values), taken[TIMES];
    for (int i = 0; i < TIMES; i++) {
        const double began = seconds_now();
        ranks->sum(ranks->context, count, values);
        taken[i] = seconds_now() - began;
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
static double predicted(const costs *c, const timing *t, size_t count, int p) {
    const double rounds = ceil(log2((double)p)), bytes = 3.0 * (double)(gradient * sizeof(double));
    return t->row * (double)count / p + (t->exchanges + 2.0) * rounds * c->latency +
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

static void print_line(bool weak, size_t count, int p, int threads, const timing *one,
                       const timing *t, double messages, const costs *c) {
    const double scale = weak ? 100.0 : 1.0, model = predicted(c, t, count, p);
    printf("%-6s  %5d  %7d  %8zu  %8.2f  %9.2f  %8.2f  %8.2f  %8.2f  %9.2f  %5.3f  %8.3f  %7.1f%%"
           "  %8.2f  %+6.1f%%\n",
           weak ? "weak" : "strong", p, threads, count, 1e3 * t->step, scale * one->step / t->step,
           1e3 * t->alone.mean, 1e3 * t->alone.steady, 1e3 * t->alone.slowest,
           scale * one->alone.mean / t->alone.slowest, t->alone.slowest / t->step, 1e3 * messages,
           100.0 * t->exchange, 1e3 * model, 100.0 * (model / t->step - 1.0));
    fflush(stdout);
}

/* The first p processes. one: where there is none yet, this is it. */
static void measure(const scaling *s, bool weak, int p, int threads, timing *one, costs *c) {
    const size_t count = weak ? s->rows * (size_t)(p * threads) : s->total;
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < p ? 0 : MPI_UNDEFINED, world_rank, &some);
    if (world_rank < p) {
        blv_ranks *ranks;
        blv_message why;
        if (blv_mpi_open(&ranks, some, &why) != BLV_OK)
            stop(why.text);
        if (p == 2 && c->latency == 0.0)
            *c = measure_costs(ranks);
        const timing t = time_steps(s, count, threads, ranks, some);
        const double messages = p > 1 ? time_messages(ranks, t.exchanges) : 0.0;
        *one = one->step == 0.0 ? t : *one;
        if (world_rank == 0)
            print_line(weak, count, p, threads, one, &t, messages, c);
        blv_mpi_close(ranks);
        MPI_Comm_free(&some);
    }
    MPI_Bcast(c, sizeof *c, MPI_BYTE, 0, MPI_COMM_WORLD);
    meet();
}

static void scale(const scaling *s, bool weak, costs *c) {
    timing one = {0};
    measure(s, weak, 1, 1, &one, c);
    for (int p = s->threads > 1 ? 1 : 2; p <= s->largest; p *= 2)
        if (!s->last || p == s->largest)
            measure(s, weak, p, s->threads, &one, c);
    if (world_rank == 0)
        printf("one rank against none: %.3f\n", one.alone.slowest / one.step);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    scaling s = {.rows = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : USUAL_ROWS,
                 .steps = argc > 2 ? atoi(argv[2]) : USUAL_STEPS,
                 .threads = argc > 4 ? atoi(argv[4]) : 1,
                 .largest = 1};
    costs c = {0};
    single = argc > 3 && strcmp(argv[3], "f32") == 0;
    if ((s.rows > 0 && s.rows < 16) || s.steps < 1 || s.threads < 1 ||
        (argc > 3 && !single && strcmp(argv[3], "f64") != 0))
        stop("usage: bench_mpi [ROWS [STEPS [f64|f32 [THREADS [TOTAL [last|steps]]]]]]");
    while (2 * s.largest <= world_size)
        s.largest *= 2;
    s.total =
        argc > 5 ? (size_t)strtoul(argv[5], NULL, 10) : s.rows * (size_t)(s.largest * s.threads);
    s.last = argc > 6 && strcmp(argv[6], "last") == 0;
    if (world_rank == 0 && argc <= 6)
        print_machine();
    if (argc <= 6)
        print_probes(meet);
    if (s.rows == 0) {
        MPI_Finalize();
        return 0;
    }
    if (world_rank == 0)
        printf(
            "kind    ranks  threads      rows   ms/step  gain or %%     alone    steady   slowest  "
            "gain or %%   kept  messages  exchange  model ms     off\n");
    if (s.total > 0)
        scale(&s, false, &c);
    scale(&s, true, &c);
    if (world_rank == 0)
        printf("latency of a message %.3g us, %.3g GB/s\n", 1e6 * c.latency,
               c.byte > 0.0 ? 1e-9 / c.byte : INFINITY);
    MPI_Finalize();
    return 0;
}
