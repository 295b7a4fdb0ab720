/* Loops of networks in float. */
#define REAL_IS_FLOAT 1
#include "nn/nn_loops_body.h"
