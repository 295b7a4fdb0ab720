/* Spaces and vectors: dispatch to the operation table, and the defaults of the optional operations.
 */
#include "space/space_private.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

blv_error blv_space_create(blv_space **space, const blv_space_ops *ops, size_t dim,
                           blv_precision precision, void *context) {
    if (!space)
        return BLV_E_ARGUMENT;
    *space = NULL;
    if (!ops || dim == 0 || (precision != BLV_F64 && precision != BLV_F32))
        return BLV_E_ARGUMENT;
    if (!ops->name || !ops->create || !ops->destroy || !ops->copy || !ops->fill || !ops->scale ||
        !ops->axpy || !ops->dot || !ops->clamp || !ops->read || !ops->write)
        return BLV_E_ARGUMENT;
    blv_space *s = malloc(sizeof *s);
    if (!s)
        return BLV_E_MEMORY;
    *s = (blv_space){
        .dim = dim, .precision = precision, .threads = 1, .context = context, .ops = ops};
    *space = s;
    return BLV_OK;
}

void blv_space_destroy(blv_space *space) {
    if (!space)
        return;
    if (space->ops->free_context)
        space->ops->free_context(space->context);
    free(space);
}

size_t blv_space_dim(const blv_space *space) {
    return space ? space->dim : 0;
}

blv_precision blv_space_precision(const blv_space *space) {
    return space ? space->precision : BLV_F64;
}

int blv_space_threads(const blv_space *space) {
    return space ? space->threads : 0;
}

const char *blv_space_name(const blv_space *space) {
    return space ? space->ops->name : NULL;
}

void *blv_space_context(const blv_space *space) {
    return space ? space->context : NULL;
}

size_t blv_space_vec_bytes(const blv_space *space) {
    if (!space)
        return 0;
    if (space->ops->vec_bytes)
        return space->ops->vec_bytes(space);
    return space->dim * (space->precision == BLV_F32 ? sizeof(float) : sizeof(double));
}

blv_error blv_vec_create(blv_vec **vec, const blv_space *space) {
    if (!vec)
        return BLV_E_ARGUMENT;
    *vec = NULL;
    if (!space)
        return BLV_E_ARGUMENT;
    blv_vec *v = malloc(sizeof *v);
    if (!v)
        return BLV_E_MEMORY;
    v->space = space;
    v->data = space->ops->create(space);
    if (!v->data) {
        free(v);
        return BLV_E_MEMORY;
    }
    *vec = v;
    return BLV_OK;
}

void blv_vec_destroy(blv_vec *vec) {
    if (!vec)
        return;
    vec->space->ops->destroy(vec->space, vec->data);
    free(vec);
}

const blv_space *blv_vec_space(const blv_vec *vec) {
    return vec ? vec->space : NULL;
}

size_t blv_vec_dim(const blv_vec *vec) {
    return vec ? vec->space->dim : 0;
}

static bool of_one_space(const blv_vec *a, const blv_vec *b) {
    return a && b && a->space == b->space;
}

/* An operand is missing or of another space: the result says so. */
static void spoil(blv_vec *v) {
    blv_vec_fill(v, (double)NAN);
}

void blv_vec_copy(blv_vec *dst, const blv_vec *src) {
    if (!of_one_space(dst, src))
        spoil(dst);
    else if (dst->data != src->data)
        dst->space->ops->copy(dst->space, dst->data, src->data);
}

void blv_vec_fill(blv_vec *v, double a) {
    if (v)
        v->space->ops->fill(v->space, v->data, a);
}

void blv_vec_scale(blv_vec *v, double a) {
    if (v)
        v->space->ops->scale(v->space, v->data, a);
}

void blv_vec_axpy(blv_vec *y, double a, const blv_vec *x) {
    if (of_one_space(y, x))
        y->space->ops->axpy(y->space, y->data, a, x->data);
    else
        spoil(y);
}

double blv_vec_dot(const blv_vec *a, const blv_vec *b) {
    return of_one_space(a, b) ? a->space->ops->dot(a->space, a->data, b->data) : (double)NAN;
}

double blv_vec_norm(const blv_vec *a) {
    if (!a)
        return (double)NAN;
    const blv_space *s = a->space;
    return s->ops->norm ? s->ops->norm(s, a->data) : sqrt(s->ops->dot(s, a->data, a->data));
}

void blv_vec_clamp(blv_vec *v, double lo, double hi) {
    if (v)
        v->space->ops->clamp(v->space, v->data, lo, hi);
}

void blv_vec_swap(blv_vec *a, blv_vec *b) {
    if (!of_one_space(a, b)) {
        spoil(a);
        spoil(b);
        return;
    }
    void *data = a->data;
    a->data = b->data;
    b->data = data;
}

/* out may be among the terms: its own coefficients are applied first, then the others are added. */
static double lincomb_default(const blv_space *s, void *out, size_t count, const double *coef,
                              const void *const *terms) {
    double own = 0.0;
    size_t own_terms = 0;
    for (size_t i = 0; i < count; i++)
        if (terms[i] == out) {
            own += coef[i];
            own_terms++;
        }
    size_t first = 0;
    if (own_terms > 0) {
        s->ops->scale(s, out, own);
    } else {
        s->ops->copy(s, out, terms[0]);
        s->ops->scale(s, out, coef[0]);
        first = 1;
    }
    for (size_t i = first; i < count; i++)
        if (terms[i] != out)
            s->ops->axpy(s, out, coef[i], terms[i]);
    return s->ops->norm ? s->ops->norm(s, out) : sqrt(s->ops->dot(s, out, out));
}

static bool all_of_space(const blv_vec *const *vecs, size_t count, const blv_space *space) {
    if (!vecs || count < 1 || count > BLV_LINCOMB_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!vecs[i] || vecs[i]->space != space)
            return false;
    return true;
}

double blv_vec_lincomb(blv_vec *out, size_t count, const double *coef,
                       const blv_vec *const *terms) {
    if (!out || !coef || !all_of_space(terms, count, out->space)) {
        spoil(out);
        return (double)NAN;
    }
    const blv_space *s = out->space;
    const void *data[BLV_LINCOMB_MAX];
    for (size_t i = 0; i < count; i++)
        data[i] = terms[i]->data;
    return s->ops->lincomb ? s->ops->lincomb(s, out->data, count, coef, data)
                           : lincomb_default(s, out->data, count, coef, data);
}

double blv_vec_combine(blv_vec *out, double a, const blv_vec *x, double b, const blv_vec *y) {
    return blv_vec_lincomb(out, 2, (const double[]){a, b}, (const blv_vec *const[]){x, y});
}

void blv_vec_dots(size_t count, const blv_vec *const *a, const blv_vec *const *b, double *result) {
    const blv_space *s = a && count > 0 ? blv_vec_space(a[0]) : NULL;
    if (!s || !result || !all_of_space(a, count, s) || !all_of_space(b, count, s)) {
        for (size_t i = 0; result && i < count; i++)
            result[i] = (double)NAN;
        return;
    }
    const void *left[BLV_LINCOMB_MAX], *right[BLV_LINCOMB_MAX];
    for (size_t i = 0; i < count; i++) {
        left[i] = a[i]->data;
        right[i] = b[i]->data;
    }
    if (s->ops->dots) {
        s->ops->dots(s, count, left, right, result);
        return;
    }
    for (size_t i = 0; i < count; i++)
        result[i] = s->ops->dot(s, left[i], right[i]);
}

void blv_vec_read(const blv_vec *v, double *host) {
    if (v && host)
        v->space->ops->read(v->space, v->data, host);
}

void blv_vec_write(blv_vec *v, const double *host) {
    if (v && host)
        v->space->ops->write(v->space, v->data, host);
    else
        spoil(v);
}
