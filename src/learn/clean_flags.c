/* Which rows are suspect.
 *
 * Of a row with label s the label is right with probability p_s T[s,s] / sum_k p_k T[k,s], where p
 * is what the models that have not seen the row say of its class. These are probabilities, so as
 * many labels are wrong as the rest adds up to, and as many rows are suspect, the least probable
 * first. Never suspect: a row whose likeliest class is its label, a row of a class too small to
 * judge, and the best rows of every class. */
#include "learn/clean_work.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_TO_JUDGE = 10, LEAST_KEPT = 2 };
static const double kept_share = 0.1;

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

static double judge(const blv_clean_result *r, size_t row, size_t label) {
    const double *p = r->probability + row * r->classes;
    double sum = 0.0;
    for (size_t k = 0; k < r->classes; k++)
        sum += p[k] * r->noise[k * r->classes + label];
    return sum > 0.0 ? p[label] * r->noise[label * r->classes + label] / sum : 0.0;
}

static blv_error rank_rows(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    const int32_t *label = blv_dataset_view_of(c->sets.train)->label;
    ranked *order = malloc((r->rows + 1) * sizeof *order);
    if (!order)
        return blv_explain_memory(c->why);
    for (size_t i = 0; i < r->rows; i++) {
        r->label_probability[i] = judge(r, i, (size_t)label[i]);
        r->believed[i] = (int32_t)blv_likeliest(r->probability + i * r->classes, r->classes);
        r->estimated_wrong += (1.0 - r->label_probability[i]) / (double)r->rows;
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
static bool goes_on(const blv_cleaning *c, double p, double expected) {
    const blv_clean_options *o = &c->options;
    const double rows = (double)c->result.rows, next = (double)c->result.suspects + 1.0;
    if (o->threshold > 0.0)
        return p < o->threshold;
    if (o->flag_share > 0.0)
        return next <= round(o->flag_share * rows);
    if (o->false_alarms > 0.0)
        return expected + p <= o->false_alarms * next;
    return next <= round(c->result.estimated_wrong * rows);
}

static void flag(blv_cleaning *c, size_t *left) {
    blv_clean_result *r = &c->result;
    const int32_t *label = blv_dataset_view_of(c->sets.train)->label;
    double expected = 0.0;
    for (size_t i = 0; i < r->rows; i++) {
        const size_t row = r->order[i];
        const double p = r->label_probability[row];
        if (!goes_on(c, p, expected))
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

blv_error blv_clean_flag(blv_cleaning *c) {
    const blv_dataset_view *train = blv_dataset_view_of(c->sets.train);
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
    flag(c, left);
    free(left);
    return BLV_OK;
}
