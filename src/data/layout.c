/* Dense or sparse, single or double precision, by columns too: the features of a set in another
 * form. */
#include "base/rank_exchange.h"
#include "bilevel/ranks.h"
#include "data/data_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Layout ---- */

static blv_error make_dense(blv_dataset *d, const char *name, blv_message *why) {
    blv_dataset_view *v = &d->view;
    const size_t size = blv_value_size(v->precision), held = blv_held_rows(v);
    BLV_CHECK(blv_expect_memory(&d->limit, (uint64_t)held * v->columns, size, name,
                                "the set with all its zeros", why));
    if (v->columns > 0 && held > PTRDIFF_MAX / size / v->columns)
        return blv_explain(why, BLV_E_MEMORY, "%s: %zu rows of %zu columns do not fit dense", name,
                           held, v->columns);
    void *dense = calloc(held * v->columns > 0 ? held * v->columns : 1, size);
    for (size_t i = 0; dense && i < held; i++)
        for (size_t k = v->row_start[i]; k < v->row_start[i + 1]; k++)
            blv_value_set(dense, v->precision, i * v->columns + v->column[k],
                          blv_value_get(v->value, v->precision, k));
    if (!blv_dataset_put(d, BLV_PART_DENSE, dense))
        return blv_explain_memory(why);
    blv_dataset_drop(d, BLV_PART_ROW_START);
    blv_dataset_drop(d, BLV_PART_COLUMN);
    blv_dataset_drop(d, BLV_PART_VALUE);
    return BLV_OK;
}

static blv_error make_sparse(blv_dataset *d, blv_message *why) {
    blv_dataset_view *v = &d->view;
    size_t stored = 0, n = 0, held = blv_held_rows(v);
    for (size_t i = 0; i < held; i++)
        for (size_t j = 0; j < v->columns; j++)
            stored += blv_value_get(v->dense, v->precision, i * v->stride + j) != 0.0;
    size_t *row_start = blv_data_alloc(held + 1, sizeof *row_start);
    uint32_t *column = blv_data_alloc(stored, sizeof *column);
    void *value = blv_data_alloc(stored, blv_value_size(v->precision));
    for (size_t i = 0; row_start && column && value && i < held; i++) {
        row_start[i] = n;
        for (size_t j = 0; j < v->columns; j++) {
            double x = blv_value_get(v->dense, v->precision, i * v->stride + j);
            if (x != 0.0) {
                column[n] = (uint32_t)j;
                blv_value_set(value, v->precision, n++, x);
            }
        }
    }
    if (row_start)
        row_start[held] = n;
    if (!blv_dataset_put_sparse(d, row_start, column, value))
        return blv_explain_memory(why);
    blv_dataset_drop(d, BLV_PART_DENSE);
    return BLV_OK;
}

static blv_error set_layout(blv_dataset *d, blv_layout layout, const char *name, blv_message *why) {
    const blv_dataset_view *v = &d->view;
    if (v->dense)
        return layout == BLV_LAYOUT_SPARSE ? make_sparse(d, why) : BLV_OK;
    double stored = (double)v->row_start[blv_held_rows(v)];
    if (v->ranks && !v->ranks->sum(v->ranks->context, 1, &stored))
        return blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
    bool many = 4.0 * stored >= (double)v->rows * (double)v->columns;
    if (layout == BLV_LAYOUT_DENSE || (layout == BLV_LAYOUT_AUTO && many))
        return make_dense(d, name, why);
    return BLV_OK;
}

/* ---- Precision ---- */

/* In place, front to back: large sets are not held twice. */
static blv_error narrow(blv_dataset *d, blv_part_name part, size_t count, const char *name,
                        blv_message *why) {
    unsigned char *bytes = blv_dataset_own_values(d);
    BLV_CHECK(blv_need_memory(bytes, why));
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, bytes + i * sizeof wide, sizeof wide);
        float value = (float)wide;
        if (!isfinite(value) && isfinite(wide))
            return blv_explain(why, BLV_E_FORMAT,
                               "%s: the value %g does not fit into single precision (f64 has room)",
                               name, wide);
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
    void *trimmed = realloc(d->part[part]->data, (count > 0 ? count : 1) * sizeof(float));
    if (trimmed)
        d->part[part]->data = trimmed;
    blv_dataset_put_shared(d, part, d->part[part]);
    return BLV_OK;
}

static blv_error widen(blv_dataset *d, blv_part_name part, size_t count, blv_message *why) {
    const float *single = blv_stored_values(&d->view);
    double *wide = blv_data_alloc(count, sizeof *wide);
    for (size_t i = 0; wide && i < count; i++)
        wide[i] = (double)single[i];
    return blv_need_memory(blv_dataset_put(d, part, wide), why);
}

blv_error blv_dataset_convert(blv_dataset *dataset, blv_layout layout, blv_precision precision,
                              const char *name, blv_message *why) {
    BLV_CHECK(set_layout(dataset, layout, name, why));
    blv_dataset_view *v = &dataset->view;
    if (v->precision == precision)
        return BLV_OK;
    const blv_part_name part = v->dense ? BLV_PART_DENSE : BLV_PART_VALUE;
    /* rows of the set's own, without gaps between them */
    if (v->dense && (v->mapped || dataset->dense_offset > 0) &&
        !blv_dataset_put(dataset, part, blv_dense_rows(v, v->columns, 0.0)))
        return blv_explain_memory(why);
    size_t held = blv_held_rows(v), count = v->dense ? held * v->columns : v->row_start[held];
    BLV_CHECK(precision == BLV_F32 ? narrow(dataset, part, count, name, why)
                                   : widen(dataset, part, count, why));
    v->precision = precision;
    return BLV_OK;
}

/* ---- The transposed copy of a sparse set: a counting sort of its entries by column ---- */

/* Places every entry of the rows at next[its column], which moves on. Rows come in order, so they
 * ascend in each column. */
static void scatter(const blv_dataset_view *v, size_t *next, uint32_t *row, void *column_value) {
    for (size_t i = 0; i < blv_held_rows(v); i++) {
        for (size_t k = v->row_start[i]; k < v->row_start[i + 1]; k++) {
            size_t to = next[v->column[k]]++;
            row[to] = (uint32_t)i;
            blv_value_set(column_value, v->precision, to, blv_value_get(v->value, v->precision, k));
        }
    }
}

blv_error blv_dataset_transpose(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_transpose: dataset is NULL");
    const blv_dataset_view *v = &dataset->view;
    if (!v->row_start || v->column_start)
        return BLV_OK;
    size_t stored = v->row_start[blv_held_rows(v)], size = blv_value_size(v->precision);
    size_t *start = calloc(v->columns + 1, sizeof *start);
    size_t *next = blv_data_alloc(v->columns, sizeof *next);
    uint32_t *row = blv_data_alloc(stored, sizeof *row);
    void *column_value = blv_data_alloc(stored, size);
    if (start && next && row && column_value) {
        for (size_t k = 0; k < stored; k++)
            start[v->column[k] + 1]++;
        for (size_t j = 0; j < v->columns; j++)
            start[j + 1] += start[j];
        memcpy(next, start, v->columns * sizeof *next);
        scatter(v, next, row, column_value);
    }
    bool made = next != NULL;
    free(next);
    made = blv_dataset_put(dataset, BLV_PART_COLUMN_VALUE, column_value) && made;
    made = blv_dataset_put(dataset, BLV_PART_ROW, row) && made;
    made = blv_dataset_put(dataset, BLV_PART_COLUMN_START, start) && made;
    if (!made)
        blv_dataset_drop_transposed(dataset);
    return blv_need_memory(made, why);
}

/* ---- Tables ---- */

/* Numbers, and beside them categories or marks of missing values. Where there are only numbers a
 * set is sparse because its file is, as texts are. */
static blv_error find_mixed(const blv_dataset *d, bool *mixed, blv_message *why) {
    blv_recipe_column *columns = NULL;
    size_t count = 0, numbers = 0, others = 0;
    blv_arena arena = {0};
    const blv_error error = blv_recipe_columns(&arena, d, &columns, &count, why);
    for (size_t j = 0; j < count; j++) {
        numbers += columns[j].kind == BLV_KIND_NUMBER || columns[j].kind == BLV_KIND_DATE;
        others += columns[j].kind == BLV_KIND_CATEGORY || columns[j].indicator;
    }
    *mixed = numbers > 0 && others > 0;
    blv_arena_free(&arena);
    return error;
}

/* All of them or none. */
static blv_error all_dense(blv_dataset *const *datasets, size_t count, blv_message *why) {
    blv_dataset **changed = calloc(count, sizeof(blv_dataset *));
    blv_error error = blv_need_memory(changed, why);
    for (size_t s = 0; !error && s < count; s++) {
        if (!datasets[s] || datasets[s]->view.dense)
            continue;
        changed[s] = blv_dataset_share(datasets[s]);
        error = changed[s] ? make_dense(changed[s], "the table", why) : blv_explain_memory(why);
    }
    for (size_t s = 0; changed && s < count; s++) {
        if (!error && changed[s])
            blv_dataset_commit(datasets[s], changed[s], true, why);
        else
            blv_dataset_release(changed[s]);
    }
    free(changed);
    return error;
}

blv_error blv_dataset_centre_table(blv_dataset *const *datasets, size_t count, bool stay_sparse,
                                   bool *mixed, blv_message *why) {
    static const double few = 16.0;
    BLV_CHECK(blv_need_arguments(datasets && count > 0 && datasets[0] && mixed, __func__, why));
    const blv_dataset_view *v = &datasets[0]->view;
    BLV_CHECK(find_mixed(datasets[0], mixed, why));
    if (!*mixed || v->dense || stay_sparse)
        return BLV_OK;
    double stored = (double)v->row_start[blv_held_rows(v)], cells = 0.0;
    if (v->ranks && !v->ranks->sum(v->ranks->context, 1, &stored))
        return blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
    for (size_t s = 0; s < count; s++)
        cells += datasets[s] ? (double)blv_held_rows(&datasets[s]->view) * (double)v->columns : 0.0;
    const bool fits =
        blv_dataset_expect_memory(datasets[0], (uint64_t)cells, blv_value_size(v->precision), "",
                                  "", NULL) == BLV_OK;
    if (few * stored < (double)v->rows * (double)v->columns ||
        blv_ranks_agree(v->ranks, fits ? BLV_OK : BLV_E_MEMORY, NULL) != BLV_OK)
        return BLV_OK;
    return all_dense(datasets, count, why);
}
