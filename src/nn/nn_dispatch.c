/* Which loops and which functions serve a precision, an instruction set and a kind of memory. */
#include "nn/nn_loops.h"

extern const nn_loops blv_nn_loops_f64_base, blv_nn_loops_f64_avx2, blv_nn_loops_f64_avx512;
extern const nn_loops blv_nn_loops_f32_base, blv_nn_loops_f32_avx2, blv_nn_loops_f32_avx512;

const nn_loops *blv_nn_loops(blv_precision precision, blv_instructions instructions) {
    static const nn_loops *const table[2][BLV_INSTRUCTION_SETS] = {
        {&blv_nn_loops_f64_base, &blv_nn_loops_f64_avx2, &blv_nn_loops_f64_avx512},
        {&blv_nn_loops_f32_base, &blv_nn_loops_f32_avx2, &blv_nn_loops_f32_avx512}};
    return table[precision == BLV_F32][blv_usable_instructions(instructions)];
}

const blv_nn_kernels *blv_nn_kernels_for(blv_memory_kind memory) {
    static const blv_nn_kernels host = {.work_create = blv_nn_work_create,
                                        .work_destroy = blv_nn_work_destroy,
                                        .start = blv_nn_start,
                                        .run = blv_nn_run,
                                        .observe = blv_nn_observe};
    return memory == BLV_MEMORY_HOST ? &host : NULL;
}
