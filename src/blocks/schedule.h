/* Step-size schedules. */
#pragma once

#include <math.h>
#include <stdint.h>

/* (1 + t/hold)^-exponent: the factor of iteration t = 0, 1, ...; about 1 until iteration `hold`. */
static inline double blv_decay_after(double hold, uint64_t t, double exponent) {
    double k = 1.0 + (double)t / hold;
    return exponent == 0.0 ? 1.0 : exponent == 0.5 ? 1.0 / sqrt(k) : pow(k, -exponent);
}

/* (t+1)^-exponent */
static inline double blv_decay(uint64_t t, double exponent) {
    return blv_decay_after(1.0, t, exponent);
}
