/* Changes of labels and of columns, in place: corruption, two classes from many, columns and
 * classes of another set, an intercept. Everything that can fail comes before the set is touched.
 */
#include "base/number_text.h"
#include "base/random.h"
#include "data/dataset_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Corruption ---- */

static const char *const kind_word[] = {[BLV_CORRUPT_UNIFORM] = "uniform",
                                        [BLV_CORRUPT_PAIRWISE] = "pairwise",
                                        [BLV_CORRUPT_REDRAW] = "redraw"};

static blv_error check_corruption(const blv_dataset *dataset, blv_corruption kind, double share,
                                  blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_corrupt: dataset is NULL");
    if ((unsigned)kind >= sizeof kind_word / sizeof kind_word[0])
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_corrupt: unknown kind");
    if (!(share >= 0.0 && share <= 1.0))
        return blv_explain(why, BLV_E_VALUE, "corrupt: share %g; expected 0 to 1", share);
    if (!dataset->view.label)
        return blv_explain(why, BLV_E_VALUE, "corrupt: the set has no classes");
    if (dataset->view.classes < 2 && kind != BLV_CORRUPT_REDRAW)
        return blv_explain(why, BLV_E_VALUE,
                           "corrupt: the set has one class only, and no label can change");
    return BLV_OK;
}

/* The label that takes the place of an old one. Draws are numbered by row. */
static int32_t new_label(blv_corruption kind, int32_t old, size_t classes, const blv_stream *draws,
                         size_t row) {
    if (kind == BLV_CORRUPT_PAIRWISE)
        return (int32_t)(((size_t)old + 1) % classes);
    if (kind == BLV_CORRUPT_REDRAW)
        return (int32_t)blv_random_below(draws, row, classes);
    int32_t other = (int32_t)blv_random_below(draws, row, classes - 1);
    return other < old ? other : other + 1;
}

blv_error blv_dataset_corrupt(blv_dataset *dataset, blv_corruption kind, double share,
                              uint64_t seed, blv_message *why) {
    blv_error error = check_corruption(dataset, kind, share, why);
    if (error)
        return error;
    const blv_dataset_view *v = &dataset->view;
    size_t count = (size_t)round(share * (double)v->rows), changed = 0;
    int32_t *label = blv_data_copy(v->label, v->rows, sizeof *label);
    size_t *order = blv_data_alloc(v->rows, sizeof *order);
    if (!label || !order) {
        free(label);
        free(order);
        return blv_data_no_memory(why);
    }
    blv_stream choice = blv_stream_make(seed, "corrupt rows");
    blv_stream draws = blv_stream_make(seed, "corrupt labels");
    blv_random_permutation(&choice, 0, v->rows, order);
    for (size_t i = 0; i < count; i++) {
        size_t row = order[i];
        label[row] = new_label(kind, v->label[row], v->classes, &draws, row);
        changed += label[row] != v->label[row];
    }
    free(order);
    if (blv_dataset_record(dataset, "corrupt %s %g, seed %llu: %zu of %zu labels changed",
                           kind_word[kind], share, (unsigned long long)seed, changed,
                           v->rows) != BLV_OK) {
        free(label);
        return blv_data_no_memory(why);
    }
    if (dataset->true_label)
        free(dataset->label);
    else
        dataset->true_label = dataset->label;
    dataset->label = label;
    blv_dataset_refresh(dataset);
    return BLV_OK;
}

/* ---- Two classes from many ---- */

static void mark_class(int32_t *label, size_t rows, int32_t class_number) {
    for (size_t i = 0; label && i < rows; i++)
        label[i] = label[i] == class_number;
}

blv_error blv_dataset_one_against_rest(blv_dataset *dataset, const char *name, blv_message *why) {
    if (!dataset || !name)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_dataset_one_against_rest: dataset or name is NULL");
    blv_dataset_view *v = &dataset->view;
    if (!v->label)
        return blv_explain(why, BLV_E_VALUE, "one against rest: the set has no classes");
    size_t one = 0;
    while (one < v->classes && strcmp(v->class_names[one], name) != 0)
        one++;
    if (one == v->classes)
        return blv_explain(why, BLV_E_NAME, "one against rest: there is no class '%.100s'", name);
    const char *words[2] = {"rest", name};
    char **names = blv_strings_copy(words, 2);
    if (!names || blv_dataset_record(dataset, "class %s against the rest of %zu classes", name,
                                     v->classes) != BLV_OK) {
        blv_strings_free(names, 2);
        return blv_data_no_memory(why);
    }
    mark_class(dataset->label, v->rows, (int32_t)one);
    mark_class(dataset->true_label, v->rows, (int32_t)one);
    blv_strings_free(dataset->class_names, v->classes);
    dataset->class_names = names;
    v->classes = 2;
    blv_dataset_refresh(dataset);
    return BLV_OK;
}

/* ---- More columns ---- */

/* The features take the place of those of the set; from keeps nothing. */
static void take_features(blv_dataset *dataset, blv_dataset *from) {
    free(dataset->dense);
    free(dataset->row_start);
    free(dataset->column);
    free(dataset->value);
    blv_dataset_drop_transposed(dataset);
    dataset->dense = from->dense;
    dataset->row_start = from->row_start;
    dataset->column = from->column;
    dataset->value = from->value;
    dataset->column_start = from->column_start;
    dataset->row = from->row;
    dataset->column_value = from->column_value;
    from->dense = from->value = from->column_value = NULL;
    from->row_start = from->column_start = NULL;
    from->column = from->row = NULL;
    dataset->view.stride = from->view.stride;
}

/* Rows of a dense set with more columns; the new ones hold `fill`. NULL when memory is short. */
static void *wider_rows(const blv_dataset_view *v, size_t columns, double fill) {
    size_t size = blv_value_size(v->precision);
    char *wide = columns <= SIZE_MAX / size ? blv_data_alloc(v->rows, columns * size) : NULL;
    for (size_t i = 0; wide && i < v->rows; i++) {
        char *row = wide + i * columns * size;
        memcpy(row, (const char *)v->dense + i * v->stride * size, v->columns * size);
        for (size_t j = v->columns; j < columns; j++)
            blv_value_set(row, v->precision, j, fill);
    }
    return wide;
}

/* Rows of a sparse set, each with a 1 in one more column. */
static bool append_ones(blv_dataset *to, const blv_dataset_view *v) {
    size_t size = blv_value_size(v->precision), stored = v->row_start[v->rows] + v->rows;
    to->row_start = blv_data_alloc(v->rows + 1, sizeof *to->row_start);
    to->column = blv_data_alloc(stored, sizeof *to->column);
    to->value = blv_data_alloc(stored, size);
    if (!to->row_start || !to->column || !to->value)
        return false;
    to->row_start[0] = 0;
    for (size_t i = 0; i < v->rows; i++) {
        size_t from = v->row_start[i], count = v->row_start[i + 1] - from, at = from + i;
        if (count > 0) {
            memcpy(to->column + at, v->column + from, count * sizeof *to->column);
            memcpy((char *)to->value + at * size, (const char *)v->value + from * size,
                   count * size);
        }
        to->column[at + count] = (uint32_t)v->columns;
        blv_value_set(to->value, v->precision, at + count, 1.0);
        to->row_start[i + 1] = at + count + 1;
    }
    return true;
}

/* The features with a column of ones, in a set that has nothing else. */
static blv_error make_intercept(const blv_dataset_view *v, blv_dataset *to, blv_message *why) {
    to->view.rows = v->rows;
    to->view.columns = v->columns + 1;
    to->view.precision = v->precision;
    if (v->dense) {
        to->view.stride = v->columns + 1;
        to->dense = wider_rows(v, v->columns + 1, 1.0);
        return to->dense ? BLV_OK : blv_data_no_memory(why);
    }
    if (!append_ones(to, v))
        return blv_data_no_memory(why);
    blv_dataset_refresh(to);
    return v->column_start ? blv_dataset_transpose(to, why) : BLV_OK;
}

/* The names and one more; NULL when memory is short or there are none. */
static char **one_more_name(const blv_dataset_view *v, const char *name) {
    if (!v->feature_names)
        return NULL;
    const char **longer = blv_data_alloc(v->columns + 1, sizeof *longer);
    if (!longer)
        return NULL;
    memcpy(longer, v->feature_names, v->columns * sizeof *longer);
    longer[v->columns] = name;
    char **names = blv_strings_copy(longer, v->columns + 1);
    free(longer);
    return names;
}

blv_error blv_dataset_intercept(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_intercept: dataset is NULL");
    blv_dataset_view *v = &dataset->view;
    if (v->columns == UINT32_MAX)
        return blv_explain(why, BLV_E_VALUE, "intercept: there is no room for one more column");
    blv_error error = blv_dataset_own_features(dataset, why);
    if (error)
        return error;
    char **names = one_more_name(v, "intercept");
    blv_dataset *wider = blv_dataset_new();
    if (!wider || !names != !v->feature_names)
        error = blv_data_no_memory(why);
    if (!error)
        error = make_intercept(v, wider, why);
    if (!error && blv_dataset_record(dataset, "intercept: column %zu of ones", v->columns))
        error = blv_data_no_memory(why);
    if (!error) {
        take_features(dataset, wider);
        blv_strings_free(dataset->feature_names, v->columns);
        dataset->feature_names = names;
        names = NULL;
        v->columns++;
        blv_dataset_refresh(dataset);
    }
    blv_strings_free(names, v->columns + 1);
    blv_dataset_release(wider);
    return error;
}

/* ---- Columns and classes of another set ---- */

/* What widening needs, got before anything is changed. */
typedef struct wider {
    void *dense;
    size_t *column_start;
} wider;

static blv_error prepare_wider(const blv_dataset *dataset, size_t columns, wider *w,
                               blv_message *why) {
    const blv_dataset_view *v = &dataset->view;
    if (v->dense) {
        w->dense = wider_rows(v, columns, 0.0);
        return w->dense ? BLV_OK : blv_data_no_memory(why);
    }
    if (!v->column_start)
        return BLV_OK;
    w->column_start = blv_data_alloc(columns + 1, sizeof *w->column_start);
    if (!w->column_start)
        return blv_data_no_memory(why);
    for (size_t j = 0; j <= columns; j++)
        w->column_start[j] = v->column_start[j < v->columns ? j : v->columns];
    return BLV_OK;
}

/* New columns have no names, so the names go. */
static void widen(blv_dataset *dataset, size_t columns, wider *w) {
    blv_dataset_view *v = &dataset->view;
    if (w->dense) {
        free(dataset->dense);
        dataset->dense = w->dense;
        v->stride = columns;
    }
    if (w->column_start) {
        free(dataset->column_start);
        dataset->column_start = w->column_start;
    }
    blv_strings_free(dataset->feature_names, v->columns);
    dataset->feature_names = NULL;
    v->columns = columns;
    blv_dataset_refresh(dataset);
}

/* The class of that name, or one whose name is the same number ("+1" and "1"), or classes. */
static size_t find_class(const blv_dataset_view *v, const char *name) {
    double number, other;
    for (size_t c = 0; c < v->classes; c++)
        if (strcmp(v->class_names[c], name) == 0)
            return c;
    if (blv_number_parse(name, &number) != 0)
        return v->classes;
    size_t c = 0;
    while (c < v->classes && (blv_number_parse(v->class_names[c], &other) != 0 || other != number))
        c++;
    return c;
}

/* to[c]: the reference's number of class c, -1 where it has none. */
static blv_error map_classes(const blv_dataset_view *v, const blv_dataset_view *reference,
                             int32_t *to, blv_message *why) {
    for (size_t c = 0; c < v->classes; c++) {
        size_t found = find_class(reference, v->class_names[c]);
        to[c] = found < reference->classes ? (int32_t)found : -1;
    }
    for (size_t i = 0; i < v->rows; i++) {
        int32_t c = v->label[i];
        if (to[c] >= 0 && v->true_label)
            c = v->true_label[i];
        if (to[c] < 0)
            return blv_explain(why, BLV_E_VALUE,
                               "match: row %zu has class '%.100s', which the other set has not", i,
                               v->class_names[c]);
    }
    return BLV_OK;
}

static blv_error check_match(const blv_dataset_view *v, const blv_dataset_view *reference,
                             blv_message *why) {
    if (!v->label != !reference->label || !v->target != !reference->target)
        return blv_explain(why, BLV_E_VALUE,
                           "match: one set has classes or targets, and the other has not");
    if (!v->feature_names || !reference->feature_names)
        return BLV_OK;
    if (v->columns != reference->columns)
        return blv_explain(why, BLV_E_VALUE, "match: %zu named columns, but %zu in the other set",
                           v->columns, reference->columns);
    for (size_t j = 0; j < v->columns; j++)
        if (strcmp(v->feature_names[j], reference->feature_names[j]) != 0)
            return blv_explain(why, BLV_E_VALUE,
                               "match: column %zu is '%.100s', but '%.100s' in the other set", j,
                               v->feature_names[j], reference->feature_names[j]);
    return BLV_OK;
}

static void renumber(int32_t *label, size_t rows, const int32_t *to) {
    for (size_t i = 0; label && i < rows; i++)
        label[i] = to[label[i]];
}

/* The lines of both histories, or none. */
static blv_error record_match(blv_dataset *dataset, blv_dataset *narrow, size_t columns,
                              blv_message *why) {
    if (blv_dataset_record(dataset, "match: %zu columns and %zu classes of another set", columns,
                           dataset->view.classes) != BLV_OK)
        return blv_data_no_memory(why);
    if (narrow && narrow != dataset &&
        blv_dataset_record(narrow, "match: widened from %zu to %zu columns", narrow->view.columns,
                           columns) != BLV_OK) {
        blv_dataset_unrecord(dataset);
        return blv_data_no_memory(why);
    }
    return BLV_OK;
}

blv_error blv_dataset_match(blv_dataset *dataset, blv_dataset *reference, blv_message *why) {
    if (!dataset || !reference || dataset == reference)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_match: two sets are needed");
    blv_dataset_view *v = &dataset->view, *r = &reference->view;
    blv_error error = check_match(v, r, why);
    if (error)
        return error;
    size_t columns = v->columns > r->columns ? v->columns : r->columns;
    blv_dataset *narrow = v->columns < columns ? dataset : r->columns < columns ? reference : NULL;
    wider w = {0};
    int32_t *to = blv_data_alloc(v->classes, sizeof *to);
    char **names = blv_strings_copy(r->class_names, r->classes);
    if (!to || !names != !r->class_names)
        error = blv_data_no_memory(why);
    if (!error && v->label)
        error = map_classes(v, r, to, why);
    if (!error && narrow)
        error = blv_dataset_own_features(narrow, why);
    if (!error && narrow)
        error = prepare_wider(narrow, columns, &w, why);
    if (!error)
        error = record_match(dataset, narrow, columns, why);
    if (!error) {
        renumber(dataset->label, v->rows, to);
        renumber(dataset->true_label, v->rows, to);
        blv_strings_free(dataset->class_names, v->classes);
        dataset->class_names = names;
        v->classes = r->classes;
        blv_dataset_refresh(dataset);
        if (narrow)
            widen(narrow, columns, &w);
    } else {
        blv_strings_free(names, r->classes);
        free(w.dense);
        free(w.column_start);
    }
    free(to);
    return error;
}
