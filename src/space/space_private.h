/* The insides of spaces and vectors, for src/space only. */
#ifndef BLV_SPACE_PRIVATE_H
#define BLV_SPACE_PRIVATE_H

#include "bilevel/space.h"

struct blv_space {
    size_t dim;
    blv_precision precision;
    int threads;
    void *context;
    const blv_space_ops *ops;
};

struct blv_vec {
    const blv_space *space;
    void *data;
};

/* The operations of host spaces. */
extern const blv_space_ops blv_host_ops_f64;
extern const blv_space_ops blv_host_ops_f32;

#endif
