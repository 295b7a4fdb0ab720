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
