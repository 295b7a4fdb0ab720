/* Sets made from rows of other sets: chosen by number, joined, or with one more column.
 *
 * The kernels are fastest on rows that lie one after the other, so rows that are chosen are copied,
 * once: a fold of a cross-validation has one copy of its training rows, and every problem on them
 * shares it (blv_dataset_copy). Consecutive rows of a dense set are not copied at all, unless they
 * are so few that they would keep a much larger array in memory. */
#include "data/dataset_private.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 8 };

/* Which rows to copy, in which order. */
typedef struct row_list {
    const blv_dataset_view *first, *second; /* second may be NULL */
    const size_t *index;                    /* rows of the second follow those of the first; NULL:
                                               all rows of both */
    size_t count;
} row_list;

/* The set that row i of the list is from, and its number there. */
static const blv_dataset_view *find_row(const row_list *l, size_t i, size_t *row) {
    size_t rows = l->first->rows;
    *row = l->index ? l->index[i] : i;
    if (*row < rows)
        return l->first;
    *row -= rows;
    return l->second;
}

/* Puts the items of all rows, `bytes` each, from arrays in which they are `stride` bytes apart. The
 * part is dropped where one of the sets does not have it. */
static bool gather(blv_dataset *d, blv_part_name part, const row_list *l, const void *first,
                   size_t first_stride, const void *second, size_t second_stride, size_t bytes) {
    if (!first || (l->second && !second)) {
        blv_dataset_drop(d, part);
        return true;
    }
    char *items = blv_data_alloc(l->count, bytes);
    for (size_t i = 0, row; items && i < l->count; i++) {
        const char *from = find_row(l, i, &row) == l->first
                               ? (const char *)first + row * first_stride
                               : (const char *)second + row * second_stride;
        memcpy(items + i * bytes, from, bytes);
    }
    return blv_dataset_put(d, part, items);
}

/* Puts the entries of all rows; `ones`: and a 1 in one more column of each. */
static bool gather_sparse(blv_dataset *d, const row_list *l, bool ones) {
    const blv_precision precision = l->first->precision;
    const size_t size = blv_value_size(precision);
    size_t row, *start = blv_data_alloc(l->count + 1, sizeof *start);
    if (!start)
        return false;
    start[0] = 0;
    for (size_t i = 0; i < l->count; i++) {
        const blv_dataset_view *v = find_row(l, i, &row);
        start[i + 1] = start[i] + (v->row_start[row + 1] - v->row_start[row]) + ones;
    }
    uint32_t *column = blv_data_alloc(start[l->count], sizeof *column);
    char *value = blv_data_alloc(start[l->count], size);
    for (size_t i = 0; column && value && i < l->count; i++) {
        const blv_dataset_view *v = find_row(l, i, &row);
        size_t from = v->row_start[row], stored = v->row_start[row + 1] - from;
        if (stored > 0) {
            memcpy(column + start[i], v->column + from, stored * sizeof *column);
            memcpy(value + start[i] * size, (const char *)v->value + from * size, stored * size);
        }
        if (ones) {
            column[start[i] + stored] = (uint32_t)v->columns;
            blv_value_set(value, precision, start[i] + stored, 1.0);
        }
    }
    return blv_dataset_put_sparse(d, start, column, value);
}

/* Whether the rows of a dense set are consecutive, and enough of them to share its array. */
static bool can_share(const row_list *l) {
    size_t next = 1;
    while (l->index && next < l->count && l->index[next] == l->index[0] + next)
        next++;
    return next == l->count && l->count >= l->first->rows / MOST_KEPT;
}

static bool gather_features(blv_dataset *d, const row_list *l) {
    const blv_dataset_view *a = l->first, *b = l->second ? l->second : a;
    const size_t size = blv_value_size(a->precision);
    if (!a->dense)
        return gather_sparse(d, l, false);
    if (l->second || !can_share(l))
        return gather(d, BLV_PART_DENSE, l, a->dense, a->stride * size, b->dense, b->stride * size,
                      a->columns * size);
    d->dense_offset += l->index[0] * a->stride * size;
    blv_dataset_put_shared(d, BLV_PART_DENSE, d->part[BLV_PART_DENSE]);
    return true;
}

/* ---- Sets that are spread over ranks: rows stay where they are ---- */

static const size_t nowhere = SIZE_MAX;

/* slot[row]: which of the held rows it is. */
static void find_slots(const blv_dataset_view *v, size_t *slot) {
    for (size_t i = 0; i < v->rows; i++)
        slot[i] = nowhere;
    for (size_t k = 0; k < blv_held_rows(v); k++)
        slot[blv_held_row(v, k)] = k;
}

/* The features of the listed rows that are held here, from views of the held rows alone. */
static bool gather_held(blv_dataset *d, const row_list *l) {
    blv_dataset_view a = *l->first, b = l->second ? *l->second : a;
    size_t *slot = blv_data_alloc(a.rows + b.rows, sizeof *slot), held = 0;
    size_t *held_row = blv_data_alloc(l->count, sizeof *held_row);
    size_t *index = blv_data_alloc(l->count, sizeof *index);
    bool ok = slot && held_row && index;
    if (ok) {
        find_slots(&a, slot);
        find_slots(&b, slot + a.rows);
        a.rows = blv_held_rows(&a);
        b.rows = blv_held_rows(&b);
        for (size_t i = 0, row; i < l->count; i++) {
            const bool in_first = find_row(l, i, &row) == l->first;
            const size_t at = slot[in_first ? row : l->first->rows + row];
            if (at == nowhere)
                continue;
            index[held] = in_first ? at : a.rows + at;
            held_row[held++] = i;
        }
        ok = gather_features(d, &(row_list){&a, l->second ? &b : NULL, index, held});
    }
    free(slot);
    free(index);
    if (ok)
        return blv_dataset_put_held(d, l->first->ranks, held_row, held);
    free(held_row);
    return false;
}

/* A set of the listed rows, with all else from source; NULL when memory is short. */
static blv_dataset *copy_rows(const blv_dataset *source, const row_list *l) {
    const blv_dataset_view *a = l->first, *b = l->second ? l->second : a;
    const size_t label = sizeof *a->label, target = sizeof *a->target;
    const blv_part *places = source->part[BLV_PART_PLACE]; /* in the file of the first */
    const size_t place = sizeof(uint64_t);
    blv_dataset *d = blv_dataset_share(source);
    if (!d)
        return NULL;
    d->view.rows = l->count;
    if ((a->ranks ? gather_held : gather_features)(d, l) &&
        gather(d, BLV_PART_LABEL, l, a->label, label, b->label, label, label) &&
        gather(d, BLV_PART_TRUE_LABEL, l, a->true_label, label, b->true_label, label, label) &&
        gather(d, BLV_PART_TARGET, l, a->target, target, b->target, target, target) &&
        gather(d, BLV_PART_WEIGHT, l, a->weight, target, b->weight, target, target) &&
        gather(d, BLV_PART_PLACE, l, places ? places->data : NULL, place,
               !l->second && places ? places->data : NULL, place, place))
        return d;
    blv_dataset_release(d);
    return NULL;
}

blv_dataset *blv_dataset_pick(const blv_dataset *source, const size_t *index, size_t count) {
    return copy_rows(source, &(row_list){.first = &source->view, .index = index, .count = count});
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
    bool ok = d && blv_dataset_record(d, "select: %zu of %zu rows", count, rows);
    return blv_dataset_deliver(selected, d, ok, why);
}

blv_error blv_dataset_join(const blv_dataset *first, const blv_dataset *second,
                           blv_dataset **joined, blv_message *why) {
    BLV_CHECK(blv_need_arguments(first && second && joined, __func__, why));
    *joined = NULL;
    const blv_dataset_view *a = &first->view, *b = &second->view;
    if (a->columns != b->columns || a->classes != b->classes || !a->dense != !b->dense ||
        a->precision != b->precision || !a->target != !b->target || a->ranks != b->ranks)
        return blv_explain(why, BLV_E_VALUE,
                           "join: the sets differ in columns, classes, layout or precision; align "
                           "them first");
    if (a->rows > UINT32_MAX - b->rows)
        return blv_explain(why, BLV_E_VALUE, "join: more than %lu rows", (unsigned long)UINT32_MAX);
    blv_dataset *d = copy_rows(first, &(row_list){a, b, NULL, a->rows + b->rows});
    bool ok = d && blv_dataset_record(d, "join: %zu rows and %zu of another set", a->rows, b->rows);
    return blv_dataset_deliver(joined, d, ok, why);
}

/* ---- One more column, of ones ---- */

static bool append_name(blv_dataset *to, const blv_dataset_view *v, const char *name) {
    if (!v->feature_names)
        return true;
    const char **longer = blv_data_alloc(v->columns + 1, sizeof *longer);
    if (!longer)
        return false;
    memcpy(longer, v->feature_names, v->columns * sizeof *longer);
    longer[v->columns] = name;
    char **names = blv_strings_copy(longer, v->columns + 1);
    free(longer);
    return blv_dataset_put(to, BLV_PART_FEATURE_NAMES, names);
}

blv_error blv_dataset_intercept(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_intercept: dataset is NULL");
    const blv_dataset_view *v = &dataset->view;
    if (v->columns == UINT32_MAX)
        return blv_explain(why, BLV_E_VALUE, "intercept: there is no room for one more column");
    blv_dataset *wider = blv_dataset_share(dataset);
    BLV_CHECK(blv_need_memory(wider, why));
    wider->view.columns = v->columns + 1;
    bool ok = v->dense
                  ? blv_dataset_put(wider, BLV_PART_DENSE, blv_dense_rows(v, v->columns + 1, 1.0))
                  : gather_sparse(wider, &(row_list){.first = v, .count = blv_held_rows(v)}, true);
    ok = ok && append_name(wider, v, "intercept") &&
         blv_dataset_record(wider, "intercept: column %zu of ones", v->columns);
    return blv_dataset_commit(dataset, wider, ok, why);
}
