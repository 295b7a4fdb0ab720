/* What the elementwise operations compute, in double: for the host's loops, for the default and on
 * a GPU. */
#pragma once

#include "bilevel/space.h"

#include <math.h>

#ifdef __CUDACC__
#define ANYWHERE __host__ __device__ static inline
#else
#define ANYWHERE static inline
#endif

ANYWHERE double blv_apply_element(blv_elementwise operation, double c, double a, double b) {
    switch (operation) {
    case BLV_PRODUCT:
        return c * a * b;
    case BLV_QUOTIENT:
        return a / (b + c);
    case BLV_SQRT:
        return sqrt(c * a);
    case BLV_SIGMOID:
        return 1.0 / (1.0 + exp(-c * a));
    case BLV_LEAST:
        return a < b ? b : a;
    case BLV_MOST:
        return a > b ? b : a;
    case BLV_EXCESS:
        return a <= c ? 0.0 : a - c;
    default: /* BLV_STEP */
        return a > c ? 1.0 : a <= c ? 0.0 : a;
    }
}
#undef ANYWHERE
