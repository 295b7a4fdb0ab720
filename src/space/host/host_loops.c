/* Element loops of host spaces, for one precision and instruction set. Every element is computed in
 * double and rounded once, which costs nothing in f64.
 *
 * Registers hold WIDTH doubles, and a group of lanes is VECTORS of them. Compilers keep a vector
 * type in registers only when it is not wider than the machine's, hence the width by instruction
 * set. Sums and products are rounded one by one, never fused, so that the width is the only
 * difference between the copies and does not show in the results. */
#include "space/host/host_loops.h"
#include "space/apply_element.h"

#if defined(BLV_ISA_avx512)
#include <immintrin.h>
#endif
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

#if REAL_IS_FLOAT
typedef float real;
typedef int32_t integer; /* of the same size */
#else
typedef double real;
typedef int64_t integer;
#endif
typedef real real_vector __attribute__((vector_size(WIDTH * sizeof(real)), may_alias));
typedef integer real_bits __attribute__((vector_size(WIDTH * sizeof(real)), may_alias));

#if !REAL_IS_FLOAT
#define WIDEN(v) (v)
#define NARROW(v) (v)
#elif defined(BLV_ISA_avx512) /* GCC converts in two halves when it is not told the instruction */
#define WIDEN(v) ((double_vector)_mm512_cvtps_pd((__m256)(v)))
#define NARROW(v) ((real_vector)_mm512_cvtpd_ps((__m512d)(v)))
#else
#define WIDEN(v) __builtin_convertvector(v, double_vector)
#define NARROW(v) __builtin_convertvector(v, real_vector)
#endif

/* For each vector of elements begin .. end - 1: where it begins. */
#define FOR_VECTORS(at)                                                                            \
    for (size_t group = begin; group < end; group += GROUP)                                        \
        UNROLL                                                                                     \
    for (size_t k = 0, at = group; k < VECTORS; k++, at = group + k * WIDTH)

static void copy(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    memcpy((real *)args->out + begin, (const real *)args->left[0] + begin,
           (end - begin) * sizeof(real));
}

static void fill(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    real *out = args->out;
    const real_vector value = (real)args->a - (real_vector){0};
    FOR_VECTORS(at) {
        *(real_vector *)(out + at) = value;
    }
}

static void scale(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    real *out = args->out;
    const double a = args->a;
    FOR_VECTORS(at) {
        real_vector *v = (real_vector *)(out + at);
        *v = NARROW(a * WIDEN(*v));
    }
}

static void axpy(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    real *out = args->out;
    const real *x = args->left[0];
    const double a = args->a;
    FOR_VECTORS(at) {
        real_vector *v = (real_vector *)(out + at);
        *v = NARROW(WIDEN(*v) + a * WIDEN(*(const real_vector *)(x + at)));
    }
}

/* NaN compares false with both bounds, so it is kept. */
static void clamp(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    real *out = args->out;
    const real_vector lo = (real)args->a - (real_vector){0};
    const real_vector hi = (real)args->b - (real_vector){0};
    FOR_VECTORS(at) {
        real_vector *v = (real_vector *)(out + at);
        real_bits bits = *(real_bits *)v;
        const real_bits below = (real_bits)(*v < lo), above = (real_bits)(*v > hi);
        bits = (bits & ~above) | ((real_bits)hi & above);
        bits = (bits & ~below) | ((real_bits)lo & below);
        *v = (real_vector)bits;
    }
}

/* One vector of a linear combination; keep is NULL when all its lanes count. The squares are those
 * of the rounded elements, so that an element that overflows real shows in the norm. */
ALWAYS_INLINE void lincomb_vector(size_t k, double_vector *sum, const loose_mask *keep,
                                  size_t count, const double *coef, const real *const *term,
                                  real *out, size_t i) {
    const size_t at = i + k * WIDTH;
    double_vector element = coef[0] * WIDEN(*(const real_vector *)(term[0] + at));
    UNROLL
    for (size_t t = 1; t < count; t++)
        element += coef[t] * WIDEN(*(const real_vector *)(term[t] + at));
    const real_vector rounded = NARROW(element);
    *(real_vector *)(out + at) = rounded;
    double_vector square = WIDEN(rounded) * WIDEN(rounded);
    if (keep)
        square = (double_vector)((lane_mask)square & keep[k]);
    sum[k] += square;
}

/* Inlined with a constant count, so that coefficients and pointers stay in registers. */
ALWAYS_INLINE double lincomb_of(size_t count, const blv_host_args *args, size_t begin, size_t end) {
    real *out = args->out;
    double coef[BLV_LINCOMB_MAX];
    const real *term[BLV_LINCOMB_MAX];
    /* volatile: one load each. The caller has just stored these one by one, and a vector load over
     * several such stores stalls for longer than a short vector takes. */
    for (size_t t = 0; t < count; t++) {
        coef[t] = ((const volatile double *)args->coef)[t];
        term[t] = ((const void *const volatile *)args->left)[t];
    }
    double_vector sum[VECTORS] = {{0}};
    size_t i = begin;
    for (; i + GROUP <= end; i += GROUP) {
        EACH_VECTOR(lincomb_vector, sum, NULL, count, coef, term, out, i);
    }
    if (i < end) {
        const loose_mask *keep = first_lanes(end - i);
        EACH_VECTOR(lincomb_vector, sum, keep, count, coef, term, out, i);
    }
    return fold_lanes(sum);
}

static void lincomb(const blv_host_args *args, size_t begin, size_t end, double *sums) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        sums[0] = lincomb_of(n, args, begin, end);                                                 \
        return;
    switch (args->count) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
    }
#undef CASE
}
_Static_assert(BLV_LINCOMB_MAX == 8, "a case for each count");

ALWAYS_INLINE void dot_vector(size_t k, double_vector *sum, const loose_mask *keep, const real *a,
                              const real *b) {
    double_vector product =
        WIDEN(*(const real_vector *)(a + k * WIDTH)) * WIDEN(*(const real_vector *)(b + k * WIDTH));
    if (keep)
        product = (double_vector)((lane_mask)product & keep[k]);
    sum[k] += product;
}

/* Adds a'b over [begin, end) to the lanes of `total`. */
ALWAYS_INLINE void dot_onto(double_vector total[VECTORS], const real *a, const real *b,
                            size_t begin, size_t end) {
    double_vector sum[VECTORS];
    EACH_VECTOR(copy_vector, sum, total);
    size_t i = begin;
    for (; i + GROUP <= end; i += GROUP) {
        EACH_VECTOR(dot_vector, sum, NULL, a + i, b + i);
    }
    if (i < end) {
        const loose_mask *keep = first_lanes(end - i);
        EACH_VECTOR(dot_vector, sum, keep, a + i, b + i);
    }
    EACH_VECTOR(copy_vector, total, sum);
}

/* Several dots take turns on stretches that stay in cache, so a vector that occurs in more than one
 * is fetched from memory once. The lanes live on across stretches: a dot has the same bits whether
 * it is computed alone or with others. */
static void dots(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    enum { STRETCH = 16 * GROUP };
    if (args->count == 1 || end - begin <= STRETCH) {
        for (size_t t = 0; t < args->count; t++) {
            double_vector sum[VECTORS] = {{0}};
            dot_onto(sum, args->left[t], args->right[t], begin, end);
            sums[t] = fold_lanes(sum);
        }
        return;
    }
    double_vector total[BLV_LINCOMB_MAX][VECTORS];
    memset(total, 0, args->count * sizeof total[0]);
    for (size_t i = begin; i < end; i += STRETCH) {
        const size_t stop = end - i < STRETCH ? end : i + STRETCH;
        for (size_t t = 0; t < args->count; t++)
            dot_onto(total[t], args->left[t], args->right[t], i, stop);
    }
    for (size_t t = 0; t < args->count; t++)
        sums[t] = fold_lanes(total[t]);
}

/* The switch is outside of the loop. Out may be one of the others, element by element. */
static void apply(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    real *out = args->out;
    const real *a = args->left[0], *b = args->right[0];
    const double c = args->a;
#define CASE(operation)                                                                            \
    case operation:                                                                                \
        for (size_t i = begin; i < end; i++)                                                       \
            out[i] = (real)blv_apply_element(operation, c, (double)a[i], (double)b[i]);            \
        return;
    switch (args->operation) {
        CASE(BLV_PRODUCT)
        CASE(BLV_QUOTIENT)
        CASE(BLV_SQRT)
        CASE(BLV_SIGMOID)
        CASE(BLV_LEAST)
        CASE(BLV_MOST)
        CASE(BLV_EXCESS)
        CASE(BLV_STEP)
    case BLV_ELEMENTWISE_COUNT:
        return;
    }
#undef CASE
}

/* The host's array has no padding, so these two stop at the last element. */
static void read(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    double *restrict host = args->out;
    const real *restrict v = args->left[0];
    for (size_t i = begin; i < end; i++)
        host[i] = (double)v[i];
}

static void write(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    real *restrict v = args->out;
    const double *restrict host = args->left[0];
    for (size_t i = begin; i < end; i++)
        v[i] = (real)host[i];
}

const blv_host_loops BLV_TABLE(blv_host_loops) = {
    .copy = copy,
    .fill = fill,
    .scale = scale,
    .axpy = axpy,
    .clamp = clamp,
    .lincomb = lincomb,
    .dots = dots,
    .apply = apply,
    .read = read,
    .write = write,
};
