/* Numbers and elements of arrays in either precision. */
#pragma once

#include "bilevel/space.h"

#include <float.h>
#include <math.h>

/* The distance from 1 to the next number. */
static inline double blv_epsilon(blv_precision precision) {
    return precision == BLV_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

static inline double blv_epsilon_of(const blv_vec *v) {
    return blv_epsilon(blv_space_precision(blv_vec_space(v)));
}

/* Whether they are there, if any, and finite. */
static inline bool blv_all_finite(const double *numbers, size_t count) {
    size_t i = 0;
    while (numbers && i < count && isfinite(numbers[i]))
        i++;
    return i == count;
}

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
