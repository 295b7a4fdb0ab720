/* Speed of the operations of host spaces: median nanoseconds per call, and memory traffic counted
 * as one transfer per vector read and one per vector written.
 *
 *     bench_space [dim ...]
 */
#include "bilevel/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VECTORS 8
#define SAMPLES 15
#define SAMPLE_SECONDS 0.004

static volatile double sink;

static void run_copy(blv_vec **v, double *host) {
    (void)host;
    blv_vec_copy(v[0], v[1]);
}

static void run_fill(blv_vec **v, double *host) {
    (void)host;
    blv_vec_fill(v[0], 0.5);
}

static void run_scale(blv_vec **v, double *host) {
    (void)host;
    blv_vec_scale(v[0], -1.0);
}

static void run_axpy(blv_vec **v, double *host) {
    (void)host;
    blv_vec_axpy(v[0], 1e-9, v[1]);
}

static void run_dot(blv_vec **v, double *host) {
    (void)host;
    sink = blv_vec_dot(v[0], v[1]);
}

static void run_norm(blv_vec **v, double *host) {
    (void)host;
    sink = blv_vec_norm(v[0]);
}

static void run_clamp(blv_vec **v, double *host) {
    (void)host;
    blv_vec_clamp(v[0], 0.0, 1.0);
}

static void lincomb(blv_vec **v, size_t count) {
    static const double coef[VECTORS - 1] = {0.5, -0.25, 0.125, 0.3, 0.7, -0.1, 0.2};
    blv_vec_lincomb(v[0], count, coef, (const blv_vec *const *)v + 1);
    sink = blv_vec_norm(v[0]);
}

static void run_lincomb1(blv_vec **v, double *host) {
    (void)host;
    lincomb(v, 1);
}

static void run_lincomb2(blv_vec **v, double *host) {
    (void)host;
    lincomb(v, 2);
}

static void run_lincomb3(blv_vec **v, double *host) {
    (void)host;
    lincomb(v, 3);
}

static void run_lincomb6(blv_vec **v, double *host) {
    (void)host;
    lincomb(v, 6);
}

static void run_dots3(blv_vec **v, double *host) {
    (void)host;
    double result[3];
    blv_reduce(BLV_SCALARS(BLV_DOT(&result[0], v[0], v[0]), BLV_DOT(&result[1], v[0], v[1]),
                           BLV_DOT(&result[2], v[1], v[1])));
    sink = result[0] + result[1] + result[2];
}

static void run_read(blv_vec **v, double *host) {
    blv_vec_read(v[0], host);
}

static void run_write(blv_vec **v, double *host) {
    blv_vec_write(v[0], host);
}

static const struct operation {
    const char *name;
    void (*run)(blv_vec **v, double *host);
    int vectors_moved, doubles_moved;
} operations[] = {
    {"copy", run_copy, 2, 0},         {"fill", run_fill, 1, 0},
    {"scale", run_scale, 2, 0},       {"axpy", run_axpy, 3, 0},
    {"dot", run_dot, 2, 0},           {"norm", run_norm, 1, 0},
    {"clamp", run_clamp, 2, 0},       {"lincomb1", run_lincomb1, 2, 0},
    {"lincomb2", run_lincomb2, 3, 0}, {"lincomb3", run_lincomb3, 4, 0},
    {"lincomb6", run_lincomb6, 7, 0}, {"dots3", run_dots3, 2, 0},
    {"read", run_read, 1, 1},         {"write", run_write, 1, 1},
};

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(const struct operation *op, blv_vec **v, double *host, long calls) {
    const double start = seconds_now();
    for (long i = 0; i < calls; i++)
        op->run(v, host);
    return seconds_now() - start;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ns(const struct operation *op, blv_vec **v, double *host) {
    long calls = 1;
    while (seconds_of(op, v, host, calls) < SAMPLE_SECONDS)
        calls *= 2;
    double sample[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        sample[i] = 1e9 * seconds_of(op, v, host, calls) / (double)calls;
    qsort(sample, SAMPLES, sizeof *sample, by_value);
    return sample[SAMPLES / 2];
}

static int bench(size_t dim, blv_precision precision, int threads) {
    blv_space *space = NULL;
    blv_vec *v[VECTORS] = {NULL};
    double *host = malloc(dim * sizeof *host);
    int failed = !host || blv_space_create_host(&space, dim, precision, threads);
    for (int i = 0; i < VECTORS && !failed; i++)
        failed = blv_vec_create(&v[i], space) != BLV_OK;
    if (!failed) {
        for (size_t i = 0; i < dim; i++)
            host[i] = (double)(i % 101) / 101;
        for (int i = 0; i < VECTORS; i++)
            blv_vec_write(v[i], host);
        const double size = precision == BLV_F32 ? sizeof(float) : sizeof(double);
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
            const struct operation *op = &operations[i];
            const double ns = median_ns(op, v, host);
            const double bytes = (double)dim * (size * op->vectors_moved + 8 * op->doubles_moved);
            printf("%-9s %9zu  %s %7d %14.1f %8.1f\n", op->name, dim,
                   precision == BLV_F32 ? "f32" : "f64", blv_space_threads(space), ns, bytes / ns);
        }
    }
    for (int i = 0; i < VECTORS; i++)
        blv_vec_destroy(v[i]);
    blv_space_destroy(space);
    free(host);
    return failed;
}

int main(int argc, char **argv) {
    static char *usual[] = {"", "50", "1000", "100000", "10000000"};
    if (argc < 2) {
        argc = sizeof usual / sizeof *usual;
        argv = usual;
    }
    printf("%-9s %9s  %s %7s %14s %8s\n", "op", "dim", "   ", "threads", "ns", "GB/s");
    for (int i = 1; i < argc; i++)
        for (int precision = BLV_F64; precision <= BLV_F32; precision++)
            for (int threads = 1; threads >= 0; threads--)
                if (bench((size_t)strtoull(argv[i], NULL, 10), (blv_precision)precision, threads)) {
                    fprintf(stderr, "bench_space: cannot create a space of %s\n", argv[i]);
                    return 1;
                }
    return 0;
}
