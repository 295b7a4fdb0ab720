#include "learn/row_sets.h"
#include "base/arena.h"
#include "base/message.h"
#include "bilevel/ranks.h"

#include <stdlib.h>

size_t blv_rows_in(const blv_dataset *dataset) {
    return dataset ? blv_dataset_view_of(dataset)->rows : 0;
}

size_t blv_rows_here(const blv_dataset *dataset) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    return v->ranks ? v->held : v->rows;
}

double blv_entries_in(const blv_dataset *dataset) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    const size_t rows = blv_rows_here(dataset);
    double entries = (double)(v->dense ? rows * v->columns : v->row_start[rows]);
    if (v->ranks)
        v->ranks->sum(v->ranks->context, 1,
                      &entries); /* what fails here fails in the next oracle */
    return entries;
}

blv_error blv_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part,
                        blv_message *why) {
    blv_arena arena = {0};
    size_t *row = blv_arena_alloc(&arena, blv_rows_in(dataset), sizeof *row);
    size_t *count = blv_arena_alloc(&arena, parts, sizeof *count), next = 0;
    double *share = blv_arena_alloc(&arena, parts, sizeof *share);
    blv_error error = arena.failed ? blv_explain_memory(why) : BLV_OK;
    if (blv_rows_in(dataset) < parts) { /* a row for each of the first parts */
        for (size_t i = 0; i < blv_rows_in(dataset); i++)
            part[i] = (uint32_t)i;
        blv_arena_free(&arena);
        return error;
    }
    for (size_t p = 0; error == BLV_OK && p < parts; p++)
        share[p] = 1.0 / (double)parts;
    if (error == BLV_OK)
        error = blv_dataset_split_rows(dataset, share, parts,
                                       blv_dataset_view_of(dataset)->label != NULL, seed, row,
                                       count, why);
    for (size_t p = 0; error == BLV_OK && p < parts; p++)
        for (size_t i = 0; i < count[p]; i++)
            part[row[next++]] = (uint32_t)p;
    blv_arena_free(&arena);
    return error;
}

blv_error blv_keep_rows(const blv_dataset *dataset, const bool *keep, blv_dataset **kept,
                        blv_message *why) {
    size_t rows = blv_rows_in(dataset), count = 0;
    size_t *index = malloc((rows + 1) * sizeof *index);
    if (!index)
        return blv_explain_memory(why);
    for (size_t i = 0; i < rows; i++)
        if (keep[i])
            index[count++] = i;
    blv_error error = blv_dataset_select(dataset, index, count, kept, why);
    free(index);
    return error;
}

int blv_by_size(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}
