/* A space of plain doubles that stands for a device: it counts how often it has to be waited for,
 * can fail late, and can have another process's word. */
#ifndef BLV_TESTS_COUNTING_SPACE_H
#define BLV_TESTS_COUNTING_SPACE_H

#include "naive_space.h"

#include <stddef.h>

typedef struct counting {
    naive_counts vectors; /* first: the naive operations see it */
    size_t waits;         /* reductions and reads */
    size_t fails_at;      /* the reduction of this number fails, 0: none */
    size_t agreed;        /* calls of agree */
    double later;         /* what is added to every word */
} counting;

static inline counting *counting_of(const blv_space *s) {
    return blv_space_context(s);
}

static inline void counting_wait(const blv_space *s) {
    counting *c = counting_of(s);
    if (++c->waits == c->fails_at)
        blv_space_fail(s, BLV_E_DEVICE, "the device was lost in wait %zu", c->waits);
}

static inline double counting_dot(const blv_space *s, const void *a, const void *b) {
    counting_wait(s);
    return naive_dot(s, a, b);
}

static inline void counting_read(const blv_space *s, const void *v, double *host) {
    counting_wait(s);
    naive_read(s, v, host);
}

static inline void counting_reduce(size_t count, const blv_operands *pairs, double *result) {
    counting_wait(pairs[0].space);
    for (size_t i = 0; i < count; i++)
        result[i] = naive_dot(pairs[i].space, pairs[i].a, pairs[i].b);
}

static inline void *counting_data(const blv_space *s, void *v, int *device) {
    (void)s;
    *device = 0;
    return v;
}

static inline double counting_agree(const blv_space *s, double word) {
    counting_of(s)->agreed++;
    return word + counting_of(s)->later;
}

static inline blv_space_ops counting_ops(bool agrees) {
    return (blv_space_ops){BLV_SIZED(blv_space_ops),  .name = "counting",
                           .memory = BLV_MEMORY_HOST, .create = naive_create,
                           .destroy = naive_destroy,  .copy = naive_copy,
                           .fill = naive_fill,        .scale = naive_scale,
                           .axpy = naive_axpy,        .dot = counting_dot,
                           .clamp = naive_clamp,      .read = counting_read,
                           .write = naive_write,      .reduce = counting_reduce,
                           .data = counting_data,     .agree = agrees ? counting_agree : NULL};
}

/* The elements, without waiting. */
static inline double *counting_elements(const blv_vec *v) {
    blv_dlpack d;
    return v && blv_vec_dlpack((blv_vec *)v, &d) == BLV_OK ? d.tensor.data : NULL;
}

#endif
