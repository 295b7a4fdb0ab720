/* Vectors of one precision in one instruction set: what the dense kernels are written in.
 *
 * Included once in a file that defines REAL_IS_FLOAT as 0 or 1 and is compiled for BLV_ISA. Sums,
 * products and comparisons are the compiler's own vector operations; the functions here are what it
 * has no operator for. The base set of x86-64 has no fused multiply-add: there a product is rounded
 * first; that of aarch64, NEON, has one. */
#pragma once

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

/* ---- Sums over lanes ----
 *
 * Bitwise identical in all instruction sets with fused multiply-add. A sum over many numbers is
 * made in as many partial sums as 64 bytes have reals, in PARTS vectors: vector c of the numbers
 * goes to part c % PARTS. (Where a product is rounded first, bits differ anyway: one vector.) At
 * the end the upper half of the partial sums is added to the lower one until one is left. */
#if defined(BLV_ISA_avx2)
#define PARTS 2
#define EACH_PART(f, ...) f(0, __VA_ARGS__) f(1, __VA_ARGS__)
#elif defined(__aarch64__)
#define PARTS 4
#define EACH_PART(f, ...) f(0, __VA_ARGS__) f(1, __VA_ARGS__) f(2, __VA_ARGS__) f(3, __VA_ARGS__)
#else
#define PARTS 1
#define EACH_PART(f, ...) f(0, __VA_ARGS__)
#endif

ALWAYS_INLINE vec fold_parts(const vec part[PARTS]) {
#if PARTS == 4
    return (part[0] + part[2]) + (part[1] + part[3]);
#elif PARTS == 2
    return part[0] + part[1];
#else
    return part[0];
#endif
}

/* Upper halves of two vectors added to the lower ones, side by side: FOLD_64 of 64 bytes, FOLD_32
 * of the 32 in each half, FOLD_16 and FOLD_8 within 16 bytes. */
#if defined(BLV_ISA_avx512)
#define FOLD_64(a, b) ((vec)CHUNKS_512(a, b, 0x44) + (vec)CHUNKS_512(a, b, 0xee))
#define FOLD_32(a, b) ((vec)CHUNKS_512(a, b, 0x88) + (vec)CHUNKS_512(a, b, 0xdd))
#elif defined(BLV_ISA_avx2)
#define FOLD_32(a, b)                                                                              \
    ((vec)INTRINSIC(permute2f128)(a, b, 0x20) + (vec)INTRINSIC(permute2f128)(a, b, 0x31))
#endif
#if REAL_IS_FLOAT
#define CHUNKS_512 _mm512_shuffle_f32x4
#else
#define CHUNKS_512 _mm512_shuffle_f64x2
#endif
#if defined(__x86_64__) && REAL_IS_FLOAT
#if defined(BLV_ISA_avx512)
typedef __m512d pairs;
#define PAIRS(name) _mm512_##name##_pd
#elif defined(BLV_ISA_avx2)
typedef __m256d pairs;
#define PAIRS(name) _mm256_##name##_pd
#else
typedef __m128d pairs;
#define PAIRS(name) _mm_##name##_pd
#endif
#define FOLD_16(a, b)                                                                              \
    ((vec)PAIRS(unpacklo)((pairs)(a), (pairs)(b)) + (vec)PAIRS(unpackhi)((pairs)(a), (pairs)(b)))
#define FOLD_8(a, b) ((vec)INTRINSIC(shuffle)(a, b, 0x88) + (vec)INTRINSIC(shuffle)(a, b, 0xdd))
#elif defined(__x86_64__)
#define FOLD_16(a, b) ((vec)INTRINSIC(unpacklo)(a, b) + (vec)INTRINSIC(unpackhi)(a, b))
#elif defined(__aarch64__) && REAL_IS_FLOAT
#define FOLD_16(a, b)                                                                              \
    ((vec)vtrn1q_f64((float64x2_t)(a), (float64x2_t)(b)) +                                         \
     (vec)vtrn2q_f64((float64x2_t)(a), (float64x2_t)(b)))
#define FOLD_8(a, b) vpaddq_f32(a, b)
#elif defined(__aarch64__)
#define FOLD_16(a, b) vpaddq_f64(a, b)
#elif REAL_IS_FLOAT
#define FOLD_16(a, b) ((vec){(a)[0] + (a)[2], (a)[1] + (a)[3], (b)[0] + (b)[2], (b)[1] + (b)[3]})
#define FOLD_8(a, b) ((vec){(a)[0] + (a)[1], (a)[2] + (a)[3], (b)[0] + (b)[1], (b)[2] + (b)[3]})
#else
#define FOLD_16(a, b) ((vec){(a)[0] + (a)[1], (b)[0] + (b)[1]})
#endif

/* to[0..3] = the sums of the lanes of four vectors, or to[0..3] += them */
ALWAYS_INLINE void put_sums(real *to, int add, vec a, vec b, vec c, vec d) {
#if VECTOR_BYTES == 16 && !REAL_IS_FLOAT
    vec ab = FOLD_16(a, b), cd = FOLD_16(c, d);
    if (add) {
        ab += load(to);
        cd += load(to + 2);
    }
    store(to, ab);
    store(to + 2, cd);
#else
    typedef real four __attribute__((vector_size(4 * sizeof(real)), may_alias));
    typedef real loose_four __attribute__((vector_size(4 * sizeof(real)), aligned(4), may_alias));
#if VECTOR_BYTES == 16
    four sums = FOLD_8(FOLD_16(a, b), FOLD_16(c, d));
#elif defined(BLV_ISA_avx512) && REAL_IS_FLOAT
    vec chunks = FOLD_32(FOLD_64(a, b), FOLD_64(c, d)); /* a chunk of 16 bytes for each */
    chunks += (vec)_mm512_permute_ps(chunks, 0x4e);
    chunks += (vec)_mm512_permute_ps(chunks, 0xb1);
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    four sums = _mm512_castps512_ps128(_mm512_permutexvar_ps(first, chunks));
#elif defined(BLV_ISA_avx512)
    const vec chunks = FOLD_32(FOLD_64(a, c), FOLD_64(b, d));
    const __m256d ac = _mm512_castpd512_pd256(chunks), bd = _mm512_extractf64x4_pd(chunks, 1);
    four sums = _mm256_unpacklo_pd(ac, bd) + _mm256_unpackhi_pd(ac, bd);
#elif REAL_IS_FLOAT
    const vec chunks = FOLD_16(FOLD_32(a, c), FOLD_32(b, d));
    const __m128 ab = _mm256_castps256_ps128(chunks), cd = _mm256_extractf128_ps(chunks, 1);
    four sums = _mm_shuffle_ps(ab, cd, 0x88) + _mm_shuffle_ps(ab, cd, 0xdd);
#else
    four sums = FOLD_16(FOLD_32(a, c), FOLD_32(b, d));
#endif
    if (add)
        sums += *(const loose_four *)to;
    *(loose_four *)to = sums;
#endif
}

/* The same of eight vectors, the second four sums `apart` from the first. */
ALWAYS_INLINE void put_sums_of_two(real *to, size_t apart, int add, vec a, vec b, vec c, vec d,
                                   vec e, vec f, vec g, vec h) {
#if defined(BLV_ISA_avx512) && REAL_IS_FLOAT
    vec sums =
        FOLD_16(FOLD_32(FOLD_64(a, b), FOLD_64(c, d)), FOLD_32(FOLD_64(e, f), FOLD_64(g, h)));
    sums += (vec)_mm512_permute_ps(sums, 0xb1);
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256 both = _mm512_castps512_ps256(_mm512_permutexvar_ps(first, sums));
    __m128 abcd = _mm256_castps256_ps128(both), efgh = _mm256_extractf128_ps(both, 1);
    if (add) {
        abcd += _mm_loadu_ps(to);
        efgh += _mm_loadu_ps(to + apart);
    }
    _mm_storeu_ps(to, abcd);
    _mm_storeu_ps(to + apart, efgh);
#else
    put_sums(to, add, a, b, c, d);
    put_sums(to + apart, add, e, f, g, h);
#endif
}

/* A vector of the sums of as many vectors as it has lanes, or of four vectors when that is more. */
#define SUMMED (LANES < 4 ? 4 : LANES)
ALWAYS_INLINE void sum_each(const vec *of, vec *sums) {
#if defined(BLV_ISA_avx512) && REAL_IS_FLOAT
#define ROW(r) FOLD_32(FOLD_64(of[r], of[(r) + 4]), FOLD_64(of[(r) + 8], of[(r) + 12]))
    const vec a = ROW(0), b = ROW(1), c = ROW(2), d = ROW(3);
    sums[0] = FOLD_8(FOLD_16(a, b), FOLD_16(c, d));
#elif defined(BLV_ISA_avx512)
#define ROW(r) FOLD_32(FOLD_64(of[r], of[(r) + 2]), FOLD_64(of[(r) + 4], of[(r) + 6]))
    const vec a = ROW(0), b = ROW(1);
    sums[0] = FOLD_16(a, b);
#elif defined(BLV_ISA_avx2) && REAL_IS_FLOAT
#define ROW(r) FOLD_32(of[r], of[(r) + 4])
    const vec a = ROW(0), b = ROW(1), c = ROW(2), d = ROW(3);
    sums[0] = FOLD_8(FOLD_16(a, b), FOLD_16(c, d));
#elif defined(BLV_ISA_avx2)
#define ROW(r) FOLD_32(of[r], of[(r) + 2])
    const vec a = ROW(0), b = ROW(1);
    sums[0] = FOLD_16(a, b);
#elif REAL_IS_FLOAT
    const vec ab = FOLD_16(of[0], of[1]), cd = FOLD_16(of[2], of[3]);
    sums[0] = FOLD_8(ab, cd);
#else
    sums[0] = FOLD_16(of[0], of[1]);
    sums[1] = FOLD_16(of[2], of[3]);
#endif
#undef ROW
}
