#include "kernels/elementwise.h"

extern const blv_element_loops blv_element_loops_f64_base, blv_element_loops_f64_avx2,
    blv_element_loops_f64_avx512;
extern const blv_element_loops blv_element_loops_f32_base, blv_element_loops_f32_avx2,
    blv_element_loops_f32_avx512;

static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

static int has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const blv_element_loops *blv_element_loops_f64(void) {
    return has_avx512() ? &blv_element_loops_f64_avx512
           : has_avx2() ? &blv_element_loops_f64_avx2
                        : &blv_element_loops_f64_base;
}

const blv_element_loops *blv_element_loops_f32(void) {
    return has_avx512() ? &blv_element_loops_f32_avx512
           : has_avx2() ? &blv_element_loops_f32_avx2
                        : &blv_element_loops_f32_base;
}
