/* A point of a bilevel problem. */
#ifndef BLV_CORE_POINT_H
#define BLV_CORE_POINT_H

#include "bilevel/space.h"

typedef struct blv_point {
    const blv_vec *x, *y;
} blv_point;

#endif
