#include "problems/separable.h"
#include "base/message.h"
#include "problems/lower_oracles.h"
#include "problems/problem_memory.h"
#include "problems/raw.h"

#include <math.h>
#include <stdlib.h>

static double get(const separable *s, const blv_vec *v, size_t i) {
    return element(raw(v), s->precision, i);
}

static void put(const separable *s, blv_vec *v, size_t i, double value) {
    if (v)
        set_element(raw_mut(v), s->precision, i, value);
}

static coordinate coordinate_at(const separable *s, const blv_vec *x, size_t i) {
    return (coordinate){get(s, x, i), 0.0, s->a ? s->a[i] : 0.0, s->b ? s->b[i] : 0.0};
}

static parts parts_at(const separable *s, const blv_vec *x, const blv_vec *y, size_t i) {
    coordinate c = coordinate_at(s, x, i);
    c.y = get(s, y, i);
    return s->at(c);
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    const separable *s = user;
    double sum = 0.0;
    (void)batch;
    for (size_t i = 0; i < s->dim; i++) {
        parts p = parts_at(s, x, y, i);
        sum += p.f;
        put(s, fx, i, p.fx);
        put(s, fy, i, p.fy);
    }
    if (f)
        *f = sum;
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    const separable *s = user;
    double sum = 0.0;
    (void)batch;
    for (size_t i = 0; i < s->dim; i++) {
        parts p = parts_at(s, x, y, i);
        sum += p.g;
        put(s, gx, i, p.gx);
        put(s, gy, i, p.gy);
    }
    if (g)
        *g = sum;
    return 0;
}

static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    const separable *s = user;
    (void)batch;
    for (size_t i = 0; i < s->dim; i++) {
        parts p = parts_at(s, x, y, i);
        double vi = get(s, v, i);
        put(s, gy, i, p.gy);
        put(s, hv, i, p.gyy * vi);
        put(s, jv, i, p.gxy * vi);
    }
    return 0;
}

LOWER_PRODUCTS_FROM_ALL

/* The two matrices are diagonal. */
static int diagonal(const separable *s, const blv_vec *x, const blv_vec *y, bool hessian,
                    double *matrix) {
    for (size_t i = 0; i < s->dim; i++)
        for (size_t j = 0; j < s->dim; j++) {
            parts p = parts_at(s, x, y, i);
            matrix[i * s->dim + j] = i != j ? 0.0 : hessian ? p.gyy : p.gxy;
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
        coordinate c = coordinate_at(s, x, i);
        c.y = s->best_y(c.x);
        parts p = s->at(c);
        sum += p.f;
        put(s, gradient, i, p.fx - p.gxy * p.fy / p.gyy);
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
    free(s->b);
    free(s);
}

blv_error separable_create(const separable *description, const blv_problem_options *options,
                           blv_problem **problem, blv_message *why) {
    blv_error error = problem_on_host(options, description->name, why);
    separable *s = error == BLV_OK ? malloc(sizeof *s) : NULL;
    if (!s) {
        free(description->a);
        free(description->b);
        return error != BLV_OK
                   ? error
                   : blv_explain(why, BLV_E_MEMORY, "problem %s: out of memory", description->name);
    }
    *s = *description;
    s->precision = options->precision;
    size_t count = 0;
    if (s->a)
        s->arrays[count++] = (blv_named_array){"a", 1, {s->dim, 0}, s->a};
    if (s->b)
        s->arrays[count++] = (blv_named_array){"b", 1, {s->dim, 0}, s->b};
    s->arrays[count] = (blv_named_array){NULL, 0, {0, 0}, NULL};
    bool bounded = isfinite(s->lo) || isfinite(s->hi);
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
                           .project_x = bounded ? project : NULL,
                           .lower_hessian_matrix = lower_hessian_matrix,
                           .lower_cross_matrix = lower_cross_matrix,
                           .known_phi = known_phi,
                           .known_solution = known_solution,
                           .arrays = count > 0 ? s->arrays : NULL};
    return blv_problem_create(problem, &def, why);
}
