#include "kernels/kernel_table.h"
#include "kernels/cpu/host_kernels.h"

const blv_kernels *blv_kernels_for(blv_memory_kind memory, blv_precision precision) {
    switch (memory) {
    case BLV_MEMORY_HOST:
        return blv_host_kernels(precision);
    default:
        return NULL;
    }
}
