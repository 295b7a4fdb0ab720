/* Second sweep: out = X'factor + ridge o of, for columns [begin, end).
 *
 * By columns, the entries of a column pick rows of the factor, which is small enough for a cache;
 * W and the result sweep by once, in order. By rows, the same sums are formed in the result itself,
 * in the same order but for the ridge term, which comes first. */
#include "kernels/cpu/sparse_rows.h"

/* The ridge of column j and class k is column[j] + class[k], the first part maybe absent. */
typedef struct penalty {
    bool any;
    real all;
    const real *column, *class;
} penalty;

static penalty penalty_of(const blv_sweep *sweep) {
    return (penalty){.any = sweep->ridge != 0.0 || sweep->ridge_column || sweep->ridge_class,
                     .all = (real)sweep->ridge,
                     .column = sweep->ridge_column,
                     .class = sweep->ridge_class};
}

/* Columns with many entries are summed in stretches, each of which begins at zero: the error of one
 * long sum in single precision would show. */
enum { stretch = 256 };

/* The entries by column, and the factor whose rows they pick. A copy of its own, because the
 * compiler must take every store of a result for a change of what is behind a pointer. */
typedef struct picker {
    const uint32_t *row;
    const real *value, *factor;
    size_t entries, stride;
} picker;

/* sum = the entries [e, stop) of a column, one at least, times their rows of the factor. Even and
 * odd entries have sums of their own: one multiply-add need not wait for the one before. An entry
 * without a partner is its own, with weight 0: most columns have few entries, and a branch that
 * cannot be foreseen costs more than that. */
ALWAYS_INLINE void sum_stretch(size_t vectors, bool fetch, vec sum[BLOCK], picker p, part last,
                               size_t e, size_t stop) {
    vec odd[BLOCK] = {{0}};
#define ADD_EVEN(k) sum[k] = multiply_add(a, load_of(from, k, vectors, last), sum[k])
#define ADD_ODD(k) odd[k] = multiply_add(a, load_of(from, k, vectors, last), odd[k])
#define ENTRY(e, weight, add)                                                                      \
    do {                                                                                           \
        const real *from = p.factor + p.row[e] * p.stride;                                         \
        const vec a = all(weight);                                                                 \
        EACH(vectors, add);                                                                        \
    } while (0)
    for (; e < stop; e += 2) {
        const size_t has_partner = e + 1 < stop, partner = e + has_partner;
        if (fetch && partner + RESIDUAL_AHEAD < p.entries) {
            fetch_early(p.factor + p.row[e + RESIDUAL_AHEAD] * p.stride, vectors, last);
            fetch_early(p.factor + p.row[partner + RESIDUAL_AHEAD] * p.stride, vectors, last);
        }
        ENTRY(e, p.value[e], ADD_EVEN);
        ENTRY(partner, p.value[partner] * (real)(int)has_partner, ADD_ODD);
    }
#define JOIN(k) sum[k] += odd[k]
    EACH(vectors, JOIN);
#undef ADD_EVEN
#undef ADD_ODD
#undef ENTRY
#undef JOIN
}

/* With `fetch`, the rows of the factor are fetched ahead, for it is larger than a cache. */
ALWAYS_INLINE void columns_of(size_t vectors, bool fetch, const blv_sparse_args *args,
                              const blv_sparse_product *product, block b, size_t begin,
                              size_t end) {
    const blv_rows *rows = args->rows;
    const size_t *start = rows->column_start;
    const size_t classes = args->sweep->classes;
    const picker p = {.row = rows->row,
                      .value = rows->column_value,
                      .factor = (const real *)product->factor + b.first,
                      .entries = start[rows->columns],
                      .stride = args->stride};
    const real *of = (const real *)product->of + b.first;
    real *out = (real *)product->out + b.first;
    const penalty r = penalty_of(args->sweep);
    vec base[BLOCK];
#define BASE(k)                                                                                    \
    base[k] = all(r.all) + (r.class ? load_of(r.class + b.first, k, vectors, b.last) : (vec){0})
    EACH(vectors, BASE);
    size_t e = start[begin];
    for (size_t j = begin; j < end; j++) {
        const size_t ahead = (j + COLUMNS_AHEAD < end ? j + COLUMNS_AHEAD : j) * classes;
        fetch_now(of + ahead, vectors, b.last);
        fetch_now(out + ahead, vectors, b.last);
        vec total[BLOCK] = {{0}};
        while (e < start[j + 1]) {
            const size_t left = start[j + 1] - e;
            const size_t stop = e + (left < stretch ? left : stretch);
            vec sum[BLOCK] = {{0}};
            sum_stretch(vectors, fetch, sum, p, b.last, e, stop);
            e = stop;
#define TOTAL(k) total[k] += sum[k]
            EACH(vectors, TOTAL);
        }
        if (r.any) {
            const vec own = all(r.column ? r.column[j] : 0);
#define RIDGE(k)                                                                                   \
    total[k] = multiply_add(base[k] + own, load_of(of + j * classes, k, vectors, b.last), total[k])
            EACH(vectors, RIDGE);
        }
#define PUT(k) store_of(out + j * classes, k, vectors, b.last, total[k])
        EACH(vectors, PUT);
    }
#undef BASE
#undef TOTAL
#undef RIDGE
#undef PUT
}

/* Adds the rows of the sweep to columns [begin, end). Where the columns of a row are in order, the
 * branch that picks those of the range is foreseen. */
ALWAYS_INLINE void scatter_of(size_t vectors, const blv_sparse_args *args,
                              const blv_sparse_product *product, block b, size_t begin,
                              size_t end) {
    const blv_rows *rows = args->rows;
    const size_t classes = args->sweep->classes;
    const uint32_t *column = rows->column;
    const real *value = rows->value, *factor = (const real *)product->factor + b.first;
    real *out = (real *)product->out + b.first;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = row_at(rows, i), stop = rows->row_start[row + 1];
        const size_t limit = rows->index ? stop : rows->row_start[rows->rows];
        const size_t ahead = rows->index ? LISTED_AHEAD : AHEAD;
        vec residual[BLOCK];
#define GET(k) residual[k] = load_of(factor + i * args->stride, k, vectors, b.last)
        EACH(vectors, GET);
        for (size_t e = rows->row_start[row]; e < stop; e++) {
            if (column[e] - begin >= end - begin)
                continue;
            const size_t next = e + ahead < limit ? e + ahead : e;
            fetch_early(out + column[next] * classes, vectors, b.last);
            real *to = out + column[e] * classes;
            const vec a = all(value[e]);
#define ADD(k)                                                                                     \
    store_of(to, k, vectors, b.last, multiply_add(a, residual[k], load_of(to, k, vectors, b.last)))
            EACH(vectors, ADD);
        }
    }
#undef GET
#undef ADD
}

#define COPIES(vectors)                                                                            \
    OUT_OF_LINE void columns_##vectors(const blv_sparse_args *args,                                \
                                       const blv_sparse_product *product, block b, size_t begin,   \
                                       size_t end) {                                               \
        if (args->rows->rows * args->stride * sizeof(real) > CACHED_BYTES)                         \
            columns_of(vectors, true, args, product, b, begin, end);                               \
        else                                                                                       \
            columns_of(vectors, false, args, product, b, begin, end);                              \
    }                                                                                              \
    OUT_OF_LINE void scatter_##vectors(const blv_sparse_args *args,                                \
                                       const blv_sparse_product *product, block b, size_t begin,   \
                                       size_t end) {                                               \
        scatter_of(vectors, args, product, b, begin, end);                                         \
    }
COPIES(1)
COPIES(2)
COPIES(3)
COPIES(4)
#undef COPIES

typedef void (*copy_fn)(const blv_sparse_args *, const blv_sparse_product *, block, size_t, size_t);

static void each_block(const copy_fn copy[BLOCK], const blv_sparse_args *args,
                       const blv_sparse_product *product, size_t begin, size_t end) {
    for (size_t first = 0; first < args->sweep->classes; first += BLOCK * LANES) {
        const block b = block_at(first, args->sweep->classes);
        copy[b.vectors - 1](args, product, b, begin, end);
    }
}

/* One class: a column has one number. */
OUT_OF_LINE void columns_single(const blv_sparse_args *args, const blv_sparse_product *product,
                                size_t begin, size_t end) {
    const blv_rows *rows = args->rows;
    const penalty r = penalty_of(args->sweep);
    const real *value = rows->column_value, *factor = product->factor, *of = product->of;
    real *out = product->out;
    const real all = r.all + (r.class ? r.class[0] : 0);
    for (size_t j = begin; j < end; j++) {
        const size_t start = rows->column_start[j], stop = rows->column_start[j + 1];
        real sum[4] = {0};
        size_t e = start;
        for (; e + 4 <= stop; e += 4) {
            UNROLL
            for (size_t l = 0; l < 4; l++)
                sum[l] += value[e + l] * factor[rows->row[e + l] * args->stride];
        }
        for (; e < stop; e++)
            sum[0] += value[e] * factor[rows->row[e] * args->stride];
        const real total = (sum[0] + sum[2]) + (sum[1] + sum[3]);
        out[j] = r.any ? (all + (r.column ? r.column[j] : 0)) * of[j] + total : total;
    }
}

OUT_OF_LINE void scatter_single(const blv_sparse_args *args, const blv_sparse_product *product,
                                size_t begin, size_t end) {
    const blv_rows *rows = args->rows;
    const uint32_t *column = rows->column;
    const real *value = rows->value, *factor = product->factor;
    real *out = product->out;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = row_at(rows, i), stop = rows->row_start[row + 1];
        const real residual = factor[i * args->stride];
        for (size_t e = rows->row_start[row]; e < stop; e++)
            if (column[e] - begin < end - begin)
                out[column[e]] += value[e] * residual;
    }
}

static void sweep_columns(const blv_sparse_args *args, const blv_sparse_product *product,
                          size_t begin, size_t end) {
    static const copy_fn copy[BLOCK] = {columns_1, columns_2, columns_3, columns_4};
    if (args->sweep->classes == 1)
        columns_single(args, product, begin, end);
    else
        each_block(copy, args, product, begin, end);
}

/* The ridge terms of columns [begin, end). */
static void start_at_ridge(const blv_sweep *sweep, const real *of, real *out, size_t begin,
                           size_t end) {
    const penalty r = penalty_of(sweep);
    const size_t classes = sweep->classes;
    if (!r.any) {
        memset(out + begin * classes, 0, (end - begin) * classes * sizeof(real));
    } else if (!r.column && !r.class) {
        const real all = r.all;
        for (size_t i = begin * classes; i < end * classes; i++)
            out[i] = all * of[i];
    } else {
        for (size_t j = begin; j < end; j++) {
            const real own = r.all + (r.column ? r.column[j] : 0);
            for (size_t k = 0; k < classes; k++)
                out[j * classes + k] = (own + (r.class ? r.class[k] : 0)) * of[j * classes + k];
        }
    }
}

static void sweep_scatter(const blv_sparse_args *args, const blv_sparse_product *product,
                          size_t begin, size_t end) {
    static const copy_fn copy[BLOCK] = {scatter_1, scatter_2, scatter_3, scatter_4};
    start_at_ridge(args->sweep, product->of, product->out, begin, end);
    if (args->sweep->classes == 1)
        scatter_single(args, product, begin, end);
    else
        each_block(copy, args, product, begin, end);
}

const blv_sparse_loops BLV_TABLE(blv_sparse_loops) = {
    .rows = sweep_rows,
    .columns = sweep_columns,
    .scatter = sweep_scatter,
};
