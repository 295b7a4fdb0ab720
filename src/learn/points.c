#include "learn/points.h"
#include "base/thread_pool.h"

enum { SPAN = 256, LANES = 16 };

typedef struct spans {
    size_t count;
    blv_span_fn run;
    void *context;
} spans;

static void run_span(void *context, size_t task, int member) {
    const spans *s = context;
    const size_t begin = task * SPAN, end = begin + SPAN < s->count ? begin + SPAN : s->count;
    (void)member;
    s->run(s->context, begin, end);
}

void blv_in_spans(int threads, size_t count, blv_span_fn run, void *context) {
    spans s = {count, run, context};
    blv_threads_run(threads > 0 ? threads : blv_threads_processors(), (count + SPAN - 1) / SPAN,
                    run_span, &s);
}

size_t blv_points_dim(const blv_points *p) {
    return p->left_width * p->right_width;
}

/* Sixteen sums that are added up at the end, so that a compiler may use vectors. */
#define DOT(name, real)                                                                            \
    static double name(const float *a, const real *b, size_t count) {                              \
        double lane[LANES] = {0.0}, sum = 0.0;                                                     \
        size_t i = 0;                                                                              \
        for (; i + LANES <= count; i += LANES)                                                     \
            for (size_t k = 0; k < LANES; k++)                                                     \
                lane[k] += (double)a[i + k] * (double)b[i + k];                                    \
        for (; i < count; i++)                                                                     \
            sum += (double)a[i] * (double)b[i];                                                    \
        for (size_t k = 0; k < LANES; k++)                                                         \
            sum += lane[k];                                                                        \
        return sum;                                                                                \
    }
DOT(dot, float)
DOT(dot_with, double)

static const float *left_of(const blv_points *p, size_t i) {
    static const float one = 1.0f;
    return p->left ? p->left + i * p->left_width : &one;
}

static const float *right_of(const blv_points *p, size_t i) {
    return p->right + i * p->right_width;
}

double blv_points_dot(const blv_points *p, size_t i, size_t j) {
    return dot(left_of(p, i), left_of(p, j), p->left_width) *
           dot(right_of(p, i), right_of(p, j), p->right_width);
}

typedef struct times {
    const blv_points *points;
    const double *v;
    double *out;
} times;

static void times_span(void *context, size_t begin, size_t end) {
    const times *t = context;
    const blv_points *p = t->points;
    for (size_t i = begin; i < end; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < p->left_width; k++)
            sum += (double)left_of(p, i)[k] *
                   dot_with(right_of(p, i), t->v + k * p->right_width, p->right_width);
        t->out[i] = sum;
    }
}

void blv_points_times(const blv_points *points, const double *v, double *out) {
    times t = {points, v, out};
    blv_in_spans(points->threads, points->count, times_span, &t);
}

void blv_points_add(const blv_points *p, size_t i, double factor, double *sum) {
    const float *right = right_of(p, i);
    for (size_t k = 0; k < p->left_width; k++) {
        const double c = factor * (double)left_of(p, i)[k];
        double *row = sum + k * p->right_width;
        for (size_t j = 0; j < p->right_width; j++)
            row[j] += c * (double)right[j];
    }
}

void blv_points_sum(const blv_points *p, const double *weight, double *sum) {
    for (size_t j = 0; j < blv_points_dim(p); j++)
        sum[j] = 0.0;
    for (size_t i = 0; i < p->count; i++)
        blv_points_add(p, i, weight ? weight[i] : 1.0 / (double)p->count, sum);
}
