/* exp and log1p of whole vectors, where the losses need them: exp of what is not positive, log1p of
 * what is not negative.
 *
 *   exp    x = n ln 2 + r, |r| <= ln 2 / 2; exp r by a polynomial, 2^n by its bits. The polynomial
 *          is off by 1e-8 (float) and 2e-17 (double), relative.
 *   log1p  1 + x = 2^n m, m between sqrt 1/2 and sqrt 2; log m = 2 atanh((m - 1) / (m + 1)), by a
 *          polynomial off by 3e-9 and 5e-18. While n = 0, m - 1 is x itself: small x keep all their
 *          digits.
 * Both let NaN through. Terms are added in pairs where that makes the chain of dependent operations
 * shorter: the sweeps wait for it. */
#pragma once

#include "kernels/cpu/lanes.h"

#if REAL_IS_FLOAT
#define R(x) x##f
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#define LN2_HIGH 0x1.63p-1f /* few bits: n times it is exact */
#define LN2_LOW -0x1.bd0106p-13f
#else
#define R(x) x
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
#define LN2_HIGH 0x1.62e42fefa38p-1
#define LN2_LOW 0x1.ef35793c7673p-45
#endif
#define SQRT_HALF R(0.70710678118654752440)

/* exp of x <= 0; 0 below the normal numbers. Adding a number with no bits after the point rounds to
 * a whole number, which is left in the low bits of the sum. */
ALWAYS_INLINE vec exp_of(vec x) {
    const vec lowest = all(-(real)EXPONENT_BIAS * R(0.69314718055994530942));
    const vec rounder = all((real)((integer)3 << (MANTISSA_BITS - 1)) + (real)EXPONENT_BIAS);
    x = larger_of(lowest, x);
    const vec shifted = multiply_add(x, all(R(1.4426950408889634074)), rounder);
    const vec n = shifted - rounder;
    const vec power = (vec)((ivec)shifted << MANTISSA_BITS);
    vec r = multiply_add(n, all(-LN2_HIGH), x);
    r = multiply_add(n, all(-LN2_LOW), r);
    const vec r2 = r * r;
#if REAL_IS_FLOAT
    const vec q01 = multiply_add(all(0.1666657666611992831f), r, all(0.5f));
    const vec q23 = multiply_add(all(0.008363232883682618204f), r, all(0.04166655421298415031f));
    const vec q24 = multiply_add(all(0.001392625083149761172f), r2, q23);
    const vec q = multiply_add(q24, r2, q01);
#else
    const vec r4 = r2 * r2;
    const vec q01 = multiply_add(all(0.1666666666666666746), r, all(0.5000000000000001031));
    const vec q23 = multiply_add(all(8.333333333330038197e-3), r, all(4.166666666662382053e-2));
    const vec q45 = multiply_add(all(1.984126986317155603e-4), r, all(1.388888891736708056e-3));
    const vec q67 = multiply_add(all(2.755726827690569619e-6), r, all(2.48015210578682052e-5));
    const vec q89 = multiply_add(all(2.5100472505694996e-8), r, all(2.762020159103154879e-7));
    const vec q03 = multiply_add(q23, r2, q01), q47 = multiply_add(q67, r2, q45);
    const vec q = multiply_add(multiply_add(q89, r4, q47), r4, q03);
#endif
    const vec tail = multiply_add(r2, q, r); /* exp r - 1 */
    return multiply_add(tail, power, power);
}

/* log(1 + x) of x >= 0 */
ALWAYS_INLINE vec log1p_of(vec x) {
    const vec one = all(R(1.0));
    const vec y = x + one;
    const ivec bits = (ivec)y;
    /* n such that y / 2^n lies in [sqrt 1/2, sqrt 2): the exponent of y over sqrt 1/2 */
    const ivec n = (ivec)((uvec)(bits - (ivec)all(SQRT_HALF)) >> MANTISSA_BITS);
    const vec reduced = (vec)(bits - (n << MANTISSA_BITS)) - one;
    const vec m1 = choose(n == 0, x, reduced);
    const vec z = m1 / (m1 + all(R(2.0)));
    const vec w = z * z;
#if REAL_IS_FLOAT
    vec q = all(0.2958039828148470802f);
    q = multiply_add(q, w, all(0.3998877067351087638f));
    q = multiply_add(q, w, all(0.6666668506375032702f));
#else
    vec q = all(0.1461703754879165015);
    q = multiply_add(q, w, all(0.1533167403016786185));
    q = multiply_add(q, w, all(0.1818289055669560353));
    q = multiply_add(q, w, all(0.222222111151441615));
    q = multiply_add(q, w, all(0.2857142862609589154));
    q = multiply_add(q, w, all(0.3999999999989923898));
    q = multiply_add(q, w, all(0.6666666666666669695));
#endif
    const vec log_m = multiply_add(z * w, q, z + z);
    /* n as a real, by its place in the low bits of a large one */
    const vec large = all((real)((integer)3 << (MANTISSA_BITS - 1)));
    const vec exponent = (vec)((ivec)large + n) - large;
    const vec low = multiply_add(exponent, all(LN2_LOW), log_m);
    return choose(x >= all(R(0.0)), multiply_add(exponent, all(LN2_HIGH), low), x);
}
