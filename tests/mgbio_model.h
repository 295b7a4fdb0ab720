/* For test_replay_mgbio.c and test_stable.c: what replay_model.h lacks. Dense H and J from the
 * formulas, systems and clipping by LAPACK, and the estimates of the stochastic methods. Include
 * after cmocka.h. */
#ifndef BLV_TESTS_MGBIO_MODEL_H
#define BLV_TESTS_MGBIO_MODEL_H

#include "replay_model.h"

enum { STEPS = 30 };

/* The matrices that one iteration saw: at its own point and, on the same batch, at the last. */
typedef struct seen_matrices {
    double *H, *H_old, *G, *G_old;
    double c_H, c_J;
} seen_matrices;

typedef struct model {
    replay r;
    bool recursive;
    double *x_old, *y_old;
    double *u, *h, *s; /* estimates of fx, fy, gy */
    double *Hm, *G;    /* those of H and J, the latter dx x dy */
    seen_matrices seen[STEPS];
} model;

static inline void open_model(model *m, const blv_problem *problem, formulas kind,
                              const char *solver, const char *const *settings, int hidden) {
    *m = (model){.recursive = strncmp(solver, "msgbio", 6) != 0};
    replay *r = &m->r;
    open_replay(r, problem, kind, solver, settings, hidden);
    double **of_x[] = {&m->x_old, &m->u};
    double **of_y[] = {&m->y_old, &m->h, &m->s};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        *of_x[i] = make_numbers(r->dx);
    for (size_t i = 0; i < sizeof of_y / sizeof *of_y; i++)
        *of_y[i] = make_numbers(r->dy);
    m->Hm = make_numbers(r->dy * r->dy);
    m->G = make_numbers(r->dx * r->dy);
    for (size_t t = 0; t < STEPS; t++) {
        m->seen[t].H = make_numbers(r->dy * r->dy);
        m->seen[t].H_old = make_numbers(r->dy * r->dy);
        m->seen[t].G = make_numbers(r->dx * r->dy);
        m->seen[t].G_old = make_numbers(r->dx * r->dy);
    }
}

static inline void close_model(model *m) {
    double *const all[] = {m->u, m->x_old, m->y_old, m->h, m->s, m->Hm, m->G};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    for (size_t t = 0; t < STEPS; t++) {
        free(m->seen[t].H);
        free(m->seen[t].H_old);
        free(m->seen[t].G);
        free(m->seen[t].G_old);
    }
    close_replay(&m->r);
}

static inline void swap_points(model *m) {
    double *x = m->r.x, *y = m->r.y;
    m->r.x = m->x_old;
    m->r.y = m->y_old;
    m->x_old = x;
    m->y_old = y;
}

/* H (dy x dy) and J (dx x dy) at the model's x and y, on the batch at hand. */
static inline void dense_matrices(const replay *r, double *H, double *J) {
    double *unit = make_numbers(r->dy), *hv = make_numbers(r->dy), *jv = make_numbers(r->dx);
    for (size_t k = 0; k < r->dy; k++) {
        unit[k] = 1.0;
        hessian_times(r, unit, hv);
        cross_times(r, unit, jv);
        unit[k] = 0.0;
        for (size_t i = 0; i < r->dy; i++)
            H[i * r->dy + k] = hv[i];
        for (size_t i = 0; i < r->dx; i++)
            J[i * r->dy + k] = jv[i];
    }
    free(unit);
    free(hv);
    free(jv);
}

/* v = M \ b by LAPACK, M symmetric */
static inline void indefinite_solve(size_t n, const double *m, const double *b, double *v) {
    double *copy = make_numbers(n * n);
    int *pivots = malloc(n * sizeof *pivots);
    assert_non_null(pivots);
    memcpy(copy, m, n * n * sizeof *copy);
    memcpy(v, b, n * sizeof *v);
    assert_int_equal(LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'L', (int)n, 1, copy, (int)n, pivots, v, 1),
                     0);
    free(copy);
    free(pivots);
}

/* Eigenvalues into [lo, hi] in size, with their signs. */
static inline void clip_by_eigenvalues(size_t n, double *a, double lo, double hi) {
    double *q = make_numbers(n * n), *values = make_numbers(n);
    memcpy(q, a, n * n * sizeof *q);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', (int)n, q, (int)n, values), 0);
    memset(a, 0, n * n * sizeof *a);
    for (size_t k = 0; k < n; k++) {
        double size = fmin(fmax(fabs(values[k]), lo), hi);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] += (values[k] < 0.0 ? -size : size) * q[i * n + k] * q[j * n + k];
    }
    free(q);
    free(values);
}

static inline void clip_by_svd(size_t rows, size_t columns, double *a, double hi) {
    size_t least = rows < columns ? rows : columns;
    double *copy = make_numbers(rows * columns), *s = make_numbers(least);
    double *u = make_numbers(rows * least), *vt = make_numbers(least * columns);
    double *spare = make_numbers(least);
    memcpy(copy, a, rows * columns * sizeof *copy);
    assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', (int)rows, (int)columns, copy,
                                    (int)columns, s, u, (int)least, vt, (int)columns, spare),
                     0);
    memset(a, 0, rows * columns * sizeof *a);
    for (size_t k = 0; k < least; k++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                a[i * columns + j] += fmin(s[k], hi) * u[i * least + k] * vt[k * columns + j];
    double *const all[] = {copy, s, u, vt, spare};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* x += eta (P_X(x - gamma w) - x) */
static inline void move_x_part(const replay *r, double eta, double gamma, const double *w) {
    for (size_t j = 0; j < r->dx; j++) {
        double ahead = fmin(fmax(r->x[j] - gamma * w[j], r->lo), r->hi);
        r->x[j] += eta * (ahead - r->x[j]);
    }
}

/* out = c here + (1-c) out, or here + (1-c) (out - old) */
static inline void renew(const model *m, size_t n, double c, const double *here, const double *old,
                         double *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = m->recursive ? here[i] + (1.0 - c) * (out[i] - old[i])
                              : c * here[i] + (1.0 - c) * out[i];
}

/* ---- The record ---- */

static inline bool same_batch(const spy_call *a, const spy_call *b) {
    return a->whole == b->whole && a->count == b->count &&
           (a->whole || memcmp(a->index, b->index, a->count * sizeof *a->index) == 0);
}

/* Marks all calls of these kinds and tells how many there are; they must be on the given batch,
 * unless that is NULL. */
static inline size_t mark(replay *r, const char *kinds, const spy_call *batch) {
    size_t count = 0;
    for (size_t i = 0; i < r->watch.size; i++) {
        spy_call *call = &r->watch.calls[i];
        if (call->seen || !strchr(kinds, call->kind))
            continue;
        if (batch && !same_batch(call, batch))
            fail_msg("step %zu: a call of kind %c is on another batch", r->t, call->kind);
        call->seen = true;
        count++;
    }
    return count;
}

#endif
