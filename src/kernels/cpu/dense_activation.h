/* From scores to losses and factors, for a block of rows: a lane is a row, and nothing is ever
 * exponentiated that is not the distance to the largest score, so nothing overflows.
 *
 * Small losses and residuals keep all their digits: 1 - p of the stated label is computed as the
 * sum of the other probabilities, log p as log1p of the other exponentials. */
#pragma once

#include "kernels/cpu/dense_task.h"
#include "kernels/cpu/lanes_math.h"

/* All arrays are padded to whole vectors; what is behind the last row is computed and not used. */
struct blv_dense_block {
    real weight[BLV_BLOCK_ROWS], loss[BLV_BLOCK_ROWS], cross[BLV_BLOCK_ROWS];
    real probability[BLV_BLOCK_ROWS]; /* of the stated label */
    integer label[BLV_BLOCK_ROWS], best[BLV_BLOCK_ROWS];
    real target[BLV_BLOCK_ROWS]; /* in place of labels, for squares */
    bool squares;
    const real *row[BLV_BLOCK_ROWS], *ahead[BLV_BLOCK_ROWS];
    size_t place[BLV_BLOCK_ROWS]; /* number of the row in the data, of a sweep with an index */
    size_t first;                 /* number of the first row, else */
    size_t rows;
};

#define AT(k) ((k)*BLV_BLOCK_ROWS)

ALWAYS_INLINE vec squares_lanes(blv_dense_block *block, size_t i, vec score, vec *tangent) {
    const vec weight = load(block->weight + i), residual = score - load(block->target + i);
    store(block->loss + i, all(R(0.5)) * residual * residual);
    if (tangent) {
        store(block->cross + i, residual * *tangent);
        *tangent *= weight;
    }
    return residual * weight;
}

/* Rows i, i + 1, ... of a block: residual times weight from their scores, and, if tangent is not
 * NULL, from V a the Hessian factor times weight in its place. */
ALWAYS_INLINE vec logistic_lanes(blv_dense_block *block, size_t i, bool want_loss, vec score,
                                 vec *tangent) {
    if (block->squares)
        return squares_lanes(block, i, score, tangent);
    const vec one = all(R(1.0)), nothing = all(R(0.0));
    const vec weight = load(block->weight + i);
    const ivec positive = load_integers(block->label + i) != 0;
    const vec margin = choose(positive, score, -score);
    const ivec right = margin > nothing;
    const vec far = exp_of(minus_size_of(score));
    const vec near = one / (one + far); /* probability of the likelier label */
    const vec other = far * near;
    const vec miss = choose(right, other, near);
    const vec residual = choose(positive, -miss, miss);
    if (want_loss)
        store(block->loss + i, log1p_of(far) + choose(right, nothing, -margin));
    store(block->probability + i, choose(right, near, other));
    *(loose_ivec *)(block->best + i) = (score > nothing) & 1;
    if (tangent) {
        store(block->cross + i, residual * *tangent);
        *tangent *= near * other * weight;
    }
    return residual * weight;
}

static void activate_logistic(blv_dense_block *block, bool want_loss, real *s, real *t) {
    for (size_t i = 0; i < block->rows; i += LANES) {
        if (t) {
            vec tangent = load(t + i);
            store(s + i, logistic_lanes(block, i, want_loss, load(s + i), &tangent));
            store(t + i, tangent);
        } else {
            store(s + i, logistic_lanes(block, i, want_loss, load(s + i), NULL));
        }
    }
}

/* Probabilities of rows i, i + 1, ... of a block: class k's is `inverse` times what lies k `apart`
 * behind `from`, and the label's less 1 is `miss`. */
typedef struct chances {
    const real *from;
    size_t apart;
    vec inverse, miss;
} chances;

/* s becomes residual times weight; t, if not NULL, Hessian factor times weight. There are `scores`
 * of each in a row, besides the last class. */
ALWAYS_INLINE void softmax_factors(blv_dense_block *block, size_t i, size_t scores,
                                   const chances *c, real *s, real *t) {
    const ivec label = load_integers(block->label + i);
    const vec weight = load(block->weight + i), inverse = c->inverse, miss = c->miss;
    vec mean = all(R(0.0)), cross = mean;
    for (size_t k = 0; t && k < scores; k++) {
        const vec tangent = load(t + AT(k)), p = load(c->from + k * c->apart) * inverse;
        mean = multiply_add(p, tangent, mean);
        cross = multiply_add(choose(label == (integer)k, miss, p), tangent, cross);
    }
    for (size_t k = 0; k < scores; k++) {
        const vec p = load(c->from + k * c->apart) * inverse;
        store(s + AT(k), choose(label == (integer)k, miss, p) * weight);
        if (t)
            store(t + AT(k), p * (load(t + AT(k)) - mean) * weight);
    }
    if (t)
        store(block->cross + i, cross);
}

/* Where what is kept of row i of a block begins. */
ALWAYS_INLINE size_t kept_place(size_t i, size_t scores) {
    return i / BLV_KEPT_ROWS * BLV_KEPT_ROWS * (scores + 1) + i % BLV_KEPT_ROWS;
}

ALWAYS_INLINE void keep_chances(const chances *c, size_t scores, real *kept) {
    for (size_t k = 0; k < scores; k++)
        store(kept + k * BLV_KEPT_ROWS, load(c->from + k * c->apart) * c->inverse);
    store(kept + scores * BLV_KEPT_ROWS, c->miss);
}

/* Scores s and V a to factors, with all that is asked for by row. The last class has score 0. */
static void activate_softmax(blv_dense_block *block, size_t scores, bool want_loss, real *kept,
                             real *s, real *t) {
    const vec nothing = all(R(0.0));
    const ivec last = (ivec)nothing + (integer)scores;
    for (size_t i = 0; i < block->rows; i += LANES, s += LANES, t += t ? LANES : 0) {
        const ivec label = load_integers(block->label + i);
        vec largest = load(s);
        ivec best = (ivec)nothing;
        for (size_t k = 1; k < scores; k++) {
            const vec score = load(s + AT(k));
            const ivec above = score > largest;
            largest = larger_of(score, largest);
            best = (best & ~above) | (above & (integer)k);
        }
        ivec above = nothing > largest;
        largest = choose(above, nothing, largest);
        best = (best & ~above) | (above & last);
        *(loose_ivec *)(block->best + i) = best;

        vec stated = nothing; /* score of the label */
        vec own = exp_of(-largest);
        vec not_best = without(best == last, own), not_label = without(label == last, own);
        own = (vec)((ivec)own & (label == last)); /* exponential of the label */
        for (size_t k = 0; k < scores; k++) {
            const vec score = load(s + AT(k)), e = exp_of(score - largest);
            const ivec is_label = label == (integer)k;
            stated = choose(is_label, score, stated);
            own = choose(is_label, e, own);
            not_best += without(best == (integer)k, e);
            not_label += without(is_label, e);
            store(s + AT(k), e);
        }
        const vec inverse = all(R(1.0)) / (all(R(1.0)) + not_best);
        if (want_loss)
            store(block->loss + i, log1p_of(not_best) + (largest - stated));
        store(block->probability + i, own * inverse);

        const chances c = {s, AT(1), inverse, -not_label * inverse};
        if (kept)
            keep_chances(&c, scores, kept + kept_place(i, scores));
        softmax_factors(block, i, scores, &c, s, t);
    }
}

/* The same by a rule of the caller, row by row. The last class has score 0. */
static void activate_by_rule(blv_dense_block *block, const blv_rows *rows, const blv_sweep *sweep,
                             size_t scores, real *s, real *t) {
    real score[BLV_RULE_CLASSES], tangent[BLV_RULE_CLASSES];
    for (size_t i = 0; i < block->rows; i++) {
        const size_t row = rows->index ? block->place[i] : block->first + i;
        const real weight = block->weight[i];
        for (size_t k = 0; k < scores; k++) {
            score[k] = s[AT(k) + i];
            tangent[k] = t ? t[AT(k) + i] : R(0.0);
        }
        score[scores] = tangent[scores] = R(0.0);
        block->loss[i] = (real)sweep->rule(sweep->rule_context, row, score, t ? tangent : NULL);
        for (size_t k = 0; k < scores; k++) {
            s[AT(k) + i] = score[k] * weight;
            if (t)
                t[AT(k) + i] = tangent[k] * weight;
        }
    }
}

/* The same factors from kept probabilities. */
static void activate_known(blv_dense_block *block, size_t scores, const real *kept, real *s,
                           real *t) {
    for (size_t i = 0; i < block->rows; i += LANES, s += LANES, t += t ? LANES : 0) {
        const real *from = kept + kept_place(i, scores);
        const chances c = {from, BLV_KEPT_ROWS, all(R(1.0)), load(from + scores * BLV_KEPT_ROWS)};
        softmax_factors(block, i, scores, &c, s, t);
    }
}
