/* Splits and samples of the rows of a set.
 *
 * A stratified split is a table of whole numbers, classes by parts (and what is left over as one
 * more part): each entry n_c N_p / n rounded down or up, rows adding up to the sizes of the classes
 * and columns to those of the parts. All entries are rounded down first. Then each class gives what
 * it has left, one row each, to the parts that lack most. That never fails: it is the construction
 * of H. Ryser, "Combinatorial properties of matrices of zeros and ones", 1957, and the fractions
 * themselves show that such a table exists. */
#include "base/arena.h"
#include "base/random.h"
#include "data/dataset_private.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        BLV_CHECK(check_size(sizes[p], rows, word, why));
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
        size_t most = 0;
        double largest = -1.0;
        for (size_t p = 0; p < parts; p++) {
            double lack = sizes[p] < 1.0 ? sizes[p] * (double)rows - (double)total[p] : -1.0;
            most = lack > largest ? p : most;
            largest = fmax(lack, largest);
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
    for (size_t c = 0; c < classes; c++)
        for (size_t p = 0; p < parts; p++)
            lack[p] -= table[c * parts + p] = class_rows[c] * total[p] / rows;
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
    blv_arena arena = {0};
    size_t *table = blv_arena_alloc(&arena, v->classes * parts, sizeof *table);
    size_t *class_rows = blv_arena_alloc(&arena, v->classes, sizeof *class_rows);
    size_t *turn = blv_arena_alloc(&arena, v->classes, sizeof *turn); /* part a class fills now */
    size_t *next = blv_arena_alloc(&arena, 2 * parts, sizeof *next);  /* where its next row goes */
    bool *chosen = blv_arena_alloc(&arena, parts, sizeof *chosen);
    size_t *dealt = blv_arena_alloc(&arena, v->rows, sizeof *dealt);
    if (!arena.failed) {
        for (size_t i = 0; i < v->rows; i++)
            class_rows[v->label[i]]++;
        share_out(class_rows, v->classes, total, parts, v->rows, table, next, next + parts, chosen);
        for (size_t p = 0, at = 0; p < parts; at += total[p++])
            next[p] = at;
        for (size_t i = 0; i < v->rows; i++) {
            size_t c = (size_t)v->label[order[i]];
            while (table[c * parts + turn[c]] == 0)
                turn[c]++;
            table[c * parts + turn[c]]--;
            dealt[next[turn[c]]++] = order[i];
        }
        memcpy(order, dealt, v->rows * sizeof *order);
    }
    blv_arena_free(&arena);
    return !arena.failed;
}

/* Rows of one class stand in the order of the deal: shuffle each part once more. */
static bool shuffle_parts(const size_t *total, size_t parts, size_t rows, uint64_t seed,
                          size_t *order) {
    size_t *shuffle = blv_data_alloc(2 * rows, sizeof *shuffle);
    blv_stream stream = blv_stream_make(seed, "split order");
    for (size_t p = 0; shuffle && p < parts; order += total[p++]) {
        size_t *copy = memcpy(shuffle + rows, order, total[p] * sizeof *order);
        blv_random_permutation(&stream, p, total[p], shuffle);
        for (size_t i = 0; i < total[p]; i++)
            order[i] = copy[shuffle[i]];
    }
    free(shuffle);
    return shuffle != NULL;
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

/* The order of the rows, part after part, and total[p] rows of part p. Frees nothing on error. */
static blv_error deal_rows(const blv_dataset_view *v, const split *s, size_t *order, size_t *total,
                           blv_message *why) {
    if (s->stratified && !v->label)
        return blv_explain(why, BLV_E_VALUE, "%s: stratified needs classes, and the set has none",
                           s->word);
    BLV_CHECK(count_rows(s->sizes, s->parts, v->rows, s->word, total, why));
    total[s->parts] = v->rows;
    for (size_t p = 0; p < s->parts; p++)
        total[s->parts] -= total[p];
    blv_stream stream = blv_stream_make(s->seed, "split");
    blv_random_permutation(&stream, 0, v->rows, order);
    if (s->stratified && (!deal_by_class(v, total, s->parts + 1, order) ||
                          !shuffle_parts(total, s->parts, v->rows, s->seed, order)))
        return blv_explain_memory(why);
    return BLV_OK;
}

/* Makes the parts from the order. On error none is left. */
static blv_error make_parts(const blv_dataset *dataset, const split *s, const size_t *total,
                            const size_t *order, blv_dataset **part, blv_message *why) {
    char about[512], number[64] = "";
    describe(s, about, sizeof about);
    bool ok = true;
    for (size_t p = 0; ok && p < s->parts; order += total[p++]) {
        if (s->parts > 1)
            snprintf(number, sizeof number, "part %zu of %zu, ", p + 1, s->parts);
        part[p] = blv_dataset_pick(dataset, order, total[p]);
        ok = part[p] && blv_dataset_record(part[p], "%s: %s%zu of %zu rows", about, number,
                                           total[p], dataset->view.rows);
    }
    for (size_t p = 0; !ok && p < s->parts; p++) {
        blv_dataset_release(part[p]);
        part[p] = NULL;
    }
    return blv_need_memory(ok, why);
}

/* part: the sets to make, all NULL; NULL: row and count get the numbers of the rows */
static blv_error split_set(const blv_dataset *dataset, const split *s, blv_dataset **part,
                           size_t *row, size_t *count, blv_message *why) {
    size_t rows = dataset->view.rows;
    size_t *total = calloc(s->parts + 1, sizeof *total); /* the last is what is left over */
    size_t *order = blv_data_alloc(rows, sizeof *order);
    blv_error error =
        total && order ? deal_rows(&dataset->view, s, order, total, why) : blv_explain_memory(why);
    if (!error && part) {
        error = make_parts(dataset, s, total, order, part, why);
    } else if (!error) {
        memcpy(row, order, (rows - total[s->parts]) * sizeof *row);
        memcpy(count, total, s->parts * sizeof *count);
    }
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
    return split_set(dataset, &s, part, NULL, NULL, why);
}

blv_error blv_dataset_split_rows(const blv_dataset *dataset, const double *sizes, size_t parts,
                                 bool stratified, uint64_t seed, size_t *row, size_t *count,
                                 blv_message *why) {
    if (!dataset || !sizes || !row || !count || parts == 0)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_dataset_split_rows: an argument is NULL, or no parts");
    const split s = {"split", sizes, parts, stratified, seed};
    return split_set(dataset, &s, NULL, row, count, why);
}

blv_error blv_dataset_subsample(const blv_dataset *dataset, double size, bool stratified,
                                uint64_t seed, blv_dataset **sample, blv_message *why) {
    if (!dataset || !sample)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_subsample: dataset or sample is NULL");
    *sample = NULL;
    const split s = {"subsample", &size, 1, stratified, seed};
    return split_set(dataset, &s, sample, NULL, NULL, why);
}
