/* For the tests that compute the iterates of solvers a second time: the record of one run's oracle
 * calls, and the problems' derivatives from their formulas, in plain dense arrays. Include after
 * cmocka.h. */
#ifndef BLV_TESTS_REPLAY_MODEL_H
#define BLV_TESTS_REPLAY_MODEL_H

#include "blv_testing.h"

typedef enum { QUADRATIC, SCALAR_PENALTY, PL_SINE } formulas;

typedef struct replay {
    const blv_problem *problem;
    spy watch;
    blv_problem *watched;
    blv_run *run;
    const char *const *settings;
    formulas kind;
    size_t dx, dy, t;
    double agreement;        /* that is asked for, relative to 1 + |number| */
    double lo, hi;           /* X */
    double *A, *C, *c, *b;   /* of the batch at hand */
    double ridge;            /* the same for all batches */
    double *x, *y, *v;       /* what x, y and v should be */
    double *fx, *fy, *gy;    /* gradients */
    double *hv, *jv, *p, *q; /* products, and room for CG */
    double alpha, beta, gamma;
} replay;

static inline double setting(const replay *r, const char *key, double otherwise) {
    for (size_t i = 0; r->settings && r->settings[i]; i += 2)
        if (strcmp(r->settings[i], key) == 0)
            return strtod(r->settings[i + 1], NULL);
    return otherwise;
}

static inline size_t count_setting(const replay *r, const char *key, size_t otherwise) {
    return (size_t)setting(r, key, (double)otherwise);
}

static inline bool setting_is(const replay *r, const char *key, const char *word) {
    for (size_t i = 0; r->settings && r->settings[i]; i += 2)
        if (strcmp(r->settings[i], key) == 0)
            return strcmp(r->settings[i + 1], word) == 0;
    return false;
}

/* ---- A run that is watched ---- */

/* Numbers in [-scale, scale] that are the same everywhere. */
static inline void fill_start(size_t n, unsigned seed, double scale, double *out) {
    uint64_t state = 88172645463325252u + seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        out[i] = scale * ((double)(state >> 11) * 0x1p-52 - 1.0);
    }
}

/* x, y and v get a start of random numbers. */
static inline void open_replay(replay *r, const blv_problem *problem, formulas kind,
                               const char *solver, const char *const *settings, int hidden) {
    *r = (replay){.problem = problem, .settings = settings, .kind = kind, .agreement = 1e-10};
    r->watched = spy_on(&r->watch, problem, hidden);
    r->watch.record = true;
    r->run = make_run(r->watched, solver, settings);
    r->dx = r->watch.inner->dim_x;
    r->dy = r->watch.inner->dim_y;
    r->lo = kind == QUADRATIC ? -INFINITY : 0.0;
    r->hi = kind == PL_SINE ? 3.0 : INFINITY;
    r->ridge = kind == QUADRATIC ? *array_of(problem, "ridge") : 0.0;
    double **of_x[] = {&r->x, &r->fx, &r->jv};
    double **of_y[] = {&r->y, &r->v, &r->fy, &r->gy, &r->hv, &r->p, &r->q, &r->c, &r->b};
    for (size_t i = 0; i < LENGTH(of_x); i++)
        *of_x[i] = make_numbers(r->dx);
    for (size_t i = 0; i < LENGTH(of_y); i++)
        *of_y[i] = make_numbers(r->dy);
    r->A = make_numbers(r->dy * r->dy);
    r->C = make_numbers(r->dy * r->dx);
    fill_start(r->dx, 1, 1.0, r->x);
    fill_start(r->dy, 2, 1.0, r->y);
    fill_start(r->dy, 3, 0.5, r->v);
}

static inline void close_replay(replay *r) {
    double *const all[] = {r->x,  r->y, r->v, r->fx, r->fy, r->gy, r->hv,
                           r->jv, r->p, r->q, r->c,  r->b,  r->A,  r->C};
    for (size_t i = 0; i < LENGTH(all); i++)
        free(all[i]);
    blv_run_destroy(r->run);
    blv_problem_destroy(r->watched);
    spy_free(&r->watch);
}

/* Where they are not NULL, a problem of one x and one y starts there. */
static inline void start_at(replay *r, const double *x0, const double *y0) {
    if (x0)
        *r->x = *x0;
    if (y0)
        *r->y = *y0;
}

static inline void compare(const replay *r, const char *name, size_t n, const double *expected) {
    double *values = make_numbers(n);
    read_state(r->run, name, values);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(values[i] - expected[i]) <= r->agreement * (1.0 + fabs(expected[i]))))
            fail_msg(
                "%s on %s (%zu, %zu), step %zu: %s[%zu] is %.17g, expected %.17g (off by %.3g)",
                blv_run_solver(r->run)->name, r->watch.inner->name, r->dx, r->dy, r->t, name, i,
                values[i], expected[i], fabs(values[i] - expected[i]));
    free(values);
}

static inline void expect_all_needed(const replay *r) {
    for (size_t i = 0; i < r->watch.size; i++)
        if (!r->watch.calls[i].seen)
            fail_msg("%s, step %zu: a call of kind %c was not needed", blv_run_solver(r->run)->name,
                     r->t, r->watch.calls[i].kind);
}

/* ---- Problems ---- */

typedef struct shape {
    const char *dx, *dy, *kappa, *ridge, *step; /* step: safe for gradient steps on g */
} shape;

static inline blv_problem *make_quadratic(const shape *s, const char *terms) {
    return make_problem("quadratic", SETTINGS("dx", s->dx, "dy", s->dy, "kappa", s->kappa, "ridge",
                                              s->ridge, "terms", terms, "seed", "4"));
}

/* The bounds of X are met on the way: the starts are on or near them. */
static const struct toy_start {
    const char *name;
    formulas kind;
    double x, y;
} toy_starts[] = {{"scalar-penalty", SCALAR_PENALTY, 0.0, 0.05},
                  {"scalar-penalty", SCALAR_PENALTY, 1.0, 0.0},
                  {"scalar-penalty", SCALAR_PENALTY, 0.02, -1.0},
                  {"pl-sine", PL_SINE, 0.0, 0.2},
                  {"pl-sine", PL_SINE, 1.5, -1.4},
                  {"pl-sine", PL_SINE, 3.0, -2.9}};

/* ---- The record ---- */

static inline void load_whole(replay *r) {
    memcpy(r->A, array_of(r->problem, "A"), r->dy * r->dy * sizeof(double));
    memcpy(r->C, array_of(r->problem, "C"), r->dy * r->dx * sizeof(double));
    memcpy(r->c, array_of(r->problem, "c"), r->dy * sizeof(double));
    memcpy(r->b, array_of(r->problem, "b"), r->dy * sizeof(double));
}

/* A, C, c and b of one batch, as the oracles show them on unit vectors. */
static inline void load_batch(replay *r, const spy_call *call) {
    const blv_problem_def *def = r->watch.inner;
    const blv_batch batch = {.count = call->count, .index = call->index};
    blv_vec *x, *y, *unit, *of_x, *of_y;
    double *host = make_numbers(r->dx + r->dy);
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&unit, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&of_x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&of_y, def->space_y), BLV_OK);
    for (size_t k = 0; k < r->dy; k++) {
        memset(host, 0, r->dy * sizeof *host);
        host[k] = 1.0;
        blv_vec_write(unit, host);
        assert_int_equal(def->lower_hvp(def->user, &batch, x, y, unit, of_y), 0);
        assert_int_equal(def->lower_cross(def->user, &batch, x, y, unit, of_x), 0);
        blv_vec_read(of_y, r->A + k * r->dy); /* A is symmetric: a column is a row */
        blv_vec_read(of_x, r->C + k * r->dx); /* C'e_k is row k of C */
    }
    assert_int_equal(def->lower(def->user, &batch, x, y, NULL, NULL, of_y), 0);
    blv_vec_read(of_y, r->c);
    assert_int_equal(def->upper(def->user, &batch, x, y, NULL, NULL, of_y), 0);
    blv_vec_read(of_y, r->b);
    for (size_t k = 0; k < r->dy; k++)
        r->b[k] = -r->b[k];
    free(host);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(unit);
    blv_vec_destroy(of_x);
    blv_vec_destroy(of_y);
}

/* The next call of a kind that this step made; the problem becomes that of its batch. */
static inline const spy_call *take(replay *r, char kind) {
    for (size_t i = 0; i < r->watch.size; i++) {
        spy_call *call = &r->watch.calls[i];
        if (call->seen || call->kind != kind)
            continue;
        call->seen = true;
        assert_int_equal(call->whole, isnan(setting(r, "batch", NAN)));
        if (r->kind == QUADRATIC && call->whole)
            load_whole(r);
        else if (r->kind == QUADRATIC)
            load_batch(r, call);
        return call;
    }
    fail_msg("step %zu made too few calls of kind %c", r->t, kind);
    return NULL;
}

static inline void assert_same_batch(const spy_call *a, const spy_call *b) {
    assert_int_equal(a->whole, b->whole);
    assert_int_equal(a->count, b->count);
    if (!a->whole)
        assert_memory_equal(a->index, b->index, a->count * sizeof *a->index);
}

/* gy, Hv and Jv on one batch: in one call where the problem has such an oracle, else in three. */
static inline void take_all(replay *r) {
    if (blv_problem_definition(r->watched)->lower_all) {
        take(r, 'a');
        return;
    }
    const spy_call *lower = take(r, 'l');
    assert_same_batch(lower, take(r, 'h'));
    assert_same_batch(lower, take(r, 'j'));
}

/* ---- The problems, from their formulas ---- */

static inline void upper(const replay *r) {
    double x = r->x[0], y = r->y[0];
    if (r->kind == SCALAR_PENALTY) { /* f = (y-0.1)^2/2 */
        r->fx[0] = 0.0;
        r->fy[0] = y - 0.1;
    } else if (r->kind == PL_SINE) { /* f = cos(4y+2)/(1+e) + ln(w^2+1)/2 */
        double e = exp(2.0 - 4.0 * x), w = 4.0 * x - 2.0;
        r->fx[0] = cos(4.0 * y + 2.0) * 4.0 * e / ((1.0 + e) * (1.0 + e)) + 4.0 * w / (w * w + 1.0);
        r->fy[0] = -4.0 * sin(4.0 * y + 2.0) / (1.0 + e);
    } else {
        for (size_t j = 0; j < r->dx; j++)
            r->fx[j] = r->ridge * r->x[j];
        for (size_t i = 0; i < r->dy; i++)
            r->fy[i] = r->y[i] - r->b[i];
    }
}

static inline void lower(const replay *r) {
    double x = r->x[0], y = r->y[0], t = x + y;
    if (r->kind == SCALAR_PENALTY) { /* g = 0.05 (y-1)^2 + x y^2 */
        r->gy[0] = 0.1 * (y - 1.0) + 2.0 * x * y;
    } else if (r->kind == PL_SINE) { /* g = t^2 + x sin^2 t */
        r->gy[0] = 2.0 * t + 2.0 * x * sin(t) * cos(t);
    } else {
        dense_times(r->dy, r->dx, r->C, r->x, r->gy);
        for (size_t i = 0; i < r->dy; i++)
            r->gy[i] += r->c[i] + dense_inner(r->dy, r->A + i * r->dy, r->y);
    }
}

static inline void hessian_times(const replay *r, const double *v, double *out) {
    double x = r->x[0], t = x + r->y[0];
    if (r->kind == SCALAR_PENALTY)
        out[0] = (0.1 + 2.0 * x) * v[0];
    else if (r->kind == PL_SINE)
        out[0] = (2.0 + 2.0 * x * (cos(t) * cos(t) - sin(t) * sin(t))) * v[0];
    else
        dense_times(r->dy, r->dy, r->A, v, out);
}

static inline void cross_times(const replay *r, const double *v, double *out) {
    double x = r->x[0], t = x + r->y[0];
    if (r->kind == SCALAR_PENALTY)
        out[0] = 2.0 * r->y[0] * v[0];
    else if (r->kind == PL_SINE)
        out[0] =
            (2.0 + 2.0 * sin(t) * cos(t) + 2.0 * x * (cos(t) * cos(t) - sin(t) * sin(t))) * v[0];
    else
        dense_transposed_times(r->dy, r->dx, r->C, v, out);
}

static inline void move(size_t n, double *iterate, double step, const double *direction) {
    for (size_t i = 0; i < n; i++)
        iterate[i] -= step * direction[i];
}

static inline void move_x(const replay *r, double step, const double *direction) {
    move(r->dx, r->x, step, direction);
    for (size_t j = 0; j < r->dx; j++)
        r->x[j] = fmin(fmax(r->x[j], r->lo), r->hi);
}

/* hv becomes r = H v - fy, fx becomes d = fx - J v. */
static inline void make_r(const replay *r) {
    for (size_t i = 0; i < r->dy; i++)
        r->hv[i] -= r->fy[i];
}

static inline void make_d(const replay *r) {
    for (size_t j = 0; j < r->dx; j++)
        r->fx[j] -= r->jv[j];
}

#endif
