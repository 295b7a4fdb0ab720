/* Reductions: all scalars of a list in one call of the space's operation.
 *
 * A norm that the last update of the vector has left behind is not computed again. Pairs of spaces
 * that share their operation go into one call of it; a space without one gets a dot for each. */
#include "space/space_private.h"
#include "space/step_checks.h"

#include <math.h>

typedef struct pending {
    size_t count;
    blv_operands pair[BLV_REDUCE_MAX];
    const blv_scalar *of[BLV_REDUCE_MAX];
} pending;

/* Says whether it is finite. */
static bool put(const blv_scalar *scalar, double value) {
    *scalar->result = scalar->b ? value : sqrt(value);
    return isfinite(value);
}

static bool reduce_kind(const pending *p) {
    const blv_operands *first = &p->pair[0];
    const blv_space_ops *ops = first->space->ops;
    if (p->count == 1)
        return put(p->of[0], ops->dot(first->space, first->a, first->b));
    double result[BLV_REDUCE_MAX];
    bool finite = true;
    if (ops->reduce)
        ops->reduce(p->count, p->pair, result);
    for (size_t i = 0; i < p->count; i++) {
        const blv_operands *pair = &p->pair[i];
        finite &= put(p->of[i], ops->reduce ? result[i]
                                            : pair->space->ops->dot(pair->space, pair->a, pair->b));
    }
    return finite;
}

/* One call for each operation that there is among the spaces. */
static bool reduce_kinds(pending *p) {
    bool finite = true;
    while (p->count > 0) {
        const blv_space_ops *first = p->pair[0].space->ops;
        pending one;
        size_t kept = 0;
        one.count = 0;
        for (size_t i = 0; i < p->count; i++) {
            bool same = p->pair[i].space->ops->reduce == first->reduce;
            pending *to = same ? &one : p;
            size_t at = same ? one.count++ : kept++;
            to->pair[at] = p->pair[i];
            to->of[at] = p->of[i];
        }
        p->count = kept;
        finite &= reduce_kind(&one);
    }
    return finite;
}

static bool reduce_some(size_t count, const blv_scalar *scalars) {
    pending p;
    bool mixed = false, finite = true;
    p.count = 0;
    for (size_t i = 0; i < count; i++) {
        const blv_scalar *s = &scalars[i];
        const blv_vec *a = s->a, *b = s->b ? s->b : a;
        if (!s->result) {
            finite = false;
        } else if (!blv_of_one_space(a, b)) {
            finite = put(s, (double)NAN);
        } else if (a == b && blv_square_known(a)) {
            finite &= put(s, a->square);
        } else {
            p.pair[p.count] = (blv_operands){a->space, a->data, b->data};
            p.of[p.count++] = s;
            mixed |= a->space->ops->reduce != p.pair[0].space->ops->reduce;
        }
    }
    if (p.count == 0)
        return finite;
    const bool asked_finite = mixed ? reduce_kinds(&p) : reduce_kind(&p);
    return finite && asked_finite;
}

static bool reduce_many(size_t count, const blv_scalar *scalars) {
    if (count <= BLV_REDUCE_MAX)
        return reduce_some(count, scalars);
    const bool finite = reduce_some(BLV_REDUCE_MAX, scalars);
    return reduce_many(count - BLV_REDUCE_MAX, scalars + BLV_REDUCE_MAX) && finite;
}

/* What is known or wrong needs no reduction, and a single product none of the lists above. */
bool blv_reduce(size_t count, const blv_scalar *scalars) {
    const blv_scalar *unknown = NULL;
    double check = 0.0; /* NaN: one is not finite */
    if (!scalars)
        return count == 0;
    for (size_t i = 0; i < count; i++) {
        const blv_scalar *s = &scalars[i];
        const blv_vec *a = s->a;
        if (a && s->result && !s->b && blv_square_known(a)) {
            check += 0.0 * a->square;
            *s->result = sqrt(a->square);
        } else {
            if (unknown || !s->result || !blv_of_one_space(a, s->b ? s->b : a))
                return reduce_many(count, scalars);
            unknown = s;
        }
    }
    if (!unknown)
        return check == 0.0;
    const blv_vec *a = unknown->a, *b = unknown->b ? unknown->b : a;
    return put(unknown, a->space->ops->dot(a->space, a->data, b->data)) && check == 0.0;
}

double blv_vec_dot(const blv_vec *a, const blv_vec *b) {
    double result = (double)NAN;
    if (b)
        blv_reduce(BLV_SCALARS(BLV_DOT(&result, a, b)));
    return result;
}

void blv_vec_norm_early(blv_vec *v) {
    const blv_space *s = v->space;
    if (s->loops && !s->ranks && !v->wrapped && !blv_square_known(v))
        v->square = s->ops->dot(s, v->data, v->data);
}

bool blv_vec_norm_known(const blv_vec *a) {
    return a && blv_square_known(a);
}

double blv_vec_norm(const blv_vec *a) {
    if (a && blv_square_known(a))
        return sqrt(a->square);
    double result;
    blv_reduce(BLV_SCALARS(BLV_NORM(&result, a)));
    return result;
}
