/* exp(x) = 2^n exp(r): n = round(x / log 2), r = x - n log 2 in two parts, |r| <= log(2)/2, and the
 * Taylor polynomial of degree 13, whose error is below 1e-17 there. The result is within 2 units in
 * the last place of a double. Vectors of doubles in both precisions: f32 results are then rounded
 * once. No fma: bitwise identical on every instruction set. */
#include "kernels/elementwise.h"

#include <stdint.h>
#include <string.h>

#if defined(BLV_ISA_avx512)
#define WIDTH 8
#elif defined(BLV_ISA_avx2)
#define WIDTH 4
#else
#define WIDTH 2
#endif

typedef double lanes __attribute__((vector_size(WIDTH * sizeof(double))));
typedef int64_t bits __attribute__((vector_size(WIDTH * sizeof(int64_t))));

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define JOIN_(a, b, c) a##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

/* x beyond these over- and underflows; the clamped value is put right at the end */
#define LARGEST 709.782712893384
#define SMALLEST (-745.2)

ALWAYS_INLINE void pick(lanes *out, const bits *mask, const lanes *yes, const lanes *no) {
    *out = (lanes)(((bits)*yes & *mask) | ((bits)*no & ~*mask));
}

/* In place, by pointer: wide vectors are not passed by value. NaN stays NaN. */
ALWAYS_INLINE void exp_lanes(lanes *value) {
    const lanes x = *value, zero = {0.0};
    const lanes shift = 6755399441055744.0 - zero; /* 1.5 * 2^52: adding it rounds to whole */
    lanes low = -1000.0 - zero, high = 1000.0 - zero, clamped;
    bits below = (bits)(x < low), above = (bits)(x > high);
    pick(&clamped, &below, &low, &x);
    pick(&clamped, &above, &high, &clamped);
    lanes rounded = clamped * 1.4426950408889634 + shift;
    lanes n = rounded - shift;
    lanes r = (clamped - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    lanes r2 = r * r; /* even and odd powers apart: two short chains instead of a long one */
    lanes even = 1.0 / 479001600 - zero, odd = 1.0 / 6227020800.0 - zero;
    static const double even_factor[] = {1.0 / 3628800, 1.0 / 40320, 1.0 / 720, 1.0 / 24, 0.5, 1.0};
    static const double odd_factor[] = {1.0 / 39916800, 1.0 / 362880, 1.0 / 5040,
                                        1.0 / 120,      1.0 / 6,      1.0};
    for (int i = 0; i < 6; i++) {
        even = even * r2 + even_factor[i];
        odd = odd * r2 + odd_factor[i];
    }
    lanes p = even + r * odd;
    /* 2^n in two factors, so that neither overflows where the product does not: the low bits of
     * `rounded` hold n */
    bits whole = (bits)rounded - (bits)shift, half = whole >> 1, rest = whole - half;
    lanes first = (lanes)((half + 1023) << 52), second = (lanes)((rest + 1023) << 52);
    lanes result = p * first * second;
    const lanes infinity = __builtin_inf() - zero;
    bits over = (bits)(x > LARGEST - zero), under = (bits)(x < SMALLEST - zero),
         nan = (bits)(x != x); // NOLINT(misc-redundant-expression): true for NaN
    pick(&result, &over, &infinity, &result);
    pick(&result, &under, &zero, &result);
    pick(value, &nan, &x, &result);
}

#define REAL double
#define NAMED(name) JOIN(name##_, f64, BLV_ISA)
#include "kernels/cpu/elementwise_body.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) JOIN(name##_, f32, BLV_ISA)
#include "kernels/cpu/elementwise_body.h"
#undef REAL
#undef NAMED
