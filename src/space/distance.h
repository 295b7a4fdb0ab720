/* |a - b|, by way of a vector that holds the difference afterwards. Asks for one scalar alone: for
 * set-up and inner solves, not for the steps of a solver. */
#pragma once

#include "bilevel/space.h"

static inline double blv_distance(blv_vec *difference, const blv_vec *a, const blv_vec *b) {
    blv_vec_combine(difference, 1.0, a, -1.0, b);
    return blv_vec_norm(difference);
}
