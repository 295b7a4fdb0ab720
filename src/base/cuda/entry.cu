/* What libbilevel-cuda hands over. */
#include "base/cuda/device.cuh"
#include "kernels/cuda/cuda_kernels.cuh"
#include "nn/cuda/cuda_network.cuh"
#include "space/cuda/cuda_space.cuh"
extern "C" {
#include "base/device_library.h"
}

static void *stream() {
    return gpu::stream;
}

#define QUOTE(x) #x
#define VERSION_TEXT(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

static const blv_device_tables tables = {
    .version = VERSION_TEXT(BLV_VERSION_MAJOR, BLV_VERSION_MINOR, BLV_VERSION_PATCH),
    .open = gpu::open,
    .stream = stream,
    .space = &blv_cuda_ops,
    .later = &blv_cuda_later,
    .kernels = {&blv_cuda_kernels_f64, &blv_cuda_kernels_f32},
    .networks = &blv_cuda_networks};

extern "C" __attribute__((visibility("default"))) const blv_device_tables *blv_cuda_tables(void) {
    return &tables;
}
