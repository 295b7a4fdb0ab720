/* The kernels for host memory: see kernel_table.h. */
#ifndef BLV_KERNELS_CPU_HOST_KERNELS_H
#define BLV_KERNELS_CPU_HOST_KERNELS_H

#include "kernels/kernel_table.h"

const blv_kernels *blv_host_kernels(blv_precision precision);

#endif
