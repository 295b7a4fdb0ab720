/* The columns of a table as features: what is learned from the rows, and the rows in its terms. */
#include "base/aligned_memory.h"
#include "data/data_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_MAX = 20, DISCARDED_ROWS = 1 << 7, DISCARDED_BACK = 1 << 11 };

void blv_table_free_columns(blv_table *table) {
    for (size_t j = 0; table->column && j < table->count; j++)
        blv_texts_free(&table->column[j].levels);
    table->column = NULL;
}

void blv_table_free(blv_table *table) {
    blv_table_free_columns(table);
    free(table->numbers.items);
    free(table->codes.items);
    blv_arena_free(&table->arena);
}

const char *blv_column_name(blv_table *table, const blv_column *column) {
    return table->named || *column->name
               ? column->name
               : blv_arena_print(&table->arena, "x%zu", (size_t)(column - table->column));
}

static int32_t code_at(const blv_table *t, const blv_column *c, size_t i) {
    return ((const int32_t *)t->codes.items)[i * t->code_columns + c->place];
}

/* The number of a column that is not a category; NaN: missing. */
static double number_at(const blv_table *t, const blv_column *c, size_t i) {
    if (!c->texts)
        return ((const double *)t->numbers.items)[i * t->number_columns + c->place];
    const int32_t code = code_at(t, c, i);
    return code == BLV_CODE_MISSING ? NAN : c->value[code];
}

/* ---- Rows without values ---- */

static bool has_missing(const blv_table *t, size_t i) {
    const double *target = t->r->target.items;
    const int32_t *label = t->r->label.items;
    if ((t->r->target.count > 0 && isnan(target[i])) ||
        (t->r->label.count > 0 && label[i] == BLV_CODE_MISSING))
        return true;
    for (size_t j = 0; j < t->count; j++) {
        const blv_column *c = &t->column[j];
        if (c->kind == BLV_KIND_DROP || c->kind == BLV_KIND_LABEL)
            continue;
        if (c->texts ? code_at(t, c, i) == BLV_CODE_MISSING : isnan(number_at(t, c, i)))
            return true;
    }
    return false;
}

/* Item `from` of a list, of that many bytes, to the place `to`; an empty list has none. */
static void move_item(blv_list *list, size_t from, size_t to, size_t bytes) {
    char *items = list->items;
    if (list->count > 0 && from != to)
        memcpy(items + to * bytes, items + from * bytes, bytes);
}

blv_error blv_table_drop_rows(blv_table *t) {
    blv_reading *r = t->r;
    blv_list *const labels[] = {&r->label, &r->truth};
    blv_list *const wide[] = {&r->target, &r->place, &r->weight};
    size_t kept = 0;
    for (size_t i = 0; i < t->rows; i++) {
        if (has_missing(t, i))
            continue;
        move_item(&t->numbers, i, kept, t->number_columns * sizeof(double));
        move_item(&t->codes, i, kept, t->code_columns * sizeof(int32_t));
        for (size_t k = 0; k < 3; k++)
            move_item(wide[k], i, kept, sizeof(double));
        for (size_t k = 0; k < 2; k++)
            move_item(labels[k], i, kept, sizeof(int32_t));
        kept++;
    }
    for (size_t j = 0; j < t->count; j++)
        t->column[j].missing = 0;
    if (kept == 0)
        return blv_explain(r->why, BLV_E_FORMAT, "%s: every row has a missing value", r->shown);
    for (size_t k = 0; k < 3; k++)
        wide[k]->count = wide[k]->count > 0 ? kept : 0;
    for (size_t k = 0; k < 2; k++)
        labels[k]->count = labels[k]->count > 0 ? kept : 0;
    bool told = kept == t->rows ||
                blv_dataset_note(r->dataset, "%zu of %zu rows left out: values are missing",
                                 t->rows - kept, t->rows);
    t->rows = kept;
    t->numbers.count = kept * t->number_columns;
    t->codes.count = kept * t->code_columns;
    return blv_need_memory(told, r->why);
}

/* ---- Learning ---- */

/* Puts the number that would be at `place` in ascending order there, smaller or equal ones before
 * it and others behind. Pivots are drawn, so that no order of the numbers takes long. */
static double select_number(double *numbers, size_t count, size_t place) {
    uint64_t drawn = count;
    size_t first = 0, end = count;
    while (end - first > 1) {
        drawn = drawn * 6364136223846793005u + 1442695040888963407u;
        const double pivot = numbers[first + (size_t)((drawn >> 33) % (end - first))];
        size_t below = first, above = end;
        for (size_t i = first; i < above;) {
            const double x = numbers[i];
            if (x < pivot) {
                numbers[i++] = numbers[below];
                numbers[below++] = x;
            } else if (x > pivot) {
                numbers[i] = numbers[--above];
                numbers[above] = x;
            } else {
                i++;
            }
        }
        if (place >= below && place < above)
            return pivot;
        first = place < below ? first : above;
        end = place < below ? below : end;
    }
    return numbers[place];
}

double blv_table_median(double *numbers, size_t count, bool boolean) {
    if (count == 0)
        return 0.0;
    const double low = select_number(numbers, count, (count - 1) / 2);
    double high = count % 2 == 0 ? INFINITY : low;
    for (size_t i = count / 2; i < count && count % 2 == 0; i++) /* what is not below it */
        high = numbers[i] < high ? numbers[i] : high;
    const double middle = low / 2.0 + high / 2.0;
    return boolean ? floor(middle) : middle;
}

static blv_error learn_median(const blv_table *t, blv_column *c) {
    double *value = blv_data_alloc(t->rows, sizeof *value);
    size_t n = 0;
    BLV_CHECK(blv_need_memory(value, t->r->why));
    for (size_t i = 0; i < t->rows; i++) {
        value[n] = number_at(t, c, i);
        n += isnan(value[n]) ? 0 : 1;
    }
    c->fill = blv_table_median(value, n, c->kind == BLV_KIND_BOOLEAN);
    free(value);
    return BLV_OK;
}

typedef struct level {
    const char *text;
    size_t number, rows;
} level;

static int by_text(const void *left, const void *right) {
    return strcmp(((const level *)left)->text, ((const level *)right)->text);
}

/* Levels in order of bytes; the most frequent one, the first of several, fills what is missing. */
static blv_error learn_levels(blv_table *t, blv_column *c) {
    const size_t count = c->levels.items.count;
    level *levels = blv_arena_alloc(&t->arena, count + 1, sizeof *levels);
    BLV_CHECK(blv_need_memory(levels, t->r->why));
    for (size_t n = 0; n < count; n++)
        levels[n] = (level){blv_texts_at(&c->levels, n), n, 0};
    for (size_t i = 0; i < t->rows; i++) {
        const int32_t code = code_at(t, c, i);
        if (code != BLV_CODE_MISSING)
            levels[code].rows++;
    }
    qsort(levels, count, sizeof *levels, by_text);
    size_t most = 0;
    for (size_t k = 0; k < count; k++) { /* rows that were left out may have taken a level along */
        c->rank[levels[k].number] = levels[k].rows > 0 ? (int32_t)c->level_count++ : -1;
        most = levels[k].rows > levels[most].rows ? k : most;
    }
    c->fill = count > 0 ? (double)c->rank[levels[most].number] : 0.0;
    return BLV_OK;
}

static blv_error learn_column(blv_table *t, blv_column *c) {
    const size_t texts = c->levels.items.count;
    if (c->kind == BLV_KIND_CATEGORY) {
        c->rank = blv_arena_alloc(&t->arena, texts + 1, sizeof *c->rank);
        BLV_CHECK(blv_need_memory(c->rank, t->r->why));
        for (size_t n = 0; n < texts;
             n++) /* the levels of a recipe are the first texts, in order */
            c->rank[n] = n < c->level_count ? (int32_t)n : -1;
    }
    if (c->learned)
        return BLV_OK;
    c->indicator = c->missing > 0;
    c->never_seen = c->kind == BLV_KIND_CATEGORY;
    if (c->kind == BLV_KIND_CATEGORY)
        return learn_levels(t, c);
    c->fill = (double)NAN; /* that costs more than the rest of the reading, and is not needed yet */
    return c->indicator ? learn_median(t, c) : BLV_OK;
}

/* Values may be missing in a column where the rows of the training have all. */
static blv_error expect_fill(blv_table *t, const blv_column *c) {
    if (!c->learned || c->missing == 0 || !isnan(c->fill))
        return BLV_OK;
    return blv_explain(t->r->why, BLV_E_VALUE,
                       "%s: column '%.100s' has %zu missing values; the rows of the training have "
                       "none, and nothing to fill them was learned (blv_dataset_learn_fills)",
                       t->r->shown, blv_column_name(t, c), c->missing);
}

/* What a reader of the notes should know of the column. */
static bool note_column(blv_table *t, const blv_column *c) {
    char kind[80] = "", missing[80] = "";
    size_t new_levels = c->kind == BLV_KIND_CATEGORY ? c->levels.items.count - c->level_count : 0;
    if (c->kind == BLV_KIND_CATEGORY)
        snprintf(kind, sizeof kind, " of %zu levels", c->level_count);
    if (c->missing > 0)
        snprintf(missing, sizeof missing, ", %zu missing%s", c->missing,
                 c->learned && !c->indicator ? ", none in the training" : "");
    if (c->learned && new_levels > 0)
        snprintf(missing + strlen(missing), sizeof missing - strlen(missing),
                 ", %zu level%s not seen before", new_levels, new_levels == 1 ? "" : "s");
    return blv_dataset_note(t->r->dataset, "column '%s': %s%s%s", blv_column_name(t, c),
                            blv_kind_words[c->kind], kind, missing);
}

static bool is_constant(const blv_table *t, const blv_column *c) {
    if (c->kind == BLV_KIND_CATEGORY)
        return c->level_count == 1 && c->missing == 0;
    const double first = number_at(t, c, 0);
    size_t i = 1;
    while (i < t->rows && number_at(t, c, i) == first)
        i++;
    return i == t->rows;
}

/* Columns that are the same in every row tell nothing; a recipe is from rows where they may not be.
 */
static bool note_constant(blv_table *t) {
    char names[300] = "";
    size_t count = 0;
    for (size_t j = 0; j < t->used_count; j++) {
        const blv_column *c = t->used[j];
        if (t->rows < 2 || c->learned || t->r->share || !is_constant(t, c)) /* of all rows */
            continue;
        blv_list_name(names, sizeof names, blv_column_name(t, c));
        count++;
    }
    return count == 0 || blv_dataset_note(t->r->dataset, "the same in every row: column%s %s",
                                          count > 1 ? "s" : "", names);
}

/* Without a recipe, columns are used in the order of the file. */
static blv_error list_used(blv_table *t) {
    t->used = blv_arena_alloc(&t->arena, t->count, sizeof(blv_column *));
    for (size_t j = 0; t->used && j < t->count; j++)
        if (t->column[j].kind != BLV_KIND_DROP && t->column[j].kind != BLV_KIND_LABEL)
            t->used[t->used_count++] = &t->column[j];
    return blv_need_memory(t->used, t->r->why);
}

blv_error blv_table_learn(blv_table *table) {
    size_t notes = 0;
    if (!table->used)
        BLV_CHECK(list_used(table));
    for (size_t j = 0; j < table->used_count; j++) {
        blv_column *c = table->used[j];
        BLV_CHECK(learn_column(table, c));
        BLV_CHECK(expect_fill(table, c));
        if ((c->kind != BLV_KIND_NUMBER || c->missing > 0) && notes++ < NOTES_MAX &&
            !note_column(table, c))
            return blv_explain_memory(table->r->why);
    }
    bool told = notes <= NOTES_MAX ||
                blv_dataset_note(table->r->dataset, "and %zu columns more", notes - NOTES_MAX);
    return blv_need_memory(told && note_constant(table), table->r->why);
}

/* ---- Features ---- */

static size_t place_features(blv_table *t) {
    size_t next = 0;
    for (size_t j = 0; j < t->used_count; j++) {
        blv_column *c = t->used[j];
        c->feature = next;
        c->width = c->kind == BLV_KIND_CATEGORY ? c->level_count + c->never_seen : 1;
        next += c->width + c->indicator;
    }
    return next;
}

/* age, age missing, city=Bern, city=Rome, city never seen. */
static bool put_names(blv_table *t, size_t features) {
    const char **names = blv_arena_alloc(&t->arena, features, sizeof *names);
    for (size_t j = 0; names && j < t->used_count; j++) {
        const blv_column *c = t->used[j];
        names[c->feature] = blv_column_name(t, c);
        for (size_t n = 0; c->kind == BLV_KIND_CATEGORY && n < c->levels.items.count; n++)
            if (c->rank[n] >= 0)
                names[c->feature + (size_t)c->rank[n]] = blv_arena_print(
                    &t->arena, "%s=%s", blv_column_name(t, c), blv_texts_at(&c->levels, n));
        if (c->never_seen)
            names[c->feature + c->level_count] =
                blv_arena_print(&t->arena, "%s never seen", blv_column_name(t, c));
        if (c->indicator)
            names[c->feature + c->width] =
                blv_arena_print(&t->arena, "%s missing", blv_column_name(t, c));
    }
    return names && !t->arena.failed &&
           blv_dataset_put(t->r->dataset, BLV_PART_FEATURE_NAMES,
                           blv_strings_copy(names, features));
}

/* The features of row i that are not zero, in ascending order. Returns how many. */
static size_t encode_row(const blv_table *t, size_t i, uint32_t *feature, double *value) {
    size_t n = 0;
    for (size_t j = 0; j < t->used_count; j++) {
        const blv_column *c = t->used[j];
        bool missing;
        double x = 1.0;
        size_t at = c->feature;
        if (c->kind == BLV_KIND_CATEGORY) {
            const int32_t code = code_at(t, c, i);
            missing = code == BLV_CODE_MISSING;
            int32_t rank = missing ? (int32_t)c->fill : c->rank[code];
            rank = rank < 0 ? (int32_t)c->level_count : rank;
            x = (size_t)rank < c->width ? 1.0 : 0.0;
            at += (size_t)rank;
        } else {
            x = number_at(t, c, i);
            missing = isnan(x);
            x = missing ? c->fill : x;
        }
        feature[n] = (uint32_t)at;
        value[n] = x;
        n += x != 0.0;
        feature[n] = (uint32_t)(c->feature + c->width);
        value[n] = 1.0;
        n += missing && c->indicator;
    }
    return n;
}

/* Rows that were encoded are not needed again: the table is not held twice. Now and then, before
 * row `end`; from somewhat further back, for the page where one time ends and the next begins. */
static void discard_rows(const blv_table *t, size_t end) {
    if (end % DISCARDED_ROWS != 0)
        return;
    const size_t first = end > DISCARDED_BACK ? end - DISCARDED_BACK : 0;
    double *numbers = t->numbers.items;
    int32_t *codes = t->codes.items;
    if (numbers)
        blv_discard(numbers + first * t->number_columns, numbers + end * t->number_columns);
    if (codes)
        blv_discard(codes + first * t->code_columns, codes + end * t->code_columns);
}

static blv_error put_dense(const blv_table *t, size_t features, uint32_t *feature, double *value) {
    BLV_CHECK(blv_reading_expect(t->r, (uint64_t)t->rows * features, sizeof(double),
                                 "the table with its categories as columns"));
    double *dense =
        t->rows > SIZE_MAX / features ? NULL : calloc(t->rows * features, sizeof *dense);
    for (size_t i = 0; dense && i < t->rows; i++) {
        const size_t stored = encode_row(t, i, feature, value);
        for (size_t e = 0; e < stored; e++)
            dense[i * features + feature[e]] = value[e];
        discard_rows(t, i + 1);
    }
    return blv_need_memory(blv_dataset_put(t->r->dataset, BLV_PART_DENSE, dense), t->r->why);
}

static blv_error put_sparse(const blv_table *t, size_t stored, uint32_t *feature, double *value) {
    size_t *start = blv_data_alloc(t->rows + 1, sizeof *start);
    uint32_t *column = blv_data_alloc(stored, sizeof *column);
    double *values = blv_data_alloc(stored, sizeof *values);
    if (start)
        start[0] = 0;
    for (size_t i = 0; start && column && values && i < t->rows; i++) {
        size_t n = encode_row(t, i, feature, value);
        memcpy(column + start[i], feature, n * sizeof *column);
        memcpy(values + start[i], value, n * sizeof *value);
        start[i + 1] = start[i] + n;
        discard_rows(t, i + 1);
    }
    return blv_need_memory(blv_dataset_put_sparse(t->r->dataset, start, column, values), t->r->why);
}

blv_error blv_table_encode(blv_table *t) {
    blv_dataset_view *v = &t->r->dataset->view;
    const blv_layout layout = t->r->options.layout;
    const size_t features = place_features(t);
    bool plain = features == t->number_columns; /* the numbers are the features */
    size_t stored = 0;
    for (size_t j = 0; j < t->used_count; j++)
        plain = plain && !t->used[j]->texts && t->used[j]->missing == 0 && t->used[j]->place == j;
    v->rows = t->rows;
    v->columns = features;
    v->precision = BLV_F64;
    if (features == 0)
        return blv_explain(t->r->why, BLV_E_FORMAT, "%s: no column is left for the features",
                           t->r->shown);
    if (features > BLV_COLUMNS_MAX)
        return blv_explain(t->r->why, BLV_E_FORMAT, "%s: %zu features are too many", t->r->shown,
                           features);
    if (t->named || !plain)
        BLV_CHECK(blv_need_memory(put_names(t, features), t->r->why));
    if (plain && layout != BLV_LAYOUT_SPARSE) {
        void *dense = blv_list_take(&t->numbers, sizeof(double));
        return blv_need_memory(blv_dataset_put(t->r->dataset, BLV_PART_DENSE, dense), t->r->why);
    }
    uint32_t *feature = blv_arena_alloc(&t->arena, 2 * t->count + 1, sizeof *feature);
    double *value = blv_arena_alloc(&t->arena, 2 * t->count + 1, sizeof *value);
    BLV_CHECK(blv_need_memory(feature && value, t->r->why));
    for (size_t i = 0; i < t->rows; i++)
        stored += encode_row(t, i, feature, value);
    bool few = 4.0 * (double)stored < (double)t->rows * (double)features;
    if (layout == BLV_LAYOUT_SPARSE || (layout == BLV_LAYOUT_AUTO && few))
        return put_sparse(t, stored, feature, value);
    return put_dense(t, features, feature, value);
}
