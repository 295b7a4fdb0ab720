/* The sweep in plain loops, in double: what the fast ones are compared with. */
#ifndef ROW_SWEEP_REFERENCE_H
#define ROW_SWEEP_REFERENCE_H

#include "kernels/cpu/host_sweep.h"

/* single: the arrays hold float, else double. Allocates; false when memory is short. */
bool blv_reference_sweep(const blv_rows *rows, const blv_sweep *sweep, bool logistic, bool single);

#endif
