/* What a run hands out: its last iterate, a random one, or the best. Theorems speak of a random
 * iterate, people want the last or the best one.
 *
 * Whatever the rule, the run's own x, y and v are the ones to hand out, at every time: looking at
 * the run, tracing it and saving it need not know. Where that is not the last iterate, the iterates
 * are vectors of their own. */
#pragma once

#include "bilevel/solver.h"

enum { BLV_OUTPUT_LAST, BLV_OUTPUT_RANDOM, BLV_OUTPUT_BEST };
#define BLV_OUTPUT_WORDS "last|random|best"

typedef struct blv_iterate_selection {
    int rule;          /* a field for parameter tables */
    blv_vec *x, *y;    /* what to iterate on */
    blv_vec *v;        /* solution of the linear system there; not moved */
    blv_vec *v_chosen; /* that of the iterate to hand out */
    double best;       /* smallest score so far */
} blv_iterate_selection;

/* In `open`. Registers v as "v". */
blv_error blv_iterate_selection_open(blv_run *run, blv_iterate_selection *output);
/* At the beginning of a step: the first iterate is the run's start. */
void blv_iterate_selection_begin(blv_run *run, blv_iterate_selection *output);
/* The present iterate has been looked at: it may become the one to hand out. random: with
 * probability 1/(t+1) in iteration t, so each of them is as likely as any other. best: when its
 * score is the smallest so far. */
blv_flow blv_iterate_selection_offer(blv_run *run, blv_iterate_selection *output, double score);
