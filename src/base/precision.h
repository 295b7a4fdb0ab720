/* Elements of arrays in either precision. */
#pragma once

#include "bilevel/space.h"

static inline size_t blv_value_size(blv_precision precision) {
    return precision == BLV_F32 ? sizeof(float) : sizeof(double);
}

static inline double blv_value_get(const void *values, blv_precision precision, size_t i) {
    return precision == BLV_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static inline void blv_value_set(void *values, blv_precision precision, size_t i, double value) {
    if (precision == BLV_F32)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}
