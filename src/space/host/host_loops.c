/* Element loops of host spaces, compiled once for each instruction set (BLV_ISA) and, through
 * host_loops_body.h, once for each precision.
 *
 * Registers hold WIDTH doubles, and a group of lanes is VECTORS of them. Compilers keep a vector
 * type in registers only when it is not wider than the machine's, hence the width by instruction
 * set. Sums and products are rounded one by one, never fused, so that the width is the only
 * difference between the copies and does not show in the results. */
#include "space/host/host_loops.h"
#include "space/apply_element.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#if defined(BLV_ISA_avx512)
#define WIDTH 8
#elif defined(BLV_ISA_avx2)
#define WIDTH 4
#else
#define WIDTH 2
#endif

#define GROUP BLV_HOST_GROUP
#define VECTORS (GROUP / WIDTH)

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* f(k, ...) for each vector of a group. Written out, because GCC keeps an array of sums in
 * registers only when it never sees a variable index. */
#define DO_4(f, k, ...)                                                                            \
    f(k, __VA_ARGS__);                                                                             \
    f((k) + 1, __VA_ARGS__);                                                                       \
    f((k) + 2, __VA_ARGS__);                                                                       \
    f((k) + 3, __VA_ARGS__)
#define DO_8(f, k, ...)                                                                            \
    DO_4(f, k, __VA_ARGS__);                                                                       \
    DO_4(f, (k) + 4, __VA_ARGS__)
#if WIDTH == 8
#define EACH_VECTOR(f, ...) DO_4(f, 0, __VA_ARGS__)
#elif WIDTH == 4
#define EACH_VECTOR(f, ...) DO_8(f, 0, __VA_ARGS__)
#else
#define EACH_VECTOR(f, ...)                                                                        \
    DO_8(f, 0, __VA_ARGS__);                                                                       \
    DO_8(f, 8, __VA_ARGS__)
#endif

typedef double double_vector __attribute__((vector_size(WIDTH * sizeof(double)), may_alias));
typedef int64_t lane_mask __attribute__((vector_size(WIDTH * sizeof(int64_t)), may_alias));
/* aligned as an element, not as a vector */
typedef int64_t loose_mask
    __attribute__((vector_size(WIDTH * sizeof(int64_t)), aligned(8), may_alias));

/* VECTORS masks: all bits in the first `lanes` lanes of a group, none in the others. */
ALWAYS_INLINE const loose_mask *first_lanes(size_t lanes) {
    static const int64_t step[2 * GROUP] = {
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    };
    return (const loose_mask *)(step + GROUP - lanes);
}

ALWAYS_INLINE void copy_vector(size_t k, double_vector *to, const double_vector *from) {
    to[k] = from[k];
}

/* The sum of all lanes: the upper half is added to the lower one until one lane is left. */
ALWAYS_INLINE double fold_lanes(const double_vector sums[VECTORS]) {
    double_vector sum[VECTORS];
    EACH_VECTOR(copy_vector, sum, sums);
    UNROLL
    for (size_t half = VECTORS / 2; half >= 1; half /= 2) {
        UNROLL
        for (size_t k = 0; k < half; k++)
            sum[k] += sum[k + half];
    }
    double lane[WIDTH];
    memcpy(lane, &sum[0], sizeof lane);
    UNROLL
    for (size_t half = WIDTH / 2; half >= 1; half /= 2) {
        UNROLL
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    }
    return lane[0];
}

#define PASTE_(a, b, c) a##b##_##c
#define PASTE(a, b, c) PASTE_(a, b, c)

#define REAL double
#define REAL_BITS int64_t
#define WIDEN(v) (v)
#define NARROW(v) (v)
#define PRECISION f64
#include "space/host/host_loops_body.h"
#undef REAL
#undef REAL_BITS
#undef WIDEN
#undef NARROW
#undef PRECISION

#define REAL float
#define REAL_BITS int32_t
#if defined(BLV_ISA_avx512) /* GCC converts in two halves when it is not told the instruction */
#define WIDEN(v) ((double_vector)_mm512_cvtps_pd((__m256)(v)))
#define NARROW(v) ((real_vector)_mm512_cvtpd_ps((__m512d)(v)))
#else
#define WIDEN(v) __builtin_convertvector(v, double_vector)
#define NARROW(v) __builtin_convertvector(v, real_vector)
#endif
#define PRECISION f32
#include "space/host/host_loops_body.h"
