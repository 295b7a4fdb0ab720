/* The oracles of problems that are sums of terms. */
#include "unseen_terms.h"
#include "unseen_problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- Losses: value, slope and curvature ---- */

static void loss_at(loss kind, double s, double *v, double *d, double *c) {
    double e, r;
    switch (kind) {
    case SQUARE:
        *v = 0.5 * s * s, *d = s, *c = 1.0;
        return;
    case QUARTIC:
        *v = 0.25 * s * s * s * s, *d = s * s * s, *c = 3.0 * s * s;
        return;
    case LOGISTIC:
        e = exp(-fabs(s)), r = s > 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
        *v = log1p(e) + fmax(-s, 0.0), *d = -r, *c = r * (1.0 - r);
        return;
    case PSEUDO_HUBER:
        r = sqrt(1.0 + s * s);
        *v = r - 1.0, *d = s / r, *c = 1.0 / (r * r * r);
        return;
    case LOG_COSH:
        e = exp(-2.0 * fabs(s));
        *v = fabs(s) + log1p(e) - log(2.0), *d = tanh(s), *c = 1.0 - *d * *d;
        return;
    case SMOOTH_ABS:
        r = sqrt(0.01 + s * s);
        *v = r, *d = s / r, *c = 0.01 / (r * r * r);
        return;
    case EXPONENTIAL:
        *v = *d = *c = exp(s);
        return;
    case SOFTPLUS_SQUARE: /* (softplus(s) - 1)^2 / 2, which is not convex everywhere */
        e = exp(-fabs(s)), r = s > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
        *v = log1p(e) + fmax(s, 0.0) - 1.0;
        *d = *v * r, *c = r * r + *v * r * (1.0 - r), *v = 0.5 * *v * *v;
        return;
    case TANH_SQUARE: /* (tanh(s) - 1/2)^2 / 2, likewise */
        r = tanh(s), e = 1.0 - r * r;
        *v = 0.5 * (r - 0.5) * (r - 0.5), *d = (r - 0.5) * e;
        *c = e * e - 2.0 * (r - 0.5) * r * e;
        return;
    case SQUARED_HINGE:
        r = fmax(1.0 - s, 0.0);
        *v = 0.5 * r * r, *d = -r, *c = r > 0.0 ? 1.0 : 0.0;
        return;
    case CAUCHY:
        r = 1.0 + s * s;
        *v = 0.5 * log(r), *d = s / r, *c = (1.0 - s * s) / (r * r);
        return;
    case LINEAR:
        break;
    }
    *v = s, *d = 1.0, *c = 0.0;
}

/* ---- Oracles ---- */

typedef struct outputs {
    double *value, *x, *y, *hv, *jv; /* NULL: not wanted */
    const double *v;
} outputs;

static double row_dot(const rows *r, size_t i, const double *at) {
    double sum = 0.0;
    for (size_t k = r->start[i]; k < r->start[i + 1]; k++)
        sum += r->value[k] * at[r->index[k]];
    return sum;
}

static void row_add(const rows *r, size_t i, double by, double *to) {
    for (size_t k = r->start[i]; to && k < r->start[i + 1]; k++)
        to[r->index[k]] += by * r->value[k];
}

static void add_term(const unseen *p, const level *m, size_t i, double weight, const double *x,
                     const double *y, const outputs *out) {
    double v, d, c;
    loss_at(m->loss[i], row_dot(&m->y, i, y) + row_dot(&m->x, i, x) - m->shift[i], &v, &d, &c);
    const size_t k = m->scale[i] - 1;
    const double by = m->scale[i] == 0 ? 1.0 : p->plain_scale ? x[k] : exp(x[k]);
    const double slope_by = m->scale[i] == 0 ? 0.0 : p->plain_scale ? 1.0 : by;
    weight *= m->weight[i];
    *out->value += weight * by * v;
    row_add(&m->y, i, weight * by * d, out->y);
    row_add(&m->x, i, weight * by * d, out->x);
    if (out->x && slope_by != 0.0)
        out->x[k] += weight * slope_by * v;
    if (!out->v)
        return;
    const double along = row_dot(&m->y, i, out->v);
    row_add(&m->y, i, weight * by * c * along, out->hv);
    row_add(&m->x, i, weight * by * c * along, out->jv);
    if (out->jv && slope_by != 0.0)
        out->jv[k] += weight * slope_by * d * along;
}

static double *zeros(blv_vec *v) {
    if (!v)
        return NULL;
    blv_vec_fill(v, 0.0);
    return blv_vec_f64_mut(v);
}

static void all_terms(const unseen *p, const level *m, const blv_batch *batch, const blv_vec *x,
                      const blv_vec *y, const outputs *out) {
    const double *at_x = blv_vec_f64(x), *at_y = blv_vec_f64(y);
    const size_t count = batch ? batch->count : m->samples;
    for (size_t k = 0; k < count; k++) {
        size_t i = !batch ? k : batch->index ? batch->index[k] : batch->first + k;
        add_term(p, m, i, 1.0 / (double)count, at_x, at_y, out);
    }
    for (size_t i = m->samples; i < m->count; i++)
        add_term(p, m, i, 1.0, at_x, at_y, out);
}

double unseen_processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double deadline = INFINITY;

void unseen_fail_after(double seconds) {
    deadline = isfinite(seconds) ? unseen_processor_seconds() + seconds : seconds;
}

/* What the oracles of g return. */
static int late(void) {
    return isfinite(deadline) && unseen_processor_seconds() > deadline ? -1 : 0;
}

static int value_and_gradients(const unseen *p, const level *m, const blv_batch *batch,
                               const blv_vec *x, const blv_vec *y, double *value, blv_vec *of_x,
                               blv_vec *of_y) {
    double sum = 0.0;
    const outputs out = {.value = &sum, .x = zeros(of_x), .y = zeros(of_y)};
    all_terms(p, m, batch, x, y, &out);
    if (value)
        *value = sum;
    return 0;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    const unseen *p = user;
    return value_and_gradients(p, &p->upper, batch, x, y, f, fx, fy);
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    const unseen *p = user;
    value_and_gradients(p, &p->lower, batch, x, y, g, gx, gy);
    return late();
}

static int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *hv) {
    const unseen *p = user;
    double sum = 0.0;
    all_terms(p, &p->lower, batch, x, y,
              &(outputs){.value = &sum, .hv = zeros(hv), .v = blv_vec_f64(v)});
    return late();
}

static int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *jv) {
    const unseen *p = user;
    double sum = 0.0;
    all_terms(p, &p->lower, batch, x, y,
              &(outputs){.value = &sum, .jv = zeros(jv), .v = blv_vec_f64(v)});
    return 0;
}

/* Into the box, or onto the simplex by bisection. */
static int project(void *user, blv_vec *vec) {
    const unseen *p = user;
    double *x = blv_vec_f64_mut(vec), low = -1e3, high = 1e3;
    const size_t n = blv_vec_dim(vec);
    for (int k = 0; k < 100 && p->low == p->high; k++) {
        double sum = 0.0, t = 0.5 * (low + high);
        for (size_t i = 0; i < n; i++)
            sum += fmax(x[i] - t, 0.0);
        *(sum > 1.0 ? &low : &high) = t;
    }
    for (size_t i = 0; i < n; i++)
        x[i] = p->low == p->high ? fmax(x[i] - high, 0.0) : fmin(fmax(x[i], p->low), p->high);
    return 0;
}

/* ---- Making terms ---- */

void *unseen_memory(void *old, size_t count, size_t size) {
    void *memory = realloc(old, count * size);
    if (!memory) {
        fprintf(stderr, "unseen: memory is short\n");
        exit(1);
    }
    return memory;
}

static void open_row(rows *r, size_t term, size_t room) {
    r->start = unseen_memory(r->start, room + 1, sizeof *r->start);
    if (term == 0)
        r->start[0] = 0;
}

size_t unseen_term(level *m, loss kind, double weight, double shift, size_t scale) {
    const size_t i = m->count++;
    if (m->count > m->room) {
        m->room = 2 * m->count + 64;
        m->loss = unseen_memory(m->loss, m->room, sizeof *m->loss);
        m->weight = unseen_memory(m->weight, m->room, sizeof *m->weight);
        m->shift = unseen_memory(m->shift, m->room, sizeof *m->shift);
        m->scale = unseen_memory(m->scale, m->room, sizeof *m->scale);
        open_row(&m->y, i, m->room);
        open_row(&m->x, i, m->room);
    }
    m->loss[i] = kind, m->weight[i] = weight, m->shift[i] = shift, m->scale[i] = scale;
    m->y.start[i + 1] = m->y.start[i];
    m->x.start[i + 1] = m->x.start[i];
    return i;
}

void unseen_with(rows *r, size_t term, size_t index, double value) {
    const size_t k = r->start[term + 1]++;
    if ((k & (k + 1)) == 0 || k == 0) { /* at 0, 1, 3, 7, ... */
        r->index = unseen_memory(r->index, 2 * k + 2, sizeof *r->index);
        r->value = unseen_memory(r->value, 2 * k + 2, sizeof *r->value);
    }
    r->index[k] = index, r->value[k] = value;
}

static void free_level(level *m) {
    void *const parts[] = {m->y.start, m->y.index, m->y.value, m->x.start, m->x.index,
                           m->x.value, m->loss,    m->weight,  m->shift,   m->scale};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

static void free_unseen(void *user) {
    unseen *p = user;
    free_level(&p->upper);
    free_level(&p->lower);
    free(p);
}

blv_problem *unseen_of(unseen *p, const char *name, size_t dim_x, size_t dim_y, bool first_order) {
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .name = name,
                                 .dim_x = dim_x,
                                 .dim_y = dim_y,
                                 .threads = 1,
                                 .user = p,
                                 .free_user = free_unseen,
                                 .upper = upper,
                                 .upper_samples = p->upper.samples,
                                 .lower = lower,
                                 .lower_samples = p->lower.samples,
                                 .lower_hvp = first_order ? NULL : hvp,
                                 .lower_cross = first_order ? NULL : cross,
                                 .project_x = isnan(p->low) ? NULL : project};
    blv_problem *problem = NULL;
    blv_message why;
    if (blv_problem_create(&problem, &def, &why) != BLV_OK) {
        fprintf(stderr, "unseen: %s\n", why.text);
        exit(1);
    }
    return problem;
}
