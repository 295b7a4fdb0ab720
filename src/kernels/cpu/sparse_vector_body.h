/* Vectors of WIDTH numbers of one precision, for the sparse loops. Included by sparse_loops.c for
 * each REAL, has no include guard.
 *
 * A row of classes is a few whole vectors and one of `lanes` numbers, 1 to WIDTH. Nothing past the
 * classes is read or written: there lies the row of the next column, maybe of another thread. */

typedef REAL vector __attribute__((vector_size(BYTES), may_alias));
typedef REAL loose_vector __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL_BITS bits __attribute__((vector_size(BYTES), may_alias));
enum { NAME(width) = BYTES / (int)sizeof(REAL) };
#define WIDTH ((size_t)NAME(width))

typedef struct part {
    size_t lanes;
#if defined(BLV_ISA_avx512)
    __mmask16 mask;
#elif defined(BLV_ISA_avx2)
    __m256i mask;
#endif
} part;

ALWAYS_INLINE vector NAME(spread)(REAL a) {
    return a - (vector){0};
}

ALWAYS_INLINE part NAME(part_of)(size_t lanes) {
    part p = {.lanes = lanes};
#if defined(BLV_ISA_avx512)
    p.mask = (__mmask16)((1U << lanes) - 1U);
#elif defined(BLV_ISA_avx2)
    REAL_BITS on[BYTES / sizeof(REAL)];
    for (size_t l = 0; l < WIDTH; l++)
        on[l] = l < lanes ? -1 : 0;
    memcpy(&p.mask, on, sizeof on);
#endif
    return p;
}

ALWAYS_INLINE vector NAME(load)(const REAL *from) {
    return *(const loose_vector *)from;
}

ALWAYS_INLINE void NAME(store)(REAL *to, vector v) {
    *(loose_vector *)to = v;
}

/* The first lanes; zeros in the others. AVX-512: a load that crosses a cache line waits for both
 * lines, even for one that the mask leaves out, so a half or a quarter is loaded as such where it
 * will do, as it does for 20 classes. */
ALWAYS_INLINE vector NAME(load_part)(const REAL *from, part p) {
#if defined(BLV_ISA_avx512)
    if (p.lanes * sizeof(REAL) <= 16)
        return (vector)QUARTER_LOAD(p.mask, from);
    if (p.lanes * sizeof(REAL) <= 32)
        return (vector)HALF_LOAD(p.mask, from);
    return (vector)MASKED_LOAD(p.mask, from);
#elif defined(BLV_ISA_avx2)
    return (vector)MASKED_LOAD(from, p.mask);
#else
    vector v = {0};
    for (size_t l = 0; l < p.lanes; l++)
        v[l] = from[l];
    return v;
#endif
}

/* AVX2: halves and quarters, because a masked store takes dozens of cycles on some processors. */
ALWAYS_INLINE void NAME(store_part)(REAL *to, vector v, part p) {
#if defined(BLV_ISA_avx512)
    if (p.lanes * sizeof(REAL) <= 16)
        QUARTER_STORE(to, p.mask, v);
    else if (p.lanes * sizeof(REAL) <= 32)
        HALF_STORE(to, p.mask, v);
    else
        MASKED_STORE(to, p.mask, v);
#else
    if (p.lanes == WIDTH) {
        NAME(store)(to, v);
        return;
    }
#if defined(BLV_ISA_avx2)
    __m256i left = (__m256i)v;
    __m128i rest = _mm256_castsi256_si128(left);
    if (p.lanes * sizeof(REAL) & 16) {
        _mm_storeu_si128((__m128i *)(void *)to, rest);
        rest = _mm256_extracti128_si256(left, 1);
        to += 16 / sizeof(REAL);
    }
    if (p.lanes * sizeof(REAL) & 8) {
        _mm_storel_epi64((__m128i *)(void *)to, rest);
        rest = _mm_unpackhi_epi64(rest, rest);
        to += 8 / sizeof(REAL);
    }
    if (p.lanes * sizeof(REAL) & 4) {
        int last = _mm_cvtsi128_si32(rest);
        memcpy(to, &last, sizeof last);
    }
#else
    for (size_t l = 0; l < p.lanes; l++)
        to[l] = v[l];
#endif
#endif
}

ALWAYS_INLINE vector NAME(madd)(vector a, vector b, vector c) {
#if defined(BLV_ISA_base)
    return a * b + c;
#else
    return (vector)FMADD(a, b, c);
#endif
}

ALWAYS_INLINE vector NAME(choose)(bits where, vector a, vector b) {
    return (vector)(((bits)a & where) | ((bits)b & ~where));
}

/* `fill` in place of the lanes beyond the part. */
ALWAYS_INLINE vector NAME(fill_rest)(vector v, part p, REAL fill) {
    bits lane;
    for (size_t l = 0; l < WIDTH; l++)
        lane[l] = (REAL_BITS)l;
    return NAME(choose)(lane < (REAL_BITS)p.lanes - (bits){0}, v, NAME(spread)(fill));
}

ALWAYS_INLINE REAL NAME(sum_of)(vector v) {
    REAL lane[BYTES / sizeof(REAL)];
    memcpy(lane, &v, sizeof lane);
    UNROLL
    for (size_t half = WIDTH / 2; half >= 1; half /= 2) {
        UNROLL
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    }
    return lane[0];
}

ALWAYS_INLINE REAL NAME(largest_of)(vector v) {
    REAL lane[BYTES / sizeof(REAL)];
    memcpy(lane, &v, sizeof lane);
    UNROLL
    for (size_t half = WIDTH / 2; half >= 1; half /= 2) {
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
ALWAYS_INLINE vector NAME(exp_of)(vector x) {
    static const double factor[] = {
        1.0,
        1.0,
        1.0 / 2,
        1.0 / 6,
        1.0 / 24,
        1.0 / 120,
        1.0 / 720,
        1.0 / 5040,
        1.0 / 40320,
        1.0 / 362880,
        1.0 / 3628800,
        1.0 / 39916800,
        1.0 / 479001600,
        1.0 / 6227020800,
    };
    const bits low = x < NAME(spread)(EXP_LOWEST);
    x = NAME(choose)(low, NAME(spread)(EXP_LOWEST), x);
    const vector rounder = NAME(spread)(EXP_ROUNDER);
    const vector shifted = NAME(madd)(x, NAME(spread)((REAL)1.4426950408889634074), rounder);
    const vector n = shifted - rounder;
    vector r = NAME(madd)(n, NAME(spread)(-EXP_LOG2_HIGH), x);
    r = NAME(madd)(n, NAME(spread)(-EXP_LOG2_LOW), r);
    vector sum = NAME(spread)((REAL)factor[EXP_TERMS]);
    UNROLL
    for (size_t k = EXP_TERMS; k-- > 0;)
        sum = NAME(madd)(sum, r, NAME(spread)((REAL)factor[k]));
    const bits power = ((bits)shifted + EXP_BIAS) << EXP_MANTISSA;
    return (vector)((bits)(sum * (vector)power) & ~low);
}
