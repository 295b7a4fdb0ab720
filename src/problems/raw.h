/* Elements of host vectors, for oracles. */
#ifndef BLV_PROBLEMS_RAW_H
#define BLV_PROBLEMS_RAW_H

#include "bilevel/space.h"

static inline const void *raw(const blv_vec *v) {
    const double *f64 = blv_vec_f64(v);
    return f64 ? (const void *)f64 : (const void *)blv_vec_f32(v);
}

static inline void *raw_mut(blv_vec *v) {
    double *f64 = blv_vec_f64_mut(v);
    return f64 ? (void *)f64 : (void *)blv_vec_f32_mut(v);
}

static inline double element(const void *data, blv_precision precision, size_t i) {
    return precision == BLV_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline void set_element(void *data, blv_precision precision, size_t i, double value) {
    if (precision == BLV_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

#endif
