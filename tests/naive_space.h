/* The plainest space there is, in double, with the required operations only. It counts its vectors
 * and can refuse to make the Nth. */
#ifndef BLV_TESTS_NAIVE_SPACE_H
#define BLV_TESTS_NAIVE_SPACE_H

#include "bilevel/space.h"

#include <stdlib.h>
#include <string.h>

typedef struct naive_counts {
    size_t live, created;
    size_t refuse; /* the vector of this number, from 1, is refused; 0: none */
} naive_counts;

static inline void *naive_create(const blv_space *s) {
    naive_counts *counts = blv_space_context(s);
    if (counts->created + 1 == counts->refuse)
        return NULL;
    counts->created++;
    counts->live++;
    return calloc(blv_space_dim(s), sizeof(double));
}

static inline void naive_destroy(const blv_space *s, void *v) {
    naive_counts *counts = blv_space_context(s);
    counts->live--;
    free(v);
}

static inline void naive_copy(const blv_space *s, void *dst, const void *src) {
    memcpy(dst, src, blv_space_dim(s) * sizeof(double));
}

static inline void naive_fill(const blv_space *s, void *v, double a) {
    for (size_t i = 0; i < blv_space_dim(s); i++)
        ((double *)v)[i] = a;
}

static inline void naive_scale(const blv_space *s, void *v, double a) {
    for (size_t i = 0; i < blv_space_dim(s); i++)
        ((double *)v)[i] *= a;
}

static inline void naive_axpy(const blv_space *s, void *y, double a, const void *x) {
    for (size_t i = 0; i < blv_space_dim(s); i++)
        ((double *)y)[i] += a * ((const double *)x)[i];
}

static inline double naive_dot(const blv_space *s, const void *a, const void *b) {
    double sum = 0.0;
    for (size_t i = 0; i < blv_space_dim(s); i++)
        sum += ((const double *)a)[i] * ((const double *)b)[i];
    return sum;
}

static inline void naive_clamp(const blv_space *s, void *v, double lo, double hi) {
    double *e = v;
    for (size_t i = 0; i < blv_space_dim(s); i++)
        e[i] = e[i] < lo ? lo : e[i] > hi ? hi : e[i];
}

static inline void naive_read(const blv_space *s, const void *v, double *host) {
    memcpy(host, v, blv_space_dim(s) * sizeof(double));
}

static inline void naive_write(const blv_space *s, void *v, const double *host) {
    memcpy(v, host, blv_space_dim(s) * sizeof(double));
}

/* The required operations alone. */
static inline const blv_space_ops *naive_space_ops(void) {
    static const blv_space_ops ops = {
        BLV_SIZED(blv_space_ops), .name = "naive",    .create = naive_create,
        .destroy = naive_destroy, .copy = naive_copy, .fill = naive_fill,
        .scale = naive_scale,     .axpy = naive_axpy, .dot = naive_dot,
        .clamp = naive_clamp,     .read = naive_read, .write = naive_write,
    };
    return &ops;
}

/* counts is borrowed. NULL when memory is short. */
static inline blv_space *naive_space(size_t dim, naive_counts *counts) {
    blv_space *space = NULL;
    *counts = (naive_counts){0};
    return blv_space_create(&space, naive_space_ops(), dim, BLV_F64, counts) == BLV_OK ? space
                                                                                       : NULL;
}

#endif
