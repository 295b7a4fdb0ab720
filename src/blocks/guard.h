/* A guard for automatic step sizes.
 *
 * Automatic constants are estimated at the start; far from there the curvature may be larger and
 * the steps too long. Signs of that on whole sums:
 *
 *   the direction has turned by more than 120 degrees since the last one: the step is halved, for
 *   good
 *   the direction has more than doubled in length: this one step is at most |move|/(2 |change|),
 *   with the last move and the change of the direction along it, so that a jump is not followed by
 *   a larger one
 *
 * A direction shorter than eps^(2/3) times the longest one so far turns by rounding: it is not
 * looked at. Steps of at most 1/L give neither sign on a quadratic. On batches directions change by
 * chance. For y and v this is a sign:
 *
 *   the direction has turned, and is more than twice as long as the first one, or as the one at the
 *   last time that this happened: the step is halved, for good
 *
 * while directions of x are clipped at twice the running mean of their lengths: when y and v lag
 * behind, d may grow like exp(x). Estimates whose length varies by design, and whose steps know
 * their variance, are better not clipped: it would add a bias. And no move of x is longer than
 * (unit + |x|)/2, on a batch a twentieth of that: where Phi is nearly straight its constant says
 * nothing about how far that goes. */
#pragma once

#include "blocks/scalar_list.h"

#include <math.h>

typedef struct blv_guard {
    blv_vec *before; /* last direction; NULL: the guard is off */
    double before_norm;
    double before_move; /* length of the last move */
    double largest;     /* norm so far; on batches: first norm, or that of the last sign */
    double mean;        /* x on batches: running mean of the norms */
    double unit;        /* of moves of x, see blv_move_unit; set it in `prepare` */
    double product;     /* of the last direction and the one at hand */
    double x_norm;      /* of x */
    double cosine;      /* between the last two directions of whole sums; 0: not known */
    bool unclipped;     /* x on batches is not clipped; set before the first step */
    double *mover;      /* the step to halve in place of its own, see blv_steps_loop_y */
} blv_guard;

/* In `open`. name: of the state that it keeps. */
blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard);
/* Whether the direction has turned by more than 120 degrees since the last one. */
static inline bool blv_guard_turned(const blv_guard *guard, double norm) {
    return guard->product < -0.5 * norm * guard->before_norm;
}
/* Forgets the last direction, but not how long directions have been: the next one belongs to
 * another function. */
void blv_guard_reset(blv_guard *guard);
/* Adds what blv_guard_step looks at to the reduction of a step. x: the moves are those of x, and
 * are limited by its present size; else NULL. */
static inline blv_scalar *blv_guard_ask(blv_guard *guard, const blv_vec *x,
                                        const blv_vec *direction, blv_scalar *end) {
    if (!guard->before)
        return end;
    guard->x_norm = (double)NAN;
    end = blv_ask_dot(end, &guard->product, guard->before, direction);
    return x ? blv_ask_norm(end, &guard->x_norm, x) : end;
}
/* The step to take along direction, whose norm is given; batch: what it was computed on. *step is
 * the automatic step, which is halved when the direction has turned; decay multiplies it. */
double blv_guard_step(blv_guard *guard, double *step, double decay, const blv_batch *batch,
                      const blv_vec *direction, double norm);
