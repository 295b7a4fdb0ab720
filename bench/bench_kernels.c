/* Speed of the passes over data, against what this machine can do.
 *
 *     bench_kernels [word]        only the cases whose name has this word in it
 *
 * Samples of a pass alternate with samples of the machine's own peak in the same precision and with
 * as many threads: multiply-adds without loads, or reading the data once. Other work on the machine
 * disturbs both, so the table has two ratios to the peak: of medians, each from the best of some
 * rounds, and of the best samples. Operations are counted as the formulas have them, 2 n d k for
 * each product of n rows of d columns with k classes, though the kernels get by with k - 1. */
#include "base/aligned_memory.h"
#include "kernels/cpu/host_sweep.h"
#include "machine_peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 21, ROUNDS = 5, MOST_CASES = 64 };
static const double SAMPLE_SECONDS = 0.0005;

/* AGAIN: every call is at the point of the one before, and finds the probabilities kept. ANEW: no
 * call is, and every one keeps them in vain. */
enum { GRADIENT = 1, HESSIAN = 2, CROSS = 4, AGAIN = 8, ANEW = 16 };

typedef struct bench_case {
    const char *name;
    size_t rows, columns, classes;
    int outputs;
    bool logistic, single;
    bool by_memory; /* limited by reading, not by multiply-adds */
} bench_case;

/* Sparse passes join here, with what describes their data. */
static const bench_case cases[] = {
    {"softmax gradient", 20000, 784, 10, GRADIENT, false, true, false},
    {"softmax Hv", 20000, 784, 10, HESSIAN, false, true, false},
    {"softmax Hv, same point again", 20000, 784, 10, HESSIAN | AGAIN, false, true, false},
    {"softmax Hv, kept in vain", 20000, 784, 10, HESSIAN | ANEW, false, true, false},
    {"softmax g+Hv+Jv", 20000, 784, 10, GRADIENT | HESSIAN | CROSS, false, true, false},
    {"softmax gradient", 5000, 784, 10, GRADIENT, false, true, false},
    {"softmax gradient", 1000, 784, 10, GRADIENT, false, true, false},
    {"softmax Hv", 1000, 784, 10, HESSIAN, false, true, false},
    {"softmax Hv, same point again", 1000, 784, 10, HESSIAN | AGAIN, false, true, false},
    {"softmax Hv, kept in vain", 1000, 784, 10, HESSIAN | ANEW, false, true, false},
    {"softmax g+Hv+Jv", 1000, 784, 10, GRADIENT | HESSIAN | CROSS, false, true, false},
    {"softmax gradient", 20000, 784, 10, GRADIENT, false, false, false},
    {"softmax g+Hv+Jv", 20000, 784, 10, GRADIENT | HESSIAN | CROSS, false, false, false},
    {"softmax gradient", 1000, 784, 10, GRADIENT, false, false, false},
    {"softmax gradient", 20000, 784, 20, GRADIENT, false, true, false},
    {"softmax gradient", 371847, 54, 7, GRADIENT, false, true, false},
    {"logistic gradient", 371847, 54, 1, GRADIENT, true, false, true},
    {"logistic Hv", 371847, 54, 1, HESSIAN, true, false, true},
    {"logistic g+Hv+Jv", 371847, 54, 1, GRADIENT | HESSIAN | CROSS, true, false, true},
    {"logistic gradient", 371847, 54, 1, GRADIENT, true, true, true},
    {"logistic g+Hv+Jv", 371847, 54, 1, GRADIENT | HESSIAN | CROSS, true, true, true},
    {"logistic gradient", 20000, 784, 1, GRADIENT, true, true, true},
};

typedef struct batch_case {
    const char *name;
    size_t rows, columns, batch; /* batches go over all rows in a shuffled order of blocks */
    int outputs;
    bool single;
} batch_case;

static const batch_case batches[] = {
    {"batch gradient, hot", 512, 54, 64, GRADIENT, false},
    {"batch gradient, cold", 371840, 54, 64, GRADIENT, false},
    {"batch g+Hv+Jv, hot", 512, 54, 64, GRADIENT | HESSIAN | CROSS, false},
    {"batch g+Hv+Jv, cold", 371840, 54, 64, GRADIENT | HESSIAN | CROSS, false},
    {"batch gradient, hot", 512, 22, 64, GRADIENT, false},
    {"batch gradient, cold", 371840, 22, 64, GRADIENT, false},
    {"batch gradient, hot", 512, 54, 64, GRADIENT, true},
    {"batch gradient, cold", 371840, 54, 64, GRADIENT, true},
};

typedef struct setup {
    bool logistic, single;
    blv_rows rows;
    blv_sweep pass;
    blv_sweep_work *work;
    const void *other_w; /* of the next call; NULL: the same */
    void *memory[9];
    size_t data_bytes, read_bytes; /* the second with weights and labels */
} setup;

static double next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 40) * 0x1p-24;
}

static void *numbers(setup *s, size_t count, double size, uint64_t *seed) {
    const size_t bytes = (count * (s->single ? sizeof(float) : sizeof(double)) + 63) / 64 * 64;
    void *array = blv_room(bytes);
    for (size_t i = 0; array && i < count; i++) {
        const double value = size * (next_number(seed) - 0.5);
        if (s->single)
            ((float *)array)[i] = (float)value;
        else
            ((double *)array)[i] = value;
    }
    return array;
}

static bool open_setup(setup *s, bool logistic, bool single, size_t rows, size_t columns,
                       size_t classes, size_t most_rows, int outputs, int threads) {
    const size_t real_size = single ? sizeof(float) : sizeof(double), weights = classes * columns;
    uint64_t seed = 1;
    *s = (setup){.logistic = logistic,
                 .single = single,
                 .data_bytes = rows * columns * real_size,
                 .read_bytes = rows * (columns * real_size + real_size + sizeof(int32_t))};
    s->memory[0] = numbers(s, rows * columns, 1.0, &seed);
    for (int i = 1; i < 5; i++)
        s->memory[i] = numbers(s, weights, 0.1, &seed);
    s->memory[5] = numbers(s, rows, 1.0, &seed);
    s->memory[6] = numbers(s, rows, 1.0, &seed);
    int32_t *label = s->memory[7] = malloc(rows * sizeof *label);
    s->memory[8] = numbers(s, weights, 0.1, &seed);
    s->work = blv_sweep_work_create(classes, columns, real_size, false, most_rows, threads);
    bool complete = s->work != NULL;
    for (int i = 0; i < 9; i++)
        complete = complete && s->memory[i];
    const bool keep = outputs & (AGAIN | ANEW);
    if (!complete || (keep && !blv_sweep_work_keep(s->work, rows)))
        return false;
    s->other_w = outputs & ANEW ? s->memory[8] : NULL;
    for (size_t i = 0; i < rows; i++)
        label[i] = (int32_t)(next_number(&seed) * (double)(logistic ? 2 : classes));
    s->rows = (blv_rows){.rows = rows,
                         .columns = columns,
                         .dense = s->memory[0],
                         .stride = columns,
                         .label = label,
                         .weight = s->memory[5],
                         .count = rows};
    s->pass = (blv_sweep){.classes = classes,
                          .w = s->memory[1],
                          .v = outputs & (HESSIAN | CROSS) ? s->memory[2] : NULL,
                          .scale = 1.0 / (double)rows,
                          .ridge = 1e-3,
                          .keep = keep,
                          .gradient = outputs & GRADIENT ? s->memory[3] : NULL,
                          .hessian = outputs & HESSIAN ? s->memory[4] : NULL,
                          .row_cross = outputs & CROSS ? s->memory[6] : NULL};
    return true;
}

static void close_setup(setup *s) {
    for (int i = 0; i < 9; i++)
        free(s->memory[i]);
    blv_sweep_work_destroy(s->work);
}

static void run(setup *s) {
    if (s->other_w) {
        const void *w = s->pass.w;
        s->pass.w = s->other_w;
        s->other_w = w;
    }
    blv_host_sweep(&s->rows, &s->pass, s->work);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double seconds_of_calls(setup *s, long calls) {
    const double start = seconds_now();
    for (long i = 0; i < calls; i++)
        run(s);
    return (seconds_now() - start) / (double)calls;
}

static double products_of(int outputs) {
    const int results = outputs & (GRADIENT | HESSIAN);
    const double products = results == GRADIENT ? 2.0 : results == HESSIAN ? 3.0 : 4.0;
    return outputs & AGAIN ? products - 1.0 : products;
}

typedef struct quantiles {
    double median, best;
} quantiles;

/* Keeps the better of what is there and of these samples, which it sorts. */
static void improve(quantiles *q, double *sample, bool first) {
    qsort(sample, SAMPLES, sizeof *sample, by_value);
    if (first || sample[SAMPLES / 2] < q->median)
        q->median = sample[SAMPLES / 2];
    if (first || sample[0] < q->best)
        q->best = sample[0];
}

/* Times of the pass, and what the same amount of work takes at the peak. */
static void measure(const bench_case *c, setup *s, double flops, int threads, quantiles *pass,
                    quantiles *peak) {
    const double probe = 3e7; /* operations on each thread */
    const double more = (double)s->read_bytes / (double)s->data_bytes;
    long calls = 1;
    while (seconds_of_calls(s, calls) * (double)calls < SAMPLE_SECONDS)
        calls *= 2;
    for (int round = 0; round < ROUNDS; round++) {
        double time[SAMPLES], limit[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) {
            time[i] = seconds_of_calls(s, calls);
            limit[i] = c->by_memory
                           ? seconds_of_reading(s->rows.dense, s->data_bytes, threads) * more
                           : seconds_of_flops(probe, c->single, threads) * flops / probe / threads;
        }
        improve(pass, time, round == 0);
        improve(peak, limit, round == 0);
    }
}

/* The gradient alone on the same data and threads: what the fused pass is compared with. */
static double gradient_seconds(const double done[][2], size_t at, int threads) {
    for (size_t i = at; i-- > 0;)
        if (cases[i].outputs == GRADIENT && cases[i].rows == cases[at].rows &&
            cases[i].columns == cases[at].columns && cases[i].classes == cases[at].classes &&
            cases[i].single == cases[at].single && cases[i].logistic == cases[at].logistic)
            return done[i][threads - 1];
    return 0.0;
}

static bool bench_passes(const char *word) {
    static double done[MOST_CASES][2];
    printf("%-28s %8s %4s %3s %4s %2s %10s %10s %12s %7s %7s %8s %8s\n", "pass", "rows", "cols",
           "cls", "", "th", "median us", "best us", "speed", "of peak", "at best", "1 thread",
           "gradient");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bench_case *c = &cases[i];
        if (word && !strstr(c->name, word))
            continue;
        for (int threads = 1; threads <= 2; threads++) {
            setup s;
            const bool open = open_setup(&s, c->logistic, c->single, c->rows, c->columns,
                                         c->classes, c->rows, c->outputs, threads);
            if (open) {
                const double flops = 2.0 * products_of(c->outputs) * (double)c->rows *
                                     (double)c->columns * (double)c->classes;
                const double amount = c->by_memory ? (double)s.read_bytes : flops;
                quantiles r = {0.0, 0.0}, peak = r;
                measure(c, &s, flops, threads, &r, &peak);
                done[i][threads - 1] = r.best;
                printf("%-28s %8zu %4zu %3zu  %s %2d %10.1f %10.1f %7.1f %s %6.0f%% %6.0f%%",
                       c->name, c->rows, c->columns, c->classes, c->single ? "f32" : "f64", threads,
                       1e6 * r.median, 1e6 * r.best, 1e-9 * amount / r.best,
                       c->by_memory ? "GB/s" : "GF/s", 100.0 * peak.median / r.median,
                       100.0 * peak.best / r.best);
                if (threads == 2)
                    printf(" %7.2fx", done[i][0] / r.best);
                else
                    printf(" %8s", "");
                const double alone = gradient_seconds((const double(*)[2])done, i, threads);
                if (c->outputs != GRADIENT && alone > 0.0)
                    printf(" %7.2fx", r.best / alone);
                printf("\n");
                fflush(stdout);
            }
            close_setup(&s);
            if (!open)
                return false;
        }
    }
    return true;
}

/* Once over all blocks in a shuffled order, each call knowing the next one's rows. */
static double seconds_of_batches(setup *s, size_t batch, const size_t *order, size_t blocks,
                                 long turns) {
    const double start = seconds_now();
    for (long t = 0; t < turns; t++)
        for (size_t b = 0; b < blocks; b++) {
            s->rows.first = order[b] * batch;
            s->rows.count = batch;
            s->rows.next_first = order[b + 1 < blocks ? b + 1 : 0] * batch;
            s->rows.next_count = batch;
            run(s);
        }
    return (seconds_now() - start) / (double)turns / (double)blocks;
}

static bool bench_batches(const char *word) {
    printf("\n%-22s %8s %4s %5s %4s %10s %10s\n", "logistic, one thread", "rows", "cols", "batch",
           "", "median us", "best us");
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const batch_case *c = &batches[i];
        if (word && !strstr(c->name, word))
            continue;
        setup s;
        const size_t blocks = c->rows / c->batch;
        size_t *order = malloc(blocks * sizeof *order);
        const bool open =
            open_setup(&s, true, c->single, c->rows, c->columns, 1, c->batch, c->outputs, 1) &&
            order;
        if (open) {
            uint64_t seed = 7;
            for (size_t b = 0; b < blocks; b++)
                order[b] = b;
            for (size_t b = blocks; b-- > 1;) {
                const size_t other = (size_t)(next_number(&seed) * (double)b), kept = order[b];
                order[b] = order[other];
                order[other] = kept;
            }
            long turns = 1;
            while (seconds_of_batches(&s, c->batch, order, blocks, turns) * (double)turns *
                       (double)blocks <
                   SAMPLE_SECONDS)
                turns *= 2;
            quantiles q = {0.0, 0.0};
            for (int round = 0; round < ROUNDS; round++) {
                double time[SAMPLES];
                for (int k = 0; k < SAMPLES; k++)
                    time[k] = seconds_of_batches(&s, c->batch, order, blocks, turns);
                improve(&q, time, round == 0);
            }
            printf("%-22s %8zu %4zu %5zu  %s %10.3f %10.3f\n", c->name, c->rows, c->columns,
                   c->batch, c->single ? "f32" : "f64", 1e6 * q.median, 1e6 * q.best);
            fflush(stdout);
        }
        free(order);
        close_setup(&s);
        if (!open)
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!bench_passes(word) || !bench_batches(word)) {
        fprintf(stderr, "bench_kernels: out of memory\n");
        return 1;
    }
    return 0;
}
