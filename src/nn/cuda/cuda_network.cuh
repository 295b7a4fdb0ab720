#pragma once

extern "C" {
#include "nn/nn.h"
}

extern const blv_nn_kernels blv_cuda_networks; /* of both precisions */
