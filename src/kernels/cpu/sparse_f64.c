/* Loops over sparse rows in double. */
#define REAL_IS_FLOAT 0
#include "kernels/cpu/sparse_columns.h"
