#pragma once

#include "bilevel/space.h"
extern "C" {
#include "space/later.h"
}

extern const blv_space_ops blv_cuda_ops; /* of both precisions */
extern const blv_later_ops blv_cuda_later;
