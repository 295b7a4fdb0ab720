/* Dense sweeps in double. */
#define REAL_IS_FLOAT 0
#include "kernels/cpu/dense_sweep.h"
