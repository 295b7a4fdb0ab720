#include "learn/forest.h"

#include "base/message.h"
#include "base/precision.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 64, LEAF = 3, MOST_DEPTH = 40 }; /* bins: as a uint64_t has bits */
enum { MANY_ROWS = 2000 }; /* of a node, which takes long enough to ask whether to stop */

/* ---- Rows ---- */

static double number_at(const blv_dataset_view *v, size_t row, size_t column) {
    return blv_value_get(v->dense, v->precision, row * v->stride + column);
}

/* Where bins begin, but the first: equal numbers are in the same one. Where there are more numbers
 * than bins, a bin ends when it has its part of what is left. */
static size_t cut(const double *sorted, size_t count, double *begin) {
    size_t cuts = 0, start = 0, different = 1;
    for (size_t i = 1; i < count; i++)
        different += sorted[i] > sorted[i - 1];
    for (size_t i = 1; i < count && cuts + 1 < BINS; i++)
        if (sorted[i] > sorted[i - 1] &&
            (different <= BINS || (i - start) * (BINS - cuts) >= count - start)) {
            begin[cuts++] = sorted[i];
            start = i;
        }
    return cuts;
}

static uint8_t bin_of(double x, const double *begin, size_t cuts) {
    size_t from = 0, to = cuts;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if (begin[middle] <= x)
            from = middle + 1;
        else
            to = middle;
    }
    return (uint8_t)from;
}

void blv_forest_code(blv_forest_rows *f, const blv_dataset *const *sets, size_t count, size_t j) {
    double begin[BINS], *number = f->number;
    size_t learned = 0;
    for (size_t s = 0; s + 1 < count; s++)
        for (size_t i = 0; i < blv_rows_in(sets[s]); i++)
            number[learned++] = number_at(blv_dataset_view_of(sets[s]), i, j);
    qsort(number, learned, sizeof *number, blv_by_size);
    const size_t cuts = cut(number, learned, begin);
    uint8_t *code = f->code + j * f->rows;
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < blv_rows_in(sets[s]); i++)
            *code++ = bin_of(number_at(blv_dataset_view_of(sets[s]), i, j), begin, cuts);
}

blv_error blv_forest_take(blv_forest_rows *f, const blv_dataset *const *sets, size_t count,
                          blv_message *why) {
    const blv_dataset_view *first = blv_dataset_view_of(sets[0]);
    *f = (blv_forest_rows){.columns = first->columns - 1, .classes = first->classes};
    for (size_t s = 0; s < count; s++)
        f->rows += blv_rows_in(sets[s]);
    f->number = blv_arena_alloc(&f->arena, f->rows + 1, sizeof *f->number);
    f->code = blv_arena_alloc(&f->arena, f->columns * f->rows + 1, sizeof *f->code);
    f->label = blv_arena_alloc(&f->arena, f->rows + 1, sizeof *f->label);
    f->weight = blv_arena_alloc(&f->arena, f->rows + 1, sizeof *f->weight);
    const bool room = !f->arena.failed;
    for (size_t s = 0, at = 0; room && s < count; s++)
        for (size_t i = 0; i < blv_rows_in(sets[s]); i++, at++) {
            const blv_dataset_view *v = blv_dataset_view_of(sets[s]);
            f->label[at] = v->label ? v->label[i] : 0;
            f->weight[at] = v->weight ? v->weight[i] : 1.0;
        }
    return room ? BLV_OK : blv_explain_memory(why);
}

void blv_forest_release(blv_forest_rows *f) {
    blv_arena_free(&f->arena);
}

/* ---- A tree ---- */

bool blv_tree_room_open(blv_tree_room *r, blv_arena *arena, const blv_forest_rows *f) {
    *r = (blv_tree_room){.of = f};
    r->learned = blv_arena_alloc(arena, f->rows, sizeof *r->learned);
    r->asked = blv_arena_alloc(arena, f->rows, sizeof *r->asked);
    r->column = blv_arena_alloc(arena, f->columns + 1, sizeof *r->column);
    r->weight = blv_arena_alloc(arena, f->rows, sizeof *r->weight);
    r->part = blv_arena_alloc(arena, BINS * f->classes, sizeof *r->part);
    r->all = blv_arena_alloc(arena, f->classes, sizeof *r->all);
    r->left = blv_arena_alloc(arena, f->classes, sizeof *r->left);
    r->part_rows = blv_arena_alloc(arena, BINS, sizeof *r->part_rows);
    return !arena->failed;
}

typedef struct split {
    double score; /* of what is left of chance: the higher, the purer both sides are */
    uint32_t column;
    uint8_t last; /* bin of the left side */
} split;

/* Sums of the rows in each bin; returns which bins have rows, a bit for each. */
static uint64_t fill_bins(blv_tree_room *r, const uint8_t *code, size_t begin, size_t end) {
    const size_t K = r->of->classes;
    uint64_t filled = 0;
    for (size_t i = begin; i < end; i++) {
        const uint32_t row = r->learned[i];
        double *part = r->part + code[row] * K;
        const uint64_t bit = UINT64_C(1) << code[row];
        if (!(filled & bit)) {
            memset(part, 0, K * sizeof *part);
            r->part_rows[code[row]] = 0;
            filled |= bit;
        }
        part[r->of->label[row]] += r->weight[row];
        r->part_rows[code[row]]++;
    }
    return filled;
}

/* The best split of a column, where it beats *best. */
static void try_column(blv_tree_room *r, uint32_t column, size_t begin, size_t end, uint64_t filled,
                       split *best) {
    const size_t K = r->of->classes;
    double left = 0.0, right = 0.0, left_squares = 0.0, right_squares = 0.0;
    size_t rows = 0;
    memset(r->left, 0, K * sizeof *r->left);
    for (size_t k = 0; k < K; k++) {
        right += r->all[k];
        right_squares += r->all[k] * r->all[k];
    }
    for (; filled & (filled - 1); filled &= filled - 1) { /* all but the last */
        const size_t b = (size_t)__builtin_ctzll(filled);
        rows += r->part_rows[b];
        for (size_t k = 0; k < K; k++) {
            const double here = r->part[b * K + k], rest = r->all[k] - r->left[k];
            left_squares += here * (2.0 * r->left[k] + here);
            right_squares += here * (here - 2.0 * rest);
            r->left[k] += here;
            left += here;
            right -= here;
        }
        if (rows < LEAF || end - begin - rows < LEAF || !(right > 0.0))
            continue;
        const double score = left_squares / left + right_squares / right;
        if (score > best->score)
            *best = (split){score, column, (uint8_t)b};
    }
}

static uint64_t draw_below(blv_tree_room *r, uint64_t bound) {
    return blv_random_below(&r->stream, r->drawn++, bound);
}

/* Among columns that differ, as many as the root of their number, drawn for this node. */
static split find_split(blv_tree_room *r, size_t begin, size_t end) {
    const size_t wanted = (size_t)ceil(sqrt((double)r->of->columns));
    split best = {.score = 0.0};
    for (size_t i = 0, tried = 0; i < r->of->columns && tried < wanted; i++) {
        const size_t at = i + (size_t)draw_below(r, r->of->columns - i);
        const uint32_t column = r->column[at];
        r->column[at] = r->column[i];
        r->column[i] = column;
        const uint64_t filled = fill_bins(r, r->of->code + column * r->of->rows, begin, end);
        if (!(filled & (filled - 1)))
            continue;
        try_column(r, column, begin, end, filled, &best);
        tried++;
    }
    return best;
}

/* Rows of the left side first; returns where the right side begins. */
static size_t part_rows(uint32_t *row, size_t begin, size_t end, const uint8_t *code,
                        uint8_t last) {
    size_t middle = begin;
    for (size_t i = begin; i < end; i++)
        if (code[row[i]] <= last) {
            const uint32_t moved = row[i];
            row[i] = row[middle];
            row[middle++] = moved;
        }
    return middle;
}

static void answer(const blv_tree_room *r, size_t begin, size_t end) {
    const size_t K = r->of->classes;
    double sum = 0.0;
    for (size_t k = 0; k < K; k++)
        sum += r->all[k];
    for (size_t i = begin; i < end; i++) {
        const size_t row = r->asked[i];
        double *to =
            row < r->first_rows ? r->first + row * K : r->second + (row - r->first_rows) * K;
        for (size_t k = 0; k < K; k++)
            to[k] += r->share * r->all[k] / sum;
    }
}

static void grow(blv_tree_room *r, size_t begin, size_t end, size_t asked, size_t asked_end,
                 int depth) {
    const size_t K = r->of->classes;
    size_t classes = 0;
    split best = {0};
    if (asked == asked_end ||
        (end - begin > MANY_ROWS && r->stop && r->stop(r->stop_context, r->member)))
        return;
    memset(r->all, 0, K * sizeof *r->all);
    for (size_t i = begin; i < end; i++)
        r->all[r->of->label[r->learned[i]]] += r->weight[r->learned[i]];
    for (size_t k = 0; k < K; k++)
        classes += r->all[k] > 0.0;
    if (classes > 1 && end - begin >= 2 * LEAF && depth < MOST_DEPTH)
        best = find_split(r, begin, end);
    if (!(best.score > 0.0)) {
        answer(r, asked, asked_end);
        return;
    }
    const uint8_t *code = r->of->code + best.column * r->of->rows;
    const size_t middle = part_rows(r->learned, begin, end, code, best.last);
    const size_t asked_middle = part_rows(r->asked, asked, asked_end, code, best.last);
    grow(r, begin, middle, asked, asked_middle, depth + 1);
    grow(r, middle, end, asked_middle, asked_end, depth + 1);
}

void blv_tree_answer(blv_tree_room *r, const blv_tree_task *t) {
    size_t count = 0;
    r->stream = blv_stream_make(t->seed, "forest");
    r->drawn = t->number << 32;
    r->share = t->share;
    r->first = t->first;
    r->second = t->second;
    r->first_rows = t->first_rows;
    for (size_t i = 0; i < t->learned_count; i++)
        r->weight[t->learned[i]] = 0.0;
    for (size_t i = 0; i < t->learned_count; i++) {
        const uint32_t row = t->learned[draw_below(r, t->learned_count)];
        if (!(r->weight[row] > 0.0) && r->of->weight[row] > 0.0)
            r->learned[count++] = row;
        r->weight[row] += r->of->weight[row];
    }
    for (uint32_t j = 0; j < r->of->columns; j++)
        r->column[j] = j;
    memcpy(r->asked, t->asked, t->asked_count * sizeof *r->asked);
    if (count > 0)
        grow(r, 0, count, 0, t->asked_count, 0);
}
