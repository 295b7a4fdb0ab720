/* A point of a bilevel problem. */
#pragma once

#include "bilevel/space.h"

typedef struct blv_point {
    const blv_vec *x, *y;
} blv_point;
