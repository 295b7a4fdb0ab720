/* The hypergradient of penalty methods that solve both inner problems before each x-step (F2BA,
 * AccF2BA, RAGD-GS):
 *
 *   z = T  steps on g(x, .)                     step 1/Lg,            from the last z
 *   y = T' steps on f(x, .) + lambda g(x, .)    step 1/(2 lambda Lg), from the last y
 *   G = fx(x,y) + lambda (gx(x,y) - gx(x,z))
 *
 * The steps are plain or accelerated; momentum (sqrt Lg - sqrt mu)/(sqrt Lg + sqrt mu) for z, with
 * 4 Lg in the place of Lg for y.
 *
 * On auto Lg is (L_f + lambda L)/lambda, and y gets the step 1/(lambda Lg) and the momentum of z:
 * then y and z lag behind their minimizers by the same amount, which cancels in gx(x,y) - gx(x,z),
 * where it would be multiplied by lambda.
 *
 * Batches are drawn once for all of this, one of f and one of g: with new ones in every step the
 * noise in y and z would be multiplied by lambda. */
#pragma once

#include "blocks/constants.h"
#include "blocks/inner.h"

typedef struct blv_penalized {
    /* fields for parameter tables */
    double lambda;
    blv_inner lower;     /* Lg, mu, T */
    int64_t upper_steps; /* T'; negative: as many as T */

    blv_vec *z;
    blv_penalty at;
    blv_constants_work *work; /* NULL: nothing to estimate */
    blv_constants constants;
} blv_penalized;

/* The rows of a parameter table, for a struct that has its blv_penalized as `inner`. */
/* clang-format off */
#define BLV_PENALIZED_PARAMS(type)                                                               \
    {"lambda", BLV_REAL, offsetof(type, inner.lambda), "auto", DBL_MIN, DBL_MAX, "auto",         \
     "penalty; the bias of the result is of order 1/lambda; auto: 300 " \
     "L_f/mu, and 300 where all constants are given"},                                         \
    {"Lg", BLV_REAL, offsetof(type, inner.lower.L), "auto", DBL_MIN, DBL_MAX, "auto",            \
     "largest curvature of g; auto: estimated, and raised when the inner steps meet more"},      \
    {"mu", BLV_REAL, offsetof(type, inner.lower.mu), "auto", DBL_MIN, DBL_MAX, "auto",           \
     "smallest curvature of g in y; auto: estimated, lowered when the steps are too many"},      \
    {"inner", BLV_INT, offsetof(type, inner.lower.steps), "auto", 1, 9e15, "auto",               \
     "T: inner steps of z; auto: until |gy| has fallen by a factor, at most 1000, on large "      \
     "sums 40"},                                                                                 \
    {"inner_y", BLV_INT, offsetof(type, inner.upper_steps), "inner", 1, 9e15, "inner",           \
     "T': inner steps of y; inner: as many as z"}
/* clang-format on */

/* In `open`. also: the constants are wanted even when nothing here is automatic. */
blv_error blv_penalized_open(blv_run *run, blv_penalized *p, bool accelerated, bool also);
/* In `prepare`. z starts at y. */
blv_flow blv_penalized_prepare(blv_run *run, blv_penalized *p);

/* Both solves at x, then G. Reports gy_norm and r_norm. guard: as in blv_penalty_direction. */
blv_flow blv_penalized_gradient(blv_run *run, blv_penalized *p, const blv_vec *x, bool with_value,
                                blv_vec *G, blv_guard *guard, blv_penalty_look *look);
