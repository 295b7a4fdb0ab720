/* Dense sweeps in float. */
#define REAL_IS_FLOAT 1
#include "kernels/cpu/dense_sweep.h"
