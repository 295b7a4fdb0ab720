/* Dense passes in double. */
#define REAL_IS_FLOAT 0
#include "kernels/dense_sweep.h"
