/* Lists of scalars that several blocks add to, for the one reduction of a step. A function that
 * adds to one gets its end and returns the new end:
 *
 *   blv_scalar list[BLV_STEP_SCALARS], *end = list;
 *   end = blv_ask_norm(end, &norm, d);
 *   BLV_TRY(blv_run_reduce(run, (size_t)(end - list), list)); */
#pragma once

#include "bilevel/solver.h"

enum { BLV_STEP_SCALARS = 16 };

static inline blv_scalar *blv_ask_dot(blv_scalar *end, double *result, const blv_vec *a,
                                      const blv_vec *b) {
    *end = (blv_scalar)BLV_DOT(result, a, b);
    return end + 1;
}

static inline blv_scalar *blv_ask_norm(blv_scalar *end, double *result, const blv_vec *a) {
    return blv_ask_dot(end, result, a, NULL);
}
