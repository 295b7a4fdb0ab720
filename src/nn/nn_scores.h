/* Softmax cross-entropy of rows of scores. Nothing is ever exponentiated that is not the distance
 * to the largest score. Small losses and residuals keep all their digits: 1 - p of the stated label
 * is the sum of the other probabilities, and a loss near 0 is log1p of the other exponentials. */
#pragma once

#include "kernels/cpu/lanes_math.h"
#include "nn/nn_loops.h"

#include <math.h>

static size_t best_of(size_t classes, const real *score) {
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        if (score[k] > score[best])
            best = k;
    return best;
}

/* e[k] = exp(score[k] - largest), in whole vectors */
static void exponentials(size_t classes, const real *score, real largest, real *e) {
    for (size_t k = 0; k < classes; k += LANES)
        store(e + k, exp_of(load(score + k) - all(largest)));
}

static real sum_without(size_t classes, const real *e, size_t left_out) {
    real sum = 0;
    for (size_t k = 0; k < classes; k++)
        sum += k == left_out ? 0 : e[k];
    return sum;
}

/* A list may name a row twice: two threads may then store the same number. */
static void put_row(void *to, size_t row, real value) {
    if (to)
        __atomic_store((real *)to + row, &value, __ATOMIC_RELAXED);
}

/* The class is not certain: with q_k = p_k chance_k / sum, the residual is p - q. e: exponentials,
 * and what they are divided by. */
static void row_by_chance(nn_scores *s, size_t i, size_t row, const real *e, double all_e) {
    const size_t classes = s->classes;
    const double *chance = s->chance + (size_t)s->label[row] * classes;
    const double weight = s->weight ? (double)((const real *)s->weight)[row] : 1.0;
    real *delta = s->delta ? (real *)s->delta + i * s->step : NULL;
    double stated = 1e-30;
    for (size_t k = 0; k < classes; k++)
        stated += (double)e[k] * chance[k];
    if (s->wants_loss) {
        const double loss = log(all_e) - log(stated);
        s->sum += weight * loss;
        put_row(s->loss, row, (real)loss);
    }
    for (size_t k = 0; delta && k < classes; k++)
        delta[k] = (real)(s->scale * weight * (double)e[k] * (1.0 / all_e - chance[k] / stated));
}

static void row_of_scores(nn_scores *s, size_t i, real *e) {
    const size_t row = s->row ? s->row[i] : s->first + i, classes = s->classes;
    const size_t label = (size_t)s->label[row];
    const real *score = (const real *)s->score + i * s->step;
    const real weight = s->weight ? ((const real *)s->weight)[row] : 1;
    const size_t best = best_of(classes, score);
    exponentials(classes, score, score[best], e);
    const real not_best = sum_without(classes, e, best), not_label = sum_without(classes, e, label);
    if (s->chance) {
        row_by_chance(s, i, row, e, 1.0 + (double)not_best);
        return;
    }
    const real inverse = 1 / (1 + not_best);
    const real loss = log1p_of(all(not_best))[0] + (score[best] - score[label]);
    s->sum += (double)weight * (double)loss;
    put_row(s->loss, row, loss);
    put_row(s->probability, row, e[label] * inverse);
    if (s->best)
        __atomic_store_n(&s->best[row], (int32_t)best, __ATOMIC_RELAXED);
    const real miss = -not_label * inverse, factor = (real)s->scale * weight;
    const real *tangent = s->tangent ? (const real *)s->tangent + i * s->step : NULL;
    real mean = 0, cross = 0;
    for (size_t k = 0; tangent && k < classes; k++) {
        const real p = e[k] * inverse;
        mean += p * tangent[k];
        cross += (k == label ? miss : p) * tangent[k];
    }
    put_row(s->cross, row, cross);
    real *delta = s->delta ? (real *)s->delta + i * s->step : NULL;
    real *delta_tangent = s->delta_tangent ? (real *)s->delta_tangent + i * s->step : NULL;
    for (size_t k = 0; delta && k < classes; k++) {
        const real p = e[k] * inverse;
        delta[k] = factor * (k == label ? miss : p);
        if (delta_tangent)
            delta_tangent[k] = factor * (p * (tangent[k] - mean));
    }
}

enum { CLASSES_AT_ONCE = 4096 };

static void scores(nn_scores *s) {
    real e[CLASSES_AT_ONCE];
    s->sum = 0.0;
    for (size_t i = 0; i < s->rows; i++)
        row_of_scores(s, i, e);
}
