/* The separate oracles of a lower level that computes everything in one function. */
#ifndef BLV_PROBLEMS_LOWER_ORACLES_H
#define BLV_PROBLEMS_LOWER_ORACLES_H

#include "bilevel/problem.h"

/* lower_hvp and lower_cross from lower_all. */
#define LOWER_PRODUCTS_FROM_ALL                                                                    \
    static int lower_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,   \
                         const blv_vec *v, blv_vec *hv) {                                          \
        return lower_all(user, batch, x, y, v, NULL, hv, NULL);                                    \
    }                                                                                              \
    static int lower_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, \
                           const blv_vec *v, blv_vec *jv) {                                        \
        return lower_all(user, batch, x, y, v, NULL, NULL, jv);                                    \
    }

/* These two, lower and lower_all from lower_pass(problem, batch, x, y, v, g, gx, gy, hv, jv). */
#define LOWER_FROM_PASS                                                                            \
    static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,       \
                     double *g, blv_vec *gx, blv_vec *gy) {                                        \
        return lower_pass(user, batch, x, y, NULL, g, gx, gy, NULL, NULL);                         \
    }                                                                                              \
    static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,   \
                         const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {                \
        return lower_pass(user, batch, x, y, v, NULL, NULL, gy, hv, jv);                           \
    }                                                                                              \
    LOWER_PRODUCTS_FROM_ALL

/* All of these, in a definition. */
#define LOWER_ORACLES                                                                              \
    .lower = lower, .lower_hvp = lower_hvp, .lower_cross = lower_cross, .lower_all = lower_all

/* Whether the samples of a batch can be read here. */
static inline bool is_on_host(const blv_batch *batch) {
    return !batch || !batch->index || batch->memory == BLV_MEMORY_HOST;
}

/* *g += ridge |y|^2, unless g is NULL */
static inline void add_ridge(double *g, double ridge, const blv_vec *y) {
    if (!g)
        return;
    double norm = blv_vec_norm(y);
    *g += ridge * norm * norm;
}

#endif
