/* The insides of spaces and vectors, for src/space only. */
#pragma once

#include "bilevel/space.h"

struct blv_space {
    size_t dim, local; /* all elements, those here */
    blv_precision precision;
    int threads;
    void *context;
    const blv_space_ops *ops;
    const blv_ranks *ranks;            /* NULL: of this process alone */
    const void *loops;                 /* of vectors in host memory: a blv_host_loops */
    const struct blv_later_ops *later; /* NULL: scalars are known at once */
    blv_error error;                   /* the first failure of an operation */
    blv_message why;
};

struct blv_vec {
    const blv_space *space;
    void *data;
    double square; /* |v|^2, left behind by the last update, or BLV_SQUARE_UNKNOWN */
    bool wrapped;  /* memory of a caller may change at any time: nothing is kept about it */
};

#define BLV_SQUARE_UNKNOWN (-1.0)

/* NaN is known, too. */
static inline bool blv_square_known(const blv_vec *v) {
    return !(v->square < 0.0);
}

static inline void blv_keep_square(blv_vec *v, double square) {
    v->square = v->wrapped ? BLV_SQUARE_UNKNOWN : square;
}

/* Whoever writes elements says so first. */
static inline void *blv_vec_changing(blv_vec *v) {
    blv_keep_square(v, BLV_SQUARE_UNKNOWN);
    return v->data;
}

static inline bool blv_of_one_space(const blv_vec *a, const blv_vec *b) {
    return a && b && a->space == b->space;
}

/* An operand is missing or of another space: the result says so. */
void blv_vec_spoil(blv_vec *v);

/* The operations of host spaces. */
extern const blv_space_ops blv_host_ops_f64;
extern const blv_space_ops blv_host_ops_f32;
