/* Gradient steps on the lower level, plain or accelerated, that know their constants: given, or
 * estimated at the start and corrected on the way. For solvers that solve the lower level well
 * before each x-step. */
#pragma once

#include "blocks/accelerated.h"

/* g(x, .) on a batch, and its gradient as a blv_gradient_fn with a blv_lower_level as context. */
typedef struct blv_lower_level {
    blv_run *run;
    const blv_batch *batch;
    const blv_vec *x;
} blv_lower_level;

blv_flow blv_lower_gradient(void *lower_level, const blv_vec *z, blv_vec *gradient);

typedef struct blv_inner {
    /* fields for parameter tables: NaN and negative numbers stand for auto */
    double L, mu;
    int64_t steps;

    bool accelerated, L_auto, mu_auto;
    size_t most;  /* automatic steps */
    double taken; /* steps of the last solve */
    blv_agd agd;
} blv_inner;

/* In `open`: L, mu and taken become scalars of the state, "Lg", "mu" and "inner_steps". */
blv_error blv_inner_open(blv_run *run, blv_inner *inner, bool accelerated);
/* In `prepare`: fills in what is automatic. */
void blv_inner_set(blv_inner *inner, double L, double mu);
/* The share of the distance to the minimizer that plain steps of one solve cover. */
double blv_inner_covered(const blv_inner *inner);

/* Moves z, an iterate. With steps = auto: until |h'| <= tol, or where tol is 0 until it has fallen
 * to a thousandth (plain steps: a tenth), at most 1000, and fewer on large problems. An automatic L
 * is raised to the curvature that the steps meet, an automatic mu lowered when they are too many
 * for the condition number. */
blv_flow blv_inner_solve(blv_run *run, blv_inner *inner, blv_gradient_fn gradient, void *context,
                         double tol, blv_vec *z);
