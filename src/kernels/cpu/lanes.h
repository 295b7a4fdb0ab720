/* Vectors of one precision in one instruction set: what the dense kernels are written in.
 *
 * Included once in a file that defines REAL_IS_FLOAT as 0 or 1 and is compiled for BLV_ISA. Sums,
 * products and comparisons are the compiler's own vector operations; the functions here are what it
 * has no operator for. The base set of x86-64 has no fused multiply-add: there a product is rounded
 * first; that of aarch64, NEON, has one. */
#ifndef BLV_KERNELS_CPU_LANES_H
#define BLV_KERNELS_CPU_LANES_H

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
/* Inner loops stay functions of their own: inlined next to others they run out of registers. */
#define OUT_OF_LINE static __attribute__((noinline))

#if REAL_IS_FLOAT
typedef float real;
typedef int32_t integer; /* of the size of a real: what its bits and its comparisons are */
typedef uint32_t whole;
#if defined(__aarch64__)
#define SUFFIX f32
#else
#define SUFFIX ps
#endif
#else
typedef double real;
typedef int64_t integer;
typedef uint64_t whole;
#if defined(__aarch64__)
#define SUFFIX f64
#else
#define SUFFIX pd
#endif
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#if defined(BLV_ISA_avx512)
#define VECTOR_BYTES 64
#define INTRINSIC(name) PASTE(_mm512_##name##_, SUFFIX)
#elif defined(BLV_ISA_avx2)
#define VECTOR_BYTES 32
#define INTRINSIC(name) PASTE(_mm256_##name##_, SUFFIX)
#else
#define VECTOR_BYTES 16
#if defined(__aarch64__)
#define INTRINSIC(name) PASTE(v##name##q_, SUFFIX)
#else
#define INTRINSIC(name) PASTE(_mm_##name##_, SUFFIX)
#endif
#endif

/* Registers for vectors: what the sizes of tiles are made for. */
#if defined(BLV_ISA_avx512) || defined(__aarch64__)
#define MANY_REGISTERS 1
#else
#define MANY_REGISTERS 0
#endif
/* That of a vector, in an asm statement. */
#if defined(__x86_64__)
#define VECTOR_OPERAND "v"
#elif defined(__aarch64__)
#define VECTOR_OPERAND "w"
#else
#define VECTOR_OPERAND "m"
#endif

#define LANES (VECTOR_BYTES / sizeof(real))

typedef real vec __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef integer ivec __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef whole uvec __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef real loose_vec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef integer loose_ivec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

ALWAYS_INLINE vec load(const real *from) {
    return *(const loose_vec *)from;
}

ALWAYS_INLINE ivec load_integers(const integer *from) {
    return *(const loose_ivec *)from;
}

ALWAYS_INLINE void store(real *to, vec v) {
    *(loose_vec *)to = v;
}

ALWAYS_INLINE vec all(real x) {
#if defined(__x86_64__)
    return (vec)INTRINSIC(set1)(x);
#else
    return x - (vec){0};
#endif
}

/* a b + c */
ALWAYS_INLINE vec multiply_add(vec a, vec b, vec c) {
#if defined(__aarch64__)
    return INTRINSIC(fma)(c, a, b);
#elif defined(BLV_ISA_base)
    return a * b + c;
#else
    return (vec)INTRINSIC(fmadd)(a, b, c);
#endif
}

/* The lanes of `yes` where the mask (a comparison) holds, of `no` elsewhere. */
ALWAYS_INLINE vec choose(ivec mask, vec yes, vec no) {
    return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask));
}

/* The larger of two in each lane; b where one of them is NaN. */
ALWAYS_INLINE vec larger_of(vec a, vec b) {
#if defined(__x86_64__)
    return (vec)INTRINSIC(max)(a, b);
#else
    return choose(a > b, a, b);
#endif
}

/* -|v| */
ALWAYS_INLINE vec minus_size_of(vec v) {
    return (vec)((ivec)v | (ivec)all(-(real)0.0));
}

/* v where the mask does not hold, 0 where it does */
ALWAYS_INLINE vec without(ivec mask, vec v) {
    return (vec)((ivec)v & ~mask);
}

ALWAYS_INLINE ivec lane_numbers(void) {
    ivec lane;
    for (size_t l = 0; l < LANES; l++)
        lane[l] = (integer)l;
    return lane;
}

/* The first lanes of a vector: what is left of a row after its last whole vector. */
#if defined(BLV_ISA_avx512)
typedef __mmask16 first_lanes;

ALWAYS_INLINE first_lanes first_lanes_of(size_t count) {
    return (first_lanes)((1u << count) - 1u);
}

ALWAYS_INLINE vec load_first(const real *from, first_lanes some) {
#if REAL_IS_FLOAT
    return (vec)_mm512_maskz_loadu_ps(some, from);
#else
    return (vec)_mm512_maskz_loadu_pd((__mmask8)some, from);
#endif
}
#elif defined(BLV_ISA_avx2)
typedef __m256i first_lanes;

ALWAYS_INLINE first_lanes first_lanes_of(size_t count) {
    return (first_lanes)(lane_numbers() < (integer)count - (ivec){0});
}

ALWAYS_INLINE vec load_first(const real *from, first_lanes some) {
    return (vec)INTRINSIC(maskload)(from, some);
}
#else
typedef size_t first_lanes;

ALWAYS_INLINE first_lanes first_lanes_of(size_t count) {
    return count;
}

ALWAYS_INLINE vec load_first(const real *from, first_lanes some) {
    real lane[LANES] = {0};
    for (size_t l = 0; l < some; l++)
        lane[l] = from[l];
    return load(lane);
}
#endif

/* The sums of the lanes of four vectors, next to each other. */
#if REAL_IS_FLOAT
typedef real four_sums __attribute__((vector_size(16), may_alias));
typedef real loose_four __attribute__((vector_size(16), aligned(4), may_alias));

ALWAYS_INLINE four_sums sum_lanes(vec a, vec b, vec c, vec d) {
#if defined(__aarch64__)
    return vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d));
#elif !defined(__x86_64__)
    const vec of[4] = {a, b, c, d};
    vec sums;
    for (size_t i = 0; i < 4; i++)
        sums[i] = (of[i][0] + of[i][1]) + (of[i][2] + of[i][3]);
    return sums;
#elif defined(BLV_ISA_base)
    __m128 p = a, q = b, r = c, s = d;
    _MM_TRANSPOSE4_PS(p, q, r, s);
    return (p + q) + (r + s);
#else
    const vec ab = (vec)INTRINSIC(unpacklo)(a, b) + (vec)INTRINSIC(unpackhi)(a, b);
    const vec cd = (vec)INTRINSIC(unpacklo)(c, d) + (vec)INTRINSIC(unpackhi)(c, d);
#if defined(BLV_ISA_avx512)
    const __m512 abcd = (__m512)_mm512_unpacklo_pd((__m512d)ab, (__m512d)cd) +
                        (__m512)_mm512_unpackhi_pd((__m512d)ab, (__m512d)cd);
    const __m256 half = _mm512_castps512_ps256(abcd) + _mm512_extractf32x8_ps(abcd, 1);
#else
    const __m256 half = (__m256)_mm256_unpacklo_pd((__m256d)ab, (__m256d)cd) +
                        (__m256)_mm256_unpackhi_pd((__m256d)ab, (__m256d)cd);
#endif
    return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
#endif
}
#elif defined(BLV_ISA_base)
/* Two halves: a vector wider than the registers is no result of a function. */
typedef struct two_sums {
    vec ab, cd;
} two_sums;

ALWAYS_INLINE two_sums sum_lanes(vec a, vec b, vec c, vec d) {
    return (two_sums){{a[0] + a[1], b[0] + b[1]}, {c[0] + c[1], d[0] + d[1]}};
}
#else
typedef real four_sums __attribute__((vector_size(32), may_alias));
typedef real loose_four __attribute__((vector_size(32), aligned(4), may_alias));

ALWAYS_INLINE four_sums sum_lanes(vec a, vec b, vec c, vec d) {
    const vec ab = (vec)INTRINSIC(unpacklo)(a, b) + (vec)INTRINSIC(unpackhi)(a, b);
    const vec cd = (vec)INTRINSIC(unpacklo)(c, d) + (vec)INTRINSIC(unpackhi)(c, d);
#if defined(BLV_ISA_avx512)
    const __m512d mixed = _mm512_shuffle_f64x2(ab, cd, 0x88) + _mm512_shuffle_f64x2(ab, cd, 0xdd);
    const __m256d low = _mm512_castpd512_pd256(mixed), high = _mm512_extractf64x4_pd(mixed, 1);
#else
    const __m256d low = ab, high = cd;
#endif
    return _mm256_permute2f128_pd(low, high, 0x20) + _mm256_permute2f128_pd(low, high, 0x31);
}
#endif

/* to[0..3] = the four sums, or to[0..3] += them */
ALWAYS_INLINE void put_sums(real *to, int add, vec a, vec b, vec c, vec d) {
#if defined(BLV_ISA_base) && !REAL_IS_FLOAT
    two_sums sums = sum_lanes(a, b, c, d);
    if (add) {
        sums.ab += load(to);
        sums.cd += load(to + 2);
    }
    store(to, sums.ab);
    store(to + 2, sums.cd);
#else
    four_sums sums = sum_lanes(a, b, c, d);
    if (add)
        sums += *(const loose_four *)to;
    *(loose_four *)to = sums;
#endif
}

/* A vector of the sums of as many vectors as it has lanes, or of four vectors when that is more. */
#define SUMMED (LANES < 4 ? 4 : LANES)
ALWAYS_INLINE void sum_each(const vec *of, vec *sums) {
#if defined(BLV_ISA_avx512) && REAL_IS_FLOAT
    const __m512 first = _mm512_castps128_ps512(sum_lanes(of[0], of[1], of[2], of[3]));
    const __m128 second = sum_lanes(of[4], of[5], of[6], of[7]);
    const __m512 third = _mm512_castps128_ps512(sum_lanes(of[8], of[9], of[10], of[11]));
    const __m128 fourth = sum_lanes(of[12], of[13], of[14], of[15]);
    const __m512 upper = _mm512_insertf32x4(third, fourth, 1);
    sums[0] =
        _mm512_insertf32x8(_mm512_insertf32x4(first, second, 1), _mm512_castps512_ps256(upper), 1);
#elif defined(BLV_ISA_avx512)
    sums[0] = _mm512_insertf64x4(_mm512_castpd256_pd512(sum_lanes(of[0], of[1], of[2], of[3])),
                                 sum_lanes(of[4], of[5], of[6], of[7]), 1);
#elif defined(BLV_ISA_avx2) && REAL_IS_FLOAT
    sums[0] = _mm256_insertf128_ps(_mm256_castps128_ps256(sum_lanes(of[0], of[1], of[2], of[3])),
                                   sum_lanes(of[4], of[5], of[6], of[7]), 1);
#elif defined(BLV_ISA_base) && !REAL_IS_FLOAT
    const two_sums two = sum_lanes(of[0], of[1], of[2], of[3]);
    sums[0] = two.ab;
    sums[1] = two.cd;
#else
    sums[0] = sum_lanes(of[0], of[1], of[2], of[3]);
#endif
}

#endif
