#ifndef BLV_KERNELS_CUDA_KERNELS_CUH
#define BLV_KERNELS_CUDA_KERNELS_CUH

extern "C" {
#include "kernels/kernel_table.h"
}

extern const blv_kernels blv_cuda_kernels_f64, blv_cuda_kernels_f32;

#endif
