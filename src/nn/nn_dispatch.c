#include "nn/nn_loops.h"

extern const nn_loops blv_nn_loops_f64_base, blv_nn_loops_f64_avx2, blv_nn_loops_f64_avx512;
extern const nn_loops blv_nn_loops_f32_base, blv_nn_loops_f32_avx2, blv_nn_loops_f32_avx512;

const nn_loops *blv_nn_loops(blv_precision precision, blv_instructions instructions) {
    static const nn_loops *const table[2][3] = {
        {&blv_nn_loops_f64_base, &blv_nn_loops_f64_avx2, &blv_nn_loops_f64_avx512},
        {&blv_nn_loops_f32_base, &blv_nn_loops_f32_avx2, &blv_nn_loops_f32_avx512}};
    if (instructions == BLV_INSTRUCTIONS_BEST)
        instructions = BLV_INSTRUCTIONS_AVX512;
    while (!blv_has_instructions(instructions))
        instructions = (blv_instructions)(instructions - 1);
    if (instructions < BLV_INSTRUCTIONS_BASE)
        instructions = BLV_INSTRUCTIONS_BASE;
    return table[precision == BLV_F32][instructions - BLV_INSTRUCTIONS_BASE];
}
