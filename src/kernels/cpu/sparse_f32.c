/* Loops over sparse rows in float. */
#define REAL_IS_FLOAT 1
#include "kernels/cpu/sparse_columns.h"
