#include "problems/separable.h"
#include "base/message.h"
#include "problems/family.h"

#include <stdlib.h>

static double get(const separable *s, const blv_vec *v, size_t i) {
    return blv_value_get(raw(v), s->precision, i);
}

static void put(const separable *s, blv_vec *v, size_t i, double value) {
    if (v)
        blv_value_set(raw_mut(v), s->precision, i, value);
}

/* All parts at coordinate i, for this y. */
static parts parts_of(const separable *s, double x, double y, size_t i) {
    return s->at((coordinate){x, y, s->a ? s->a[i] : 0.0, s->b ? s->b[i] : 0.0});
}

static parts parts_at(const separable *s, const blv_vec *x, const blv_vec *y, size_t i) {
    return parts_of(s, get(s, x, i), get(s, y, i), i);
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    const separable *s = user;
    double sum = 0.0;
    (void)batch;
    for (size_t i = 0; i < s->dim; i++) {
        parts p = parts_at(s, x, y, i);
        sum += p.f.value;
        put(s, fx, i, p.f.x);
        put(s, fy, i, p.f.y);
    }
    if (f)
        *f = sum;
    return 0;
}

static int lower_pass(void *user, const lower_call *c) {
    const separable *s = user;
    double sum = 0.0;
    for (size_t i = 0; i < s->dim; i++) {
        parts p = parts_at(s, c->x, c->y, i);
        double v = c->v ? get(s, c->v, i) : 0.0;
        sum += p.g.value;
        put(s, c->gx, i, p.g.x);
        put(s, c->gy, i, p.g.y);
        put(s, c->hv, i, p.g.yy * v);
        put(s, c->jv, i, p.g.xy * v);
    }
    if (c->g)
        *c->g = sum;
    return 0;
}

LOWER_FROM_PASS

/* The two matrices are diagonal. */
static int diagonal(const separable *s, const blv_vec *x, const blv_vec *y, bool hessian,
                    double *matrix) {
    for (size_t i = 0; i < s->dim; i++) {
        parts p = parts_at(s, x, y, i);
        for (size_t j = 0; j < s->dim; j++)
            matrix[i * s->dim + j] = i != j ? 0.0 : hessian ? p.g.yy : p.g.xy;
    }
    return 0;
}

static int lower_hessian_matrix(void *user, const blv_batch *batch, const blv_vec *x,
                                const blv_vec *y, double *matrix) {
    (void)batch;
    return diagonal(user, x, y, true, matrix);
}

static int lower_cross_matrix(void *user, const blv_batch *batch, const blv_vec *x,
                              const blv_vec *y, double *matrix) {
    (void)batch;
    return diagonal(user, x, y, false, matrix);
}

static int project(void *user, blv_vec *x) {
    const separable *s = user;
    blv_vec_clamp(x, s->lo, s->hi);
    return 0;
}

/* Phi(x) = f(x, y*(x)) and, since y* is known, its gradient fx - gxy fy / gyy. */
static int known_phi(void *user, const blv_vec *x, double *phi, blv_vec *gradient) {
    const separable *s = user;
    double sum = 0.0;
    for (size_t i = 0; i < s->dim; i++) {
        const double at = get(s, x, i);
        parts p = parts_of(s, at, s->best_y(at), i);
        sum += p.f.value;
        put(s, gradient, i, p.f.x - p.g.xy * p.f.y / p.g.yy);
    }
    if (phi)
        *phi = sum;
    return 0;
}

static int known_solution(void *user, blv_vec *x, blv_vec *y) {
    const separable *s = user;
    for (size_t i = 0; i < s->dim; i++) {
        double best = s->best_x ? s->best_x(s->a ? s->a[i] : 0.0, s->b ? s->b[i] : 0.0) : s->x_star;
        put(s, x, i, best);
        put(s, y, i, s->best_y(best));
    }
    return 0;
}

static void destroy(void *user) {
    separable *s = user;
    free(s->a);
    free(s);
}

blv_error separable_create(const separable *description, const blv_problem_options *options,
                           blv_problem **problem, blv_message *why) {
    blv_error error = problem_on_host(options, description->name, why);
    separable *s = error == BLV_OK ? malloc(sizeof *s) : NULL;
    if (error == BLV_OK && !s)
        error = blv_explain(why, BLV_E_MEMORY, "problem %s: out of memory", description->name);
    if (error != BLV_OK) {
        free(description->a);
        return error;
    }
    *s = *description;
    s->precision = options->precision;
    s->arrays[0] = (blv_named_array){"a", 1, {s->dim, 0}, s->a};
    s->arrays[1] = (blv_named_array){"b", 1, {s->dim, 0}, s->b};
    s->arrays[2] = (blv_named_array){NULL, 0, {0, 0}, NULL};
    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = s->name,
                           .dim_x = s->dim,
                           .dim_y = s->dim,
                           .precision = options->precision,
                           .threads = options->threads,
                           .user = s,
                           .free_user = destroy,
                           .upper = upper,
                           LOWER_ORACLES,
                           .project_x = s->bounded ? project : NULL,
                           .lower_hessian_matrix = lower_hessian_matrix,
                           .lower_cross_matrix = lower_cross_matrix,
                           .known_phi = known_phi,
                           .known_solution = known_solution,
                           .arrays = s->a ? s->arrays : NULL};
    return blv_problem_create(problem, &def, why);
}
