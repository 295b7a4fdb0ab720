/* Sets made from rows of other sets: chosen by number, and joined.
 *
 * The kernels are fastest on rows that lie one after the other, so rows that are chosen are copied,
 * once: a fold of a cross-validation has one copy of its training rows, and every problem on them
 * shares it (blv_dataset_copy). Consecutive rows of a dense set are not copied at all, unless they
 * are so few that they would keep a much larger array in memory. */
#include "data/dataset_ops.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 8 };

/* ---- Rows by number ---- */

/* Puts the items index[0 .. count-1] of an array that the set has; they are `stride` bytes apart.
 */
static bool put_picked(blv_dataset *d, blv_part_name name, const void *array, size_t stride,
                       size_t bytes, const size_t *index, size_t count) {
    if (!array)
        return true;
    char *picked = blv_data_alloc(count, bytes);
    for (size_t i = 0; picked && i < count; i++)
        memcpy(picked + i * bytes, (const char *)array + index[i] * stride, bytes);
    return blv_dataset_put(d, name, picked);
}

static bool pick_dense(blv_dataset *d, const blv_dataset_view *v, const size_t *index,
                       size_t count) {
    size_t size = blv_value_size(v->precision), next = 1;
    while (next < count && index[next] == index[0] + next)
        next++;
    if (next < count || count < v->rows / MOST_KEPT)
        return put_picked(d, BLV_PART_DENSE, v->dense, v->stride * size, v->columns * size, index,
                          count);
    d->dense_offset += index[0] * v->stride * size;
    blv_dataset_put_shared(d, BLV_PART_DENSE, d->part[BLV_PART_DENSE]);
    return true;
}

static bool pick_sparse(blv_dataset *d, const blv_dataset_view *v, const size_t *index,
                        size_t count) {
    size_t size = blv_value_size(v->precision);
    size_t *start = blv_data_alloc(count + 1, sizeof *start);
    if (!start)
        return false;
    start[0] = 0;
    for (size_t i = 0; i < count; i++)
        start[i + 1] = start[i] + (v->row_start[index[i] + 1] - v->row_start[index[i]]);
    uint32_t *column = blv_data_alloc(start[count], sizeof *column);
    char *value = blv_data_alloc(start[count], size);
    for (size_t i = 0; column && value && i < count; i++) {
        size_t from = v->row_start[index[i]], stored = start[i + 1] - start[i];
        if (stored == 0)
            continue;
        memcpy(column + start[i], v->column + from, stored * sizeof *column);
        memcpy(value + start[i] * size, (const char *)v->value + from * size, stored * size);
    }
    return blv_dataset_put_sparse(d, start, column, value);
}

blv_dataset *blv_dataset_pick(const blv_dataset *source, const size_t *index, size_t count) {
    const blv_dataset_view *v = &source->view;
    blv_dataset *d = blv_dataset_share(source);
    if (!d)
        return NULL;
    d->view.rows = count;
    blv_dataset_drop_transposed(d);
    const size_t label = sizeof *v->label, target = sizeof *v->target;
    if ((v->dense ? pick_dense(d, v, index, count) : pick_sparse(d, v, index, count)) &&
        put_picked(d, BLV_PART_LABEL, v->label, label, label, index, count) &&
        put_picked(d, BLV_PART_TRUE_LABEL, v->true_label, label, label, index, count) &&
        put_picked(d, BLV_PART_TARGET, v->target, target, target, index, count))
        return d;
    blv_dataset_release(d);
    return NULL;
}

blv_error blv_dataset_select(const blv_dataset *dataset, const size_t *index, size_t count,
                             blv_dataset **selected, blv_message *why) {
    if (!selected)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_select: selected is NULL");
    *selected = NULL;
    if (!dataset || (count > 0 && !index))
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_select: dataset or index is NULL");
    size_t rows = dataset->view.rows;
    if (count == 0 || count > UINT32_MAX)
        return blv_explain(why, BLV_E_VALUE, "select: %zu rows; expected 1 to %lu", count,
                           (unsigned long)UINT32_MAX);
    for (size_t i = 0; i < count; i++)
        if (index[i] >= rows)
            return blv_explain(why, BLV_E_VALUE, "select: row %zu, but there are %zu", index[i],
                               rows);
    blv_dataset *d = blv_dataset_pick(dataset, index, count);
    if (!d || !blv_dataset_record(d, "select: %zu of %zu rows", count, rows)) {
        blv_dataset_release(d);
        return blv_explain_memory(why);
    }
    *selected = d;
    return BLV_OK;
}

/* ---- Rows of two sets ---- */

/* Puts one array after the other where both sets have it, and drops it where one has not. */
static bool put_joined(blv_dataset *d, blv_part_name name, const void *first, size_t first_count,
                       const void *second, size_t second_count, size_t size) {
    if (!first || !second) {
        blv_dataset_drop(d, name);
        return true;
    }
    char *both = blv_data_alloc(first_count + second_count, size);
    if (both && first_count > 0)
        memcpy(both, first, first_count * size);
    if (both && second_count > 0)
        memcpy(both + first_count * size, second, second_count * size);
    return blv_dataset_put(d, name, both);
}

static bool join_dense(blv_dataset *d, const blv_dataset_view *a, const blv_dataset_view *b) {
    size_t row_bytes = a->columns * blv_value_size(a->precision);
    char *both = blv_data_alloc(a->rows + b->rows, row_bytes);
    if (both) {
        blv_dense_copy(a, a->columns, 0.0, both);
        blv_dense_copy(b, b->columns, 0.0, both + a->rows * row_bytes);
    }
    return blv_dataset_put(d, BLV_PART_DENSE, both);
}

static bool join_sparse(blv_dataset *d, const blv_dataset_view *a, const blv_dataset_view *b) {
    size_t of_a = a->row_start[a->rows], of_b = b->row_start[b->rows];
    size_t *start = blv_data_alloc(a->rows + b->rows + 1, sizeof *start);
    if (start)
        memcpy(start, a->row_start, (a->rows + 1) * sizeof *start);
    for (size_t i = 1; start && i <= b->rows; i++)
        start[a->rows + i] = of_a + b->row_start[i];
    return blv_dataset_put(d, BLV_PART_ROW_START, start) &&
           put_joined(d, BLV_PART_COLUMN, a->column, of_a, b->column, of_b, sizeof *a->column) &&
           put_joined(d, BLV_PART_VALUE, a->value, of_a, b->value, of_b,
                      blv_value_size(a->precision));
}

blv_error blv_dataset_join(const blv_dataset *first, const blv_dataset *second,
                           blv_dataset **joined, blv_message *why) {
    if (!first || !second || !joined)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_join: an argument is NULL");
    *joined = NULL;
    const blv_dataset_view *a = &first->view, *b = &second->view;
    if (a->columns != b->columns || a->classes != b->classes || !a->dense != !b->dense ||
        a->precision != b->precision || !a->target != !b->target)
        return blv_explain(why, BLV_E_VALUE,
                           "join: the sets differ in columns, classes, layout or precision; align "
                           "them first");
    if (a->rows > UINT32_MAX - b->rows)
        return blv_explain(why, BLV_E_VALUE, "join: more than %lu rows", (unsigned long)UINT32_MAX);
    blv_dataset *d = blv_dataset_share(first);
    if (!d)
        return blv_explain_memory(why);
    d->view.rows = a->rows + b->rows;
    blv_dataset_drop_transposed(d);
    if (!(a->dense ? join_dense(d, a, b) : join_sparse(d, a, b)) ||
        !put_joined(d, BLV_PART_LABEL, a->label, a->rows, b->label, b->rows, sizeof *a->label) ||
        !put_joined(d, BLV_PART_TRUE_LABEL, a->true_label, a->rows, b->true_label, b->rows,
                    sizeof *a->true_label) ||
        !put_joined(d, BLV_PART_TARGET, a->target, a->rows, b->target, b->rows,
                    sizeof *a->target) ||
        !blv_dataset_record(d, "join: %zu rows and %zu of another set", a->rows, b->rows)) {
        blv_dataset_release(d);
        return blv_explain_memory(why);
    }
    *joined = d;
    return BLV_OK;
}
