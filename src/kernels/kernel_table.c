#include "kernels/kernel_table.h"
#include "base/device_library.h"
#include "base/instructions.h"

BLV_TABLES(blv_kernels, blv_host_kernels);

const blv_kernels *blv_kernels_for(blv_memory_kind memory, blv_precision precision) {
    switch (memory) {
    case BLV_MEMORY_HOST:
        return blv_host_kernels_tables[precision == BLV_F32]
                                      [blv_usable_instructions(BLV_INSTRUCTIONS_BEST)];
    case BLV_MEMORY_CUDA: {
        const blv_device_tables *device = blv_device_library(NULL);
        return device ? device->kernels[precision] : NULL;
    }
    default:
        return NULL;
    }
}
