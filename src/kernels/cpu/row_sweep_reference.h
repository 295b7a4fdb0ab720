/* The pass in plain loops, in double: what the fast ones are compared with. */
#ifndef BLV_KERNELS_CPU_ROW_SWEEP_REFERENCE_H
#define BLV_KERNELS_CPU_ROW_SWEEP_REFERENCE_H

#include "kernels/row_sweep.h"

/* single: the arrays hold float, else double. Allocates; false when memory is short. */
bool blv_reference_pass(const blv_rows *rows, const blv_sweep *pass, bool logistic, bool single);

#endif
