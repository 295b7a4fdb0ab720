#include "mpi_probes.h"
#include "machine_peak.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 15, PAIR_TIMES = 5, TIMES_MAX = 1000 };
#define SHARED 0.75

static const double probe_flops = 4e8;               /* a few milliseconds */
static const size_t probe_bytes = (size_t)512 << 20; /* more than caches hold */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

pace pace_of(const double *taken, int count, MPI_Comm all) {
    double sorted[TIMES_MAX], own;
    pace p;
    int processes;
    MPI_Comm_size(all, &processes);
    count = count < TIMES_MAX ? count : TIMES_MAX;
    MPI_Allreduce(taken, sorted, count, MPI_DOUBLE, MPI_MAX, all);
    p.slowest = median(sorted, count);
    memcpy(sorted, taken, (size_t)count * sizeof *sorted);
    own = median(sorted, count);
    MPI_Allreduce(&own, &p.steady, 1, MPI_DOUBLE, MPI_MAX, all);
    MPI_Allreduce(&own, &p.mean, 1, MPI_DOUBLE, MPI_SUM, all);
    p.mean /= processes;
    return p;
}

void print_machine(void) {
    char line[200];
    FILE *pipe = popen("LC_ALL=C lscpu 2>/dev/null | grep -E '^(CPU\\(s\\)|Model name|Thread|Core|"
                       "Socket|L2|L3|NUMA|Hypervisor)'; cat /sys/fs/cgroup/cpu.max 2>/dev/null",
                       "r");
    while (pipe && fgets(line, sizeof line, pipe))
        fputs(line, stdout);
    if (pipe)
        pclose(pipe);
    fflush(stdout);
}

/* data NULL: multiply-adds. */
static pace probe(const void *data, int times, MPI_Comm some) {
    double taken[TIMES];
    for (int i = 0; i < times; i++) {
        MPI_Barrier(some);
        taken[i] = data ? seconds_of_reading(data, probe_bytes, 1)
                        : seconds_of_flops(probe_flops, false, 1);
    }
    return pace_of(taken, times, some);
}

/* Which of them are slow while all are at work. */
static void print_each(int rank, int size) {
    double taken[TIMES], *all = calloc((size_t)size, sizeof *all);
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < TIMES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        taken[i] = seconds_of_flops(probe_flops, false, 1);
    }
    const double own = 1e-9 * probe_flops / median(taken, TIMES);
    MPI_Gather(&own, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("GFLOP/s of each process, all at work:");
        for (int i = 0; i < size; i++)
            printf(" %.0f", all[i]);
        printf("\n");
    }
    free(all);
}

/* Each two of them, and no other at work: hardware threads of one core have half of it each. */
static void print_pairs(int rank, int size, double alone, void (*meet)(void)) {
    double least = INFINITY, most = 0.0;
    if (rank == 0)
        printf("pairs of processes with less than %.0f%% of their speed alone:", 100.0 * SHARED);
    for (int pair = 0; pair < size * size; pair++) {
        const int first = pair / size, second = pair % size;
        MPI_Comm two;
        if (first >= second)
            continue;
        MPI_Comm_split(MPI_COMM_WORLD, rank == first || rank == second ? 0 : MPI_UNDEFINED, rank,
                       &two);
        double left = 0.0, sum = 0.0;
        if (two != MPI_COMM_NULL) {
            const pace p = probe(NULL, PAIR_TIMES, two);
            left = rank == first ? alone / p.mean : 0.0;
            MPI_Comm_free(&two);
        }
        meet();
        MPI_Reduce(&left, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0 && sum < SHARED)
            printf(" %d+%d:%.2f", first, second, sum);
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    if (rank == 0)
        printf(" (of all pairs %.2f to %.2f)\n", least, most);
}

void print_probes(void (*meet)(void)) {
    double alone_flops = 0.0, alone_bytes = 0.0;
    int rank, size;
    char *data = malloc(probe_bytes);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!data)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(data, 0, probe_bytes);
    if (rank == 0)
        printf("%d times: multiply-adds in registers, %zu MB read from memory; gain by the slowest "
               "of each time\nprocesses   GFLOP/s each   steady   slowest    gain   GB/s each   "
               "slowest     all    gain\n",
               TIMES, probe_bytes >> 20);
    for (int p = 1; p <= size; p *= 2) {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, rank < p ? 0 : MPI_UNDEFINED, rank, &some);
        if (rank < p) {
            const pace f = probe(NULL, TIMES, some), b = probe(data, TIMES, some);
            alone_flops = p == 1 ? f.mean : alone_flops;
            alone_bytes = p == 1 ? b.mean : alone_bytes;
            if (rank == 0)
                printf("%9d   %12.1f   %6.1f   %7.1f   %5.2f   %9.1f   %7.1f   %5.1f   %5.2f\n", p,
                       1e-9 * probe_flops / f.mean, 1e-9 * probe_flops / f.steady,
                       1e-9 * probe_flops / f.slowest, p * alone_flops / f.slowest,
                       1e-9 * (double)probe_bytes / b.mean, 1e-9 * (double)probe_bytes / b.slowest,
                       1e-9 * p * (double)probe_bytes / b.slowest, p * alone_bytes / b.slowest);
            MPI_Comm_free(&some);
        }
        meet();
    }
    free(data);
    MPI_Bcast(&alone_flops, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    print_each(rank, size);
    print_pairs(rank, size, alone_flops, meet);
    if (rank == 0)
        fflush(stdout);
}
