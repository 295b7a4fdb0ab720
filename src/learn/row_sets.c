#include "learn/row_sets.h"
#include "base/arena.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

static blv_error short_of_memory(blv_message *why) {
    return blv_explain(why, BLV_E_MEMORY, "out of memory");
}

size_t blv_rows_in(const blv_dataset *dataset) {
    return dataset ? blv_dataset_view_of(dataset)->rows : 0;
}

/* ---- Dealing out ---- */

/* A set whose one feature is the number of the row: dealing it out tells where each row went. */
static blv_error numbered_rows(const blv_dataset_view *view, blv_dataset **numbered,
                               blv_message *why) {
    double *number = calloc(view->rows + 1, sizeof *number);
    if (!number)
        return short_of_memory(why);
    for (size_t i = 0; i < view->rows; i++)
        number[i] = (double)i;
    blv_dataset_view of_numbers = {.size = sizeof of_numbers,
                                   .rows = view->rows,
                                   .columns = 1,
                                   .precision = BLV_F64,
                                   .dense = number,
                                   .stride = 1,
                                   .classes = view->classes,
                                   .label = view->label,
                                   .class_names = view->class_names};
    blv_error error = blv_dataset_create(numbered, &of_numbers, NULL, why);
    free(number);
    return error;
}

static void note_part(const blv_dataset *dealt, uint32_t number, uint32_t *part) {
    const blv_dataset_view *view = blv_dataset_view_of(dealt);
    for (size_t i = 0; i < view->rows; i++)
        part[(size_t)((const double *)view->dense)[i * view->stride]] = number;
}

blv_error blv_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part,
                        blv_message *why) {
    blv_arena arena = {0};
    blv_dataset *numbered = NULL, **dealt = blv_arena_alloc(&arena, parts, sizeof *dealt);
    double *share = blv_arena_alloc(&arena, parts, sizeof *share);
    blv_error error = dealt && share ? numbered_rows(blv_dataset_view_of(dataset), &numbered, why)
                                     : short_of_memory(why);
    for (size_t p = 0; error == BLV_OK && p < parts; p++)
        share[p] = 1.0 / (double)parts;
    if (error == BLV_OK)
        error = blv_dataset_split(numbered, share, parts, true, seed, dealt, why);
    for (size_t p = 0; error == BLV_OK && p < parts; p++) {
        note_part(dealt[p], (uint32_t)p, part);
        blv_dataset_release(dealt[p]);
    }
    blv_dataset_release(numbered);
    blv_arena_free(&arena);
    return error;
}

/* ---- Some rows, other labels ---- */

blv_error blv_keep_rows(const blv_dataset *dataset, const bool *keep, blv_dataset **kept,
                        blv_message *why) {
    size_t rows = blv_rows_in(dataset), count = 0;
    size_t *index = malloc((rows + 1) * sizeof *index);
    if (!index)
        return short_of_memory(why);
    for (size_t i = 0; i < rows; i++)
        if (keep[i])
            index[count++] = i;
    blv_error error = blv_dataset_select(dataset, index, count, kept, why);
    free(index);
    return error;
}

blv_error blv_relabel_rows(const blv_dataset *dataset, const int32_t *label, const char *history,
                           blv_dataset **relabelled, blv_message *why) {
    blv_dataset_view view = *blv_dataset_view_of(dataset);
    view.size = sizeof view;
    view.label = label;
    view.true_label = NULL;
    return blv_dataset_create(relabelled, &view, history, why);
}

/* ---- Putting together ---- */

/* Both arrays in one; NULL where memory is short. size: of an element. */
static void *joined_array(blv_arena *arena, const void *first, size_t first_count,
                          const void *second, size_t second_count, size_t size) {
    char *both = blv_arena_alloc(arena, first_count + second_count + 1, size);
    if (both && first_count > 0)
        memcpy(both, first, first_count * size);
    if (both && second_count > 0)
        memcpy(both + first_count * size, second, second_count * size);
    return both;
}

static void *joined_dense(blv_arena *arena, const blv_dataset_view *a, const blv_dataset_view *b,
                          size_t size) {
    const blv_dataset_view *each[] = {a, b};
    size_t width = a->columns * size;
    char *both = blv_arena_alloc(arena, a->rows + b->rows, width), *at = both;
    for (size_t s = 0; both && s < 2; s++)
        for (size_t i = 0; i < each[s]->rows; i++, at += width)
            memcpy(at, (const char *)each[s]->dense + i * each[s]->stride * size, width);
    return both;
}

static size_t *joined_starts(blv_arena *arena, const blv_dataset_view *a,
                             const blv_dataset_view *b) {
    size_t *start = blv_arena_alloc(arena, a->rows + b->rows + 1, sizeof *start);
    for (size_t i = 0; start && i <= a->rows; i++)
        start[i] = a->row_start[i];
    for (size_t i = 0; start && i <= b->rows; i++)
        start[a->rows + i] = a->row_start[a->rows] + b->row_start[i];
    return start;
}

blv_error blv_join_rows(const blv_dataset *first, const blv_dataset *second, blv_dataset **joined,
                        blv_message *why) {
    const blv_dataset_view *a = blv_dataset_view_of(first), *b = blv_dataset_view_of(second);
    size_t size = a->precision == BLV_F32 ? sizeof(float) : sizeof(double);
    blv_arena arena = {0};
    blv_dataset_view both = {
        .size = sizeof both,
        .rows = a->rows + b->rows,
        .columns = a->columns,
        .precision = a->precision,
        .classes = a->classes,
        .label = joined_array(&arena, a->label, a->rows, b->label, b->rows, sizeof *a->label),
        .class_names = a->class_names,
        .feature_names = a->feature_names};
    bool well = both.label != NULL;
    if (a->dense) {
        both.dense = joined_dense(&arena, a, b, size);
        both.stride = a->columns;
        well = well && both.dense;
    } else {
        size_t of_a = a->row_start[a->rows], of_b = b->row_start[b->rows];
        both.row_start = joined_starts(&arena, a, b);
        both.column = joined_array(&arena, a->column, of_a, b->column, of_b, sizeof *a->column);
        both.value = joined_array(&arena, a->value, of_a, b->value, of_b, size);
        well = well && both.row_start && both.column && both.value;
    }
    blv_error error = well ? blv_dataset_create(joined, &both, NULL, why) : short_of_memory(why);
    blv_arena_free(&arena);
    return error;
}
