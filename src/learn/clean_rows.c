/* The rows as clean learns from them. */
#include "bilevel/ranks.h"
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_deviations = 5.0; /* of a column from its mean */

/* ---- Dense rows ---- */

/* The features of a dense set less shift, divided, within most_deviations; the last column stays.
 */
static blv_error standardize(const blv_dataset *set, const double *shift, const double *divisor,
                             blv_dataset **to, blv_message *why) {
    if (!set)
        return BLV_OK;
    blv_dataset_view view = *blv_dataset_view_of(set);
    const bool single = view.precision == BLV_F32;
    const size_t rows = blv_rows_here(set);
    void *numbers = malloc(rows * view.columns * (single ? sizeof(float) : sizeof(double)) + 1);
    if (!numbers)
        return blv_explain_memory(why);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < view.columns; j++) {
            const size_t from = i * view.stride + j, at = i * view.columns + j;
            double x = single ? (double)((const float *)view.dense)[from]
                              : ((const double *)view.dense)[from];
            if (j + 1 < view.columns)
                x = fmin(fmax((x - shift[j]) / divisor[j], -most_deviations), most_deviations);
            if (single)
                ((float *)numbers)[at] = (float)x;
            else
                ((double *)numbers)[at] = x;
        }
    view.dense = numbers;
    view.stride = view.columns;
    blv_error error = blv_dataset_create(to, &view, NULL, why);
    free(numbers);
    return error;
}

/* ---- Sparse rows ---- */

/* Entries in columns that have a place. */
static blv_error keep_columns(const blv_dataset *set, size_t columns, const uint32_t *place,
                              blv_dataset **to, blv_message *why) {
    if (!set)
        return BLV_OK;
    blv_dataset_view view = *blv_dataset_view_of(set);
    const size_t size = view.precision == BLV_F32 ? sizeof(float) : sizeof(double),
                 rows = blv_rows_here(set);
    blv_arena arena = {0};
    size_t *start = blv_arena_alloc(&arena, rows + 1, sizeof *start), count = 0;
    uint32_t *column = blv_arena_alloc(&arena, view.row_start[rows] + 1, sizeof *column);
    char *value = blv_arena_alloc(&arena, view.row_start[rows] + 1, size);
    for (size_t i = 0; !arena.failed && i < rows; i++) {
        for (size_t e = view.row_start[i]; e < view.row_start[i + 1]; e++)
            if (place[view.column[e]] < columns) {
                column[count] = place[view.column[e]];
                memcpy(value + count++ * size, (const char *)view.value + e * size, size);
            }
        start[i + 1] = count;
    }
    view.columns = columns;
    view.row_start = start;
    view.column = column;
    view.value = value;
    view.column_start = NULL;
    view.feature_names = NULL;
    blv_error error =
        arena.failed ? blv_explain_memory(why) : blv_dataset_create(to, &view, NULL, why);
    blv_arena_free(&arena);
    return error;
}

/* A column with an entry in one row only tells nothing about another row: without it models are
 * smaller, of text often by far. */
static blv_error drop_rare_columns(blv_cleaning *c, const blv_dataset *const *from,
                                   blv_dataset **const *to) {
    const blv_dataset_view *train = blv_dataset_view_of(from[0]);
    uint32_t *place = calloc(train->columns, sizeof *place), kept = 0;
    double *entries = calloc(train->columns, sizeof *entries);
    c->column = blv_arena_alloc(&c->arena, train->columns, sizeof *c->column);
    blv_error error = place && entries && c->column ? BLV_OK : blv_explain_memory(c->why);
    for (size_t e = 0; error == BLV_OK && e < train->row_start[blv_rows_here(from[0])]; e++)
        entries[train->column[e]]++;
    if (error == BLV_OK && train->ranks &&
        !train->ranks->sum(train->ranks->context, train->columns, entries))
        error = blv_explain(c->why, BLV_E_DEVICE, "the exchange between ranks failed");
    for (uint32_t j = 0; error == BLV_OK && j < train->columns; j++) {
        const bool keep = entries[j] > 1.0 || j + 1 == train->columns;
        if (keep)
            c->column[kept] = j;
        place[j] = keep ? kept++ : UINT32_MAX;
    }
    for (size_t i = 0; error == BLV_OK && i < 3; i++)
        error = keep_columns(from[i], kept, place, to[i], c->why);
    free(place);
    free(entries);
    return error;
}

blv_error blv_clean_take_rows(blv_cleaning *c) {
    const blv_task_sets *given = c->given;
    c->sets = *given;
    c->sets.train = c->sets.val = c->sets.test = NULL;
    const blv_dataset *const from[] = {given->train, given->val, given->test};
    blv_dataset **const to[] = {&c->sets.train, &c->sets.val, &c->sets.test};
    if (!blv_dataset_view_of(given->train)->dense)
        return drop_rare_columns(c, from, to);
    const size_t columns = blv_dataset_view_of(given->train)->columns;
    double *shift = malloc(2 * columns * sizeof *shift);
    if (!shift)
        return blv_explain_memory(c->why);
    blv_error error =
        blv_dataset_scale_numbers(given->train, BLV_SCALE_STANDARD, shift, shift + columns, c->why);
    for (size_t i = 0; error == BLV_OK && i < 3; i++)
        error = standardize(from[i], shift, shift + columns, to[i], c->why);
    free(shift);
    return error;
}

void blv_clean_release_rows(blv_cleaning *c) {
    blv_dataset_release(c->sets.train);
    blv_dataset_release(c->sets.val);
    blv_dataset_release(c->sets.test);
    c->sets.train = c->sets.val = c->sets.test = NULL;
}
