/* Fills and levels, learned again from a part of the rows.
 *
 * The set tells what is needed: where a value was missing its indicator is 1, and a row has one
 * level of each category. Levels that none of the rows has become "never seen" in the others; their
 * features stay, and are 0. */
#include "base/rank_exchange.h"
#include "base/text_stream.h"
#include "data/data_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct relearning {
    blv_arena arena;
    blv_recipe_column *columns;
    size_t count;
} relearning;

/* ---- The recipe ---- */

static char *write_recipe(const relearning *l) {
    blv_text_stream text;
    FILE *out = blv_text_open(&text);
    for (size_t j = 0; out && j < l->count; j++) {
        const blv_recipe_column *c = &l->columns[j];
        const char *end = strchr(c->line, '\n');
        char fill[40];
        blv_fill_format(c->fill, fill);
        if (c->fill_text)
            fprintf(out, "%.*s%s%.*s\n", (int)(c->fill_text - c->line), c->line, fill,
                    (int)(end - c->after_fill), c->after_fill);
        else
            fprintf(out, "%.*s\n", (int)(end - c->line), c->line);
    }
    return blv_text_close(&text);
}

/* ---- Rows ---- */

/* What a row has in the features of a column. */
typedef struct field {
    bool missing;
    double value; /* the number, or that of the level; count of levels: never seen */
} field;

static double value_at(const blv_dataset_view *v, const blv_stored_row *row, size_t feature) {
    const void *values = blv_stored_values(v);
    if (v->dense)
        return blv_value_get(values, v->precision, row->first + feature);
    size_t low = row->first, high = row->end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (row->column[middle] < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->end && row->column[low] == feature ? blv_value_get(values, v->precision, low)
                                                         : 0.0;
}

static field field_at(const blv_dataset_view *v, const blv_stored_row *row,
                      const blv_recipe_column *c) {
    field f = {.missing = c->indicator && value_at(v, row, c->feature + c->span - 1) != 0.0};
    if (c->kind != BLV_KIND_CATEGORY) {
        f.value = value_at(v, row, c->feature);
        return f;
    }
    size_t k = 0;
    while (k < c->levels && value_at(v, row, c->feature + k) == 0.0)
        k++;
    f.value = (double)k;
    return f;
}

static bool is_learned(const blv_recipe_column *c) {
    return c->kind == BLV_KIND_CATEGORY || c->indicator;
}

/* The numbers of all ranks in place of those of this one. */
static bool share_numbers(const blv_ranks *ranks, double **numbers, size_t *count) {
    void *all;
    size_t *sizes;
    if (!blv_ranks_gather(ranks, *numbers, *count * sizeof **numbers, &all, &sizes))
        return false;
    *count = 0;
    for (int r = 0; r < ranks->count; r++)
        *count += sizes[r] / sizeof **numbers;
    free(sizes);
    free(*numbers);
    *numbers = all;
    return true;
}

static bool share_counts(const blv_ranks *ranks, size_t *counts, size_t count) {
    double *sums = blv_data_alloc(count, sizeof *sums);
    for (size_t i = 0; sums && i < count; i++)
        sums[i] = (double)counts[i];
    const bool well = blv_ranks_all(ranks, sums) && ranks->sum(ranks->context, count, sums);
    for (size_t i = 0; well && i < count; i++)
        counts[i] = (size_t)sums[i];
    free(sums);
    return well;
}

/* Fills that are not known yet; unless those are all that is wanted, other fills and levels too.
 * Of several ranks they stay unknown: the numbers of a whole column would have to be on each. */
static blv_error learn(relearning *l, const blv_dataset_view *v, bool unknown_only,
                       blv_message *why) {
    for (size_t j = 0; j < l->count; j++) {
        blv_recipe_column *c = &l->columns[j];
        size_t n = 0, most = 0;
        const bool unknown = c->fill_text && isnan(c->fill) && !blv_ranks_several(v->ranks);
        if (!unknown && (unknown_only || !is_learned(c)))
            continue;
        double *there = blv_data_alloc(blv_held_rows(v), sizeof *there);
        bool well = there != NULL;
        for (size_t i = 0; well && i < blv_held_rows(v); i++) {
            const blv_stored_row row = blv_row_at(v, i);
            const field f = field_at(v, &row, c);
            if (!f.missing && c->kind == BLV_KIND_CATEGORY)
                c->rows[(size_t)f.value]++;
            else if (!f.missing)
                there[n++] = f.value;
        }
        if (blv_ranks_several(v->ranks))
            well = blv_ranks_all(v->ranks, well) &&
                   (c->kind == BLV_KIND_CATEGORY ? share_counts(v->ranks, c->rows, c->levels + 1)
                                                 : share_numbers(v->ranks, &there, &n));
        for (size_t k = 1; k < c->levels; k++)
            most = c->rows[k] > c->rows[most] ? k : most;
        if (c->indicator || unknown)
            c->fill = c->kind == BLV_KIND_CATEGORY
                          ? (double)most
                          : blv_table_median(there, n, c->kind == BLV_KIND_BOOLEAN);
        free(there);
        BLV_CHECK(blv_need_memory(well, why));
    }
    return BLV_OK;
}

/* The field as it is encoded now. */
static double encoded(const blv_recipe_column *c, const field *f) {
    if (f->missing)
        return c->fill;
    const bool unknown = c->kind == BLV_KIND_CATEGORY && f->value < (double)c->levels &&
                         c->rows[(size_t)f->value] == 0 && c->never_seen;
    return unknown ? (double)c->levels : f->value;
}

static bool recode_dense(const relearning *l, blv_dataset *d) {
    const blv_dataset_view *v = &d->view;
    void *values = blv_dataset_own_values(d);
    for (size_t i = 0; values && i < blv_held_rows(v); i++) {
        const blv_stored_row row = blv_row_at(v, i);
        for (size_t j = 0; j < l->count; j++) {
            const blv_recipe_column *c = &l->columns[j];
            const field f = is_learned(c) ? field_at(v, &row, c) : (field){0};
            if (!is_learned(c) || encoded(c, &f) == f.value)
                continue;
            size_t at = row.first + c->feature;
            double x = encoded(c, &f);
            if (c->kind == BLV_KIND_CATEGORY) {
                if (f.value < (double)(c->levels + c->never_seen))
                    blv_value_set(values, v->precision, at + (size_t)f.value, 0.0);
                at += (size_t)x;
                x = 1.0;
            }
            blv_value_set(values, v->precision, at, x);
        }
    }
    return values != NULL;
}

/* Rows may have more or fewer values that are not zero: all arrays are made again. */
static bool recode_sparse(const relearning *l, blv_dataset *d) {
    const blv_dataset_view *v = &d->view;
    const size_t rows = blv_held_rows(v), most = v->row_start[rows] + rows * l->count;
    size_t n = 0, *start = blv_data_alloc(rows + 1, sizeof *start);
    uint32_t *to = blv_data_alloc(most, sizeof *to);
    void *values = blv_data_alloc(most, blv_value_size(v->precision));
    for (size_t i = 0; start && to && values && i < rows; i++) {
        const blv_stored_row row = blv_row_at(v, i);
        size_t e = row.first;
        start[i] = n;
        for (size_t j = 0; j < l->count; j++) {
            const blv_recipe_column *c = &l->columns[j];
            const field f = is_learned(c) ? field_at(v, &row, c) : (field){0};
            const double x = is_learned(c) ? encoded(c, &f) : 0.0;
            const bool category = c->kind == BLV_KIND_CATEGORY;
            const bool changed = is_learned(c) && x != f.value;
            if (changed && (category || x != 0.0)) {
                to[n] = (uint32_t)(c->feature + (category ? (size_t)x : 0));
                blv_value_set(values, v->precision, n++, category ? 1.0 : x);
            }
            for (; e < row.end && row.column[e] < c->feature + c->span; e++) {
                if (changed && row.column[e] < c->feature + c->span - c->indicator)
                    continue;
                to[n] = row.column[e];
                blv_value_set(values, v->precision, n++, blv_value_get(v->value, v->precision, e));
            }
        }
    }
    if (start)
        start[rows] = n;
    return blv_dataset_put_sparse(d, start, to, values);
}

static blv_error recode(const relearning *l, blv_dataset *d, const char *recipe, size_t rows,
                        blv_message *why) {
    blv_dataset *changed = blv_dataset_share(d);
    bool ok =
        changed && (changed->view.dense ? recode_dense(l, changed) : recode_sparse(l, changed));
    ok = ok &&
         blv_dataset_put(changed, BLV_PART_RECIPE, blv_data_copy(recipe, strlen(recipe) + 1, 1)) &&
         blv_dataset_record(changed, "fills and levels by %zu rows", rows);
    return blv_dataset_commit(d, changed, ok, why);
}

blv_error blv_dataset_relearn(blv_dataset *const *datasets, size_t count, blv_message *why) {
    BLV_CHECK(blv_need_arguments(datasets && count > 0 && datasets[0], __func__, why));
    relearning l = {0};
    const blv_dataset_view *first = &datasets[0]->view;
    blv_error error = blv_recipe_columns(&l.arena, datasets[0], &l.columns, &l.count, why);
    size_t learned = 0;
    for (size_t j = 0; j < l.count; j++)
        learned += is_learned(&l.columns[j]);
    if (!error && learned > 0)
        error = learn(&l, first, false, why);
    char *now = !error && learned > 0 ? write_recipe(&l) : NULL;
    if (!error && learned > 0)
        error = blv_need_memory(now, why);
    for (size_t i = 0; !error && now && i < count; i++)
        if (datasets[i] && datasets[i]->view.columns == first->columns)
            error = recode(&l, datasets[i], now, first->rows, why);
    free(now);
    blv_arena_free(&l.arena);
    return error;
}

blv_error blv_dataset_learn_fills(blv_dataset *dataset, blv_message *why) {
    BLV_CHECK(blv_need_arguments(dataset, __func__, why));
    relearning l = {0};
    blv_error error = blv_recipe_columns(&l.arena, dataset, &l.columns, &l.count, why);
    if (!error)
        error = learn(&l, &dataset->view, true, why);
    if (!error && l.count > 0)
        error = blv_need_memory(blv_dataset_put(dataset, BLV_PART_RECIPE, write_recipe(&l)), why);
    blv_arena_free(&l.arena);
    return error;
}
