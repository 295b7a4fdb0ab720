#include "machine_peak.h"
#include "base/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#include <time.h>

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Twelve chains of dependent multiply-adds: enough for any latency. Returns operations done. */
#define CHAINS(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define BEGIN(c) x##c = start * (real)(1 + (c));
#define JOIN(c) total += x##c;
#define FLOP_LOOP(name, attribute, scalar, bytes, fma)                                             \
    __attribute__((attribute, noinline)) static double name(long steps, volatile double *sink) {   \
        typedef scalar real;                                                                       \
        typedef real vec __attribute__((vector_size(bytes)));                                      \
        const vec start = (real)0.5 - (vec){0}, factor = (real)0.25 - (vec){0};                    \
        vec x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, total = {0};                         \
        CHAINS(BEGIN)                                                                              \
        for (long i = 0; i < steps; i++) {                                                         \
            CHAINS(fma)                                                                            \
        }                                                                                          \
        CHAINS(JOIN)                                                                               \
        *sink = (double)total[0];                                                                  \
        const size_t lanes = bytes / sizeof(real);                                                 \
        return 2.0 * 12.0 * (double)steps * (double)lanes;                                         \
    }
#if defined(__x86_64__)
#define FMA_512_F32(c) x##c = (vec)_mm512_fmadd_ps((__m512)x##c, (__m512)factor, (__m512)start);
#define FMA_512_F64(c) x##c = (vec)_mm512_fmadd_pd((__m512d)x##c, (__m512d)factor, (__m512d)start);
#define FMA_256_F32(c) x##c = (vec)_mm256_fmadd_ps((__m256)x##c, (__m256)factor, (__m256)start);
#define FMA_256_F64(c) x##c = (vec)_mm256_fmadd_pd((__m256d)x##c, (__m256d)factor, (__m256d)start);
FLOP_LOOP(flops_f32_avx512, target("avx512f"), float, 64, FMA_512_F32)
FLOP_LOOP(flops_f64_avx512, target("avx512f"), double, 64, FMA_512_F64)
FLOP_LOOP(flops_f32_avx2, target("avx2,fma"), float, 32, FMA_256_F32)
FLOP_LOOP(flops_f64_avx2, target("avx2,fma"), double, 32, FMA_256_F64)
#endif
#if defined(__aarch64__)
#define FMA_BASE_F32(c)                                                                            \
    x##c = (vec)vfmaq_f32((float32x4_t)start, (float32x4_t)x##c, (float32x4_t)factor);
#define FMA_BASE_F64(c)                                                                            \
    x##c = (vec)vfmaq_f64((float64x2_t)start, (float64x2_t)x##c, (float64x2_t)factor);
#else
#define FMA_BASE_F32(c) x##c = x##c * factor + start;
#define FMA_BASE_F64 FMA_BASE_F32
#endif
FLOP_LOOP(flops_f32_base, noinline, float, 16, FMA_BASE_F32)
FLOP_LOOP(flops_f64_base, noinline, double, 16, FMA_BASE_F64)

static double run_flops(long steps, bool single) {
    volatile double sink;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return single ? flops_f32_avx512(steps, &sink) : flops_f64_avx512(steps, &sink);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return single ? flops_f32_avx2(steps, &sink) : flops_f64_avx2(steps, &sink);
#endif
    return single ? flops_f32_base(steps, &sink) : flops_f64_base(steps, &sink);
}

/* The work is cut finer than threads, so that a disturbed one does not hold up the others. */
enum { SLICES = 16 };

typedef struct flops_share {
    long steps;
    bool single;
} flops_share;

static void run_share_of_flops(void *context, size_t slice, int member) {
    (void)slice;
    (void)member;
    const flops_share *s = context;
    run_flops(s->steps, s->single);
}

double seconds_of_flops(double flops, bool single, int threads) {
    const double each = run_flops(1, single);
    flops_share share = {(long)(flops / each / SLICES) + 1, single};
    const double start = seconds_now();
    blv_threads_run(threads, SLICES * (size_t)threads, run_share_of_flops, &share);
    return (seconds_now() - start) * flops / ((double)share.steps * SLICES * each);
}

/* A sum of whole cache lines, in registers: with a vector type wider than those of the machine the
 * compiler keeps its sums in memory, and measures that. */
static double read_lines(const char *data, size_t lines) {
    typedef double pair __attribute__((vector_size(16), may_alias));
    const pair *from = (const pair *)data;
    pair a = {0}, b = {0}, c = {0}, d = {0};
    for (size_t i = 0; i < lines; i++, from += 4) {
        a += from[0];
        b += from[1];
        c += from[2];
        d += from[3];
    }
    a += b + c + d;
    return a[0] + a[1];
}

typedef struct read_share {
    const char *data;
    size_t lines, slices;
} read_share;

static void read_share_of_lines(void *context, size_t slice, int member) {
    (void)member;
    const read_share *s = context;
    const size_t begin = s->lines * slice / s->slices, end = s->lines * (slice + 1) / s->slices;
    volatile double keep = read_lines(s->data + 64 * begin, end - begin);
    (void)keep;
}

double seconds_of_reading(const void *data, size_t bytes, int threads) {
    read_share share = {data, bytes / 64, SLICES * (size_t)threads};
    const double start = seconds_now();
    blv_threads_run(threads, share.slices, read_share_of_lines, &share);
    return seconds_now() - start;
}
