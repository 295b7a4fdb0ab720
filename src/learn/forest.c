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
    r->part_classes = blv_arena_alloc(arena, BINS, sizeof *r->part_classes);
    return !arena->failed;
}

typedef struct split {
    double score; /* of what is left of chance: the higher, the purer both sides are */
    uint32_t column;
    uint8_t last; /* bin of the left side */
} split;

/* How the classes of a bin are gone through: all of them, where there are a few, or those that rows
 * of the bin have, which gives the same numbers. */
enum { FEW_CLASSES = 3, MOST_MARKED = 64 };

/* Sums of the rows in each bin, which are 0 before; returns which bins have rows, a bit for each.
 */
static inline uint64_t fill_bins(blv_tree_room *r, const uint8_t *code, size_t begin, size_t end,
                                 const size_t K, const bool marked) {
    const int32_t *label = r->of->label;
    const double *weight = r->weight;
    double *part = r->part;
    uint32_t *rows = r->part_rows;
    uint64_t filled = 0;
    for (size_t i = begin; i < end; i++) {
        const uint32_t row = r->learned[i];
        const size_t bin = code[row];
        part[bin * K + (size_t)label[row]] += weight[row];
        rows[bin]++;
        if (marked)
            r->part_classes[bin] |= UINT64_C(1) << label[row];
        filled |= UINT64_C(1) << bin;
    }
    return filled;
}

/* Sums over the bins up to here, and over the others. */
typedef struct two_sides {
    double left, right, left_squares, right_squares;
} two_sides;

static inline void move_left(two_sides *s, double *here, double *seen, double all) {
    const double rest = all - *seen;
    s->left_squares += *here * (2.0 * *seen + *here);
    s->right_squares += *here * (*here - 2.0 * rest);
    *seen += *here;
    s->left += *here;
    s->right -= *here;
    *here = 0.0;
}

/* The bin goes to the left side, and is empty then. */
static inline void move_bin(blv_tree_room *r, two_sides *s, size_t bin, double *seen,
                            const size_t K, const bool marked) {
    double *part = r->part + bin * K;
    r->part_rows[bin] = 0;
    if (!marked) {
        for (size_t k = 0; k < K; k++)
            move_left(s, part + k, seen + k, r->all[k]);
        return;
    }
    for (uint64_t left = r->part_classes[bin]; left; left &= left - 1) {
        const size_t k = (size_t)__builtin_ctzll(left);
        move_left(s, part + k, seen + k, r->all[k]);
    }
    r->part_classes[bin] = 0;
}

/* The best split of a column, where it beats *best; its bins are emptied. seen: room for the
 * classes. */
static inline void try_column(blv_tree_room *r, uint32_t column, size_t begin, size_t end,
                              uint64_t filled, split *best, double *seen, const size_t K,
                              const bool marked) {
    two_sides s = {0};
    size_t rows = 0;
    for (size_t k = 0; k < K; k++) {
        seen[k] = 0.0;
        s.right += r->all[k];
        s.right_squares += r->all[k] * r->all[k];
    }
    for (; filled & (filled - 1); filled &= filled - 1) { /* all but the last */
        const size_t bin = (size_t)__builtin_ctzll(filled);
        rows += r->part_rows[bin];
        move_bin(r, &s, bin, seen, K, marked);
        if (rows < LEAF || end - begin - rows < LEAF || !(s.right > 0.0))
            continue;
        const double score = s.left_squares / s.left + s.right_squares / s.right;
        if (score > best->score)
            *best = (split){score, column, (uint8_t)bin};
    }
    move_bin(r, &s, (size_t)__builtin_ctzll(filled), seen, K, marked);
}

static uint64_t draw_below(blv_tree_room *r, uint64_t bound) {
    return blv_random_below(&r->stream, r->drawn++, bound);
}

/* Among columns that differ, as many as the root of their number, drawn for this node. */
static inline split find_split_of(blv_tree_room *r, size_t begin, size_t end, double *seen,
                                  const size_t K, const bool marked) {
    const size_t wanted = (size_t)ceil(sqrt((double)r->of->columns));
    split best = {.score = 0.0};
    for (size_t i = 0, tried = 0; i < r->of->columns && tried < wanted; i++) {
        const size_t at = i + (size_t)draw_below(r, r->of->columns - i);
        const uint32_t column = r->column[at];
        r->column[at] = r->column[i];
        r->column[i] = column;
        const uint8_t *code = r->of->code + column * r->of->rows;
        const uint64_t filled = fill_bins(r, code, begin, end, K, marked);
        const bool differs = (filled & (filled - 1)) != 0;
        try_column(r, column, begin, end, filled, &best, seen, K, marked);
        tried += differs;
    }
    return best;
}

/* Few classes: their sums stay in registers. */
static split find_split(blv_tree_room *r, size_t begin, size_t end) {
    const size_t K = r->of->classes;
    double seen[FEW_CLASSES];
    if (K == 2)
        return find_split_of(r, begin, end, seen, 2, false);
    if (K == 3)
        return find_split_of(r, begin, end, seen, 3, false);
    return find_split_of(r, begin, end, r->left, K, K <= MOST_MARKED);
}

/* Rows of the left side first; returns where the right side begins. */
static size_t part_rows(uint32_t *row, size_t begin, size_t end, const uint8_t *code,
                        uint8_t last) {
    size_t middle = begin;
    for (size_t i = begin; i < end; i++) { /* no branch that cannot be foretold */
        const uint32_t here = row[i], there = row[middle];
        const bool left = code[here] <= last;
        row[i] = left ? there : here;
        row[middle] = left ? here : there;
        middle += left;
    }
    return middle;
}

static void answer(blv_tree_room *r, size_t begin, size_t end) {
    const size_t K = r->of->classes;
    double sum = 0.0;
    for (size_t k = 0; k < K; k++)
        sum += r->all[k];
    for (size_t k = 0; k < K; k++)
        r->left[k] = r->share * r->all[k] / sum;
    for (size_t i = begin; i < end; i++) {
        const size_t row = r->asked[i];
        double *to =
            row < r->first_rows ? r->first + row * K : r->second + (row - r->first_rows) * K;
        for (size_t k = 0; k < K; k++)
            to[k] += r->left[k];
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
