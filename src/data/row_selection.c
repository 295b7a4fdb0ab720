/* Sets made from rows of a set: chosen, split, sampled.
 *
 * A stratified split is a table of whole numbers, classes by parts (and what is left over as one
 * more part): each entry n_c N_p / n rounded down or up, rows adding up to the sizes of the classes
 * and columns to those of the parts. All entries are rounded down first. Then each class gives what
 * it has left, one row each, to the parts that lack most. That never fails: it is the construction
 * of H. Ryser, "Combinatorial properties of matrices of zeros and ones", 1957, and the fractions
 * themselves show that such a table exists. */
#include "base/random.h"
#include "data/dataset_ops.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows by number ---- */

static bool pick_dense(blv_dataset *d, const blv_dataset_view *v, const size_t *index) {
    size_t size = blv_value_size(v->precision), row_bytes = v->columns * size;
    char *dense = blv_data_alloc(d->view.rows, row_bytes);
    d->dense = dense;
    d->view.stride = v->columns;
    for (size_t i = 0; dense && i < d->view.rows; i++)
        memcpy(dense + i * row_bytes, (const char *)v->dense + index[i] * v->stride * size,
               row_bytes);
    return dense != NULL;
}

static bool pick_sparse(blv_dataset *d, const blv_dataset_view *v, const size_t *index) {
    size_t rows = d->view.rows, size = blv_value_size(v->precision);
    size_t *start = blv_data_alloc(rows + 1, sizeof *start);
    d->row_start = start;
    if (!start)
        return false;
    start[0] = 0;
    for (size_t i = 0; i < rows; i++)
        start[i + 1] = start[i] + (v->row_start[index[i] + 1] - v->row_start[index[i]]);
    d->column = blv_data_alloc(start[rows], sizeof *d->column);
    d->value = blv_data_alloc(start[rows], size);
    if (!d->column || !d->value)
        return false;
    for (size_t i = 0; i < rows; i++) {
        size_t from = v->row_start[index[i]], count = start[i + 1] - start[i];
        if (count == 0)
            continue;
        memcpy(d->column + start[i], v->column + from, count * sizeof *d->column);
        memcpy((char *)d->value + start[i] * size, (const char *)v->value + from * size,
               count * size);
    }
    return true;
}

/* NULL for NULL; otherwise *ok is cleared when memory is short. */
static int32_t *pick_labels(const int32_t *label, const size_t *index, size_t count, bool *ok) {
    int32_t *picked = label ? blv_data_alloc(count, sizeof *picked) : NULL;
    *ok = *ok && !picked == !label;
    for (size_t i = 0; picked && i < count; i++)
        picked[i] = label[index[i]];
    return picked;
}

static double *pick_targets(const double *target, const size_t *index, size_t count, bool *ok) {
    double *picked = target ? blv_data_alloc(count, sizeof *picked) : NULL;
    *ok = *ok && !picked == !target;
    for (size_t i = 0; picked && i < count; i++)
        picked[i] = target[index[i]];
    return picked;
}

/* NULL when memory is short. */
static blv_dataset *pick_rows(const blv_dataset *source, const size_t *index, size_t count) {
    const blv_dataset_view *v = &source->view;
    blv_dataset *d = blv_dataset_new_like(source);
    if (!d)
        return NULL;
    d->view.rows = count;
    bool ok = v->dense ? pick_dense(d, v, index) : pick_sparse(d, v, index);
    d->label = pick_labels(v->label, index, count, &ok);
    d->true_label = pick_labels(v->true_label, index, count, &ok);
    d->target = pick_targets(v->target, index, count, &ok);
    if (!ok) {
        blv_dataset_release(d);
        return NULL;
    }
    blv_dataset_refresh(d);
    return d;
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
    blv_dataset *d = pick_rows(dataset, index, count);
    if (!d || blv_dataset_record(d, "select: %zu of %zu rows", count, rows) != BLV_OK) {
        blv_dataset_release(d);
        return blv_data_no_memory(why);
    }
    *selected = d;
    return BLV_OK;
}

/* ---- Sizes of parts ---- */

static blv_error check_size(double size, size_t rows, const char *word, blv_message *why) {
    if (!(size > 0.0))
        return blv_explain(why, BLV_E_VALUE, "%s: size %g; expected more than 0", word, size);
    if (size >= 1.0 && size != floor(size))
        return blv_explain(why, BLV_E_VALUE,
                           "%s: size %g; expected a share below 1 or a whole number of rows", word,
                           size);
    if (size > (double)rows)
        return blv_explain(why, BLV_E_VALUE, "%s: size %g, but there are %zu rows", word, size,
                           rows);
    return BLV_OK;
}

/* Turns sizes into whole numbers of rows, total[0 .. parts-1]. Shares get round(their sum * rows)
 * rows together: each its whole part, then one more by the largest remainder. */
static blv_error count_rows(const double *sizes, size_t parts, size_t rows, const char *word,
                            size_t *total, blv_message *why) {
    double shares = 0.0;
    size_t fixed = 0, given = 0;
    for (size_t p = 0; p < parts; p++) {
        blv_error error = check_size(sizes[p], rows, word, why);
        if (error)
            return error;
        bool is_share = sizes[p] < 1.0;
        shares += is_share ? sizes[p] : 0.0;
        total[p] = (size_t)floor(is_share ? sizes[p] * (double)rows : sizes[p]);
        fixed += is_share ? 0 : total[p];
        given += is_share ? total[p] : 0;
    }
    size_t shared = (size_t)round(shares * (double)rows);
    if (shares > 1.0 + 1e-9 || fixed > rows || shared > rows - fixed)
        return blv_explain(why, BLV_E_VALUE, "%s: the sizes add up to %zu rows, but there are %zu",
                           word, fixed + shared, rows);
    while (given < shared) {
        size_t most = parts;
        double largest = -1.0;
        for (size_t p = 0; p < parts; p++) {
            double lack = sizes[p] < 1.0 ? sizes[p] * (double)rows - (double)total[p] : -1.0;
            if (lack > largest) {
                largest = lack;
                most = p;
            }
        }
        total[most]++;
        given++;
    }
    for (size_t p = 0; p < parts; p++)
        if (total[p] == 0)
            return blv_explain(why, BLV_E_VALUE, "%s: size %g of %zu rows is less than one row",
                               word, sizes[p], rows);
    return BLV_OK;
}

/* ---- Stratified ---- */

/* Of the parts not yet chosen, the one that lacks most rows; ties go to the largest remainder. */
static size_t most_lacking(const size_t *lack, const size_t *remainder, const bool *chosen,
                           size_t parts) {
    size_t best = parts;
    for (size_t p = 0; p < parts; p++) {
        if (chosen[p] || lack[p] == 0)
            continue;
        if (best == parts || lack[p] > lack[best] ||
            (lack[p] == lack[best] && remainder[p] > remainder[best]))
            best = p;
    }
    return best;
}

/* table[c * parts + p] becomes the number of rows of class c in part p. class_rows: rows of each
 * class. lack, remainder, chosen: room for parts each. */
static void share_out(const size_t *class_rows, size_t classes, const size_t *total, size_t parts,
                      size_t rows, size_t *table, size_t *lack, size_t *remainder, bool *chosen) {
    assert(rows > 0);
    memcpy(lack, total, parts * sizeof *lack);
    for (size_t c = 0; c < classes; c++) {
        for (size_t p = 0; p < parts; p++) {
            table[c * parts + p] = class_rows[c] * total[p] / rows;
            lack[p] -= table[c * parts + p];
        }
    }
    for (size_t c = 0; c < classes; c++) {
        size_t *entry = table + c * parts, left = class_rows[c];
        for (size_t p = 0; p < parts; p++) {
            left -= entry[p];
            remainder[p] = class_rows[c] * total[p] % rows;
            chosen[p] = false;
        }
        for (; left > 0; left--) {
            size_t p = most_lacking(lack, remainder, chosen, parts);
            entry[p]++;
            lack[p]--;
            chosen[p] = true;
        }
    }
}

/* Deals the rows of a random order out to the parts as the table says. The parts of order then hold
 * their rows one after the other. false when memory is short. */
static bool deal_by_class(const blv_dataset_view *v, const size_t *total, size_t parts,
                          size_t *order) {
    size_t *table = calloc(v->classes * parts, sizeof *table);
    size_t *class_rows = calloc(v->classes, sizeof *class_rows);
    size_t *room = calloc(2 * parts, sizeof *room);
    bool *chosen = calloc(parts, sizeof *chosen);
    size_t *dealt = blv_data_alloc(v->rows, sizeof *dealt);
    bool ok = table && class_rows && room && chosen && dealt;
    if (ok) {
        for (size_t i = 0; i < v->rows; i++)
            class_rows[v->label[i]]++;
        share_out(class_rows, v->classes, total, parts, v->rows, table, room, room + parts, chosen);
        size_t *next = room; /* where the next row of each part goes */
        for (size_t p = 0, at = 0; p < parts; at += total[p++])
            next[p] = at;
        size_t *turn = class_rows; /* the part that each class fills now */
        memset(turn, 0, v->classes * sizeof *turn);
        for (size_t i = 0; i < v->rows; i++) {
            size_t c = (size_t)v->label[order[i]];
            while (table[c * parts + turn[c]] == 0)
                turn[c]++;
            table[c * parts + turn[c]]--;
            dealt[next[turn[c]]++] = order[i];
        }
        memcpy(order, dealt, v->rows * sizeof *order);
    }
    free(table);
    free(class_rows);
    free(room);
    free(chosen);
    free(dealt);
    return ok;
}

/* Rows of one class stand in the order of the deal: shuffle each part once more. */
static bool shuffle_parts(const size_t *total, size_t parts, size_t rows, uint64_t seed,
                          size_t *order) {
    size_t *shuffle = blv_data_alloc(rows, sizeof *shuffle);
    size_t *copy = blv_data_alloc(rows, sizeof *copy);
    blv_stream stream = blv_stream_make(seed, "split order");
    bool ok = shuffle && copy;
    for (size_t p = 0; ok && p < parts; order += total[p++]) {
        blv_random_permutation(&stream, p, total[p], shuffle);
        memcpy(copy, order, total[p] * sizeof *copy);
        for (size_t i = 0; i < total[p]; i++)
            order[i] = copy[shuffle[i]];
    }
    free(shuffle);
    free(copy);
    return ok;
}

/* ---- Split and subsample ---- */

typedef struct split {
    const char *word; /* "split" or "subsample": for messages and the history */
    const double *sizes;
    size_t parts;
    bool stratified;
    uint64_t seed;
} split;

/* "split stratified 0.64 0.16 0.2, seed 1" */
static void describe(const split *s, char *text, size_t size) {
    int at = snprintf(text, size, "%s%s", s->word, s->stratified ? " stratified" : "");
    for (size_t p = 0; p < s->parts && at >= 0 && (size_t)at + 40 < size; p++)
        at += snprintf(text + at, size - (size_t)at, " %g", s->sizes[p]);
    if (at >= 0 && (size_t)at < size)
        snprintf(text + at, size - (size_t)at, ", seed %llu", (unsigned long long)s->seed);
}

/* Makes the parts from the order. On error none is left. */
static blv_error make_parts(const blv_dataset *dataset, const split *s, const size_t *total,
                            const size_t *order, blv_dataset **part, blv_message *why) {
    char about[512];
    describe(s, about, sizeof about);
    for (size_t p = 0; p < s->parts; order += total[p++]) {
        part[p] = pick_rows(dataset, order, total[p]);
        char number[64] = "";
        if (s->parts > 1)
            snprintf(number, sizeof number, "part %zu of %zu, ", p + 1, s->parts);
        if (part[p] && blv_dataset_record(part[p], "%s: %s%zu of %zu rows", about, number, total[p],
                                          dataset->view.rows) == BLV_OK)
            continue;
        for (size_t q = 0; q <= p; q++) {
            blv_dataset_release(part[q]);
            part[q] = NULL;
        }
        return blv_data_no_memory(why);
    }
    return BLV_OK;
}

static blv_error split_rows(const blv_dataset *dataset, const split *s, blv_dataset **part,
                            blv_message *why) {
    const blv_dataset_view *v = &dataset->view;
    if (s->stratified && !v->label)
        return blv_explain(why, BLV_E_VALUE, "%s: stratified needs classes, and the set has none",
                           s->word);
    size_t *total = calloc(s->parts + 1, sizeof *total); /* the last is what is left over */
    size_t *order = blv_data_alloc(v->rows, sizeof *order);
    blv_error error = total && order ? count_rows(s->sizes, s->parts, v->rows, s->word, total, why)
                                     : blv_data_no_memory(why);
    if (!error) {
        total[s->parts] = v->rows;
        for (size_t p = 0; p < s->parts; p++)
            total[s->parts] -= total[p];
        blv_stream stream = blv_stream_make(s->seed, "split");
        blv_random_permutation(&stream, 0, v->rows, order);
        if (s->stratified && (!deal_by_class(v, total, s->parts + 1, order) ||
                              !shuffle_parts(total, s->parts, v->rows, s->seed, order)))
            error = blv_data_no_memory(why);
    }
    if (!error)
        error = make_parts(dataset, s, total, order, part, why);
    free(total);
    free(order);
    return error;
}

blv_error blv_dataset_split(const blv_dataset *dataset, const double *sizes, size_t parts,
                            bool stratified, uint64_t seed, blv_dataset **part, blv_message *why) {
    if (!dataset || !sizes || !part || parts == 0)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_dataset_split: dataset, sizes or part is NULL, or no parts");
    for (size_t p = 0; p < parts; p++)
        part[p] = NULL;
    const split s = {"split", sizes, parts, stratified, seed};
    return split_rows(dataset, &s, part, why);
}

blv_error blv_dataset_subsample(const blv_dataset *dataset, double size, bool stratified,
                                uint64_t seed, blv_dataset **sample, blv_message *why) {
    if (!dataset || !sample)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_subsample: dataset or sample is NULL");
    *sample = NULL;
    const split s = {"subsample", &size, 1, stratified, seed};
    return split_rows(dataset, &s, sample, why);
}
