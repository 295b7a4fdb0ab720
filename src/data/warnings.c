/* What should be known before anything is learned from sets: rows in two of them, classes in one
 * only, columns that tell the label alone, columns that tell nothing. */
#include "base/hash.h"
#include "data/data_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_ROWS = 20, MOST_CELLS = 1 << 21, LINE = 400 };

typedef struct warning {
    const blv_dataset_view *train;
    const char *name; /* of train */
    void (*say)(void *context, const char *line);
    void *context;
} warning;

/* ---- Rows in two sets ---- */

static size_t next_value(const blv_dataset_view *v, const blv_stored_row *row, size_t k) {
    while (k < row->end && blv_value_get(blv_stored_values(v), v->precision, k) == 0.0)
        k++;
    return k;
}

static uint64_t hash_row(const blv_dataset_view *v, size_t i) {
    uint64_t hash = blv_hash_row(BLV_HASH_EMPTY, v, i);
    if (v->label)
        hash = blv_hash_bytes(hash, &v->label[i], sizeof v->label[i]);
    return v->target ? blv_hash_bytes(hash, &v->target[i], sizeof v->target[i]) : hash;
}

static bool same_row(const blv_dataset_view *a, size_t i, const blv_dataset_view *b, size_t j) {
    const blv_stored_row left = blv_row_at(a, i), right = blv_row_at(b, j);
    size_t k = next_value(a, &left, left.first), l = next_value(b, &right, right.first);
    while (k < left.end && l < right.end && blv_column_at(&left, k) == blv_column_at(&right, l) &&
           blv_value_get(blv_stored_values(a), a->precision, k) ==
               blv_value_get(blv_stored_values(b), b->precision, l)) {
        k = next_value(a, &left, k + 1);
        l = next_value(b, &right, l + 1);
    }
    return k == left.end && l == right.end && (!a->label || a->label[i] == b->label[j]) &&
           (!a->target || a->target[i] == b->target[j]);
}

typedef struct hashed_row {
    uint64_t hash;
    size_t row;
} hashed_row;

static int by_hash(const void *left, const void *right) {
    const hashed_row *a = left, *b = right;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static bool is_in_train(const warning *w, const hashed_row *train, const blv_dataset_view *v,
                        size_t i) {
    const uint64_t hash = hash_row(v, i);
    size_t low = 0, high = w->train->rows;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (train[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < w->train->rows && train[low].hash == hash; low++)
        if (same_row(w->train, train[low].row, v, i))
            return true;
    return false;
}

static void warn_duplicates(const warning *w, const hashed_row *train, const blv_dataset_view *v,
                            const char *name) {
    char line[LINE];
    size_t count = 0;
    for (size_t i = 0; i < v->rows; i++)
        count += is_in_train(w, train, v, i);
    snprintf(line, sizeof line, "%zu of %zu rows of %.100s are also in %.100s", count, v->rows,
             blv_shown_path(name), blv_shown_path(w->name));
    if (count > 0)
        w->say(w->context, line);
}

/* ---- Classes ---- */

static size_t *count_rows(const blv_dataset_view *v, size_t classes) {
    size_t *rows = calloc(classes + 1, sizeof *rows);
    for (size_t i = 0; rows && i < v->rows; i++)
        rows[v->label[i]]++;
    return rows;
}

static bool warn_classes(const warning *w, const blv_dataset_view *v, const char *name) {
    char names[200] = "", line[LINE];
    size_t *here = count_rows(w->train, w->train->classes);
    size_t *there = count_rows(v, w->train->classes);
    for (size_t k = 0; here && there && k < w->train->classes; k++)
        if (here[k] > 0 && there[k] == 0)
            blv_list_name(names, sizeof names, w->train->class_names[k]);
    snprintf(line, sizeof line, "%.100s has no row of class %s", blv_shown_path(name), names);
    if (*names)
        w->say(w->context, line);
    bool well = here && there;
    free(here);
    free(there);
    return well;
}

/* ---- Columns that tell the label ---- */

/* The values that a feature has in a class. */
typedef struct range {
    double low, high;
    size_t stored;
} range;

static void measure(const blv_dataset_view *v, range *ranges) {
    for (size_t c = 0; c < v->columns * v->classes; c++)
        ranges[c] = (range){INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < v->rows; i++) {
        const blv_stored_row row = blv_row_at(v, i);
        for (size_t k = row.first; k < row.end; k++) {
            range *r = &ranges[blv_column_at(&row, k) * v->classes + (size_t)v->label[i]];
            const double x = blv_value_get(blv_stored_values(v), v->precision, k);
            r->low = x < r->low ? x : r->low;
            r->high = x > r->high ? x : r->high;
            r->stored++;
        }
    }
}

static int by_low(const void *left, const void *right) {
    const range *a = left, *b = right;
    return a->low < b->low ? -1 : a->low > b->low;
}

/* Whether each class has an interval of its own; the ranges lose their order. */
static bool separates(range *r, size_t classes, const size_t *rows) {
    for (size_t k = 0; k < classes; k++)
        if (r[k].stored < rows[k]) { /* zeros that are not stored */
            r[k].low = fmin(r[k].low, 0.0);
            r[k].high = fmax(r[k].high, 0.0);
        }
    qsort(r, classes, sizeof *r, by_low);
    for (size_t k = 1; k < classes && isfinite(r[k].low); k++)
        if (!(r[k].low > r[k - 1].high))
            return false;
    return classes > 1 && isfinite(r[1].low);
}

/* Whether all rows of a level are of one class, for every level. */
static bool levels_tell(const range *r, size_t levels, const blv_dataset_view *v) {
    size_t used = 0;
    for (size_t k = 0; k < levels; k++) {
        size_t classes = 0;
        for (size_t c = 0; c < v->classes; c++)
            classes += r[k * v->classes + c].high > 0.0;
        if (classes > 1)
            return false;
        used += classes;
    }
    return used > 1 && 2 * used <= v->rows;
}

static void find_telling(const warning *w, range *ranges, const size_t *rows,
                         const blv_recipe_column *columns, size_t count, char *names, size_t size) {
    const blv_dataset_view *v = w->train;
    char number[32];
    for (size_t j = 0; j < count; j++) {
        const blv_recipe_column *c = &columns[j];
        snprintf(number, sizeof number, "x%zu", j);
        range *first = ranges + c->feature * v->classes;
        if (c->span > 0 && (c->kind == BLV_KIND_CATEGORY ? levels_tell(first, c->levels, v)
                                                         : separates(first, v->classes, rows)))
            blv_list_name(names, size, *c->name ? c->name : number);
    }
    for (size_t j = 0; count == 0 && j < v->columns; j++) {
        snprintf(number, sizeof number, "%zu", j);
        if (separates(ranges + j * v->classes, v->classes, rows))
            blv_list_name(names, size, v->feature_names ? v->feature_names[j] : number);
    }
}

static bool warn_telling(const warning *w, const blv_recipe_column *columns, size_t count) {
    const blv_dataset_view *v = w->train;
    char names[200] = "", line[LINE];
    if (v->rows < FEWEST_ROWS || v->columns * v->classes > MOST_CELLS)
        return true;
    range *ranges = malloc(v->columns * v->classes * sizeof *ranges);
    size_t *rows = count_rows(v, v->classes);
    bool well = ranges && rows;
    if (well) {
        measure(v, ranges);
        find_telling(w, ranges, rows, columns, count, names, sizeof names);
    }
    snprintf(line, sizeof line, "%.100s: the label follows from one column alone: %s",
             blv_shown_path(w->name), names);
    if (*names)
        w->say(w->context, line);
    free(ranges);
    free(rows);
    return well;
}

/* ---- All of them ---- */

/* Of the training what its columns and first line are, of other sets what they have that it has
 * not. */
static void repeat_notes(const warning *w, const blv_dataset *set, const char *name, bool train) {
    static const char *const of_train[] = {"the same in every row",
                                           BLV_NOTE_DEALT,
                                           "may be a header",
                                           "taken for decimal",
                                           "leading zeros",
                                           "may be it as well",
                                           NULL};
    static const char *const of_others[] = {"do not have it",     "not seen before",
                                            "there is no header", "none in the training",
                                            "taken for decimal",  NULL};
    char line[LINE];
    const char *note;
    for (size_t i = 0; (note = blv_dataset_notes(set, i)); i++) {
        const char *const *part = train ? of_train : of_others;
        while (*part && !strstr(note, *part))
            part++;
        snprintf(line, sizeof line, "%.100s: %.280s", blv_shown_path(name), note);
        if (*part)
            w->say(w->context, line);
    }
}

static bool warn_sets(const warning *w, const blv_dataset *const *datasets,
                      const char *const *names, size_t count) {
    hashed_row *train = NULL;
    bool well = true;
    for (size_t s = 1; s < count && well; s++) {
        if (!datasets[s])
            continue;
        repeat_notes(w, datasets[s], names[s], false);
        if (!w->train || datasets[s]->view.columns != w->train->columns)
            continue;
        if (!w->train->ranks && !train && (train = malloc((w->train->rows + 1) * sizeof *train))) {
            for (size_t i = 0; i < w->train->rows; i++)
                train[i] = (hashed_row){hash_row(w->train, i), i};
            qsort(train, w->train->rows, sizeof *train, by_hash);
        }
        well = train || w->train->ranks; /* which has no row of another rank */
        if (train)
            warn_duplicates(w, train, &datasets[s]->view, names[s]);
        if (well && w->train->label && datasets[s]->view.label)
            well = warn_classes(w, &datasets[s]->view, names[s]);
    }
    free(train);
    return well;
}

blv_error blv_dataset_warn(const blv_dataset *const *datasets, const char *const *names,
                           size_t count, void (*say)(void *context, const char *line),
                           void *context, blv_message *why) {
    BLV_CHECK(blv_need_arguments(datasets && names && count > 0 && say, __func__, why));
    warning w = {NULL, names[0], say, context};
    if (!datasets[0])
        return blv_need_memory(warn_sets(&w, datasets, names, count), why);
    w.train = &datasets[0]->view;
    blv_recipe_column *columns = NULL;
    size_t column_count = 0;
    blv_arena arena = {0};
    const blv_error error = blv_recipe_columns(&arena, datasets[0], &columns, &column_count, why);
    repeat_notes(&w, datasets[0], names[0], true);
    bool well = !error && warn_sets(&w, datasets, names, count) &&
                (!w.train->label || w.train->ranks || warn_telling(&w, columns, column_count));
    blv_arena_free(&arena);
    return blv_need_memory(well, why);
}

/* ---- Kinds ---- */

blv_error blv_dataset_kinds(const blv_dataset *dataset, char *text, size_t size, blv_message *why) {
    static const char *const one[] = {"", "number", "category", "boolean", "date", "left out"};
    static const char *const many[] = {"",         "numbers", "categories",
                                       "booleans", "dates",   "left out"};
    BLV_CHECK(blv_need_arguments(dataset && text && size > 0, __func__, why));
    const char *recipe = blv_dataset_recipe(dataset), *label = NULL;
    blv_recipe_column *columns = NULL;
    size_t count = 0, of_kind[BLV_KIND_LABEL + 1] = {0}, missing = 0, used = 0, features;
    blv_arena arena = {0};
    if (recipe)
        blv_recipe_parse(&arena, recipe, &columns, &count, &features);
    else
        of_kind[BLV_KIND_NUMBER] = dataset->view.columns;
    for (size_t j = 0; j < count; j++) {
        of_kind[columns[j].kind]++;
        missing += columns[j].indicator;
        label = columns[j].kind == BLV_KIND_LABEL ? columns[j].name : label;
    }
    text[0] = '\0';
    for (size_t k = BLV_KIND_NUMBER; k <= BLV_KIND_DROP; k++)
        if (of_kind[k] > 0 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%zu %s", used ? ", " : "",
                                     of_kind[k], of_kind[k] == 1 ? one[k] : many[k]);
    if (missing > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, "; %zu with missing values", missing);
    if (label && *label && used < size)
        snprintf(text + used, size - used, "; label '%s'", label);
    const bool failed = arena.failed;
    blv_arena_free(&arena);
    return blv_need_memory(!failed, why);
}
