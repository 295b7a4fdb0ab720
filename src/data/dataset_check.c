/* Whether a set is sound, sets from memory, and fingerprints. */
#include "base/caller_struct.h"
#include "data/dataset_ops.h"
#include "io/npz_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks: each writes "where: what is wrong" ---- */

typedef struct complaint {
    const char *where;
    blv_error error;
    blv_message *why;
} complaint;

#define COMPLAIN(c, ...) blv_explain((c)->why, (c)->error, "%s: " __VA_ARGS__)

static blv_error check_shape(const blv_dataset_view *v, const complaint *c) {
    if (v->rows == 0)
        return COMPLAIN(c, "there are no rows", c->where);
    if (v->columns == 0)
        return COMPLAIN(c, "there are no features", c->where);
    if (v->rows > UINT32_MAX || v->columns > UINT32_MAX)
        return COMPLAIN(c, "%zu rows and %zu columns; at most %lu of each are possible", c->where,
                        v->rows, v->columns, (unsigned long)UINT32_MAX);
    if (v->precision != BLV_F32 && v->precision != BLV_F64)
        return COMPLAIN(c, "the precision is neither f32 nor f64", c->where);
    if (!v->dense == !v->row_start)
        return COMPLAIN(c, "features must be dense or sparse, one of the two", c->where);
    if (v->dense && (v->stride < v->columns || v->stride > SIZE_MAX / 8 / v->rows))
        return COMPLAIN(c, "a stride of %zu for %zu rows of %zu columns", c->where, v->stride,
                        v->rows, v->columns);
    if (v->classes > INT32_MAX)
        return COMPLAIN(c, "%zu classes are too many", c->where, v->classes);
    if (!v->label != (v->classes == 0))
        return COMPLAIN(c, "%zu classes, but labels are %s", c->where, v->classes,
                        v->label ? "there" : "missing");
    if (v->label && v->target)
        return COMPLAIN(c, "both classes and real targets", c->where);
    if (v->true_label && !v->label)
        return COMPLAIN(c, "true labels without labels", c->where);
    return BLV_OK;
}

static blv_error check_sparse(const blv_dataset_view *v, const complaint *c) {
    if (v->row_start[0] != 0)
        return COMPLAIN(c, "row 0 starts at %zu instead of 0", c->where, v->row_start[0]);
    for (size_t i = 0; i < v->rows; i++)
        if (v->row_start[i + 1] < v->row_start[i])
            return COMPLAIN(c, "row %zu ends before it starts", c->where, i);
    if (v->row_start[v->rows] > 0 && (!v->column || !v->value))
        return COMPLAIN(c, "the columns or values of a sparse set are missing", c->where);
    for (size_t i = 0; i < v->rows; i++) {
        for (size_t k = v->row_start[i]; k < v->row_start[i + 1]; k++) {
            if (v->column[k] >= v->columns)
                return COMPLAIN(c, "row %zu: column %lu of %zu", c->where, i,
                                (unsigned long)v->column[k], v->columns);
            if (k > v->row_start[i] && v->column[k] <= v->column[k - 1])
                return COMPLAIN(c, "row %zu: column %lu after column %lu; expected ascending",
                                c->where, i, (unsigned long)v->column[k],
                                (unsigned long)v->column[k - 1]);
        }
    }
    return BLV_OK;
}

/* Whether all values are finite: 0 times a number is 0 unless it is not. Several sums, so that the
 * loop has no jumps and waits for memory only. */
enum { SUMS = 16 };
#define ALL_FINITE(name, type)                                                                     \
    static bool name(const type *values, size_t count) {                                           \
        type sum[SUMS] = {0};                                                                      \
        size_t i = 0;                                                                              \
        for (; i + SUMS <= count; i += SUMS)                                                       \
            for (size_t k = 0; k < SUMS; k++)                                                      \
                sum[k] += 0 * values[i + k];                                                       \
        for (; i < count; i++)                                                                     \
            sum[0] += 0 * values[i];                                                               \
        for (size_t k = 1; k < SUMS; k++)                                                          \
            sum[0] += sum[k];                                                                      \
        return sum[0] == 0;                                                                        \
    }
ALL_FINITE(all_finite_f32, float)
ALL_FINITE(all_finite_f64, double)
#undef ALL_FINITE

/* The first of count values that is not finite, or count. */
static size_t first_not_finite(const void *values, blv_precision precision, size_t count) {
    if (precision == BLV_F32 ? all_finite_f32(values, count) : all_finite_f64(values, count))
        return count;
    size_t i = 0;
    while (i < count && isfinite(blv_value_get(values, precision, i)))
        i++;
    return i;
}

static blv_error check_values(const blv_dataset_view *v, const complaint *c) {
    size_t size = blv_value_size(v->precision);
    for (size_t i = 0; i < v->rows; i++) {
        size_t start = v->dense ? i * v->stride : v->row_start[i];
        size_t count = v->dense ? v->columns : v->row_start[i + 1] - start;
        const void *values =
            count > 0 ? (const char *)(v->dense ? v->dense : v->value) + start * size : NULL;
        size_t k = first_not_finite(values, v->precision, count);
        if (k < count)
            return COMPLAIN(c, "row %zu, column %zu: %g; expected a finite number", c->where, i,
                            v->dense ? k : (size_t)v->column[start + k],
                            blv_value_get(values, v->precision, k));
    }
    for (size_t i = 0; v->target && i < v->rows; i++)
        if (!isfinite(v->target[i]))
            return COMPLAIN(c, "row %zu: target %g; expected a finite number", c->where, i,
                            v->target[i]);
    return BLV_OK;
}

static blv_error check_labels(const blv_dataset_view *v, const int32_t *label, const complaint *c) {
    for (size_t i = 0; label && i < v->rows; i++)
        if (label[i] < 0 || (size_t)label[i] >= v->classes)
            return COMPLAIN(c, "row %zu: class %ld of %zu", c->where, i, (long)label[i],
                            v->classes);
    return BLV_OK;
}

static blv_error check_names(const char *const *names, size_t count, const char *what,
                             const complaint *c) {
    for (size_t i = 0; names && i < count; i++)
        if (!names[i])
            return COMPLAIN(c, "%s %zu has no name", c->where, what, i);
    return BLV_OK;
}

static blv_error check_view(const blv_dataset_view *v, const complaint *c) {
    blv_error error = check_shape(v, c);
    if (!error && v->row_start)
        error = check_sparse(v, c);
    if (!error)
        error = check_values(v, c);
    if (!error)
        error = check_labels(v, v->label, c);
    if (!error)
        error = check_labels(v, v->true_label, c);
    if (!error)
        error = check_names(v->class_names, v->classes, "class", c);
    if (!error)
        error = check_names(v->feature_names, v->columns, "column", c);
    return error;
}

blv_error blv_dataset_finish(blv_dataset *dataset, const char *path, blv_message *why) {
    blv_dataset_view *view = &dataset->view;
    if (!dataset->row_start && view->stride == 0)
        view->stride = view->columns;
    blv_dataset_refresh(dataset);
    complaint c = {blv_shown_path(path), BLV_E_FORMAT, why};
    blv_error error = check_view(view, &c);
    if (!error && view->label && !view->class_names &&
        blv_dataset_number_classes(dataset, view->classes) != BLV_OK)
        error = blv_data_no_memory(why);
    return error;
}

/* ---- From memory ---- */

static bool copy_features(blv_dataset *d, const blv_dataset_view *v) {
    size_t size = blv_value_size(v->precision);
    if (v->row_start) {
        size_t stored = v->row_start[v->rows];
        d->row_start = blv_data_copy(v->row_start, v->rows + 1, sizeof *v->row_start);
        d->column = blv_data_copy(v->column, stored, sizeof *v->column);
        d->value = blv_data_copy(v->value, stored, size);
        return d->row_start && d->column && d->value;
    }
    d->view.stride = v->columns;
    size_t row_bytes = v->columns * size;
    char *dense = blv_data_alloc(v->rows, row_bytes);
    d->dense = dense;
    for (size_t i = 0; dense && i < v->rows; i++)
        memcpy(dense + i * row_bytes, (const char *)v->dense + i * v->stride * size, row_bytes);
    return dense != NULL;
}

static bool copy_labels(blv_dataset *d, const blv_dataset_view *v) {
    if (v->label)
        d->label = blv_data_copy(v->label, v->rows, sizeof *v->label);
    if (v->true_label)
        d->true_label = blv_data_copy(v->true_label, v->rows, sizeof *v->true_label);
    if (v->target)
        d->target = blv_data_copy(v->target, v->rows, sizeof *v->target);
    return !d->label == !v->label && !d->true_label == !v->true_label && !d->target == !v->target;
}

static bool copy_names(blv_dataset *d, const blv_dataset_view *v) {
    d->feature_names = blv_strings_copy(v->feature_names, v->columns);
    if (!d->feature_names != !v->feature_names)
        return false;
    if (v->classes == 0)
        return true;
    if (!v->class_names)
        return blv_dataset_number_classes(d, v->classes) == BLV_OK;
    d->class_names = blv_strings_copy(v->class_names, v->classes);
    d->view.classes = d->class_names ? v->classes : 0;
    return d->class_names != NULL;
}

blv_error blv_dataset_create(blv_dataset **dataset, const blv_dataset_view *view,
                             const char *history, blv_message *why) {
    blv_dataset_view own;
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_create: dataset is NULL");
    *dataset = NULL;
    if (!view)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_create: view is NULL");
    complaint c = {"blv_dataset_create", BLV_E_VALUE, why};
    blv_error error = blv_caller_struct(&own, sizeof own, view, "blv_dataset_view", why);
    if (!error)
        error = check_view(view = &own, &c);
    if (error)
        return error;
    blv_dataset *d = blv_dataset_new();
    if (!d)
        return blv_data_no_memory(why);
    d->view.rows = view->rows;
    d->view.columns = view->columns;
    d->view.precision = view->precision;
    d->view.format = "memory";
    if (!copy_features(d, view) || !copy_labels(d, view) || !copy_names(d, view) ||
        (history && blv_dataset_record(d, "%s", history) != BLV_OK))
        error = blv_data_no_memory(why);
    if (!error) {
        blv_dataset_refresh(d);
        if (view->column_start)
            error = blv_dataset_transpose(d, why);
    }
    if (error) {
        blv_dataset_release(d);
        return error;
    }
    *dataset = d;
    return BLV_OK;
}

/* ---- Fingerprint ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t mix_double(uint64_t hash, double value) {
    uint64_t bits;
    value += 0.0; /* -0 counts as 0 */
    memcpy(&bits, &value, sizeof bits);
    return mix(hash, bits);
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        hash = mix(hash, (unsigned char)text[i]);
    return mix(hash, length + 256);
}

/* Values that are not zero, each with its column, row by row: dense and sparse alike. */
static uint64_t mix_features(uint64_t hash, const blv_dataset_view *v) {
    for (size_t i = 0; i < v->rows; i++) {
        size_t start = v->dense ? i * v->stride : v->row_start[i];
        size_t count = v->dense ? v->columns : v->row_start[i + 1] - start;
        const void *values = v->dense ? v->dense : v->value;
        for (size_t k = 0; k < count; k++) {
            double value = blv_value_get(values, v->precision, start + k);
            if (value == 0.0)
                continue;
            hash = mix(hash, v->dense ? k : v->column[start + k]);
            hash = mix_double(hash, value);
        }
        hash = mix(hash, UINT64_MAX);
    }
    return hash;
}

static uint64_t mix_labels(uint64_t hash, const int32_t *label, size_t rows) {
    hash = mix(hash, label ? 1 : 0);
    for (size_t i = 0; label && i < rows; i++)
        hash = mix(hash, (uint64_t)label[i]);
    return hash;
}

static uint64_t mix_names(uint64_t hash, const char *const *names, size_t count) {
    hash = mix(hash, names ? 1 : 0);
    for (size_t i = 0; names && i < count; i++)
        hash = mix_text(hash, names[i]);
    return hash;
}

uint64_t blv_dataset_fingerprint(const blv_dataset *dataset) {
    if (!dataset)
        return 0;
    const blv_dataset_view *v = &dataset->view;
    uint64_t hash = mix(mix(mix(1, v->rows), v->columns), v->classes);
    hash = mix_features(hash, v);
    hash = mix_labels(hash, v->label, v->rows);
    hash = mix_labels(hash, v->true_label, v->rows);
    hash = mix(hash, v->target ? 1 : 0);
    for (size_t i = 0; v->target && i < v->rows; i++)
        hash = mix_double(hash, v->target[i]);
    hash = mix_names(hash, v->class_names, v->classes);
    return mix_names(hash, v->feature_names, v->columns);
}
