/* Loops of sweeps over sparse rows, compiled once for each instruction set (BLV_ISA) and, through
 * the sparse_*_body.h headers, once for each precision.
 *
 * The work is on rows of W of one number for each class, picked by the columns of the entries. Such
 * a row is a block of up to BLOCK vectors with the classes in lanes, so that an entry is one
 * multiply-add for each vector and nothing is ever reduced over lanes. More classes than a block
 * has go over the entries again. The number of vectors is a constant in each copy of a loop, for
 * sums in registers. */
#include "kernels/cpu/sparse_loops.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(BLV_ISA_avx512)
#define BYTES 64
#elif defined(BLV_ISA_avx2)
#define BYTES 32
#else
#define BYTES 16
#endif

#define BLOCK 4
/* How far ahead of their use numbers are fetched, by measurement: rows of W, in entries, where the
 * rows of the sweep follow each other and where they are listed; rows of the residual, in entries;
 * W and the result in the sweep over columns, in columns. */
#define AHEAD 256
#define LISTED_AHEAD 16
#define RESIDUAL_AHEAD 64
#define COLUMNS_AHEAD 8
#define CACHED_BYTES ((size_t)1 << 20) /* residuals that are in cache anyway */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
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

ALWAYS_INLINE size_t row_at(const blv_rows *rows, size_t position) {
    return rows->index ? rows->index[position] : rows->first + position;
}

#define PASTE_(a, b, c) a##b##_##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#define NAME(name) PASTE(name##_, PRECISION, BLV_ISA)
#define vector NAME(vector)
#define loose_vector NAME(loose_vector)
#define bits NAME(bits)
#define part NAME(part)

#define PRECISION f64
#define REAL double
#define REAL_BITS int64_t
#define EXP_LOWEST (-708.0)
#define EXP_ROUNDER 6755399441055744.0 /* 1.5 * 2^52 */
#define EXP_LOG2_HIGH 0x1.62e42fee00000p-1
#define EXP_LOG2_LOW 0x1.a39ef35793c76p-33
#define EXP_TERMS 13
#define EXP_BIAS 1023
#define EXP_MANTISSA 52
#if defined(BLV_ISA_avx512)
#define MASKED_LOAD(mask, from) _mm512_maskz_loadu_pd((__mmask8)(mask), from)
#define MASKED_STORE(to, mask, v) _mm512_mask_storeu_pd(to, (__mmask8)(mask), (__m512d)(v))
#define HALF_LOAD(mask, from) _mm512_zextpd256_pd512(_mm256_maskz_loadu_pd((__mmask8)(mask), from))
#define QUARTER_LOAD(mask, from) _mm512_zextpd128_pd512(_mm_maskz_loadu_pd((__mmask8)(mask), from))
#define HALF_STORE(to, mask, v)                                                                    \
    _mm256_mask_storeu_pd(to, (__mmask8)(mask), _mm512_castpd512_pd256((__m512d)(v)))
#define QUARTER_STORE(to, mask, v)                                                                 \
    _mm_mask_storeu_pd(to, (__mmask8)(mask), _mm512_castpd512_pd128((__m512d)(v)))
#define FMADD(a, b, c) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#elif defined(BLV_ISA_avx2)
#define MASKED_LOAD(from, mask) _mm256_maskload_pd(from, mask)
#define FMADD(a, b, c) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#endif
#include "kernels/cpu/sparse_vector_body.h"

#include "kernels/cpu/sparse_rows_body.h"

#include "kernels/cpu/sparse_columns_body.h"
#undef PRECISION
#undef REAL
#undef REAL_BITS
#undef EXP_LOWEST
#undef EXP_ROUNDER
#undef EXP_LOG2_HIGH
#undef EXP_LOG2_LOW
#undef EXP_TERMS
#undef EXP_BIAS
#undef EXP_MANTISSA
#undef MASKED_LOAD
#undef MASKED_STORE
#undef HALF_LOAD
#undef HALF_STORE
#undef QUARTER_LOAD
#undef QUARTER_STORE
#undef FMADD
#undef WIDTH

#define PRECISION f32
#define REAL float
#define REAL_BITS int32_t
#define EXP_LOWEST (-87.0F)
#define EXP_ROUNDER 12582912.0F /* 1.5 * 2^23 */
#define EXP_LOG2_HIGH 0x1.62e4p-1F
#define EXP_LOG2_LOW 0x1.7f7d1cp-20F
#define EXP_TERMS 7
#define EXP_BIAS 127
#define EXP_MANTISSA 23
#if defined(BLV_ISA_avx512)
#define MASKED_LOAD(mask, from) _mm512_maskz_loadu_ps(mask, from)
#define MASKED_STORE(to, mask, v) _mm512_mask_storeu_ps(to, mask, (__m512)(v))
#define HALF_LOAD(mask, from) _mm512_zextps256_ps512(_mm256_maskz_loadu_ps((__mmask8)(mask), from))
#define QUARTER_LOAD(mask, from) _mm512_zextps128_ps512(_mm_maskz_loadu_ps((__mmask8)(mask), from))
#define HALF_STORE(to, mask, v)                                                                    \
    _mm256_mask_storeu_ps(to, (__mmask8)(mask), _mm512_castps512_ps256((__m512)(v)))
#define QUARTER_STORE(to, mask, v)                                                                 \
    _mm_mask_storeu_ps(to, (__mmask8)(mask), _mm512_castps512_ps128((__m512)(v)))
#define FMADD(a, b, c) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#elif defined(BLV_ISA_avx2)
#define MASKED_LOAD(from, mask) _mm256_maskload_ps(from, mask)
#define FMADD(a, b, c) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#endif
#include "kernels/cpu/sparse_vector_body.h"

#include "kernels/cpu/sparse_rows_body.h"

#include "kernels/cpu/sparse_columns_body.h"
