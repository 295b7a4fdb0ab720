/* The two products with one score a row, s = A w and g += A' s, when a row has few columns: w and g
 * stay in registers over all rows of the block. */
#ifndef BLV_KERNELS_DENSE_FEW_COLUMNS_H
#define BLV_KERNELS_DENSE_FEW_COLUMNS_H

#include "kernels/dense_products.h"

#define MOST_VECTORS 8

typedef struct few_job {
    const real *const *row;   /* up to a multiple of four rows can be read */
    const real *const *ahead; /* rows that will be asked for next; NULL: not known */
    size_t rows;
    first_lanes rest; /* of the last vector of columns */
    const real *weight;
    real *score;
    real *sum;
    bool fresh; /* sums begin at 0 and not at what is there */
} few_job;

#define COLUMNS(a, v) ((v) == last ? load_first((a) + (v)*LANES, rest) : load((a) + (v)*LANES))
#define KEEP_WEIGHT(v) const vec w_##v = COLUMNS(job->weight, v);
#define ADD_FOUR(v)                                                                                \
    s0 = multiply_add(COLUMNS(a[0], v), w_##v, s0);                                                \
    s1 = multiply_add(COLUMNS(a[1], v), w_##v, s1);                                                \
    s2 = multiply_add(COLUMNS(a[2], v), w_##v, s2);                                                \
    s3 = multiply_add(COLUMNS(a[3], v), w_##v, s3);
#define FETCH_FOUR(v)                                                                              \
    if ((v)*VECTOR_BYTES % 64 == 0) {                                                              \
        FETCH(next[0] + (v)*LANES);                                                                \
        FETCH(next[1] + (v)*LANES);                                                                \
        FETCH(next[2] + (v)*LANES);                                                                \
        FETCH(next[3] + (v)*LANES);                                                                \
    }
#define KEEP_SUM(v) vec g_##v = job->fresh ? zero : load(job->sum + (v)*LANES);
#define ADD_ONE(v) g_##v = multiply_add(f, COLUMNS(a, v), g_##v);
#define PUT_KEPT(v) store(job->sum + (v)*LANES, g_##v);

#define FEW_KERNELS(n)                                                                             \
    OUT_OF_LINE void few_scores_##n(const few_job *job) {                                          \
        enum { last = (n)-1 };                                                                     \
        const vec zero = {0};                                                                      \
        const first_lanes rest = job->rest;                                                        \
        const size_t rows = job->rows;                                                             \
        REPEAT_##n(KEEP_WEIGHT);                                                                   \
        for (size_t i = 0; i < rows; i += 4) {                                                     \
            const real *const *a = job->row + i;                                                   \
            vec s0 = zero, s1 = zero, s2 = zero, s3 = zero;                                        \
            REPEAT_##n(ADD_FOUR);                                                                  \
            put_sums(job->score + i, 0, s0, s1, s2, s3);                                           \
            if (job->ahead) {                                                                      \
                const real *const *next = job->ahead + i;                                          \
                REPEAT_##n(FETCH_FOUR);                                                            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    OUT_OF_LINE void few_sums_##n(const few_job *job) {                                            \
        enum { last = (n)-1 };                                                                     \
        const vec zero = {0};                                                                      \
        const first_lanes rest = job->rest;                                                        \
        const size_t rows = job->rows;                                                             \
        const real *const *row = job->row;                                                         \
        const real *factor = job->score;                                                           \
        REPEAT_##n(KEEP_SUM);                                                                      \
        for (size_t i = 0; i < rows; i++) {                                                        \
            const real *a = row[i];                                                                \
            const vec f = all(factor[i]);                                                          \
            REPEAT_##n(ADD_ONE);                                                                   \
        }                                                                                          \
        REPEAT_##n(PUT_KEPT);                                                                      \
    }

#define EACH_VECTOR_COUNT(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8)
EACH_VECTOR_COUNT(FEW_KERNELS)

#define NAME_FEW_SCORES(n) [n] = few_scores_##n,
#define NAME_FEW_SUMS(n) [n] = few_sums_##n,
static void (*const few_scores_of[])(const few_job *) = {EACH_VECTOR_COUNT(NAME_FEW_SCORES)};
static void (*const few_sums_of[])(const few_job *) = {EACH_VECTOR_COUNT(NAME_FEW_SUMS)};

#endif
