/* Rows of floats as pairs of halves, for tensor cores.
 *
 * x = unit (x1 + x2), where the unit is a power of two for each column that brings its largest number
 * to between 2^14 and 2^15. The error of x is at most 2^-23 |x| + 2^-40 times the largest number. */
#pragma once

#include "base/cuda/device.cuh"

#include <cuda_fp16.h>

struct split_rows {
    const float *unit;  /* of each column */
    const __half *part; /* of a row: x1 of all columns, then x2 */
    int width;          /* columns and some zeros: a multiple of 16 */
};

/* unit, then rows, in one piece of memory. */
inline split_rows split_rows_at(const void *memory, size_t columns) {
    const size_t width = (columns + 15) / 16 * 16;
    const float *unit = static_cast<const float *>(memory);
    return {unit, reinterpret_cast<const __half *>(unit + width), int(width)};
}

/* NULL: memory is short, or a row's numbers are all so much smaller than the largest of their
 * columns that halves lose more of them than floats do. The caller releases it. */
void *split_dense(const float *dense, size_t stride, size_t rows, size_t columns);

/* Powers of two: numbers up to `largest`, whose bits these are, times factor are below 2^15. */
struct scale_pair {
    float factor, unit; /* one over the other */
};

__device__ inline scale_pair scale_for(uint32_t largest) {
    const uint32_t exponent = max(largest >> 23, 15u);
    return {__uint_as_float((268u - exponent) << 23), __uint_as_float((exponent - 14u) << 23)};
}

