/* The two products of a sweep over dense rows, S = A W' and G += S' A, on a block of rows.
 *
 * Each kernel is a function of its own for a number of classes known to the compiler, with its sums
 * in variables that have names: GCC keeps an array in registers only when it never sees a variable
 * index. Loads go with at least two multiply-adds each, so that loads are not what limits it. */
#pragma once

#include "kernels/cpu/dense_task.h"
#include "kernels/cpu/lanes.h"

#define REPEAT_1(f) f(0)
#define REPEAT_2(f) REPEAT_1(f) f(1)
#define REPEAT_3(f) REPEAT_2(f) f(2)
#define REPEAT_4(f) REPEAT_3(f) f(3)
#define REPEAT_5(f) REPEAT_4(f) f(4)
#define REPEAT_6(f) REPEAT_5(f) f(5)
#define REPEAT_7(f) REPEAT_6(f) f(6)
#define REPEAT_8(f) REPEAT_7(f) f(7)
#define REPEAT_9(f) REPEAT_8(f) f(8)

/* Classes at a time, by the number of registers: MOST_SCORES x 4 rows, or x 2 rows x PARTS;
 * MOST_SUMS x 3 vectors. */
#if defined(BLV_ISA_avx512)
#define MOST_SCORES 6
#else
#define MOST_SCORES 3
#endif
#if MANY_REGISTERS
#define MOST_SUMS 9
#else
#define MOST_SUMS 4
#endif

#define FETCH(address) __builtin_prefetch((address), 0, 2)

/* How many of `left` go into the next tile, so that tiles are even. */
ALWAYS_INLINE size_t tile_of(size_t left, size_t most) {
    const size_t tiles = (left + most - 1) / most;
    return (left + tiles - 1) / tiles;
}

/* Scores of four rows in n classes, over `vectors` whole vectors of columns and then the lanes of
 * `rest` if there are any. weight: for each vector of columns its n vectors. */
typedef struct score_job {
    first_lanes rest;
    const real *row[4];
    const real *weight;
    real *score; /* class by class, BLV_BLOCK_ROWS apart */
    size_t vectors;
    bool has_rest, add;
} score_job;

#define DECLARE_SCORE(c) vec s0_##c[PARTS] = {{0}}, s1_##c[PARTS] = {{0}};
#define DECLARE_SCORE_2(c) vec s2_##c[PARTS] = {{0}}, s3_##c[PARTS] = {{0}};
/* In a register: loaded with each product, two rows would wait for loads. */
#define LOAD_WEIGHT(c)                                                                             \
    vec w_##c = load(weight + (c)*LANES);                                                          \
    if (PARTS > 1)                                                                                 \
        __asm__("" : "+" VECTOR_OPERAND(w_##c));
#define ADD_ROW(r, part, c) s##r##_##c[part] = multiply_add(x, w_##c, s##r##_##c[part]);

/* The products of the next vector of columns, which is of this part of the sums. */
#define ADD_SCORES(part, n, columns)                                                               \
    {                                                                                              \
        REPEAT_##n(LOAD_WEIGHT);                                                                   \
        vec x = columns(a0 + j);                                                                   \
        REPEAT_##n(ADD_ROW_0_##part);                                                              \
        x = columns(a1 + j);                                                                       \
        REPEAT_##n(ADD_ROW_1_##part);                                                              \
        ADD_SCORES_2(n, columns)                                                                   \
        j += LANES;                                                                                \
        weight += (n)*LANES;                                                                       \
    }
#define LAST_COLUMNS(a) load_first(a, job->rest)
/* What is left behind the last whole vectors of all parts. */
#define ADD_LAST_SCORES(part, n, unused)                                                           \
    if (j < end)                                                                                   \
        ADD_SCORES(part, n, load)                                                                  \
    else if (j == end && job->has_rest)                                                            \
    ADD_SCORES(part, n, LAST_COLUMNS)
#define ADD_ALL_SCORES(n)                                                                          \
    {                                                                                              \
        const real *weight = job->weight;                                                          \
        const size_t end = job->vectors * LANES;                                                   \
        size_t j = 0;                                                                              \
        while (j + PARTS * LANES <= end) {                                                         \
            EACH_PART(ADD_SCORES, n, load)                                                         \
        }                                                                                          \
        EACH_PART(ADD_LAST_SCORES, n, )                                                            \
    }
#define ADD_ROW_0_0(c) ADD_ROW(0, 0, c)
#define ADD_ROW_1_0(c) ADD_ROW(1, 0, c)
#define ADD_ROW_0_1(c) ADD_ROW(0, 1, c)
#define ADD_ROW_1_1(c) ADD_ROW(1, 1, c)
#define ADD_ROW_0_2(c) ADD_ROW(0, 2, c)
#define ADD_ROW_1_2(c) ADD_ROW(1, 2, c)
#define ADD_ROW_0_3(c) ADD_ROW(0, 3, c)
#define ADD_ROW_1_3(c) ADD_ROW(1, 3, c)

#if PARTS == 1
#define ADD_ROW_2_0(c) ADD_ROW(2, 0, c)
#define ADD_ROW_3_0(c) ADD_ROW(3, 0, c)
#define ADD_SCORES_2(n, columns)                                                                   \
    x = columns(a2 + j);                                                                           \
    REPEAT_##n(ADD_ROW_2_0);                                                                       \
    x = columns(a3 + j);                                                                           \
    REPEAT_##n(ADD_ROW_3_0);
#define SCORES_OF(c) s0_##c[0], s1_##c[0], s2_##c[0], s3_##c[0]
#define PUT_1(c) put_sums(job->score + (c)*BLV_BLOCK_ROWS, job->add, SCORES_OF(c));
#define PUT_2(c, d)                                                                                \
    put_sums_of_two(job->score + (c)*BLV_BLOCK_ROWS, BLV_BLOCK_ROWS, job->add, SCORES_OF(c),       \
                    SCORES_OF(d));
#define PUT_SCORES_1 PUT_1(0)
#define PUT_SCORES_2 PUT_2(0, 1)
#define PUT_SCORES_3 PUT_SCORES_2 PUT_1(2)
#define PUT_SCORES_4 PUT_SCORES_2 PUT_2(2, 3)
#define PUT_SCORES_5 PUT_SCORES_4 PUT_1(4)
#define PUT_SCORES_6 PUT_SCORES_4 PUT_2(4, 5)
#define SCORE_KERNEL(n)                                                                            \
    OUT_OF_LINE void score_##n(const score_job *job) {                                             \
        const real *a0 = job->row[0], *a1 = job->row[1], *a2 = job->row[2], *a3 = job->row[3];     \
        REPEAT_##n(DECLARE_SCORE) REPEAT_##n(DECLARE_SCORE_2) ADD_ALL_SCORES(n) PUT_SCORES_##n     \
    }
#else
/* Two rows at a time: all parts of their sums are in registers. */
#define ADD_SCORES_2(n, columns)
#define KEEP_SCORE(c) kept[c][0] = fold_parts(s0_##c), kept[c][1] = fold_parts(s1_##c);
#define PUT_SCORE(c)                                                                               \
    put_sums(job->score + (c)*BLV_BLOCK_ROWS, job->add, kept[c][0], kept[c][1],                    \
             fold_parts(s0_##c), fold_parts(s1_##c));
#define SCORE_KERNEL(n)                                                                            \
    OUT_OF_LINE void score_##n(const score_job *job) {                                             \
        const real *a0 = job->row[0], *a1 = job->row[1];                                           \
        vec kept[n][2];                                                                            \
        {REPEAT_##n(DECLARE_SCORE) ADD_ALL_SCORES(n) REPEAT_##n(KEEP_SCORE)} a0 = job->row[2];     \
        a1 = job->row[3];                                                                          \
        REPEAT_##n(DECLARE_SCORE) ADD_ALL_SCORES(n) REPEAT_##n(PUT_SCORE)                          \
    }
#endif

/* Sums of n classes over the rows of a block, in three vectors of columns; or, for the columns that
 * are left, in the first lanes of one. ahead: rows that will be asked for next. */
typedef struct sum_job {
    first_lanes rest;
    const real *const *row;
    const real *const *ahead;
    size_t rows;
    size_t column;
    const real *factor; /* class by class, BLV_BLOCK_ROWS apart */
    real *sum;          /* class by class, sum_stride apart, from the column on */
    size_t sum_stride;
    bool fresh; /* sums begin at 0 and not at what is there */
} sum_job;

#define DECLARE_SUMS(c)                                                                            \
    real *const to_##c = job->sum + (c)*job->sum_stride;                                           \
    vec g0_##c = job->fresh ? zero : load(to_##c);                                                 \
    vec g1_##c = job->fresh || !three ? zero : load(to_##c + LANES);                               \
    vec g2_##c = job->fresh || !three ? zero : load(to_##c + 2 * LANES);
#define ADD_PRODUCTS(c)                                                                            \
    {                                                                                              \
        const vec f = all(factor[(c)*BLV_BLOCK_ROWS]);                                             \
        g0_##c = multiply_add(f, x0, g0_##c);                                                      \
        g1_##c = three ? multiply_add(f, x1, g1_##c) : g1_##c;                                     \
        g2_##c = three ? multiply_add(f, x2, g2_##c) : g2_##c;                                     \
    }
#define PUT_SUMS(c)                                                                                \
    store(to_##c, g0_##c);                                                                         \
    if (three) {                                                                                   \
        store(to_##c + LANES, g1_##c);                                                             \
        store(to_##c + 2 * LANES, g2_##c);                                                         \
    }

#define SUM_KERNEL(name, n, vectors)                                                               \
    OUT_OF_LINE void name(const sum_job *job) {                                                    \
        enum { three = (vectors) == 3 };                                                           \
        const vec zero = {0};                                                                      \
        const real *factor = job->factor;                                                          \
        const size_t rows = job->rows, column = job->column;                                       \
        const real *const *row = job->row, *const *ahead = job->ahead;                             \
        const first_lanes rest = job->rest;                                                        \
        REPEAT_##n(DECLARE_SUMS);                                                                  \
        for (size_t i = 0; i < rows; i++, factor++) {                                              \
            const real *a = row[i] + column, *next = ahead[i] + column;                            \
            const vec x0 = three ? load(a) : load_first(a, rest);                                  \
            const vec x1 = three ? load(a + LANES) : zero;                                         \
            const vec x2 = three ? load(a + 2 * LANES) : zero;                                     \
            FETCH(next);                                                                           \
            if (three && VECTOR_BYTES > 32)                                                        \
                FETCH(next + LANES);                                                               \
            if (three && VECTOR_BYTES > 16)                                                        \
                FETCH(next + 2 * LANES);                                                           \
            REPEAT_##n(ADD_PRODUCTS);                                                              \
        }                                                                                          \
        REPEAT_##n(PUT_SUMS);                                                                      \
    }
#define SUM_KERNELS(n) SUM_KERNEL(sum_##n, n, 3) SUM_KERNEL(sum_rest_##n, n, 1)

#define EACH_SCORE_SIZE_3(f) f(1) f(2) f(3)
#define EACH_SCORE_SIZE_6(f) EACH_SCORE_SIZE_3(f) f(4) f(5) f(6)
#define EACH_SUM_SIZE_4(f) f(1) f(2) f(3) f(4)
#define EACH_SUM_SIZE_9(f) EACH_SUM_SIZE_4(f) f(5) f(6) f(7) f(8) f(9)
#define EACH_SCORE_SIZE(f) PASTE(EACH_SCORE_SIZE_, MOST_SCORES)(f)
#define EACH_SUM_SIZE(f) PASTE(EACH_SUM_SIZE_, MOST_SUMS)(f)

EACH_SCORE_SIZE(SCORE_KERNEL)
EACH_SUM_SIZE(SUM_KERNELS)

#define NAME_SCORE(n) [n] = score_##n,
#define NAME_SUM(n) [n] = sum_##n,
#define NAME_SUM_REST(n) [n] = sum_rest_##n,
static void (*const score_of[])(const score_job *) = {EACH_SCORE_SIZE(NAME_SCORE)};
static void (*const sum_of[])(const sum_job *) = {EACH_SUM_SIZE(NAME_SUM)};
static void (*const sum_rest_of[])(const sum_job *) = {EACH_SUM_SIZE(NAME_SUM_REST)};
