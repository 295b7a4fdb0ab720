/* Whether a set is sound, and sets from memory. */
#include "base/message.h"
#include "bilevel/ranks.h"
#include "data/dataset_private.h"

#include <math.h>

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

/* Rows that are held ascend. */
static blv_error check_held(const blv_dataset_view *v, const complaint *c) {
    if (v->ranks && (v->ranks->size < sizeof *v->ranks || !v->held_row || v->held > v->rows))
        return COMPLAIN(c, "ranks without rows that are held, or more than there are", c->where);
    for (size_t i = 0; v->ranks && i < v->held; i++)
        if (v->held_row[i] >= v->rows || (i > 0 && v->held_row[i] <= v->held_row[i - 1]))
            return COMPLAIN(c, "row %zu is held after another; expected ascending", c->where,
                            v->held_row[i]);
    return BLV_OK;
}

static blv_error check_sparse(const blv_dataset_view *v, const complaint *c) {
    if (v->row_start[0] != 0)
        return COMPLAIN(c, "row 0 starts at %zu instead of 0", c->where, v->row_start[0]);
    const size_t held = blv_held_rows(v);
    for (size_t i = 0; i < held; i++)
        if (v->row_start[i + 1] < v->row_start[i])
            return COMPLAIN(c, "row %zu ends before it starts", c->where, i);
    if (v->row_start[held] > 0 && (!v->column || !v->value))
        return COMPLAIN(c, "the columns or values of a sparse set are missing", c->where);
    for (size_t i = 0; i < held; i++) {
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
    const char *all = blv_stored_values(v);
    for (size_t i = 0; i < blv_held_rows(v); i++) {
        const blv_stored_row row = blv_row_at(v, i);
        if (row.end == row.first)
            continue;
        size_t k = first_not_finite(all + row.first * size, v->precision, row.end - row.first);
        if (k < row.end - row.first)
            return COMPLAIN(c, "row %zu, column %zu: %g; expected a finite number", c->where, i,
                            blv_column_at(&row, row.first + k),
                            blv_value_get(all, v->precision, row.first + k));
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

static blv_error check_weights(const blv_dataset_view *v, const complaint *c) {
    double sum = 0.0;
    for (size_t i = 0; v->weight && i < v->rows; sum += v->weight[i++])
        if (!(v->weight[i] >= 0.0 && isfinite(v->weight[i])))
            return COMPLAIN(c, "row %zu: weight %g; expected a number from 0 on", c->where, i,
                            v->weight[i]);
    if (v->weight && !isnormal(sum)) /* its inverse is finite then */
        return COMPLAIN(c, "the weights of the rows add up to %g", c->where, sum);
    return BLV_OK;
}

static blv_error check_view(const blv_dataset_view *v, const complaint *c) {
    BLV_CHECK(check_shape(v, c));
    BLV_CHECK(check_held(v, c));
    if (v->row_start)
        BLV_CHECK(check_sparse(v, c));
    BLV_CHECK(check_values(v, c));
    BLV_CHECK(check_weights(v, c));
    BLV_CHECK(check_labels(v, v->label, c));
    BLV_CHECK(check_labels(v, v->true_label, c));
    BLV_CHECK(check_names(v->class_names, v->classes, "class", c));
    return check_names(v->feature_names, v->columns, "column", c);
}

blv_error blv_dataset_finish(blv_dataset *dataset, const char *path, blv_message *why) {
    blv_dataset_view *view = &dataset->view;
    BLV_CHECK(check_view(view, &(complaint){blv_shown_path(path), BLV_E_FORMAT, why}));
    bool named =
        !view->label || view->class_names || blv_dataset_number_classes(dataset, view->classes);
    return blv_need_memory(named, why);
}

/* ---- From memory ---- */

/* Puts a copy of an array that the view has. */
static bool put_copy(blv_dataset *d, blv_part_name name, const void *array, size_t count,
                     size_t size) {
    return !array || blv_dataset_put(d, name, blv_data_copy(array, count, size));
}

static bool copy_arrays(blv_dataset *d, const blv_dataset_view *v) {
    const size_t held = blv_held_rows(v), stored = v->row_start ? v->row_start[held] : 0;
    if (v->dense)
        return blv_dataset_put(d, BLV_PART_DENSE, blv_dense_rows(v, v->columns, 0.0));
    return put_copy(d, BLV_PART_ROW_START, v->row_start, held + 1, sizeof *v->row_start) &&
           put_copy(d, BLV_PART_COLUMN, v->column ? v->column : (uint32_t[1]){0}, stored,
                    sizeof *v->column) &&
           put_copy(d, BLV_PART_VALUE, v->value ? v->value : (double[1]){0}, stored,
                    blv_value_size(v->precision));
}

/* Features that stay the caller's. */
typedef struct loan {
    void (*release)(void *context);
    void *context;
} loan;

static bool lend(blv_dataset *d, blv_part_name name, const void *array, const loan *l) {
    return blv_dataset_put_lent(d, name, array, l->release, l->context);
}

static bool lend_arrays(blv_dataset *d, const blv_dataset_view *v, const loan *l) {
    if (v->dense)
        return lend(d, BLV_PART_DENSE, v->dense, l);
    return lend(d, BLV_PART_ROW_START, v->row_start, l) && lend(d, BLV_PART_COLUMN, v->column, l) &&
           lend(d, BLV_PART_VALUE, v->value, l);
}

static bool copy_labels(blv_dataset *d, const blv_dataset_view *v) {
    return put_copy(d, BLV_PART_LABEL, v->label, v->rows, sizeof *v->label) &&
           put_copy(d, BLV_PART_WEIGHT, v->weight, v->rows, sizeof *v->weight) &&
           put_copy(d, BLV_PART_TRUE_LABEL, v->true_label, v->rows, sizeof *v->true_label) &&
           put_copy(d, BLV_PART_TARGET, v->target, v->rows, sizeof *v->target);
}

static bool copy_names(blv_dataset *d, const blv_dataset_view *v) {
    if (v->feature_names &&
        !blv_dataset_put(d, BLV_PART_FEATURE_NAMES, blv_strings_copy(v->feature_names, v->columns)))
        return false;
    if (v->classes > 0 && !v->class_names)
        return blv_dataset_number_classes(d, v->classes);
    return !v->class_names ||
           blv_dataset_put(d, BLV_PART_CLASS_NAMES, blv_strings_copy(v->class_names, v->classes));
}

/* l: NULL where everything is copied. */
static blv_error make_set(blv_dataset **dataset, const blv_dataset_view *view, const char *history,
                          const loan *l, const char *caller, blv_message *why) {
    blv_dataset_view v;
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: dataset is NULL", caller);
    *dataset = NULL;
    if (!view)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: view is NULL", caller);
    complaint c = {caller, BLV_E_VALUE, why};
    BLV_CHECK(blv_caller_struct(&v, sizeof v, view, "blv_dataset_view", why));
    BLV_CHECK(check_view(&v, &c));
    if (l && (!l->release || (v.dense ? v.stride != v.columns : !v.column || !v.value)))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "%s: rows without gaps and a release function are needed", caller);
    blv_dataset *d = blv_dataset_new();
    BLV_CHECK(blv_need_memory(d, why));
    d->view.rows = v.rows;
    d->view.columns = v.columns;
    d->view.precision = v.precision;
    d->view.classes = v.classes;
    d->view.format = "memory";
    bool ok = !v.ranks ||
              blv_dataset_put_held(d, v.ranks,
                                   blv_data_copy(v.held_row, v.held, sizeof *v.held_row), v.held);
    ok = ok && (l ? lend_arrays(d, &v, l) : copy_arrays(d, &v)) && copy_labels(d, &v) &&
         copy_names(d, &v) && (!history || blv_dataset_record(d, "%s", history)) &&
         (!v.column_start || blv_dataset_transpose(d, NULL) == BLV_OK);
    return blv_dataset_deliver(dataset, d, ok, why);
}

blv_error blv_dataset_create(blv_dataset **dataset, const blv_dataset_view *view,
                             const char *history, blv_message *why) {
    return make_set(dataset, view, history, NULL, "blv_dataset_create", why);
}

blv_error blv_dataset_borrow(blv_dataset **dataset, const blv_dataset_view *view,
                             const char *history, void (*release)(void *context), void *context,
                             blv_message *why) {
    const loan l = {release, context};
    return make_set(dataset, view, history, &l, "blv_dataset_borrow", why);
}
