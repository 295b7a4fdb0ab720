/* Second sweep, of one precision: out = X'factor + ridge o of, for columns [begin, end). Included
 * by sparse_loops.c for each REAL after sparse_rows_body.h, has no include guard.
 *
 * By columns, the entries of a column pick rows of the factor, which is small enough for a cache;
 * W and the result sweep by once, in order. By rows, the same sums are formed in the result itself,
 * in the same order but for the ridge term, which comes first. */

/* The ridge of column j and class k is column[j] + class[k], the first part maybe absent. */
#define penalty NAME(penalty)
typedef struct penalty {
    bool any;
    REAL all;
    const REAL *column, *class;
} penalty;

static penalty NAME(penalty_of)(const blv_sweep *sweep) {
    return (penalty){.any = sweep->ridge != 0.0 || sweep->ridge_column || sweep->ridge_class,
                     .all = (REAL)sweep->ridge,
                     .column = sweep->ridge_column,
                     .class = sweep->ridge_class};
}

/* Columns with many entries are summed in stretches, each of which begins at zero: the error of one
 * long sum in single precision would show. */
enum { NAME(stretch) = 256 };

/* The entries by column, and the factor whose rows they pick. A copy of its own, because the
 * compiler must take every store of a result for a change of what is behind a pointer. */
#define picker NAME(picker)
typedef struct picker {
    const uint32_t *row;
    const REAL *value, *factor;
    size_t entries, stride;
} picker;

/* sum = the entries [e, stop) of a column, one at least, times their rows of the factor. Even and
 * odd entries have sums of their own: one multiply-add need not wait for the one before. An entry
 * without a partner is its own, with weight 0: most columns have few entries, and a branch that
 * cannot be foreseen costs more than that. */
ALWAYS_INLINE void NAME(sum_stretch)(size_t vectors, bool fetch, vector sum[BLOCK], picker p,
                                     part last, size_t e, size_t stop) {
    vector odd[BLOCK] = {{0}};
#define ADD_EVEN(k) sum[k] = NAME(madd)(a, NAME(load_of)(from, k, vectors, last), sum[k])
#define ADD_ODD(k) odd[k] = NAME(madd)(a, NAME(load_of)(from, k, vectors, last), odd[k])
#define ENTRY(e, weight, add)                                                                      \
    do {                                                                                           \
        const REAL *from = p.factor + p.row[e] * p.stride;                                         \
        const vector a = NAME(spread)(weight);                                                     \
        EACH(vectors, add);                                                                        \
    } while (0)
    for (; e < stop; e += 2) {
        const size_t has_partner = e + 1 < stop, partner = e + has_partner;
        if (fetch && partner + RESIDUAL_AHEAD < p.entries) {
            NAME(fetch_early)(p.factor + p.row[e + RESIDUAL_AHEAD] * p.stride, vectors, last);
            NAME(fetch_early)(p.factor + p.row[partner + RESIDUAL_AHEAD] * p.stride, vectors, last);
        }
        ENTRY(e, p.value[e], ADD_EVEN);
        ENTRY(partner, p.value[partner] * (REAL)(int)has_partner, ADD_ODD);
    }
#define JOIN(k) sum[k] += odd[k]
    EACH(vectors, JOIN);
#undef ADD_EVEN
#undef ADD_ODD
#undef ENTRY
#undef JOIN
}

/* With `fetch`, the rows of the factor are fetched ahead, for it is larger than a cache. */
ALWAYS_INLINE void NAME(columns_of)(size_t vectors, bool fetch, const blv_sparse_args *args,
                                    const blv_sparse_product *product, block b, size_t begin,
                                    size_t end) {
    const blv_rows *rows = args->rows;
    const size_t *start = rows->column_start;
    const size_t classes = args->sweep->classes;
    const picker p = {.row = rows->row,
                      .value = rows->column_value,
                      .factor = (const REAL *)product->factor + b.first,
                      .entries = start[rows->columns],
                      .stride = args->stride};
    const REAL *of = (const REAL *)product->of + b.first;
    REAL *out = (REAL *)product->out + b.first;
    const penalty r = NAME(penalty_of)(args->sweep);
    vector base[BLOCK];
#define BASE(k)                                                                                    \
    base[k] = NAME(spread)(r.all) +                                                                \
              (r.class ? NAME(load_of)(r.class + b.first, k, vectors, b.last) : (vector){0})
    EACH(vectors, BASE);
    size_t e = start[begin];
    for (size_t j = begin; j < end; j++) {
        const size_t ahead = (j + COLUMNS_AHEAD < end ? j + COLUMNS_AHEAD : j) * classes;
        NAME(fetch)(of + ahead, vectors, b.last);
        NAME(fetch)(out + ahead, vectors, b.last);
        vector total[BLOCK] = {{0}};
        while (e < start[j + 1]) {
            const size_t left = start[j + 1] - e;
            const size_t stop = e + (left < NAME(stretch) ? left : NAME(stretch));
            vector sum[BLOCK] = {{0}};
            NAME(sum_stretch)(vectors, fetch, sum, p, b.last, e, stop);
            e = stop;
#define TOTAL(k) total[k] += sum[k]
            EACH(vectors, TOTAL);
        }
        if (r.any) {
            const vector own = NAME(spread)(r.column ? r.column[j] : 0);
#define RIDGE(k)                                                                                   \
    total[k] =                                                                                     \
        NAME(madd)(base[k] + own, NAME(load_of)(of + j * classes, k, vectors, b.last), total[k])
            EACH(vectors, RIDGE);
        }
#define PUT(k) NAME(store_of)(out + j * classes, k, vectors, b.last, total[k])
        EACH(vectors, PUT);
    }
#undef BASE
#undef TOTAL
#undef RIDGE
#undef PUT
}

/* Adds the rows of the sweep to columns [begin, end). Where the columns of a row are in order, the
 * branch that picks those of the range is foreseen. */
ALWAYS_INLINE void NAME(scatter_of)(size_t vectors, const blv_sparse_args *args,
                                    const blv_sparse_product *product, block b, size_t begin,
                                    size_t end) {
    const blv_rows *rows = args->rows;
    const size_t classes = args->sweep->classes;
    const uint32_t *column = rows->column;
    const REAL *value = rows->value, *factor = (const REAL *)product->factor + b.first;
    REAL *out = (REAL *)product->out + b.first;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = row_at(rows, i), stop = rows->row_start[row + 1];
        const size_t limit = rows->index ? stop : rows->row_start[rows->rows];
        const size_t ahead = rows->index ? LISTED_AHEAD : AHEAD;
        vector residual[BLOCK];
#define GET(k) residual[k] = NAME(load_of)(factor + i * args->stride, k, vectors, b.last)
        EACH(vectors, GET);
        for (size_t e = rows->row_start[row]; e < stop; e++) {
            if (column[e] - begin >= end - begin)
                continue;
            const size_t next = e + ahead < limit ? e + ahead : e;
            NAME(fetch_early)(out + column[next] * classes, vectors, b.last);
            REAL *to = out + column[e] * classes;
            const vector a = NAME(spread)(value[e]);
#define ADD(k)                                                                                     \
    NAME(store_of)                                                                                 \
    (to, k, vectors, b.last, NAME(madd)(a, residual[k], NAME(load_of)(to, k, vectors, b.last)))
            EACH(vectors, ADD);
        }
    }
#undef GET
#undef ADD
}

#define COPIES(vectors)                                                                            \
    NOINLINE void NAME(columns_##vectors)(const blv_sparse_args *args,                             \
                                          const blv_sparse_product *product, block b,              \
                                          size_t begin, size_t end) {                              \
        if (args->rows->rows * args->stride * sizeof(REAL) > CACHED_BYTES)                         \
            NAME(columns_of)(vectors, true, args, product, b, begin, end);                         \
        else                                                                                       \
            NAME(columns_of)(vectors, false, args, product, b, begin, end);                        \
    }                                                                                              \
    NOINLINE void NAME(scatter_##vectors)(const blv_sparse_args *args,                             \
                                          const blv_sparse_product *product, block b,              \
                                          size_t begin, size_t end) {                              \
        NAME(scatter_of)(vectors, args, product, b, begin, end);                                   \
    }
COPIES(1)
COPIES(2)
COPIES(3)
COPIES(4)
#undef COPIES

#define copy_fn NAME(copy_fn)
typedef void (*copy_fn)(const blv_sparse_args *, const blv_sparse_product *, block, size_t, size_t);

static void NAME(each_block)(const copy_fn copy[BLOCK], const blv_sparse_args *args,
                             const blv_sparse_product *product, size_t begin, size_t end) {
    for (size_t first = 0; first < args->sweep->classes; first += BLOCK * WIDTH) {
        const block b = NAME(block_at)(first, args->sweep->classes);
        copy[b.vectors - 1](args, product, b, begin, end);
    }
}

/* One class: a column has one number. */
NOINLINE void NAME(columns_single)(const blv_sparse_args *args, const blv_sparse_product *product,
                                   size_t begin, size_t end) {
    const blv_rows *rows = args->rows;
    const penalty r = NAME(penalty_of)(args->sweep);
    const REAL *value = rows->column_value, *factor = product->factor, *of = product->of;
    REAL *out = product->out;
    const REAL all = r.all + (r.class ? r.class[0] : 0);
    for (size_t j = begin; j < end; j++) {
        const size_t start = rows->column_start[j], stop = rows->column_start[j + 1];
        REAL sum[4] = {0};
        size_t e = start;
        for (; e + 4 <= stop; e += 4) {
            UNROLL
            for (size_t l = 0; l < 4; l++)
                sum[l] += value[e + l] * factor[rows->row[e + l] * args->stride];
        }
        for (; e < stop; e++)
            sum[0] += value[e] * factor[rows->row[e] * args->stride];
        const REAL total = (sum[0] + sum[2]) + (sum[1] + sum[3]);
        out[j] = r.any ? (all + (r.column ? r.column[j] : 0)) * of[j] + total : total;
    }
}

static void NAME(columns)(const blv_sparse_args *args, const blv_sparse_product *product,
                          size_t begin, size_t end) {
    static const copy_fn copy[BLOCK] = {NAME(columns_1), NAME(columns_2), NAME(columns_3),
                                        NAME(columns_4)};
    if (args->sweep->classes == 1)
        NAME(columns_single)(args, product, begin, end);
    else
        NAME(each_block)(copy, args, product, begin, end);
}

/* The ridge terms of columns [begin, end). */
static void NAME(start_at_ridge)(const blv_sweep *sweep, const REAL *of, REAL *out, size_t begin,
                                 size_t end) {
    const penalty r = NAME(penalty_of)(sweep);
    const size_t classes = sweep->classes;
    if (!r.any) {
        memset(out + begin * classes, 0, (end - begin) * classes * sizeof(REAL));
    } else if (!r.column && !r.class) {
        const REAL all = r.all;
        for (size_t i = begin * classes; i < end * classes; i++)
            out[i] = all * of[i];
    } else {
        for (size_t j = begin; j < end; j++) {
            const REAL own = r.all + (r.column ? r.column[j] : 0);
            for (size_t k = 0; k < classes; k++)
                out[j * classes + k] = (own + (r.class ? r.class[k] : 0)) * of[j * classes + k];
        }
    }
}

static void NAME(scatter)(const blv_sparse_args *args, const blv_sparse_product *product,
                          size_t begin, size_t end) {
    static const copy_fn copy[BLOCK] = {NAME(scatter_1), NAME(scatter_2), NAME(scatter_3),
                                        NAME(scatter_4)};
    NAME(start_at_ridge)(args->sweep, product->of, product->out, begin, end);
    NAME(each_block)(copy, args, product, begin, end);
}

extern const blv_sparse_loops NAME(blv_sparse_loops);
const blv_sparse_loops NAME(blv_sparse_loops) = {
    .rows = NAME(rows),
    .columns = NAME(columns),
    .scatter = NAME(scatter),
};

#undef penalty
#undef picker
#undef block
#undef copy_fn
