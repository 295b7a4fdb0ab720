/* A block of logistic rows with few columns: one loop over the rows, with the weights and the sums
 * in registers all the way.
 *
 * As many rows as a vector has lanes make a step: their scores, then the loss and the residual of
 * each in its lane. Their products are added to the sums two steps later, row by row between the
 * scores of that step: an exponential takes as long as all the rest of a step, and so it has
 * something to hide behind. Rows are read strictly in order, one whole row after the other: memory
 * delivers several interleaved ones at half the speed. */
#pragma once

#include "kernels/cpu/dense_activation.h"
#include "kernels/cpu/dense_products.h"

#define MOST_VECTORS 8

#define LAG (2 * SUMMED) /* rows between a score and its product */

typedef struct few_job {
    first_lanes rest; /* of the last vector of columns */
    blv_dense_block *block;
    const real *w, *v;
    real *sum, *second_sum; /* of the residuals and of the Hessian factors */
    bool fetch_ahead, want_loss, want_sums;
    bool fresh; /* sums begin at 0 and not at what is there */
} few_job;

/* A loop that stays one: unrolled, the compiler would mix the loads of several rows. */
#if defined(__clang__)
#define ONE_BY_ONE _Pragma("clang loop unroll(disable)")
#else
#define ONE_BY_ONE _Pragma("GCC unroll 1")
#endif

#define COLUMNS(a, c) ((c) == last ? load_first((a) + (c)*LANES, rest) : load((a) + (c)*LANES))
#define KEEP_W(c) const vec w_##c = COLUMNS(job->w, c), v_##c = both ? COLUMNS(job->v, c) : zero;
/* The last columns of a row after the others, as the processor's own prefetcher expects them: the
 * compiler, which would begin with them, has to think that they depend on the sum. */
#define DOTS(c)                                                                                    \
    if ((c) == last)                                                                               \
        __asm__("" : "+r"(a) : VECTOR_OPERAND(s[0]));                                              \
    {                                                                                              \
        const vec x = COLUMNS(a, c);                                                               \
        s[(c) % PARTS] = multiply_add(x, w_##c, s[(c) % PARTS]);                                   \
        if (both)                                                                                  \
            t[(c) % PARTS] = multiply_add(x, v_##c, t[(c) % PARTS]);                               \
    }
#define FETCH_COLUMNS(c)                                                                           \
    if ((c)*VECTOR_BYTES % 64 == 0)                                                                \
        FETCH(next + (c)*LANES);
#define KEEP_G(c)                                                                                  \
    vec g_##c = job->fresh ? zero : load(job->sum + (c)*LANES);                                    \
    vec h_##c = !both || job->fresh ? zero : load(job->second_sum + (c)*LANES);
#define ADD_TO_G(c)                                                                                \
    {                                                                                              \
        const vec x = COLUMNS(a, c);                                                               \
        g_##c = multiply_add(f, x, g_##c);                                                         \
        if (both)                                                                                  \
            h_##c = multiply_add(e, x, h_##c);                                                     \
    }
#define PUT_G(c)                                                                                   \
    store(job->sum + (c)*LANES, g_##c);                                                            \
    if (both)                                                                                      \
        store(job->second_sum + (c)*LANES, h_##c);

#define FETCH_ROW(n, r)                                                                            \
    if (fetch_ahead) {                                                                             \
        const real *next = block->ahead[i + (r)];                                                  \
        REPEAT_##n(FETCH_COLUMNS)                                                                  \
    }

#define FEW_KERNEL(name, n, with_v)                                                                \
    OUT_OF_LINE void name(const few_job *job) {                                                    \
        enum { last = (n)-1, both = with_v };                                                      \
        blv_dense_block *block = job->block;                                                       \
        const vec zero = {0};                                                                      \
        const first_lanes rest = job->rest;                                                        \
        const bool fetch_ahead = job->fetch_ahead, want_loss = job->want_loss;                     \
        const size_t rows = block->rows, end = job->want_sums ? rows + LAG : rows;                 \
        real factor[BLV_BLOCK_ROWS], second_factor[both ? BLV_BLOCK_ROWS : 1];                     \
        REPEAT_##n(KEEP_W) REPEAT_##n(KEEP_G);                                                     \
        for (size_t i = 0; i < end; i += SUMMED) {                                                 \
            vec dot[SUMMED], score[SUMMED / LANES];                                                \
            vec tangent_dot[SUMMED], tangent[SUMMED / LANES];                                      \
            ONE_BY_ONE for (size_t r = 0; r < SUMMED; r++) {                                       \
                if (i < rows) {                                                                    \
                    const real *a = block->row[i + r];                                             \
                    vec s[PARTS] = {{0}}, t[PARTS] = {{0}};                                        \
                    REPEAT_##n(DOTS);                                                              \
                    dot[r] = fold_parts(s);                                                        \
                    if (both)                                                                      \
                        tangent_dot[r] = fold_parts(t);                                            \
                    FETCH_ROW(n, r)                                                                \
                }                                                                                  \
                if (i >= LAG) {                                                                    \
                    const size_t before = i - LAG + r;                                             \
                    const real *a = block->row[before];                                            \
                    const vec f = all(factor[before]), e = both ? all(second_factor[before]) : f;  \
                    REPEAT_##n(ADD_TO_G);                                                          \
                    (void)e;                                                                       \
                }                                                                                  \
            }                                                                                      \
            if (i >= rows)                                                                         \
                continue;                                                                          \
            sum_each(dot, score);                                                                  \
            if (both)                                                                              \
                sum_each(tangent_dot, tangent);                                                    \
            for (size_t l = 0; l < SUMMED; l += LANES) {                                           \
                vec *const t = both ? &tangent[l / LANES] : NULL;                                  \
                store(factor + i + l,                                                              \
                      logistic_lanes(block, i + l, want_loss, score[l / LANES], t));               \
                if (both)                                                                          \
                    store(second_factor + i + l, *t);                                              \
            }                                                                                      \
        }                                                                                          \
        REPEAT_##n(PUT_G);                                                                         \
    }
#define FEW_KERNELS(n) FEW_KERNEL(few_##n, n, 0) FEW_KERNEL(few_both_##n, n, 1)

#define EACH_VECTOR_COUNT(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8)
EACH_VECTOR_COUNT(FEW_KERNELS)

#define NAME_FEW(n) [n] = few_##n,
#define NAME_FEW_BOTH(n) [n] = few_both_##n,
static void (*const few_of[])(const few_job *) = {EACH_VECTOR_COUNT(NAME_FEW)};
static void (*const few_both_of[])(const few_job *) = {EACH_VECTOR_COUNT(NAME_FEW_BOTH)};
