/* Rows of classes in vectors, for the sparse loops.
 *
 * The work is on rows of W of one number for each class, picked by the columns of the entries. Such
 * a row is a block of up to BLOCK vectors with the classes in lanes, so that an entry is one
 * multiply-add for each vector and nothing is ever reduced over lanes. More classes than a block
 * has go over the entries again. The number of vectors is a constant in each copy of a loop, for
 * sums in registers.
 *
 * The last vector of a row has 1 to LANES numbers. Nothing past the classes is read or written:
 * there lies the row of the next column, maybe of another thread. */
#pragma once

#include "kernels/cpu/lanes.h"

#define BLOCK 4
/* How far ahead of their use numbers are fetched, by measurement: rows of W, in entries, where the
 * rows of the sweep follow each other and where they are listed; rows of the residual, in entries;
 * W and the result in the sweep over columns, in columns. */
#define AHEAD 256
#define LISTED_AHEAD 16
#define RESIDUAL_AHEAD 64
#define COLUMNS_AHEAD 8
#define CACHED_BYTES ((size_t)1 << 20) /* residuals that are in cache anyway */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* f(k) for each of `vectors` vectors, a constant. Written out, because GCC keeps an array of sums
 * in registers only when it never sees a variable index. */
#define EACH(vectors, f)                                                                           \
    do {                                                                                           \
        f(0);                                                                                      \
        if ((vectors) > 1)                                                                         \
            f(1);                                                                                  \
        if ((vectors) > 2)                                                                         \
            f(2);                                                                                  \
        if ((vectors) > 3)                                                                         \
            f(3);                                                                                  \
    } while (0)

#if REAL_IS_FLOAT
#define EXP_LOWEST (-87.0F)
#define EXP_ROUNDER 12582912.0F /* 1.5 * 2^23 */
#define EXP_LOG2_HIGH 0x1.62e4p-1F
#define EXP_LOG2_LOW 0x1.7f7d1cp-20F
#define EXP_TERMS 7
#define EXP_BIAS 127
#define EXP_MANTISSA 23
#else
#define EXP_LOWEST (-708.0)
#define EXP_ROUNDER 6755399441055744.0 /* 1.5 * 2^52 */
#define EXP_LOG2_HIGH 0x1.62e42fee00000p-1
#define EXP_LOG2_LOW 0x1.a39ef35793c76p-33
#define EXP_TERMS 13
#define EXP_BIAS 1023
#define EXP_MANTISSA 52
#endif

/* Masked loads and stores of whole vectors, halves and quarters. */
#if defined(BLV_ISA_avx512) && REAL_IS_FLOAT
#define MASKED_STORE(to, mask, v) _mm512_mask_storeu_ps(to, mask, (__m512)(v))
#define HALF_LOAD(mask, from) _mm512_zextps256_ps512(_mm256_maskz_loadu_ps((__mmask8)(mask), from))
#define QUARTER_LOAD(mask, from) _mm512_zextps128_ps512(_mm_maskz_loadu_ps((__mmask8)(mask), from))
#define HALF_STORE(to, mask, v)                                                                    \
    _mm256_mask_storeu_ps(to, (__mmask8)(mask), _mm512_castps512_ps256((__m512)(v)))
#define QUARTER_STORE(to, mask, v)                                                                 \
    _mm_mask_storeu_ps(to, (__mmask8)(mask), _mm512_castps512_ps128((__m512)(v)))
#elif defined(BLV_ISA_avx512)
#define MASKED_STORE(to, mask, v) _mm512_mask_storeu_pd(to, (__mmask8)(mask), (__m512d)(v))
#define HALF_LOAD(mask, from) _mm512_zextpd256_pd512(_mm256_maskz_loadu_pd((__mmask8)(mask), from))
#define QUARTER_LOAD(mask, from) _mm512_zextpd128_pd512(_mm_maskz_loadu_pd((__mmask8)(mask), from))
#define HALF_STORE(to, mask, v)                                                                    \
    _mm256_mask_storeu_pd(to, (__mmask8)(mask), _mm512_castpd512_pd256((__m512d)(v)))
#define QUARTER_STORE(to, mask, v)                                                                 \
    _mm_mask_storeu_pd(to, (__mmask8)(mask), _mm512_castpd512_pd128((__m512d)(v)))
#endif

typedef struct part {
    size_t lanes;
    first_lanes mask;
} part;

ALWAYS_INLINE part part_of(size_t lanes) {
    return (part){lanes, first_lanes_of(lanes)};
}

/* The first lanes; zeros in the others. AVX-512: a load that crosses a cache line waits for both
 * lines, even for one that the mask leaves out, so a half or a quarter is loaded as such where it
 * will do, as it does for 20 classes. */
ALWAYS_INLINE vec load_part(const real *from, part p) {
#if defined(BLV_ISA_avx512)
    if (p.lanes * sizeof(real) <= 16)
        return (vec)QUARTER_LOAD(p.mask, from);
    if (p.lanes * sizeof(real) <= 32)
        return (vec)HALF_LOAD(p.mask, from);
#endif
    return load_first(from, p.mask);
}

/* AVX2: halves and quarters, because a masked store takes dozens of cycles on some processors. */
ALWAYS_INLINE void store_part(real *to, vec v, part p) {
#if defined(BLV_ISA_avx512)
    if (p.lanes * sizeof(real) <= 16)
        QUARTER_STORE(to, p.mask, v);
    else if (p.lanes * sizeof(real) <= 32)
        HALF_STORE(to, p.mask, v);
    else
        MASKED_STORE(to, p.mask, v);
#else
    if (p.lanes == LANES) {
        store(to, v);
        return;
    }
#if defined(BLV_ISA_avx2)
    __m256i left = (__m256i)v;
    __m128i rest = _mm256_castsi256_si128(left);
    if (p.lanes * sizeof(real) & 16) {
        _mm_storeu_si128((__m128i *)(void *)to, rest);
        rest = _mm256_extracti128_si256(left, 1);
        to += 16 / sizeof(real);
    }
    if (p.lanes * sizeof(real) & 8) {
        _mm_storel_epi64((__m128i *)(void *)to, rest);
        rest = _mm_unpackhi_epi64(rest, rest);
        to += 8 / sizeof(real);
    }
    if (p.lanes * sizeof(real) & 4) {
        int last = _mm_cvtsi128_si32(rest);
        memcpy(to, &last, sizeof last);
    }
#else
    for (size_t l = 0; l < p.lanes; l++)
        to[l] = v[l];
#endif
#endif
}

/* `fill` in place of the lanes beyond the part. */
ALWAYS_INLINE vec fill_rest(vec v, part p, real fill) {
    return choose(lane_numbers() < (integer)p.lanes - (ivec){0}, v, all(fill));
}

/* Of partial sums: vector c of the numbers went to sum[c % PARTS]. */
ALWAYS_INLINE real sum_of(const vec sum[PARTS]) {
    const vec v = fold_parts(sum);
    real lane[VECTOR_BYTES / sizeof(real)];
    memcpy(lane, &v, sizeof lane);
    UNROLL
    for (size_t half = LANES / 2; half >= 1; half /= 2) {
        UNROLL
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    }
    return lane[0];
}

ALWAYS_INLINE real largest_of(vec v) {
    real lane[VECTOR_BYTES / sizeof(real)];
    memcpy(lane, &v, sizeof lane);
    UNROLL
    for (size_t half = LANES / 2; half >= 1; half /= 2) {
        UNROLL
        for (size_t l = 0; l < half; l++)
            lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
    }
    return lane[0];
}

/* exp of numbers up to 0; below EXP_LOWEST, where the result would be subnormal, 0. With
 * x = n log 2 + r and |r| <= log(2) / 2, exp x = 2^n exp r: the sum of r^k / k! up to k =
 * EXP_TERMS is right to half a unit in the last place, and n is made by adding a number so large
 * that only the integer part is left in the mantissa. */
ALWAYS_INLINE vec exp_of(vec x) {
    /* clang-format off */
    static const double factor[] = {
        1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
        1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    /* clang-format on */
    const ivec low = x < all(EXP_LOWEST);
    x = choose(low, all(EXP_LOWEST), x);
    const vec rounder = all(EXP_ROUNDER);
    const vec shifted = multiply_add(x, all((real)1.4426950408889634074), rounder);
    const vec n = shifted - rounder;
    vec r = multiply_add(n, all(-EXP_LOG2_HIGH), x);
    r = multiply_add(n, all(-EXP_LOG2_LOW), r);
    vec sum = all((real)factor[EXP_TERMS]);
    UNROLL
    for (size_t k = EXP_TERMS; k-- > 0;)
        sum = multiply_add(sum, r, all((real)factor[k]));
    const ivec power = ((ivec)shifted + EXP_BIAS) << EXP_MANTISSA;
    return (vec)((ivec)(sum * (vec)power) & ~low);
}
