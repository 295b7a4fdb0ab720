/* Problems whose x holds a weight for each row: training with given weights, and how the trained
 * model would change with them. For ways of choosing that try sets of rows out. */
#pragma once

#include "base/arena.h"
#include "bilevel/run.h"
#include "linsolve/operator.h"

typedef struct blv_weighted_retraining {
    const blv_problem *problem;
    const blv_problem_def *def;
    size_t rows;
    blv_vec *x, *y, *start, *v, *fy, *fx, *jv;
    blv_linear_work *cg;
    blv_arena arena; /* for those that choose; freed with it */
} blv_weighted_retraining;

/* All of them: BLV_OK, or why not. y is at the problem's start. */
blv_error blv_weighted_retraining_open(blv_weighted_retraining *w, const blv_problem *problem,
                                       blv_message *why);
void blv_weighted_retraining_close(blv_weighted_retraining *w);
/* y becomes that of these weights: from the last one, or from the start. f: the upper level there,
 * NULL: not wanted. */
blv_error blv_weighted_retraining_train(blv_weighted_retraining *w, const double *weight,
                                        bool from_start, double *f, blv_message *why);
/* The derivatives of f(x, y*(x)) in every weight, where y was trained last. */
blv_error blv_weighted_retraining_slope(blv_weighted_retraining *w, double *slope,
                                        blv_message *why);

/* One row at random, then always those whose weight would lower f the most, `size` in all, of equal
 * weight; some at a time, so that there are about `rounds` rounds of training. Z. Borsos, M. Mutny,
 * A. Krause, "Coresets via bilevel optimization for continual learning and streaming", NeurIPS 2020
 * (one at a time there). */
blv_error blv_choose_greedy(const blv_problem *problem, size_t size, size_t rounds, uint64_t seed,
                            size_t *index, blv_message *why);

/* Each row is in with a probability, the sum of which is `size`; the expected f goes down by policy
 * gradients, with the mean of the losses so far as the baseline. The most probable rows are taken.
 * X. Zhou, R. Pi, W. Zhang, Y. Lin, T. Zhang, "Probabilistic bilevel coreset selection", ICML 2022.
 */
blv_error blv_choose_probabilistic(const blv_problem *problem, size_t size, size_t rounds,
                                   uint64_t seed, size_t *index, blv_message *why);
