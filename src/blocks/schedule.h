/* Step-size schedules. */
#pragma once

#include <math.h>
#include <stdint.h>

/* (t+1)^-exponent: the factor of iteration t = 0, 1, ... */
static inline double blv_decay(uint64_t t, double exponent) {
    double k = (double)t + 1.0;
    return exponent == 0.0 ? 1.0 : exponent == 0.5 ? 1.0 / sqrt(k) : pow(k, -exponent);
}

/* (1 + t/hold)^-exponent: about 1 until iteration `hold`. With hold = 1 it is the above. */
static inline double blv_decay_after(double hold, uint64_t t, double exponent) {
    return pow(1.0 + (double)t / hold, -exponent);
}
