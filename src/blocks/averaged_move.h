/* x += eta (P_X(x - step d) - x), 0 < eta <= 1: a move part of the way to a projected point, in two
 * halves. For any iterate x that is to stay in X. */
#pragma once

#include "bilevel/solver.h"

/* ahead = P_X(x - step d), and |x - ahead|/step, the size of the gradient mapping. Where X is the
 * whole space that is |d|, and ahead is not set. */
blv_flow blv_look_ahead(blv_run *run, const blv_vec *x, double step, const blv_vec *d,
                        blv_vec *ahead, double *mapping);
/* x += eta (ahead - x) with all that was handed to blv_look_ahead. */
blv_flow blv_move_part(blv_run *run, blv_vec *x, double eta, double step, const blv_vec *d,
                       const blv_vec *ahead);
