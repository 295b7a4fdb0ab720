/* The gradient of logistic rows with few columns that lie one after the other in memory: the
 * weights and the sums in registers, labels and weights read where they are, nothing kept by row.
 *
 * As many rows as a vector has lanes make a step: their scores, their residuals, their products.
 * Whole vectors are read, so a row's last one reaches into the next row: there the weights are 0,
 * and what the sums gather behind the last column is not used. The caller keeps the last rows of
 * the data away, behind which there may be nothing to read. */
#pragma once

#include "kernels/cpu/dense_few_columns.h"

#define STREAM_ROWS ((size_t)16) /* whole steps in every instruction set */

typedef struct stream_job {
    first_lanes rest;             /* of the last vector of w */
    const real *row, *w, *weight; /* weight NULL: 1 */
    const int32_t *label;
    size_t stride, rows; /* rows: a multiple of STREAM_ROWS */
    real *sum;           /* set, not added to */
} stream_job;

/* Labels of the next rows, one in each lane. */
ALWAYS_INLINE ivec spread_labels(const int32_t *label) {
#if REAL_IS_FLOAT
    return *(const loose_ivec *)label;
#elif defined(BLV_ISA_avx512)
    return (ivec)_mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)label));
#elif defined(BLV_ISA_avx2)
    return (ivec)_mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(const void *)label));
#else
    return (ivec){label[0], label[1]};
#endif
}

/* Residual times weight; bitwise as logistic_lanes computes it. */
ALWAYS_INLINE vec stream_residual(const stream_job *job, size_t i, vec score) {
    const vec one = all(R(1.0)), nothing = all(R(0.0));
    const ivec positive = spread_labels(job->label + i) != 0;
    const ivec right = choose(positive, score, -score) > nothing;
    const vec far = exp_of(minus_size_of(score));
    const vec near = one / (one + far);
    const vec miss = choose(right, far * near, near);
    const vec residual = choose(positive, -miss, miss);
    if (!job->weight)
        return residual;
    return residual * load(job->weight + i);
}

#define STREAM_W(c) const vec w_##c = COLUMNS(job->w, c);
#define STREAM_G(c) vec g_##c = {0};
#define STREAM_DOT(c) s[(c) % PARTS] = multiply_add(load(a + (c)*LANES), w_##c, s[(c) % PARTS]);
/* In single precision rows are fetched ahead as well. In double, with as many bytes for half the
 * operations, that only gets in the way of the processor's own prefetcher. */
#if REAL_IS_FLOAT
#define STREAM_FETCH(c) __builtin_prefetch((const char *)(a + (c)*LANES) + 12288, 0, 2)
#else
#define STREAM_FETCH(c) (void)0
#endif
#define STREAM_ADD(c)                                                                              \
    STREAM_FETCH(c);                                                                               \
    g_##c = multiply_add(f, load(a + (c)*LANES), g_##c);

/* The compiler has to think that what is read through the pointer from here on depends on the
 * vector. So it reads one row after the other, as memory delivers them fastest, and does not keep
 * the rows of a step for their products, in registers that there are not. */
#define AFTER(pointer, vector) __asm__("" : "+r"(pointer) : VECTOR_OPERAND(vector))

#if defined(__clang__)
#define ALL_AT_ONCE _Pragma("clang loop unroll(full)")
#else
#define ALL_AT_ONCE _Pragma("GCC unroll 16")
#endif

#define STREAM_KERNELS(n)                                                                          \
    OUT_OF_LINE void stream_##n(const stream_job *job) {                                           \
        enum { last = (n)-1 };                                                                     \
        const first_lanes rest = job->rest;                                                        \
        const size_t stride = job->stride;                                                         \
        const real *row = job->row;                                                                \
        REPEAT_##n(STREAM_W) REPEAT_##n(STREAM_G);                                                 \
        for (size_t i = 0; i < job->rows; i += SUMMED, row += SUMMED * stride) {                   \
            vec dot[SUMMED], score[SUMMED / LANES];                                                \
            real factor[SUMMED];                                                                   \
            const real *a = row;                                                                   \
            ALL_AT_ONCE for (size_t r = 0; r < SUMMED; r++, a += stride) {                         \
                vec s[PARTS] = {{0}};                                                              \
                REPEAT_##n(STREAM_DOT);                                                            \
                dot[r] = fold_parts(s);                                                            \
                AFTER(a, dot[r]);                                                                  \
            }                                                                                      \
            sum_each(dot, score);                                                                  \
            for (size_t l = 0; l < SUMMED; l += LANES)                                             \
                store(factor + l, stream_residual(job, i + l, score[l / LANES]));                  \
            a = row;                                                                               \
            AFTER(a, score[0]);                                                                    \
            ALL_AT_ONCE for (size_t r = 0; r < SUMMED; r++, a += stride) {                         \
                const vec f = all(factor[r]);                                                      \
                REPEAT_##n(STREAM_ADD);                                                            \
            }                                                                                      \
        }                                                                                          \
        REPEAT_##n(STREAM_PUT);                                                                    \
    }
#define STREAM_PUT(c) store(job->sum + (c)*LANES, g_##c);

EACH_VECTOR_COUNT(STREAM_KERNELS)

#define NAME_STREAM(n) [n] = stream_##n,
static void (*const stream_of[])(const stream_job *) = {EACH_VECTOR_COUNT(NAME_STREAM)};
