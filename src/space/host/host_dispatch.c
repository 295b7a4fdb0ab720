/* Which element loops this processor runs. Nothing is cached here: a space asks once, when it is
 * created, and keeps the answer. */
#include "space/host/host_loops.h"

extern const blv_host_loops blv_host_loops_f64_base, blv_host_loops_f32_base;
extern const blv_host_loops blv_host_loops_f64_avx2, blv_host_loops_f32_avx2;
extern const blv_host_loops blv_host_loops_f64_avx512, blv_host_loops_f32_avx512;

/* The features asked for are those that the loops are compiled with. */
bool blv_host_isa_supported(blv_host_isa isa) {
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    switch (isa) {
    case BLV_HOST_BASE:
        return true;
    case BLV_HOST_AVX2:
        return avx2;
    case BLV_HOST_AVX512:
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    default:
        return false;
    }
}

const blv_host_loops *blv_host_loops_of(blv_host_isa isa, blv_precision precision) {
    static const blv_host_loops *const tables[BLV_HOST_ISA_COUNT][2] = {
        [BLV_HOST_BASE] = {&blv_host_loops_f64_base, &blv_host_loops_f32_base},
        [BLV_HOST_AVX2] = {&blv_host_loops_f64_avx2, &blv_host_loops_f32_avx2},
        [BLV_HOST_AVX512] = {&blv_host_loops_f64_avx512, &blv_host_loops_f32_avx512},
    };
    return tables[isa][precision == BLV_F32];
}

const blv_host_loops *blv_host_loops_best(blv_precision precision) {
    blv_host_isa isa = BLV_HOST_AVX512;
    while (!blv_host_isa_supported(isa))
        isa--;
    return blv_host_loops_of(isa, precision);
}
