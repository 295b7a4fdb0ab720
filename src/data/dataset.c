/* Data sets: life, view, history and notes. */
#include "base/aligned_memory.h"
#include "data/dataset_ops.h"
#include "io/npz_private.h"

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
    if (!strings)
        return NULL;
    char **copy = calloc(count > 0 ? count : 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            blv_strings_free(copy, i);
            return NULL;
        }
    }
    return copy;
}

void blv_strings_free(char **strings, size_t count) {
    for (size_t i = 0; strings && i < count; i++)
        free(strings[i]);
    free(strings);
}

/* ---- Life ---- */

blv_dataset *blv_dataset_new(void) {
    blv_dataset *d = calloc(1, sizeof *d);
    if (d) {
        d->view.size = sizeof d->view;
        atomic_init(&d->holders, 1);
    }
    return d;
}

blv_dataset *blv_dataset_new_like(const blv_dataset *source) {
    blv_dataset *d = blv_dataset_new();
    if (!d)
        return NULL;
    const blv_dataset_view *view = &source->view;
    d->view.rows = view->rows;
    d->view.columns = view->columns;
    d->view.precision = view->precision;
    d->view.classes = view->classes;
    d->view.format = view->format;
    d->class_names = blv_strings_copy(view->class_names, view->classes);
    d->feature_names = blv_strings_copy(view->feature_names, view->columns);
    d->history = blv_strings_copy((const char *const *)source->history, source->history_count);
    if (d->history)
        d->history_count = source->history_count;
    d->notes = blv_strings_copy((const char *const *)source->notes, source->note_count);
    if (d->notes)
        d->note_count = source->note_count;
    if (!d->class_names != !view->class_names || !d->feature_names != !view->feature_names ||
        !d->history != !source->history || !d->notes != !source->notes) {
        blv_dataset_release(d);
        return NULL;
    }
    return d;
}

blv_dataset *blv_dataset_retain(blv_dataset *dataset) {
    if (dataset)
        atomic_fetch_add_explicit(&dataset->holders, 1, memory_order_relaxed);
    return dataset;
}

void blv_dataset_release(blv_dataset *dataset) {
    if (!dataset || atomic_fetch_sub_explicit(&dataset->holders, 1, memory_order_acq_rel) > 1)
        return;
    free(dataset->dense);
    free(dataset->row_start);
    free(dataset->column);
    free(dataset->value);
    blv_dataset_drop_transposed(dataset);
    free(dataset->label);
    free(dataset->true_label);
    free(dataset->target);
    blv_strings_free(dataset->class_names, dataset->view.classes);
    blv_strings_free(dataset->feature_names, dataset->view.columns);
    blv_strings_free(dataset->history, dataset->history_count);
    blv_strings_free(dataset->notes, dataset->note_count);
    if (dataset->map)
        munmap(dataset->map, dataset->map_bytes);
    free(dataset);
}

void blv_dataset_refresh(blv_dataset *dataset) {
    blv_dataset_view *view = &dataset->view;
    view->mapped = dataset->map && !dataset->dense && !dataset->row_start;
    if (!view->mapped)
        view->dense = dataset->dense;
    view->row_start = dataset->row_start;
    view->column = dataset->column;
    view->value = dataset->value;
    view->column_start = dataset->column_start;
    view->row = dataset->row;
    view->column_value = dataset->column_value;
    view->label = dataset->label;
    view->true_label = dataset->true_label;
    view->target = dataset->target;
    view->class_names = (const char *const *)dataset->class_names;
    view->feature_names = (const char *const *)dataset->feature_names;
}

void blv_dataset_drop_transposed(blv_dataset *dataset) {
    free(dataset->column_start);
    free(dataset->row);
    free(dataset->column_value);
    dataset->column_start = NULL;
    dataset->row = NULL;
    dataset->column_value = NULL;
    blv_dataset_refresh(dataset);
}

size_t blv_dataset_stored(const blv_dataset_view *view) {
    return view->row_start ? view->row_start[view->rows] : view->rows * view->columns;
}

blv_error blv_dataset_own_features(blv_dataset *dataset, blv_message *why) {
    blv_dataset_view *view = &dataset->view;
    if (!view->mapped)
        return BLV_OK;
    size_t size = blv_value_size(view->precision), row_bytes = view->columns * size;
    char *own = blv_data_alloc(view->rows, row_bytes);
    if (!own)
        return blv_data_no_memory(why);
    for (size_t i = 0; i < view->rows; i++)
        memcpy(own + i * row_bytes, (const char *)view->dense + i * view->stride * size, row_bytes);
    munmap(dataset->map, dataset->map_bytes);
    dataset->map = NULL;
    dataset->map_bytes = 0;
    dataset->dense = own;
    view->stride = view->columns;
    blv_dataset_refresh(dataset);
    return BLV_OK;
}

const blv_dataset_view *blv_dataset_view_of(const blv_dataset *dataset) {
    return dataset ? &dataset->view : NULL;
}

/* ---- Lines ---- */

const char *blv_dataset_history(const blv_dataset *dataset, size_t i) {
    return dataset && i < dataset->history_count ? dataset->history[i] : NULL;
}

const char *blv_dataset_notes(const blv_dataset *dataset, size_t i) {
    return dataset && i < dataset->note_count ? dataset->notes[i] : NULL;
}

static blv_error add_line(char ***lines, size_t *count, const char *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    char **longer = realloc(*lines, (*count + 1) * sizeof *longer);
    if (!longer)
        return BLV_E_MEMORY;
    *lines = longer;
    longer[*count] = strdup(text);
    if (!longer[*count])
        return BLV_E_MEMORY;
    ++*count;
    return BLV_OK;
}

blv_error blv_dataset_record(blv_dataset *dataset, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    blv_error error = add_line(&dataset->history, &dataset->history_count, format, arguments);
    va_end(arguments);
    return error;
}

blv_error blv_dataset_note(blv_dataset *dataset, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    blv_error error = add_line(&dataset->notes, &dataset->note_count, format, arguments);
    va_end(arguments);
    return error;
}

void blv_dataset_unrecord(blv_dataset *dataset) {
    if (dataset->history_count > 0)
        free(dataset->history[--dataset->history_count]);
}
