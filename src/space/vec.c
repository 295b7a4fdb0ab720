/* Vectors: dispatch to the operation table, and the defaults of its optional updates. */
#include "space/space_private.h"
#include "space/step_checks.h"

#include <math.h>
#include <stdlib.h>

static blv_error make_vec(blv_vec **vec, const blv_space *space, void *memory, size_t bytes) {
    blv_vec *v = malloc(sizeof *v);
    if (!v)
        return BLV_E_MEMORY;
    *v = (blv_vec){.space = space, .square = BLV_SQUARE_UNKNOWN, .wrapped = memory};
    v->data = memory ? space->ops->wrap(space, memory, bytes) : space->ops->create(space);
    if (!v->data) {
        free(v);
        return memory ? BLV_E_ARGUMENT : BLV_E_MEMORY;
    }
    *vec = v;
    return BLV_OK;
}

blv_error blv_vec_create(blv_vec **vec, const blv_space *space) {
    if (!vec)
        return BLV_E_ARGUMENT;
    *vec = NULL;
    return space ? make_vec(vec, space, NULL, 0) : BLV_E_ARGUMENT;
}

blv_error blv_vec_wrap(blv_vec **vec, const blv_space *space, void *memory, size_t bytes) {
    if (!vec)
        return BLV_E_ARGUMENT;
    *vec = NULL;
    if (!space || !memory)
        return BLV_E_ARGUMENT;
    return space->ops->wrap ? make_vec(vec, space, memory, bytes) : BLV_E_UNSUPPORTED;
}

void blv_vec_destroy(blv_vec *vec) {
    if (!vec)
        return;
    const blv_space_ops *ops = vec->space->ops;
    if (!vec->wrapped)
        ops->destroy(vec->space, vec->data);
    else if (ops->unwrap)
        ops->unwrap(vec->space, vec->data);
    free(vec);
}

const blv_space *blv_vec_space(const blv_vec *vec) {
    return vec ? vec->space : NULL;
}

size_t blv_vec_dim(const blv_vec *vec) {
    return vec ? vec->space->dim : 0;
}

void blv_vec_copy(blv_vec *dst, const blv_vec *src) {
    if (!blv_of_one_space(dst, src)) {
        blv_vec_spoil(dst);
        return;
    }
    if (dst->data != src->data)
        dst->space->ops->copy(dst->space, dst->data, src->data);
    blv_keep_square(dst, blv_square_known(src) ? src->square : BLV_SQUARE_UNKNOWN);
}

void blv_vec_fill(blv_vec *v, double a) {
    if (v)
        v->space->ops->fill(v->space, blv_vec_changing(v), a);
}

void blv_vec_scale(blv_vec *v, double a) {
    if (v)
        v->space->ops->scale(v->space, blv_vec_changing(v), a);
}

void blv_vec_axpy(blv_vec *y, double a, const blv_vec *x) {
    if (blv_of_one_space(y, x))
        y->space->ops->axpy(y->space, blv_vec_changing(y), a, x->data);
    else
        blv_vec_spoil(y);
}

void blv_vec_clamp(blv_vec *v, double lo, double hi) {
    if (v)
        v->space->ops->clamp(v->space, blv_vec_changing(v), lo, hi);
}

/* Memory of a caller stays where it is: elements go through a third vector. */
static void swap_elements(blv_vec *a, blv_vec *b) {
    blv_vec *aside;
    if (blv_vec_create(&aside, a->space) != BLV_OK) {
        blv_space_fail(a->space, BLV_E_MEMORY, "no memory to exchange two vectors");
        return;
    }
    blv_vec_copy(aside, a);
    blv_vec_copy(a, b);
    blv_vec_copy(b, aside);
    blv_vec_destroy(aside);
}

static inline void swap_data(blv_vec *a, blv_vec *b) {
    void *data = a->data;
    double square = a->square;
    a->data = b->data;
    a->square = b->square;
    b->data = data;
    b->square = square;
}

void blv_vec_swap(blv_vec *a, blv_vec *b) {
    if (!blv_of_one_space(a, b)) {
        blv_vec_spoil(a);
        blv_vec_spoil(b);
    } else if (a->wrapped || b->wrapped) {
        swap_elements(a, b);
    } else {
        swap_data(a, b);
    }
}

blv_finiteness blv_vec_finiteness(const blv_vec *v) {
    return !blv_square_known(v) ? BLV_NOT_KNOWN : isfinite(v->square) ? BLV_FINITE : BLV_NOT_FINITE;
}

/* Vectors that move are the library's own: they are of one space, and nobody's memory. */
blv_finiteness blv_vec_exchange(blv_vec *v, blv_vec *next) {
    const blv_finiteness shown = blv_vec_finiteness(next);
    if (shown != BLV_NOT_FINITE)
        swap_data(v, next);
    return shown;
}

/* out may be among the terms: its own coefficients are applied first, then the others are added. */
static void lincomb_default(const blv_space *s, void *out, size_t count, const double *coef,
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
}

/* False: the terms cannot be combined in that space. */
static bool gather(const blv_space *s, size_t count, const blv_vec *const *terms,
                   const void **data) {
    if (!terms || count < 1 || count > BLV_LINCOMB_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!terms[i] || terms[i]->space != s)
            return false;
        data[i] = terms[i]->data;
    }
    return true;
}

static inline void combine(blv_vec *out, size_t count, const double *coef,
                           const void *const *data) {
    const blv_space *s = out->space;
    if (!s->ops->lincomb) {
        lincomb_default(s, blv_vec_changing(out), count, coef, data);
        return;
    }
    if (!s->ops->lincomb(s, out->data, count, coef, data, &out->square) || out->wrapped)
        out->square = BLV_SQUARE_UNKNOWN;
}

void blv_vec_lincomb(blv_vec *out, size_t count, const double *coef, const blv_vec *const *terms) {
    const void *data[BLV_LINCOMB_MAX];
    if (!out || !coef || !gather(out->space, count, terms, data)) {
        blv_vec_spoil(out);
        return;
    }
    combine(out, count, coef, data);
}

/* Every step makes some of these: one call of the space's operation, and little besides. */
void blv_vec_combine(blv_vec *out, double a, const blv_vec *x, double b, const blv_vec *y) {
    const double coef[] = {a, b};
    if (!out || !x || x->space != out->space || !blv_of_one_space(x, y))
        blv_vec_spoil(out);
    else
        combine(out, 2, coef, (const void *const[]){x->data, y->data});
}

void blv_vec_read(const blv_vec *v, double *host) {
    if (v && host)
        v->space->ops->read(v->space, v->data, host);
}

void blv_vec_write(blv_vec *v, const double *host) {
    if (v && host)
        v->space->ops->write(v->space, blv_vec_changing(v), host);
    else
        blv_vec_spoil(v);
}
