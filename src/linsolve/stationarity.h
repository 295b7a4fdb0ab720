/* How far a point of a closed convex set X is from being stationary:
 *
 *   |x - P(x - t g)| / t,   t |g| = |x| / 64,   or |value| / (64 |g|) where x = 0
 *
 * It is |g| wherever x - t g is in X, and has the unit of g. t must be a length over a slope: with
 * t = 1 a change of the unit of x or of the function would change what counts as stationary. A
 * shorter t measures more strictly next to a bound and loses more to rounding. */
#pragma once

#include "bilevel/space.h"

/* Replaces x by the nearest point of the set. 0, or any other code: fatal. */
typedef int (*blv_projection_fn)(void *context, blv_vec *x);

/* g: the gradient at x, value: the function there. project NULL: the whole space. work: of the same
 * space, neither x nor g. Returns the projection's code. */
int blv_stationarity(const blv_vec *x, double value, const blv_vec *g, blv_projection_fn project,
                     void *context, blv_vec *work, double *stationarity);
