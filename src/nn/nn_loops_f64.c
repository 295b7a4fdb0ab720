/* Loops of networks in double. */
#define REAL_IS_FLOAT 0
#include "nn/nn_loops_body.h"
