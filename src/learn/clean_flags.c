/* Which rows are suspect.
 *
 * Where some labels are clearly wrong (clean_share.c), as many as are expected to be, the least
 * probable first, and all others that are not much likelier right than wrong. As long as the rows
 * allow that all labels are right, both must hold, but for the least probable one. Never suspect: a
 * row whose likeliest class is its label, a row of a class too small to judge, and the best rows of
 * every class. */
#include "base/precision.h"
#include "base/rank_exchange.h"
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_TO_JUDGE = 10, LEAST_KEPT = 2 };
static const double kept_share = 0.1;
/* Hardly likelier right than wrong, [surely]: where all labels may be right, and where not. Chosen
 * on development sets, where recall and precision are then alike (docs/clean.md). */
static const double most_right[] = {0.6, 0.65};

typedef struct ranked {
    double probability;
    size_t row;
} ranked;

static int by_suspicion(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->probability != b->probability)
        return a->probability < b->probability ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* ---- Which ---- */

/* The noise of the result is what the estimate says. */
static blv_error estimate(blv_cleaning *c, blv_wrong_share *found) {
    blv_clean_result *r = &c->result;
    const size_t K = r->classes;
    double *S = malloc(K * K * sizeof *S);
    blv_error error = S ? blv_clean_share(c, found, S) : blv_explain_memory(c->why);
    if (error == BLV_OK && found->blind)
        blv_clean_caution(c, "the features tell hardly more about these labels than how many rows "
                             "each class has: what is suspect is a guess");
    else if (error == BLV_OK && found->vague)
        blv_clean_caution(c,
                          "the model hardly tells these classes apart: the share of wrong labels "
                          "is a guess");
    for (size_t i = 0; error == BLV_OK && !c->options.probabilities && i < K * K; i++)
        r->noise[i] = i % (K + 1) == 0 ? 1.0 - found->share : found->share * S[i];
    free(S);
    return error;
}

static blv_error rank_rows(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    ranked *order = malloc((r->rows + 1) * sizeof *order);
    if (!order)
        return blv_explain_memory(c->why);
    for (size_t i = 0; i < r->rows; i++) {
        r->believed[i] = (int32_t)blv_likeliest(r->probability + i * r->classes, r->classes);
        order[i] = (ranked){r->label_probability[i], i};
    }
    qsort(order, r->rows, sizeof *order, by_suspicion);
    for (size_t i = 0; i < r->rows; i++)
        r->order[i] = order[i].row;
    free(order);
    return BLV_OK;
}

/* Whether one more row may be suspect, that has the probability p. expected: how many of the
 * suspects so far have right labels. */
static bool goes_on(const blv_cleaning *c, const blv_wrong_share *found, double p,
                    double expected) {
    const blv_clean_options *o = &c->options;
    const double rows = (double)c->result.rows, next = (double)c->result.suspects + 1.0;
    if (o->threshold > 0.0)
        return p < o->threshold;
    if (o->flag_share > 0.0)
        return next <= round(o->flag_share * rows);
    if (o->false_alarms > 0.0)
        return expected + p <= o->false_alarms * next;
    const bool expected_wrong = next <= round(c->result.estimated_wrong * rows);
    const bool hardly = p < most_right[found->surely];
    if (found->surely)
        return expected_wrong || hardly;
    return expected_wrong && (hardly || next == 1.0);
}

static void flag(blv_cleaning *c, const blv_wrong_share *found, size_t *left) {
    blv_clean_result *r = &c->result;
    const int32_t *label = blv_dataset_view_of(c->sets.train)->label;
    double expected = 0.0;
    for (size_t i = 0; i < r->rows; i++) {
        const size_t row = r->order[i];
        const double p = r->label_probability[row];
        if (!goes_on(c, found, p, expected))
            break;
        if (r->believed[row] == label[row])
            continue;
        if (left[label[row]] == 0) {
            r->spared++;
            continue;
        }
        left[label[row]]--;
        r->suspect[row] = true;
        r->suspects++;
        r->threshold = p;
        expected += p;
    }
    r->false_alarms = r->suspects > 0 ? expected / (double)r->suspects : (double)NAN;
}

/* Suspects first, each part in the order that it has. */
static blv_error put_suspects_first(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    size_t *sorted = malloc((r->rows + 1) * sizeof *sorted), suspect = 0, other = r->suspects;
    if (!sorted)
        return blv_explain_memory(c->why);
    for (size_t i = 0; i < r->rows; i++)
        sorted[r->suspect[r->order[i]] ? suspect++ : other++] = r->order[i];
    memcpy(r->order, sorted, r->rows * sizeof *sorted);
    free(sorted);
    return BLV_OK;
}

/* ---- What speaks against a label ---- */

/* By how much each feature raises the score of the believed class above that of the label. at:
 * where the features of the row are. */
static void find_against(const blv_cleaning *c, size_t row, size_t at) {
    const blv_dataset_view *v = blv_dataset_view_of(c->sets.train);
    const double *believed = c->weights + (size_t)c->result.believed[row] * v->columns;
    const double *stated = c->weights + (size_t)v->label[row] * v->columns;
    const size_t begin = v->dense ? at * v->stride : v->row_start[at];
    const size_t end = v->dense ? begin + v->columns : v->row_start[at + 1];
    const void *values = v->dense ? v->dense : v->value;
    uint32_t *to = c->result.against + row * BLV_CLEAN_AGAINST;
    double most[BLV_CLEAN_AGAINST] = {0};
    for (size_t i = begin; i < end; i++) {
        const size_t j = v->dense ? i - begin : v->column[i];
        uint32_t feature = c->column ? c->column[j] : (uint32_t)j;
        double gain = feature < c->given->features
                          ? blv_value_get(values, v->precision, i) * (believed[j] - stated[j])
                          : 0.0;
        for (size_t a = 0; a < BLV_CLEAN_AGAINST; a++)
            if (gain > most[a]) {
                const double less = most[a];
                const uint32_t next = to[a];
                most[a] = gain;
                to[a] = feature;
                gain = less;
                feature = next;
            }
    }
}

/* Each rank knows of its own rows. */
static blv_error share_against(const blv_cleaning *c, const blv_ranks *ranks) {
    uint32_t *against = c->result.against;
    const size_t count = c->result.rows * BLV_CLEAN_AGAINST;
    double *sum = malloc((count + 1) * sizeof *sum);
    if (!blv_ranks_all(ranks, sum)) {
        free(sum);
        return blv_explain_memory(c->why);
    }
    for (size_t i = 0; i < count; i++)
        sum[i] = against[i] == BLV_CLEAN_NO_FEATURE ? 0.0 : against[i] + 1.0;
    const bool well = ranks->sum(ranks->context, count, sum);
    for (size_t i = 0; i < count; i++)
        against[i] = sum[i] > 0.0 ? (uint32_t)(sum[i] - 1.0) : BLV_CLEAN_NO_FEATURE;
    free(sum);
    return well ? BLV_OK : blv_explain(c->why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

static blv_error find_all_against(const blv_cleaning *c) {
    const blv_dataset_view *v = blv_dataset_view_of(c->sets.train);
    const size_t here = v->ranks ? v->held : v->rows;
    for (size_t i = 0; i < v->rows * BLV_CLEAN_AGAINST; i++)
        c->result.against[i] = BLV_CLEAN_NO_FEATURE;
    for (size_t i = 0; c->weights && i < here; i++) {
        const size_t row = v->ranks ? v->held_row[i] : i;
        if (c->result.suspect[row])
            find_against(c, row, i);
    }
    return v->ranks ? share_against(c, v->ranks) : BLV_OK;
}

/* ---- All of it ---- */

static void caution(blv_cleaning *c) {
    if (!c->given->val)
        blv_clean_caution(c,
                          "no rows whose labels are known to be right (--val): wrong labels that "
                          "follow a rule may pass for right ones, and right labels for wrong ones "
                          "where classes overlap everywhere");
    if (c->result.all_may_be_right && c->result.suspects > 0)
        blv_clean_caution(c, "all labels may be right: where classes overlap, right labels look "
                             "wrong too");
    if (c->result.spared > 0)
        blv_clean_caution(c,
                          "%zu more rows look wrong, but without them too little would be left of "
                          "their classes: they are kept",
                          c->result.spared);
}

blv_error blv_clean_flag(blv_cleaning *c) {
    const blv_dataset_view *train = blv_dataset_view_of(c->sets.train);
    blv_wrong_share found;
    BLV_CHECK(estimate(c, &found));
    BLV_CHECK(rank_rows(c));
    size_t *left = calloc(train->classes + 1, sizeof *left);
    if (!left)
        return blv_explain_memory(c->why);
    for (size_t i = 0; i < train->rows; i++)
        left[train->label[i]]++;
    for (size_t k = 0; k < train->classes; k++) {
        const size_t kept = (size_t)ceil(kept_share * (double)left[k]);
        left[k] = left[k] < ROWS_TO_JUDGE ? 0 : left[k] - (kept > LEAST_KEPT ? kept : LEAST_KEPT);
    }
    flag(c, &found, left);
    free(left);
    BLV_CHECK(find_all_against(c));
    c->result.all_may_be_right = !found.surely;
    caution(c);
    return put_suspects_first(c);
}
