/* Speed of passes over sparse rows: milliseconds, memory traffic, and two threads against one, on
 * data of the shape of 20 Newsgroups (5,657 x 130,107, about 155 entries a row, 20 classes). The
 * words are drawn as in a text: the chance of a word falls with its rank, and ranks are strewn over
 * the columns.
 *
 *     bench_sparse [rows columns entries-a-row classes]
 *
 * Where python3 has scipy, its two products of the same shape are timed as well, in the same run.
 * The lowest time is for machines that do other work as well. GB/s counts what a pass cannot do
 * without: entries once for each product, results written once, W read once for the scores and once
 * for the ridge. */
#include "kernels/cpu/host_sweep.h"
#include "text_rows.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAMPLES_MAX 201
#define CASE_SECONDS 1.0
#define BATCH 256

static uint64_t random_state = 1;

static double uniform(void) {
    return draw_uniform(&random_state);
}

typedef struct problem {
    size_t rows, columns, classes;
    text_rows text;
    size_t *index;
    int32_t *label;
    void *w, *v, *gradient, *hessian; /* of columns x classes doubles, filled for each precision */
} problem;

static void problem_open(problem *p, size_t mean_entries) {
    const size_t size = p->columns * p->classes;
    text_rows_open(&p->text, p->rows, p->columns, mean_entries, &random_state);
    p->index = bench_memory(BATCH, sizeof *p->index);
    p->label = bench_memory(p->rows, sizeof *p->label);
    p->w = bench_memory(size, sizeof(double));
    p->v = bench_memory(size, sizeof(double));
    p->gradient = bench_memory(size, sizeof(double));
    p->hessian = bench_memory(size, sizeof(double));
    for (size_t i = 0; i < BATCH; i++)
        p->index[i] = (size_t)(uniform() * (double)p->rows);
}

static void problem_close(problem *p) {
    void *all[] = {p->index, p->label, p->w, p->v, p->gradient, p->hessian};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    text_rows_close(&p->text);
}

static void fill(void *to, size_t count, bool single) {
    for (size_t i = 0; i < count; i++) {
        const double number = uniform() - 0.5;
        if (single)
            ((float *)to)[i] = (float)number;
        else
            ((double *)to)[i] = number;
    }
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct task {
    const char *name;
    bool single, gradient, hessian, batch, transposed, logistic;
    bool again; /* every call is at the point of the ones before, and finds probabilities kept */
} task;

typedef struct timing {
    double median, lowest;
} timing;

static timing time_pass(const problem *p, const task *t, int threads) {
    double loss = 0.0, sample[SAMPLES_MAX];
    const size_t classes = t->logistic ? 1 : p->classes;
    blv_rows rows = {.rows = p->rows,
                     .columns = p->columns,
                     .row_start = p->text.row_start,
                     .column = p->text.column,
                     .value = t->single ? (const void *)p->text.value_f32 : p->text.value,
                     .label = p->label,
                     .count = p->rows};
    if (t->transposed) {
        rows.column_start = p->text.column_start;
        rows.row = p->text.row;
        rows.column_value =
            t->single ? (const void *)p->text.column_value_f32 : p->text.column_value;
    }
    if (t->batch) {
        rows.count = BATCH;
        rows.index = p->index;
    }
    const blv_sweep pass = {.classes = classes,
                            .w = p->w,
                            .v = t->hessian ? p->v : NULL,
                            .scale = 1.0 / (double)rows.count,
                            .ridge = 1e-4,
                            .keep = t->again,
                            .loss = t->gradient || !t->hessian ? &loss : NULL,
                            .gradient = t->gradient ? p->gradient : NULL,
                            .hessian = t->hessian ? p->hessian : NULL};
    const size_t real_size = t->single ? sizeof(float) : sizeof(double);
    blv_sweep_work *work =
        blv_sweep_work_create(classes, p->columns, real_size, true, rows.count, threads);
    if (!work || (t->again && !blv_sweep_work_keep(work, rows.rows))) {
        blv_sweep_work_destroy(work);
        return (timing){NAN, NAN};
    }
    for (int i = 0; i < 3; i++) /* the second one keeps, the third one uses it */
        blv_host_sweep(&rows, &pass, work);
    size_t samples = 0;
    const double begin = seconds_now();
    while (samples < SAMPLES_MAX && (samples < 5 || seconds_now() - begin < CASE_SECONDS)) {
        const double start = seconds_now();
        blv_host_sweep(&rows, &pass, work);
        sample[samples++] = seconds_now() - start;
    }
    blv_sweep_work_destroy(work);
    qsort(sample, samples, sizeof *sample, by_size);
    return (timing){1e3 * sample[samples / 2], 1e3 * sample[0]};
}

static double bytes_of(const problem *p, const task *t) {
    const double real_size = t->single ? 4.0 : 8.0, products = t->gradient + t->hessian;
    const double classes = t->logistic ? 1.0 : (double)p->classes;
    const double share = t->batch ? (double)BATCH / (double)p->rows : 1.0;
    const double entry = real_size + (double)sizeof(uint32_t);
    const double matrix = (double)p->columns * classes * real_size;
    return share * (1.0 + products) * (double)p->text.entries * entry +
           matrix * (1.0 + (double)t->hessian + 2.0 * products);
}

static const task tasks[] = {
    {"loss", true, false, false, false, true, false, false},
    {"gradient", true, true, false, false, true, false, false},
    {"gradient", false, true, false, false, true, false, false},
    {"Hv", true, false, true, false, true, false, false},
    {"Hv, same point again", true, false, true, false, true, false, true},
    {"gradient + Hv", true, true, true, false, true, false, false},
    {"gradient + Hv", false, true, true, false, true, false, false},
    {"gradient, no transposed copy", true, true, false, false, false, false, false},
    {"gradient, 256 listed rows", true, true, false, true, true, false, false},
    {"logistic gradient", true, true, false, false, true, true, false},
    {"logistic gradient", false, true, false, false, true, true, false},
};

static timing time_scipy(const problem *p) {
    char command[512];
    timing t = {NAN, NAN};
    snprintf(command, sizeof command, "python3 '%s/sparse_products.py' %zu %zu %zu %zu 2>/dev/null",
             BENCH_PEERS, p->rows, p->columns, p->text.entries / p->rows, p->classes);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return t;
    char line[128], *rest = line;
    if (fgets(line, sizeof line, pipe)) {
        t.median = strtod(line, &rest);
        t.lowest = strtod(rest, NULL);
    }
    return pclose(pipe) == 0 ? t : (timing){NAN, NAN};
}

int main(int argc, char **argv) {
    problem p = {.rows = 5657, .columns = 130107, .classes = 20};
    size_t mean_entries = 155;
    if (argc == 5) {
        p.rows = strtoul(argv[1], NULL, 10);
        p.columns = strtoul(argv[2], NULL, 10);
        mean_entries = strtoul(argv[3], NULL, 10);
        p.classes = strtoul(argv[4], NULL, 10);
    }
    if ((argc != 1 && argc != 5) || !p.rows || !p.columns || !mean_entries || p.classes < 2 ||
        p.columns > UINT32_MAX) {
        fputs("usage: bench_sparse [rows columns entries-a-row classes]\n", stderr);
        return 2;
    }
    problem_open(&p, mean_entries);
    printf("%zu x %zu, %zu entries, %zu classes\n", p.rows, p.columns, p.text.entries, p.classes);
    printf("milliseconds, median and lowest\n%-34s %17s %6s %17s %13s\n", "", "1 thread", "GB/s",
           "2 threads", "ratio");
    timing gradient = {NAN, NAN};
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        const task *t = &tasks[i];
        random_state = 7;
        fill(p.w, p.columns * p.classes, t->single);
        fill(p.v, p.columns * p.classes, t->single);
        for (size_t r = 0; r < p.rows; r++)
            p.label[r] = (int32_t)(uniform() * (t->logistic ? 2.0 : (double)p.classes));
        const timing one = time_pass(&p, t, 1), two = time_pass(&p, t, 2);
        printf("%-30s %s %8.3f %8.3f %6.1f %8.3f %8.3f %6.2f %6.2f\n", t->name,
               t->single ? "f32" : "f64", one.median, one.lowest,
               1e-6 * bytes_of(&p, t) / one.median, two.median, two.lowest, one.median / two.median,
               one.lowest / two.lowest);
        fflush(stdout);
        if (t->gradient && isnan(gradient.median))
            gradient = one;
    }
    const timing scipy = time_scipy(&p);
    if (isnan(scipy.median))
        puts("SciPy's two products: skipped, python3 with scipy is not there");
    else
        printf("%-30s f32 %8.3f %8.3f, %.1f and %.1f times the gradient\n", "SciPy's two products",
               scipy.median, scipy.lowest, scipy.median / gradient.median,
               scipy.lowest / gradient.lowest);
    problem_close(&p);
    return 0;
}
