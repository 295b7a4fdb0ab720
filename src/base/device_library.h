/* The library for GPUs, libbilevel-cuda, which is loaded when something is first asked of it: this
 * library itself needs no CUDA, and a program decides at run time. */
#pragma once

#include "bilevel/space.h"

/* What libbilevel-cuda hands over, in one struct. Both libraries are of the same version. */
typedef struct blv_device_tables {
    const char *version;              /* blv_version() of its source */
    blv_error (*open)(blv_message *); /* finds the GPU, once for all */
    void *(*stream)(void);            /* cudaStream_t of all its work */
    const blv_space_ops *space;
    const void *later;      /* blv_later_ops of these spaces */
    const void *kernels[2]; /* blv_kernels, by blv_precision */
    const void *networks;   /* blv_nn_kernels */
} blv_device_tables;

/* NULL, with the reason: the library is not there, or it finds no GPU. */
const blv_device_tables *blv_device_library(blv_message *why);

/* The one function that libbilevel-cuda exports. */
#define BLV_DEVICE_ENTRY "blv_cuda_tables"
typedef const blv_device_tables *(*blv_device_entry)(void);
