/* For the tests of the Neumann and recursive-momentum solvers: their steps a second time, in plain
 * dense arrays and on the recorded batches. Include after cmocka.h. */
#ifndef BLV_TESTS_NEUMANN_MODEL_H
#define BLV_TESTS_NEUMANN_MODEL_H

#include "replay_model.h"

typedef struct point {
    double *x, *y;
} point;

/* What the solvers of the family remember, and room for two estimates. */
typedef struct family {
    replay r;
    point now, old; /* r.x and r.y are `now`, except while an oracle is asked elsewhere */
    double *v_old, *u, *w;
    double *g[2], *hg[2];
    double *term[2], *sum[2];
} family;

static inline void open_family(family *f) {
    replay *r = &f->r;
    double **of_x[] = {&f->old.x, &f->w, &f->hg[0], &f->hg[1]};
    double **of_y[] = {&f->old.y,   &f->v_old,   &f->u,      &f->g[0],  &f->g[1],
                       &f->term[0], &f->term[1], &f->sum[0], &f->sum[1]};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        *of_x[i] = make_numbers(r->dx);
    for (size_t i = 0; i < sizeof of_y / sizeof *of_y; i++)
        *of_y[i] = make_numbers(r->dy);
    f->now = (point){r->x, r->y};
}

static inline void close_family(family *f) {
    double *const all[] = {f->old.x, f->w,    f->hg[0],   f->hg[1],   f->old.y,  f->v_old, f->u,
                           f->g[0],  f->g[1], f->term[0], f->term[1], f->sum[0], f->sum[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static inline void keep_old(family *f) {
    memcpy(f->old.x, f->now.x, f->r.dx * sizeof(double));
    memcpy(f->old.y, f->now.y, f->r.dy * sizeof(double));
}

static inline void visit(family *f, size_t i) {
    f->r.x = i == 0 ? f->now.x : f->old.x;
    f->r.y = i == 0 ? f->now.y : f->old.y;
}

/* ---- The record ---- */

static inline size_t calls_left(const family *f, char kind) {
    size_t count = 0;
    for (size_t i = 0; i < f->r.watch.size; i++)
        count += !f->r.watch.calls[i].seen && f->r.watch.calls[i].kind == kind;
    return count;
}

/* The next `count` calls of a kind, one for each point: all on one batch, which is loaded. */
static inline const spy_call *take_for_all(family *f, char kind, size_t count) {
    replay *r = &f->r;
    const spy_call *first = NULL;
    size_t taken = 0;
    for (size_t i = 0; i < r->watch.size && taken < count; i++) {
        spy_call *call = &r->watch.calls[i];
        if (call->seen || call->kind != kind)
            continue;
        call->seen = true;
        taken++;
        if (first)
            assert_same_batch(first, call);
        else
            first = call;
    }
    if (taken < count)
        fail_msg("step %zu made too few calls of kind %c", r->t, kind);
    if (r->kind == QUADRATIC && first->whole)
        load_whole(r);
    else if (r->kind == QUADRATIC)
        load_batch(r, first);
    return first;
}

/* ---- Pieces ---- */

/* g[i] = gy at point i. */
static inline void lower_for_all(family *f, size_t points) {
    take_for_all(f, 'l', points);
    for (size_t i = 0; i < points; i++) {
        visit(f, i);
        lower(&f->r);
        memcpy(f->g[i], f->r.gy, f->r.dy * sizeof(double));
    }
    visit(f, 0);
}

static inline void upper_for_all(family *f, size_t points) {
    take_for_all(f, 'u', points);
    for (size_t i = 0; i < points; i++) {
        visit(f, i);
        upper(&f->r);
        memcpy(f->hg[i], f->r.fx, f->r.dx * sizeof(double));
        memcpy(f->term[i], f->r.fy, f->r.dy * sizeof(double));
    }
    visit(f, 0);
}

/* term = (I - eta H) term, on the next batch */
static inline void factor_for_all(family *f, size_t points, double eta) {
    take_for_all(f, 'h', points);
    for (size_t i = 0; i < points; i++) {
        visit(f, i);
        hessian_times(&f->r, f->term[i], f->r.hv);
        move(f->r.dy, f->term[i], eta, f->r.hv);
    }
    visit(f, 0);
}

/* hg -= J v */
static inline void cross_for_all(family *f, size_t points, double *const *v) {
    take_for_all(f, 'j', points);
    for (size_t i = 0; i < points; i++) {
        visit(f, i);
        cross_times(&f->r, v[i], f->r.jv);
        move(f->r.dx, f->hg[i], 1.0, f->r.jv);
    }
    visit(f, 0);
}

/* hg[i] = fx - J (eta sum_{q=0..Q} (I - eta H_q)...(I - eta H_1) fy) */
static inline void neumann_sum(family *f, size_t points) {
    const double eta = setting(&f->r, "eta", NAN);
    const size_t Q = count_setting(&f->r, "Q", 0);
    upper_for_all(f, points);
    for (size_t i = 0; i < points; i++)
        memcpy(f->sum[i], f->term[i], f->r.dy * sizeof(double));
    for (size_t q = 0; q < Q; q++) {
        factor_for_all(f, points, eta);
        for (size_t i = 0; i < points; i++)
            move(f->r.dy, f->sum[i], -1.0, f->term[i]);
    }
    for (size_t i = 0; i < points; i++)
        for (size_t k = 0; k < f->r.dy; k++)
            f->sum[i][k] *= eta;
    cross_for_all(f, points, f->sum);
    memcpy(f->r.v, f->sum[0], f->r.dy * sizeof(double));
}

/* hg[i] = fx - J (Q eta (I - eta H_p)...(I - eta H_1) fy); p shows in the number of products. */
static inline void neumann_random(family *f, size_t points) {
    const double eta = setting(&f->r, "eta", NAN);
    const size_t Q = count_setting(&f->r, "Q", 0), p = calls_left(f, 'h') / points;
    assert_in_range(p, 0, Q - 1);
    upper_for_all(f, points);
    for (size_t q = 0; q < p; q++)
        factor_for_all(f, points, eta);
    for (size_t i = 0; i < points; i++)
        for (size_t k = 0; k < f->r.dy; k++)
            f->term[i][k] *= (double)Q * eta;
    cross_for_all(f, points, f->term);
    memcpy(f->r.v, f->term[0], f->r.dy * sizeof(double));
}

/* estimate = now + (1 - c) (estimate - before) */
static inline void recursive(size_t n, double *estimate, double c, const double *now,
                             const double *before) {
    for (size_t i = 0; i < n; i++)
        estimate[i] = c == 1.0 ? now[i] : now[i] + (1.0 - c) * (estimate[i] - before[i]);
}

#endif
