/* Nesterov's accelerated gradient steps on a smooth function that is given by its gradient, for the
 * inner problems of solvers. */
#pragma once

#include "blocks/curvature.h"

#include <stdbool.h>

/* gradient = h'(point); the two are different vectors. */
typedef blv_flow (*blv_gradient_fn)(void *context, const blv_vec *point, blv_vec *gradient);

/* Vectors to work in. */
typedef struct blv_agd {
    blv_vec *point, *gradient, *before;
    blv_curvature curvature; /* for those that learn */
} blv_agd;

/* In `open`. learns: it may, see blv_agd_rule. */
blv_error blv_agd_open(blv_run *run, blv_level level, bool learns, blv_agd *agd);

/* The step is 1/L. With `learns`, L is raised to the curvature that the steps meet. */
typedef struct blv_agd_rule {
    double L, momentum;
    bool learns;
    size_t steps;  /* to take; blv_agd_steps leaves here how many it took */
    double reduce; /* enough when |h'| is this share of what it was at z, or rounding; 0: never */
    double tol;    /* enough when |h'| is this; 0: never */
} blv_agd_rule;

/* (sqrt L - sqrt mu)/(sqrt L + sqrt mu) */
double blv_agd_momentum(double L, double mu);

/* From zt = z:
 *   z+ = zt - h'(zt)/L;   zt = z+ + momentum (z+ - z);   z = z+
 * z is an iterate of the run. With momentum 0 these are plain gradient steps. */
blv_flow blv_agd_steps(blv_run *run, blv_agd *agd, blv_gradient_fn gradient, void *context,
                       blv_vec *z, blv_agd_rule *rule);

/* Minimizes from z, any vector: until |h'| <= tol or has fallen to the share `reduce`, at most
 * max_steps steps. The momentum is that for convex functions, j/(j+3), restarted when it points
 * uphill, so no mu is needed. *L comes in as a first guess and is raised as above: the agd must be
 * one that may learn. */
blv_flow blv_agd_minimize(blv_agd *agd, blv_gradient_fn gradient, void *context, blv_vec *z,
                          double reduce, double tol, size_t max_steps, double *L);
