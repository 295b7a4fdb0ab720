#pragma once

#include "bilevel/space.h"

extern const blv_space_ops blv_cuda_ops; /* of both precisions */
