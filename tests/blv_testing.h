/* What the tests of solvers and problems share: problems and runs by name, small dense algebra, the
 * quadratic's true gradient by LAPACK, and a spy: a problem that hands on every call to another
 * one, counts it and writes down its batch. Include after cmocka.h. */
#ifndef BLV_TESTS_BLV_TESTING_H
#define BLV_TESTS_BLV_TESTING_H

#include "bilevel/bilevel.h"

#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- Problems and runs ---- */

/* settings: {"key", "value", ..., NULL} or NULL. Files are looked for in the folder of BILEVEL_DATA
 * too. */
static inline blv_problem *make_problem_as(const char *name, const char *const *settings,
                                           blv_precision precision, int threads) {
    blv_message why;
    blv_problem *problem = NULL;
    const blv_problem_options options = {.size = sizeof(blv_problem_options),
                                         .precision = precision,
                                         .threads = threads,
                                         .data_folder = getenv("BILEVEL_DATA")};
    const blv_problem_family *family = blv_family_find(NULL, name, &why);
    if (!family || blv_problem_from_family(family, settings, &options, &problem, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return problem;
}

static inline blv_problem *make_problem(const char *name, const char *const *settings) {
    return make_problem_as(name, settings, BLV_F64, 1);
}

static inline blv_run *make_run(const blv_problem *problem, const char *solver_name,
                                const char *const *settings) {
    blv_message why;
    blv_run *run = NULL;
    const blv_solver *solver = blv_solver_find(NULL, solver_name, &why);
    if (!solver || blv_run_create(&run, problem, solver, &why) != BLV_OK)
        fail_msg("%s", why.text);
    for (size_t i = 0; settings && settings[i]; i += 2)
        if (blv_run_set(run, settings[i], settings[i + 1]) != BLV_OK)
            fail_msg("%s", blv_run_message(run));
    return run;
}

static inline void step_run(blv_run *run) {
    if (blv_run_step(run) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
}

static inline void solve_run(blv_run *run) {
    if (blv_run_solve(run) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
}

static inline void read_state(const blv_run *run, const char *name, double *out) {
    assert_int_equal(blv_run_read(run, name, out), BLV_OK);
}

static inline void write_state(blv_run *run, const char *name, const double *values) {
    if (blv_run_write(run, name, values) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
}

static inline blv_certificate certify_run(blv_run *run) {
    blv_certificate certificate;
    if (blv_run_certify(run, &certificate) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    return certificate;
}

static inline bool has_note(const blv_run *run, const char *part) {
    const char *note;
    for (size_t i = 0; (note = blv_run_notes(run, i)); i++)
        if (strstr(note, part))
            return true;
    return false;
}

/* One of the arrays that define an instance. */
static inline const double *array_of(const blv_problem *problem, const char *name) {
    const blv_named_array *a = blv_problem_definition(problem)->arrays;
    for (; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a->data;
    fail_msg("the problem has no array %s", name);
    return NULL;
}

/* ---- Small dense algebra ---- */

static inline double *make_numbers(size_t count) {
    double *numbers = calloc(count, sizeof *numbers);
    assert_non_null(numbers);
    return numbers;
}

static inline double dense_inner(size_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline double dense_size(size_t n, const double *a) {
    return sqrt(dense_inner(n, a, a));
}

static inline double dense_gap(size_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* out = M in, M row by row. */
static inline void dense_times(size_t rows, size_t columns, const double *m, const double *in,
                               double *out) {
    for (size_t i = 0; i < rows; i++)
        out[i] = dense_inner(columns, m + i * columns, in);
}

/* out = M' in */
static inline void dense_transposed_times(size_t rows, size_t columns, const double *m,
                                          const double *in, double *out) {
    for (size_t j = 0; j < columns; j++) {
        out[j] = 0.0;
        for (size_t i = 0; i < rows; i++)
            out[j] += m[i * columns + j] * in[i];
    }
}

/* x = M^-1 x for a positive definite M, by LAPACK. */
static inline void dense_solve(size_t n, const double *m, double *x) {
    double *copy = make_numbers(n * n);
    memcpy(copy, m, n * n * sizeof *copy);
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', (int)n, 1, copy, (int)n, x, 1), 0);
    free(copy);
}

#define assert_near(value, expected, tolerance)                                                    \
    assert_near_at(value, expected, tolerance, #value, __FILE__, __LINE__)

static inline void assert_near_at(double value, double expected, double tolerance, const char *what,
                                  const char *file, int line) {
    if (fabs(value - expected) <= tolerance)
        return;
    print_error("%s:%d: %s is %.17g, expected %.17g, off by %.3g, allowed %.3g\n", file, line, what,
                value, expected, fabs(value - expected), tolerance);
    fail();
}

#define assert_at_most(value, limit) assert_at_most_at(value, limit, #value, __FILE__, __LINE__)

static inline void assert_at_most_at(double value, double limit, const char *what, const char *file,
                                     int line) {
    if (value <= limit)
        return;
    print_error("%s:%d: %s is %.6g, allowed %.6g\n", file, line, what, value, limit);
    fail();
}

/* ---- The quadratic from its arrays ---- */

/* y*(x) = -A^-1 (C x + c), v = A^-1 (y* - b), grad Phi = ridge x - C'v. Outputs may be NULL. */
static inline void quadratic_truth(const blv_problem *problem, const double *x, double *best_y,
                                   double *phi, double *gradient) {
    size_t dx = blv_problem_definition(problem)->dim_x;
    size_t dy = blv_problem_definition(problem)->dim_y;
    const double *A = array_of(problem, "A"), *C = array_of(problem, "C");
    const double *c = array_of(problem, "c"), *b = array_of(problem, "b");
    const double ridge = *array_of(problem, "ridge");
    double *y = make_numbers(dy), *v = make_numbers(dy), *product = make_numbers(dx);
    dense_times(dy, dx, C, x, y);
    for (size_t i = 0; i < dy; i++)
        y[i] = -(y[i] + c[i]);
    dense_solve(dy, A, y);
    for (size_t i = 0; i < dy; i++)
        v[i] = y[i] - b[i];
    if (phi)
        *phi = 0.5 * dense_inner(dy, v, v) + 0.5 * ridge * dense_inner(dx, x, x);
    if (best_y)
        memcpy(best_y, y, dy * sizeof *y);
    if (gradient) {
        dense_solve(dy, A, v);
        dense_transposed_times(dy, dx, C, v, product);
        for (size_t j = 0; j < dx; j++)
            gradient[j] = ridge * x[j] - product[j];
    }
    free(y);
    free(v);
    free(product);
}

/* x* solves (ridge I + W'W) x = -W'(A^-1 c + b), with W = A^-1 C. */
static inline void quadratic_best_x(const blv_problem *problem, double *x) {
    size_t dx = blv_problem_definition(problem)->dim_x;
    size_t dy = blv_problem_definition(problem)->dim_y;
    const double *A = array_of(problem, "A"), *C = array_of(problem, "C");
    const double *c = array_of(problem, "c"), *b = array_of(problem, "b");
    double *W = make_numbers(dx * dy), *m = make_numbers(dx * dx), *rhs = make_numbers(dy);
    for (size_t j = 0; j < dx; j++) { /* W by columns, each of dy numbers */
        for (size_t i = 0; i < dy; i++)
            W[j * dy + i] = C[i * dx + j];
        dense_solve(dy, A, W + j * dy);
    }
    memcpy(rhs, c, dy * sizeof *rhs);
    dense_solve(dy, A, rhs);
    for (size_t i = 0; i < dy; i++)
        rhs[i] = -(rhs[i] + b[i]);
    for (size_t j = 0; j < dx; j++) {
        x[j] = dense_inner(dy, W + j * dy, rhs);
        for (size_t k = 0; k < dx; k++)
            m[j * dx + k] = dense_inner(dy, W + j * dy, W + k * dy);
        m[j * dx + j] += *array_of(problem, "ridge");
    }
    dense_solve(dx, m, x);
    free(W);
    free(m);
    free(rhs);
}

/* ---- The spy ---- */

typedef struct spy_call {
    char kind;     /* u upper, l lower, h Hv, j Jv, a all */
    bool whole;    /* the batch was NULL */
    bool seen;     /* for the reader of the record */
    size_t count;  /* samples */
    size_t *index; /* a copy; NULL when whole */
} spy_call;

typedef struct spy {
    const blv_problem_def *inner;
    blv_counts counts;
    bool record;
    spy_call *calls;
    size_t size, room;
} spy;

enum { SPY_HIDES_ALL = 1, SPY_HIDES_HVP = 2, SPY_HIDES_CROSS = 4 };

static inline void spy_forget(spy *s) {
    for (size_t i = 0; i < s->size; i++)
        free(s->calls[i].index);
    s->size = 0;
}

static inline void spy_free(spy *s) {
    spy_forget(s);
    free(s->calls);
}

static inline uint64_t spy_note(spy *s, char kind, const blv_batch *batch, size_t samples) {
    if (!s->record)
        return batch ? batch->count : samples;
    if (s->size == s->room) {
        s->room = 2 * s->room + 16;
        s->calls = realloc(s->calls, s->room * sizeof *s->calls);
        assert_non_null(s->calls);
    }
    spy_call call = {.kind = kind, .whole = !batch, .count = batch ? batch->count : samples};
    if (batch) {
        call.index = malloc(call.count * sizeof *call.index);
        assert_non_null(call.index);
        for (size_t i = 0; i < call.count; i++)
            call.index[i] = batch->index ? batch->index[i] : batch->first + i;
    }
    s->calls[s->size++] = call;
    return call.count;
}

static inline int spy_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            double *f, blv_vec *fx, blv_vec *fy) {
    spy *s = user;
    uint64_t n = spy_note(s, 'u', batch, s->inner->upper_samples);
    s->counts.f_grad += fx || fy ? n : 0;
    s->counts.values += f ? n : 0;
    return s->inner->upper(s->inner->user, batch, x, y, f, fx, fy);
}

static inline int spy_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            double *g, blv_vec *gx, blv_vec *gy) {
    spy *s = user;
    uint64_t n = spy_note(s, 'l', batch, s->inner->lower_samples);
    s->counts.g_grad += gx || gy ? n : 0;
    s->counts.values += g ? n : 0;
    return s->inner->lower(s->inner->user, batch, x, y, g, gx, gy);
}

static inline int spy_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          const blv_vec *v, blv_vec *hv) {
    spy *s = user;
    s->counts.hvp += spy_note(s, 'h', batch, s->inner->lower_samples);
    return s->inner->lower_hvp(s->inner->user, batch, x, y, v, hv);
}

static inline int spy_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            const blv_vec *v, blv_vec *jv) {
    spy *s = user;
    s->counts.cross += spy_note(s, 'j', batch, s->inner->lower_samples);
    return s->inner->lower_cross(s->inner->user, batch, x, y, v, jv);
}

static inline int spy_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    spy *s = user;
    uint64_t n = spy_note(s, 'a', batch, s->inner->lower_samples);
    s->counts.g_grad += gy ? n : 0;
    s->counts.hvp += hv ? n : 0;
    s->counts.cross += jv ? n : 0;
    return s->inner->lower_all(s->inner->user, batch, x, y, v, gy, hv, jv);
}

static inline int spy_project(void *user, blv_vec *x) {
    spy *s = user;
    return s->inner->project_x(s->inner->user, x);
}

static inline int spy_start(void *user, blv_vec *x, blv_vec *y) {
    spy *s = user;
    return s->inner->start(s->inner->user, x, y);
}

/* The problem behind a spy; some of its oracles may be hidden. Both are borrowed. */
static inline blv_problem *spy_on(spy *s, const blv_problem *problem, int hidden) {
    blv_message why;
    blv_problem *watched = NULL;
    *s = (spy){.inner = blv_problem_definition(problem)};
    blv_problem_def def = *s->inner;
    def.user = s;
    def.free_user = NULL;
    def.upper = spy_upper;
    def.lower = spy_lower;
    def.lower_hvp = def.lower_hvp && !(hidden & SPY_HIDES_HVP) ? spy_hvp : NULL;
    def.lower_cross = def.lower_cross && !(hidden & SPY_HIDES_CROSS) ? spy_cross : NULL;
    def.lower_all = def.lower_all && !(hidden & SPY_HIDES_ALL) ? spy_all : NULL;
    def.project_x = def.project_x ? spy_project : NULL;
    def.start = def.start ? spy_start : NULL;
    def.lower_hessian_matrix = NULL;
    def.lower_cross_matrix = NULL;
    def.known_phi = NULL;
    def.known_solution = NULL;
    if (blv_problem_create(&watched, &def, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return watched;
}

static inline void assert_counts_equal(blv_counts a, blv_counts b) {
    assert_int_equal(a.f_grad, b.f_grad);
    assert_int_equal(a.g_grad, b.g_grad);
    assert_int_equal(a.hvp, b.hvp);
    assert_int_equal(a.cross, b.cross);
    assert_int_equal(a.values, b.values);
}

/* Runs take ten times as long under sanitizers; what they go through is gone through by other tests
 * too. The pattern names the tests to leave out there. */
static inline void leave_out_under_sanitizers(const char *pattern) {
#ifdef __SANITIZE_ADDRESS__
    cmocka_set_skip_filter(pattern);
#else
    (void)pattern;
#endif
}

#endif
