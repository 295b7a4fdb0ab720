/* Products of matrices by tiles that stay in registers: TILE_ROWS rows of C by one or two vectors.
 *
 * Nothing is packed: a number of A is broadcast from where it lies, rows of B are loaded from where
 * they lie, and the tiles below each other use the same piece of B, of PART rows, while it is in
 * the first cache. That runs at the peak of the multipliers as long as rows of A and B do not lie a
 * multiple of a large power of two apart; whoever lays them out sees to that. */
#pragma once

#include "kernels/cpu/lanes.h"
#include "nn/nn_loops.h"

#if MANY_REGISTERS
#define TILE_ROWS 8
#elif defined(BLV_ISA_avx2)
#define TILE_ROWS 6
#else
#define TILE_ROWS 4
#endif
#define TILE_VECS 2
#define MOST_VECS 4 /* of any tile */
#define TILE_COLUMNS (TILE_VECS * LANES)
#define PART 128 /* of the depth */
#define UNROLL _Pragma("GCC unroll 16")

/* Over `depth` numbers k, or those of a list. rows, vecs, whether there is a list, and one of the
 * steps of A are constants where this is inlined. */
ALWAYS_INLINE void tile(const size_t rows, const size_t vecs, size_t depth, const uint32_t *list,
                        const real *a, size_t a_row, size_t a_depth, const real *b, size_t b_depth,
                        real *c, size_t c_row, bool add) {
    vec sum[TILE_ROWS][MOST_VECS];
    UNROLL for (size_t i = 0; i < rows; i++) {
        UNROLL for (size_t j = 0; j < vecs; j++) sum[i][j] = all(0);
    }
    for (size_t n = 0; n < depth; n++) {
        const size_t k = list ? list[n] : n;
        const real *left = a + k * a_depth, *right = b + k * b_depth;
        vec row[MOST_VECS];
        UNROLL for (size_t j = 0; j < vecs; j++) row[j] = load(right + j * LANES);
        UNROLL for (size_t i = 0; i < rows; i++) {
            const vec factor = all(left[i * a_row]);
            UNROLL for (size_t j = 0; j < vecs; j++) sum[i][j] =
                multiply_add(factor, row[j], sum[i][j]);
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) {
        UNROLL for (size_t j = 0; j < vecs; j++) {
            real *to = c + i * c_row + j * LANES;
            if (add)
                sum[i][j] += load(to);
            store(to, sum[i][j]);
        }
    }
}

#define TILE(n)                                                                                    \
    case n:                                                                                        \
        if (vecs == 2)                                                                             \
            tile(n, 2, depth, NULL, a, a_row, a_depth, b, b_depth, c, c_row, add);                 \
        else                                                                                       \
            tile(n, 1, depth, NULL, a, a_row, a_depth, b, b_depth, c, c_row, add);                 \
        break;

ALWAYS_INLINE void any_tile(size_t rows, size_t vecs, size_t depth, const real *a, size_t a_row,
                            size_t a_depth, const real *b, size_t b_depth, real *c, size_t c_row,
                            bool add) {
    switch (rows) {
        TILE(1)
        TILE(2)
        TILE(3)
#if TILE_ROWS > 4
        TILE(4)
        TILE(5)
#endif
#if TILE_ROWS > 6
        TILE(6)
        TILE(7)
#endif
    default:
        if (vecs == 2)
            tile(TILE_ROWS, 2, depth, NULL, a, a_row, a_depth, b, b_depth, c, c_row, add);
        else
            tile(TILE_ROWS, 1, depth, NULL, a, a_row, a_depth, b, b_depth, c, c_row, add);
    }
}

OUT_OF_LINE void tile_by_rows(size_t rows, size_t vecs, size_t depth, const real *a, size_t a_row,
                              const real *b, size_t b_depth, real *c, size_t c_row, bool add) {
    any_tile(rows, vecs, depth, a, a_row, 1, b, b_depth, c, c_row, add);
}

OUT_OF_LINE void tile_by_columns(size_t rows, size_t vecs, size_t depth, const real *a,
                                 size_t a_depth, const real *b, size_t b_depth, real *c,
                                 size_t c_row, bool add) {
    any_tile(rows, vecs, depth, a, 1, a_depth, b, b_depth, c, c_row, add);
}

typedef struct tile_place {
    size_t rows, columns, vecs, depth;
    const real *a, *b;
    real *c;
    bool add;
} tile_place;

ALWAYS_INLINE void run_tile(const nn_product *p, const tile_place *t, real *c, size_t c_row,
                            bool add) {
    if (p->a_depth == 1)
        tile_by_rows(t->rows, t->vecs, t->depth, t->a, p->a_row, t->b, p->b_depth, c, c_row, add);
    else
        tile_by_columns(t->rows, t->vecs, t->depth, t->a, p->a_depth, t->b, p->b_depth, c, c_row,
                        add);
}

/* A tile that is narrower than its vectors goes through a place of its own. */
static void narrow_tile(const nn_product *p, const tile_place *t) {
    real part[TILE_ROWS * TILE_COLUMNS];
    run_tile(p, t, part, TILE_COLUMNS, false);
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) {
            real *to = t->c + i * p->c_row + j;
            *to = (t->add ? *to : 0) + part[i * TILE_COLUMNS + j];
        }
}

static void tiles_below(const nn_product *p, tile_place *t, bool narrow) {
    for (size_t i = 0; i < p->rows; i += TILE_ROWS) {
        t->rows = p->rows - i < TILE_ROWS ? p->rows - i : TILE_ROWS;
        if (narrow)
            narrow_tile(p, t);
        else
            run_tile(p, t, t->c, p->c_row, t->add);
        t->a += TILE_ROWS * p->a_row;
        t->c += TILE_ROWS * p->c_row;
    }
}

static void full_product(const nn_product *p) {
    for (size_t k = 0; k < p->depth; k += PART)
        for (size_t j = 0; j < p->columns; j += TILE_COLUMNS) {
            tile_place t = {.columns = p->columns - j,
                            .depth = p->depth - k < PART ? p->depth - k : PART,
                            .a = (const real *)p->a + k * p->a_depth,
                            .b = (const real *)p->b + k * p->b_depth + j,
                            .c = (real *)p->c + j,
                            .add = p->add || k > 0};
            if (t.columns > TILE_COLUMNS)
                t.columns = TILE_COLUMNS;
            t.vecs = t.columns > LANES ? 2 : 1;
            tiles_below(p, &t, !p->whole && t.columns < t.vecs * LANES);
        }
}

/* ---- Many zeros ---- */

/* Products with a left factor of many zeros, as pixels are: tiles of few rows of C, which go over
 * those numbers k only for which A is not zero in all of their rows. Sums are made in the same
 * order and in the same parts as by other tiles, and adding 0 changes nothing: the bits are the
 * same. */

#if MANY_REGISTERS
#define SPARSE_VECS 4
#else
#define SPARSE_VECS 2 /* there are fewer registers */
#endif
#define SPARSE_ROWS 4
#define BETWEEN_LOOKS 8

/* ---- What is not zero ---- */

/* Any of the numbers a[0], a[a_row], ... but zeros of either sign. */
ALWAYS_INLINE bool any_of(const real *a, size_t a_row, size_t rows) {
    whole bits = 0;
    for (size_t i = 0; i < rows; i++) {
        whole one;
        memcpy(&one, a + i * a_row, sizeof one);
        bits |= one;
    }
    return (whole)(bits << 1) != 0;
}

/* The same of numbers next to each other, two words at a time. */
ALWAYS_INLINE bool any_of_four(const real *a) {
    uint64_t words[SPARSE_ROWS * sizeof(real) / sizeof(uint64_t)], bits = 0;
    const uint64_t no_signs = sizeof(real) == 4 ? 0x7fffffff7fffffffu : 0x7fffffffffffffffu;
    memcpy(words, a, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        bits |= words[i];
    return (bits & no_signs) != 0;
}

/* Whether leaving out zeros pays, as far as every eighth k tells: a number that is found costs more
 * than one in a full tile. */
static bool looks_sparse(const nn_product *p, const real *a, size_t rows) {
    size_t found = 0, looks = 0;
    for (size_t k = BETWEEN_LOOKS / 2; k < p->depth; k += BETWEEN_LOOKS, looks++)
        found += any_of(a + k * p->a_depth, p->a_row, rows);
    return 10 * found < 7 * looks;
}

#if defined(BLV_ISA_avx512) && REAL_IS_FLOAT
#define MASK __mmask16
#define NOT_ZERO(v) _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ)
ALWAYS_INLINE void store_places(uint32_t *to, MASK mask, size_t first) {
    const __m512i up = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i places = _mm512_add_epi32(up, _mm512_set1_epi32((int)first));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, places));
}
#elif defined(BLV_ISA_avx512)
#define MASK __mmask8
#define NOT_ZERO(v) _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_UQ)
ALWAYS_INLINE void store_places(uint32_t *to, MASK mask, size_t first) {
    const __m256i up = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i places = _mm256_add_epi32(up, _mm256_set1_epi32((int)first));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_maskz_compress_epi32(mask, places));
}
#endif

/* Lists the k for which any of the rows is not zero; returns how many there are. */
static size_t list_places(const nn_product *p, const real *a, size_t rows) {
    size_t found = 0, k = 0;
#if defined(BLV_ISA_avx512)
    for (; p->a_depth == 1 && k + LANES <= p->depth; k += LANES) {
        MASK mask = 0;
        for (size_t i = 0; i < rows; i++)
            mask = (MASK)(mask | NOT_ZERO(load(a + i * p->a_row + k)));
        store_places(p->list + found, mask, k);
        found += (size_t)__builtin_popcount(mask);
    }
#endif
    if (p->a_row == 1 && rows == SPARSE_ROWS)
        for (; k < p->depth; k++) {
            p->list[found] = (uint32_t)k;
            found += any_of_four(a + k * p->a_depth);
        }
    for (; k < p->depth; k++) {
        p->list[found] = (uint32_t)k;
        found += any_of(a + k * p->a_depth, p->a_row, rows);
    }
    return found;
}

/* ---- Tiles ---- */

/* Columns of `vecs` vectors, a constant where this is inlined. */
ALWAYS_INLINE void sparse_tiles(const size_t vecs, const nn_product *p, size_t rows, size_t count,
                                const uint32_t *list, const real *a, const real *b, real *c,
                                size_t c_row, bool add) {
    if (rows == SPARSE_ROWS)
        tile(SPARSE_ROWS, vecs, count, list, a, p->a_row, p->a_depth, b, p->b_depth, c, c_row, add);
    else
        for (size_t i = 0; i < rows; i++)
            tile(1, vecs, count, list, a + i * p->a_row, p->a_row, p->a_depth, b, p->b_depth,
                 c + i * c_row, c_row, add);
}

OUT_OF_LINE void wide_sparse_tile(const nn_product *p, size_t rows, size_t count,
                                  const uint32_t *list, const real *a, const real *b, real *c,
                                  size_t c_row, bool add) {
    sparse_tiles(SPARSE_VECS, p, rows, count, list, a, b, c, c_row, add);
}

OUT_OF_LINE void single_sparse_tile(const nn_product *p, size_t rows, size_t count,
                                    const uint32_t *list, const real *a, const real *b, real *c,
                                    size_t c_row, bool add) {
    sparse_tiles(1, p, rows, count, list, a, b, c, c_row, add);
}

/* One vector of columns, of which the last may not fit into C. */
static void single_sparse_tiles(const nn_product *p, size_t rows, size_t columns, size_t count,
                                const uint32_t *list, const real *a, const real *b, real *c,
                                bool add) {
    if (columns >= LANES || p->whole) {
        single_sparse_tile(p, rows, count, list, a, b, c, p->c_row, add);
        return;
    }
    real part[SPARSE_ROWS * LANES];
    single_sparse_tile(p, rows, count, list, a, b, part, LANES, false);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            real *to = c + i * p->c_row + j;
            *to = (add ? *to : 0) + part[i * LANES + j];
        }
}

/* A few rows of C, with the k that have been listed. */
static void sparse_rows(const nn_product *p, size_t rows, size_t found, const real *a, real *c) {
    size_t begin = 0;
    for (size_t part = 0; part < p->depth; part += PART) {
        size_t end = begin, j = 0;
        while (end < found && p->list[end] < part + PART)
            end++;
        const uint32_t *list = p->list + begin;
        const real *b = p->b;
        const bool add = p->add || part > 0;
        for (; j + SPARSE_VECS * LANES <= p->columns; j += SPARSE_VECS * LANES)
            wide_sparse_tile(p, rows, end - begin, list, a, b + j, c + j, p->c_row, add);
        for (; j < p->columns; j += LANES)
            single_sparse_tiles(p, rows, p->columns - j, end - begin, list, a, b + j, c + j, add);
        begin = end;
    }
}

/* C by a few rows at a time, each with or without zeros, whatever is faster. */
static void sparse_product(const nn_product *p) {
    for (size_t i = 0; i < p->rows; i += SPARSE_ROWS) {
        const size_t rows = p->rows - i < SPARSE_ROWS ? p->rows - i : SPARSE_ROWS;
        const real *a = (const real *)p->a + i * p->a_row;
        real *c = (real *)p->c + i * p->c_row;
        if (looks_sparse(p, a, rows)) {
            sparse_rows(p, rows, list_places(p, a, rows), a, c);
            continue;
        }
        nn_product full = *p; /* two of these at once: that is a tile */
        const size_t both = (size_t)2 * SPARSE_ROWS;
        full.rows = p->rows - i < both ? p->rows - i : both;
        full.a = a;
        full.c = c;
        full_product(&full);
        i += full.rows > SPARSE_ROWS ? SPARSE_ROWS : 0;
    }
}

static void product(const nn_product *p) {
    if (p->list)
        sparse_product(p);
    else
        full_product(p);
}
