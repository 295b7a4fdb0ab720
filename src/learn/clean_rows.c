/* The rows as clean learns from them. */
#include "base/precision.h"
#include "base/rank_exchange.h"
#include "learn/clean_columns.h"
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMPARED = 2000, COLUMNS_AT_ONCE = 64 };
static const double as_ranks = 0.8; /* correlation with them of a column that stays */

/* ---- Dense rows ---- */

/* The numbers of a dense set, to be changed. */
typedef struct blv_numbers {
    blv_dataset_view view;
    size_t rows; /* held here */
    void *numbers;
} blv_numbers;

static double number_at(const blv_numbers *n, size_t i) {
    return blv_value_get(n->view.dense, n->view.precision, i);
}

static void put_number(blv_numbers *n, size_t i, double x) {
    blv_value_set(n->numbers, n->view.precision, i, x);
}

/* The features of a dense set less shift, divided, within BLV_CLEAN_DEVIATIONS; the last column
 * stays.
 */
static blv_error standardize(const blv_dataset *set, const double *shift, const double *divisor,
                             blv_numbers *to, blv_message *why) {
    if (!set)
        return BLV_OK;
    to->view = *blv_dataset_view_of(set);
    to->rows = blv_rows_here(set);
    const size_t columns = to->view.columns;
    const size_t size = blv_value_size(to->view.precision);
    to->numbers = malloc(to->rows * columns * size + 1);
    if (!to->numbers)
        return blv_explain_memory(why);
    for (size_t i = 0; i < to->rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double x = number_at(to, i * to->view.stride + j);
            if (j + 1 < columns)
                x = fmin(fmax((x - shift[j]) / divisor[j], -BLV_CLEAN_DEVIATIONS),
                         BLV_CLEAN_DEVIATIONS);
            put_number(to, i * columns + j, x);
        }
    to->view.dense = to->numbers;
    to->view.stride = columns;
    return BLV_OK;
}

/* Values of a column, sorted, and what makes its ranks and the sum below ones of mean 0 and
 * variance 1. */
typedef struct column_ranks {
    double *sorted;
    size_t count;
    double of_rank, shift, of_sum;
} column_ranks;

/* The share of the values below x, those that equal it by half. */
static double rank_of(const column_ranks *r, double x) {
    size_t end[2];
    for (int equal = 0; equal < 2; equal++) {
        size_t from = 0, to = r->count;
        while (from < to) {
            const size_t middle = (from + to) / 2;
            if (equal ? r->sorted[middle] <= x : r->sorted[middle] < x)
                from = middle + 1;
            else
                to = middle;
        }
        end[equal] = from;
    }
    return 0.5 * (double)(end[0] + end[1]) / (double)r->count;
}

/* Whether a column of more than two values is so skewed that its ranks tell something else. */
static bool is_skewed(column_ranks *r) {
    const double n = (double)r->count, least = r->sorted[0], largest = r->sorted[r->count - 1];
    double mean = 0.0, zz = 0.0, rr = 0.0, zr = 0.0;
    size_t inside = 0;
    for (size_t i = 0; i < r->count; i++) {
        mean += r->sorted[i] / n;
        inside += r->sorted[i] > least && r->sorted[i] < largest;
    }
    if (inside == 0)
        return false;
    for (size_t i = 0, from = 0, to = 0; i < r->count; i++) {
        if (i == to) /* from here to `to` all are equal */
            for (from = i; to < r->count && r->sorted[to] == r->sorted[from];)
                to++;
        const double rank = 0.5 * (double)(from + to) / n - 0.5;
        const double z = r->sorted[i] - mean;
        zz += z * z / n;
        rr += rank * rank / n;
        zr += z * rank / n;
    }
    r->of_rank = 1.0 / sqrt(rr);
    r->shift = mean;
    r->of_sum = 1.0 / sqrt(zz + 2.0 * zr * r->of_rank + 1.0);
    return zr < as_ranks * sqrt(zz * rr);
}

/* Values of a column of train, evenly spread over its rows; the same on all ranks. */
static bool take_column(const blv_numbers *train, size_t j, column_ranks *r) {
    const blv_dataset_view *v = &train->view;
    const size_t apart = 1 + (v->rows - 1) / MOST_COMPARED;
    r->count = (v->rows + apart - 1) / apart;
    memset(r->sorted, 0, r->count * sizeof *r->sorted);
    for (size_t i = 0; i < train->rows; i++) {
        const size_t row = v->ranks ? v->held_row[i] : i;
        if (row % apart == 0)
            r->sorted[row / apart] = number_at(train, i * v->columns + j);
    }
    if (v->ranks && !v->ranks->sum(v->ranks->context, r->count, r->sorted))
        return false;
    qsort(r->sorted, r->count, sizeof *r->sorted, blv_by_size);
    return true;
}

/* A linear model of a skewed column sees its few large values alone: such a column becomes the sum
 * of itself and its ranks in train. */
static blv_error add_ranks(blv_cleaning *c, blv_numbers *sets) {
    const size_t columns = sets[0].view.columns;
    column_ranks r = {.sorted = malloc((MOST_COMPARED + 1) * sizeof *r.sorted)};
    blv_error error = r.sorted ? BLV_OK : blv_explain_memory(c->why);
    for (size_t j = 0; error == BLV_OK && j + 1 < columns; j++) {
        if (j % COLUMNS_AT_ONCE == 0)
            blv_task_say(&c->task, "column %zu of %zu", j + 1, columns - 1);
        if (blv_task_should_stop(&c->task))
            error = blv_clean_stopped(c);
        else if (!take_column(&sets[0], j, &r))
            error = blv_explain(c->why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
        if (error != BLV_OK || !is_skewed(&r))
            continue;
        for (size_t s = 0; s < 3; s++)
            for (size_t i = 0; i < sets[s].rows; i++) {
                const double z = number_at(&sets[s], i * columns + j);
                const double rank = (rank_of(&r, z) - 0.5) * r.of_rank;
                put_number(&sets[s], i * columns + j, (z - r.shift + rank) * r.of_sum);
            }
    }
    free(r.sorted);
    return error;
}

static blv_error take_dense(blv_cleaning *c, const blv_dataset *const *from,
                            blv_dataset **const *to) {
    const size_t columns = blv_dataset_view_of(from[0])->columns;
    blv_numbers sets[3] = {0};
    double *shift = malloc(2 * columns * sizeof *shift);
    blv_error error = shift ? blv_dataset_scale_numbers(from[0], BLV_SCALE_STANDARD, shift,
                                                        shift + columns, c->why)
                            : blv_explain_memory(c->why);
    for (size_t i = 0; error == BLV_OK && i < 3; i++)
        error = standardize(from[i], shift, shift + columns, &sets[i], c->why);
    if (error == BLV_OK)
        error = add_ranks(c, sets);
    for (size_t i = 0; error == BLV_OK && i < 3; i++)
        if (from[i])
            error = blv_dataset_create(to[i], &sets[i].view, NULL, c->why);
    for (size_t i = 0; i < 3; i++)
        free(sets[i].numbers);
    free(shift);
    return error;
}

/* ---- Sparse rows ---- */

/* Entries in columns that have a place. */
static blv_error keep_columns(const blv_dataset *set, size_t columns, const uint32_t *place,
                              blv_dataset **to, blv_message *why) {
    if (!set)
        return BLV_OK;
    blv_dataset_view view = *blv_dataset_view_of(set);
    const size_t size = blv_value_size(view.precision), rows = blv_rows_here(set);
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
        error = blv_explain(c->why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
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
    BLV_CHECK(blv_dataset_view_of(given->train)->dense ? take_dense(c, from, to)
                                                       : drop_rare_columns(c, from, to));
    for (size_t i = 0; c->wide && i < 3; i++)
        if (from[i]) {
            blv_dataset_view as = *blv_dataset_view_of(*to[i]);
            as.precision = BLV_F64;
            BLV_CHECK(blv_dataset_align_to(*to[i], NULL, &as, NULL, c->why));
        }
    return BLV_OK;
}

void blv_clean_release_rows(blv_cleaning *c) {
    blv_dataset_release(c->sets.train);
    blv_dataset_release(c->sets.val);
    blv_dataset_release(c->sets.test);
    c->sets.train = c->sets.val = c->sets.test = NULL;
}
