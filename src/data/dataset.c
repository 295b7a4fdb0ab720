/* Data sets: parts that are shared and counted, the view, history and notes. */
#include "base/aligned_memory.h"
#include "data/dataset_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Memory ---- */

void *blv_data_alloc(size_t count, size_t size) {
    if (size > 0 && count > SIZE_MAX / size)
        return NULL;
    size_t bytes = count * size;
    return bytes < BLV_LARGE_ROOM ? malloc(bytes > 0 ? bytes : 1) : blv_room(bytes);
}

void *blv_data_copy(const void *source, size_t count, size_t size) {
    void *copy = blv_data_alloc(count, size);
    if (copy && count > 0)
        memcpy(copy, source, count * size);
    return copy;
}

char **blv_strings_copy(const char *const *strings, size_t count) {
    size_t bytes = count * sizeof *strings;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(strings[i]) + 1;
    char **copy = blv_data_alloc(bytes, 1);
    char *text = copy ? (char *)(copy + count) : NULL;
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = text;
        text = stpcpy(text, strings[i]) + 1;
    }
    return copy;
}

void *blv_list_room(blv_list *list, size_t more, size_t item_size) {
    size_t wanted = list->count + more, larger = 2 * list->capacity;
    if (!list->items || wanted > list->capacity) {
        larger = larger < wanted ? wanted : larger;
        larger = larger == 0 ? 1 : larger;
        void *items =
            larger <= PTRDIFF_MAX / item_size ? realloc(list->items, larger * item_size) : NULL;
        if (!items)
            return NULL;
        list->items = items;
        list->capacity = larger;
    }
    return (char *)list->items + list->count * item_size;
}

void *blv_list_take(blv_list *list, size_t item_size) {
    void *items = realloc(list->items, (list->count > 0 ? list->count : 1) * item_size);
    items = items ? items : list->items;
    *list = (blv_list){0};
    return items;
}

void *blv_dense_rows(const blv_dataset_view *v, size_t columns, double fill) {
    size_t size = blv_value_size(v->precision);
    char *rows =
        columns <= SIZE_MAX / size ? blv_data_alloc(blv_held_rows(v), columns * size) : NULL;
    for (size_t i = 0; rows && i < blv_held_rows(v); i++) {
        char *row = rows + i * columns * size;
        memcpy(row, (const char *)v->dense + i * v->stride * size, v->columns * size);
        for (size_t j = v->columns; j < columns; j++)
            blv_value_set(row, v->precision, j, fill);
    }
    return rows;
}

/* ---- Parts ---- */

static blv_part *retain_part(blv_part *part) {
    if (part)
        atomic_fetch_add_explicit(&part->holders, 1, memory_order_relaxed);
    return part;
}

static void free_data(void *data, size_t mapped_bytes) {
    if (mapped_bytes > 0)
        munmap(data, mapped_bytes);
    else
        free(data);
}

static void release_part(blv_part *part) {
    if (!part || atomic_fetch_sub_explicit(&part->holders, 1, memory_order_acq_rel) > 1)
        return;
    if (part->lent)
        part->lent(part->context);
    else
        free_data(part->data, part->mapped_bytes);
    free(part);
}

static void *data_of(const blv_dataset *d, blv_part_name name) {
    return d->part[name] ? d->part[name]->data : NULL;
}

static void point_view(blv_dataset *d) {
    blv_dataset_view *view = &d->view;
    const char *dense = data_of(d, BLV_PART_DENSE);
    view->dense = dense ? dense + d->dense_offset : NULL;
    view->mapped = dense && d->part[BLV_PART_DENSE]->mapped_bytes > 0;
    view->has_texts = d->part[BLV_PART_PLACE] != NULL;
    view->row_start = data_of(d, BLV_PART_ROW_START);
    view->column = data_of(d, BLV_PART_COLUMN);
    view->value = data_of(d, BLV_PART_VALUE);
    view->column_start = data_of(d, BLV_PART_COLUMN_START);
    view->row = data_of(d, BLV_PART_ROW);
    view->column_value = data_of(d, BLV_PART_COLUMN_VALUE);
    view->label = data_of(d, BLV_PART_LABEL);
    view->true_label = data_of(d, BLV_PART_TRUE_LABEL);
    view->target = data_of(d, BLV_PART_TARGET);
    view->weight = data_of(d, BLV_PART_WEIGHT);
    view->class_names = data_of(d, BLV_PART_CLASS_NAMES);
    view->feature_names = data_of(d, BLV_PART_FEATURE_NAMES);
    view->held_row = data_of(d, BLV_PART_HELD_ROW);
}

void blv_dataset_put_shared(blv_dataset *dataset, blv_part_name name, blv_part *part) {
    retain_part(part);
    release_part(dataset->part[name]);
    dataset->part[name] = part;
    point_view(dataset);
}

void blv_dataset_drop(blv_dataset *dataset, blv_part_name name) {
    blv_dataset_put_shared(dataset, name, NULL);
}

void blv_dataset_drop_transposed(blv_dataset *dataset) {
    blv_dataset_drop(dataset, BLV_PART_COLUMN_START);
    blv_dataset_drop(dataset, BLV_PART_ROW);
    blv_dataset_drop(dataset, BLV_PART_COLUMN_VALUE);
}

static bool put_part(blv_dataset *d, blv_part_name name, const blv_part *made, size_t offset) {
    blv_part *part = made->data ? malloc(sizeof *part) : NULL;
    if (!part) {
        if (!made->lent)
            free_data(made->data, made->mapped_bytes);
        return false;
    }
    *part = *made; /* without holders */
    if (name == BLV_PART_DENSE) {
        d->dense_offset = offset;
        d->view.stride = d->view.columns;
    }
    blv_dataset_put_shared(d, name, part);
    return true;
}

bool blv_dataset_put(blv_dataset *dataset, blv_part_name name, void *data) {
    return put_part(dataset, name, &(blv_part){.data = data}, 0);
}

bool blv_dataset_put_map(blv_dataset *dataset, blv_part_name name, void *map, size_t bytes,
                         size_t offset) {
    return put_part(dataset, name, &(blv_part){.data = map, .mapped_bytes = bytes}, offset);
}

bool blv_dataset_put_sparse(blv_dataset *dataset, size_t *row_start, uint32_t *column,
                            void *value) {
    bool put = blv_dataset_put(dataset, BLV_PART_ROW_START, row_start);
    put = blv_dataset_put(dataset, BLV_PART_COLUMN, column) && put;
    return blv_dataset_put(dataset, BLV_PART_VALUE, value) && put;
}

bool blv_dataset_put_lent(blv_dataset *dataset, blv_part_name name, const void *data,
                          void (*lent)(void *context), void *context) {
    /* never written to: see is_own */
    return put_part(dataset, name,
                    &(blv_part){.data = (void *)data, .lent = lent, .context = context}, 0);
}

static bool is_own(const blv_part *part) {
    return part->mapped_bytes == 0 && !part->lent &&
           atomic_load_explicit(&part->holders, memory_order_acquire) == 1;
}

void *blv_dataset_own(blv_dataset *dataset, blv_part_name name, size_t bytes) {
    blv_part *part = dataset->part[name];
    if (!is_own(part) && !blv_dataset_put(dataset, name, blv_data_copy(part->data, bytes, 1)))
        return NULL;
    return data_of(dataset, name);
}

void *blv_dataset_own_values(blv_dataset *dataset) {
    blv_dataset_view *v = &dataset->view;
    if (!v->dense)
        return blv_dataset_own(dataset, BLV_PART_VALUE,
                               v->row_start[blv_held_rows(v)] * blv_value_size(v->precision));
    if (!is_own(dataset->part[BLV_PART_DENSE]) &&
        !blv_dataset_put(dataset, BLV_PART_DENSE, blv_dense_rows(v, v->columns, 0.0)))
        return NULL;
    return (char *)data_of(dataset, BLV_PART_DENSE) + dataset->dense_offset;
}

/* ---- Sets ---- */

blv_dataset *blv_dataset_new(void) {
    blv_dataset *d = calloc(1, sizeof *d);
    if (d) {
        d->view.size = sizeof d->view;
        atomic_init(&d->holders, 1);
    }
    return d;
}

static blv_dataset *share_all(const blv_dataset *source) {
    blv_dataset *d = blv_dataset_new();
    if (!d)
        return NULL;
    d->view = source->view;
    d->dense_offset = source->dense_offset;
    d->limit = source->limit;
    for (size_t i = 0; i < BLV_PARTS; i++)
        d->part[i] = retain_part(source->part[i]);
    return d;
}

blv_dataset *blv_dataset_share(const blv_dataset *source) {
    blv_dataset *d = share_all(source);
    if (d)
        blv_dataset_drop_transposed(d);
    return d;
}

blv_error blv_dataset_copy(const blv_dataset *dataset, blv_dataset **copy, blv_message *why) {
    if (!dataset || !copy)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_copy: dataset or copy is NULL");
    *copy = share_all(dataset);
    return blv_need_memory(*copy, why);
}

blv_error blv_dataset_expect_memory(const blv_dataset *dataset, uint64_t count, uint64_t size,
                                    const char *name, const char *what, blv_message *why) {
    BLV_CHECK(blv_need_arguments(dataset && name && what, __func__, why));
    return blv_expect_memory(&dataset->limit, count, size, blv_shown_path(name), what, why);
}

blv_error blv_dataset_deliver(blv_dataset **made, blv_dataset *dataset, bool ok, blv_message *why) {
    *made = ok ? dataset : NULL;
    if (!ok)
        blv_dataset_release(dataset);
    return blv_need_memory(ok, why);
}

blv_dataset *blv_dataset_retain(blv_dataset *dataset) {
    if (dataset)
        atomic_fetch_add_explicit(&dataset->holders, 1, memory_order_relaxed);
    return dataset;
}

void blv_dataset_release(blv_dataset *dataset) {
    if (!dataset || atomic_fetch_sub_explicit(&dataset->holders, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < BLV_PARTS; i++)
        release_part(dataset->part[i]);
    free(dataset);
}

blv_error blv_dataset_commit(blv_dataset *dataset, blv_dataset *changed, bool ok,
                             blv_message *why) {
    if (ok) {
        const blv_dataset_view view = dataset->view;
        dataset->view = changed->view;
        changed->view = view;
        dataset->dense_offset = changed->dense_offset;
        for (size_t i = 0; i < BLV_PARTS; i++) {
            blv_part *part = dataset->part[i];
            dataset->part[i] = changed->part[i];
            changed->part[i] = part;
        }
    }
    blv_dataset_release(changed);
    return blv_need_memory(ok, why);
}

const blv_dataset_view *blv_dataset_view_of(const blv_dataset *dataset) {
    return dataset ? &dataset->view : NULL;
}

/* ---- Lines ---- */

/* Line i, or the empty one after the last. */
static const char *line_at(const blv_dataset *d, blv_part_name name, size_t i) {
    const char *line = data_of(d, name);
    for (line = line ? line : ""; i > 0 && *line; i--)
        line += strlen(line) + 1;
    return line;
}

const char *blv_dataset_history(const blv_dataset *dataset, size_t i) {
    const char *line = dataset ? line_at(dataset, BLV_PART_HISTORY, i) : "";
    return *line ? line : NULL;
}

const char *blv_dataset_notes(const blv_dataset *dataset, size_t i) {
    const char *line = dataset ? line_at(dataset, BLV_PART_NOTES, i) : "";
    return *line ? line : NULL;
}

const char *blv_dataset_recipe(const blv_dataset *dataset) {
    return dataset ? data_of(dataset, BLV_PART_RECIPE) : NULL;
}

bool blv_dataset_add_line(blv_dataset *dataset, blv_part_name name, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    const char *lines = line_at(dataset, name, 0), *end = line_at(dataset, name, SIZE_MAX);
    size_t used = (size_t)(end - lines), length = strlen(text);
    char *longer = calloc(used + length + 2, 1);
    if (longer) {
        memcpy(longer, lines, used);
        memcpy(longer + used, text, length);
    }
    return blv_dataset_put(dataset, name, longer);
}
