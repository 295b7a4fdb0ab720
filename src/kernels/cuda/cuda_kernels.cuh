#pragma once

extern "C" {
#include "kernels/kernel_table.h"
}

extern const blv_kernels blv_cuda_kernels_f64, blv_cuda_kernels_f32;
