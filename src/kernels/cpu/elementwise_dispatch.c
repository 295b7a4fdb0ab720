#include "kernels/elementwise.h"
#include "kernels/row_sweep.h"

extern const blv_element_loops blv_element_loops_f64_base, blv_element_loops_f64_avx2,
    blv_element_loops_f64_avx512;
extern const blv_element_loops blv_element_loops_f32_base, blv_element_loops_f32_avx2,
    blv_element_loops_f32_avx512;

const blv_element_loops *blv_element_loops_f64(void) {
    return blv_has_instructions(BLV_INSTRUCTIONS_AVX512) ? &blv_element_loops_f64_avx512
           : blv_has_instructions(BLV_INSTRUCTIONS_AVX2) ? &blv_element_loops_f64_avx2
                                                         : &blv_element_loops_f64_base;
}

const blv_element_loops *blv_element_loops_f32(void) {
    return blv_has_instructions(BLV_INSTRUCTIONS_AVX512) ? &blv_element_loops_f32_avx512
           : blv_has_instructions(BLV_INSTRUCTIONS_AVX2) ? &blv_element_loops_f32_avx2
                                                         : &blv_element_loops_f32_base;
}
