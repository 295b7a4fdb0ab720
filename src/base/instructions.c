#include "base/instructions.h"

#if defined(__x86_64__)
bool blv_has_instructions(blv_instructions instructions) {
    __builtin_cpu_init();
    switch (instructions) {
    case BLV_INSTRUCTIONS_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("fma");
    case BLV_INSTRUCTIONS_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    default:
        return true;
    }
}
#else
bool blv_has_instructions(blv_instructions instructions) {
    return instructions == BLV_INSTRUCTIONS_BASE;
}
#endif

bool blv_instructions_fused(blv_instructions instructions) {
#if defined(__aarch64__)
    (void)instructions;
    return true;
#else
    return blv_usable_instructions(instructions) != BLV_INSTRUCTIONS_BASE;
#endif
}

blv_instructions blv_usable_instructions(blv_instructions wanted) {
    if (wanted == BLV_INSTRUCTIONS_BEST)
        wanted = BLV_INSTRUCTIONS_AVX512;
    while (!blv_has_instructions(wanted))
        wanted = (blv_instructions)(wanted - 1);
    return wanted;
}
