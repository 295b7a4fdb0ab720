/* Spaces on a GPU, through libbilevel-cuda. */
#include "base/device_library.h"
#include "base/message.h"
#include "bilevel/cuda.h"
#include "space/later.h"

blv_error blv_cuda_find(blv_message *why) {
    return blv_device_library(why) ? BLV_OK : BLV_E_UNSUPPORTED;
}

blv_error blv_space_create_cuda(blv_space **space, size_t dim, blv_precision precision,
                                blv_message *why) {
    if (!space)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_space_create_cuda: a NULL argument");
    *space = NULL;
    const blv_device_tables *device = blv_device_library(why);
    if (!device)
        return BLV_E_UNSUPPORTED;
    blv_error error = blv_space_create(space, device->space, dim, precision, NULL);
    if (error == BLV_OK)
        blv_space_set_later(*space, device->later);
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", blv_error_text(error));
}

void *blv_cuda_stream(void) {
    const blv_device_tables *device = blv_device_library(NULL);
    return device ? device->stream() : NULL;
}
