#ifndef BLV_SPACE_CUDA_SPACE_CUH
#define BLV_SPACE_CUDA_SPACE_CUH

#include "bilevel/space.h"

extern const blv_space_ops blv_cuda_ops; /* of both precisions */

#endif
