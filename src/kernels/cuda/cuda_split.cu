/* Rows become pairs of halves once, when their data goes to the GPU. */
#include "kernels/cuda/cuda_split.cuh"

enum { THREADS = 256, ROWS_EACH = 512 };
constexpr float SMALLEST = 0.0625f; /* that a row's largest number may be, when halves end at 2^-24 */

static __global__ void largest_of_columns(const float *dense, size_t stride, size_t rows,
                                          size_t columns, uint32_t *largest) {
    const size_t j = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (j >= columns)
        return;
    uint32_t most = 0;
    for (size_t i = blockIdx.y; i < rows; i += gridDim.y)
        most = max(most, __float_as_uint(fabsf(dense[i * stride + j])));
    atomicMax(largest + j, most);
}

/* A warp to a row. */
static __global__ void split_each(const float *dense, size_t stride, size_t rows, size_t columns,
                                  size_t width, const uint32_t *largest, __half *part,
                                  uint32_t *too_small) {
    const unsigned lane = threadIdx.x % 32;
    const size_t warps = size_t(gridDim.x) * (THREADS / 32);
    for (size_t i = blockIdx.x * size_t(THREADS / 32) + threadIdx.x / 32; i < rows; i += warps) {
        uint32_t most = 0;
        for (size_t j = lane; j < width; j += 32) {
            const float x =
                j < columns ? dense[i * stride + j] * scale_for(largest[j]).factor : 0.0f;
            const __half high = __float2half_rn(x);
            part[i * 2 * width + j] = high;
            part[(i * 2 + 1) * width + j] = __float2half_rn(x - __half2float(high));
            most = max(most, __float_as_uint(fabsf(x)));
        }
        most = __reduce_max_sync(0xffffffffu, most);
        if (lane == 0 && most > 0 && __uint_as_float(most) < SMALLEST)
            *too_small = 1;
    }
}

static __global__ void units_of(size_t width, uint32_t *largest) {
    const size_t j = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (j < width)
        largest[j] = __float_as_uint(scale_for(largest[j]).unit);
}

void *split_dense(const float *dense, size_t stride, size_t rows, size_t columns) {
    const split_rows of = split_rows_at(nullptr, columns);
    const size_t width = size_t(of.width), bytes = width * sizeof(float) * (rows + 1);
    size_t left = 0, all = 0;
    uint32_t too_small = 1;
    if (rows == 0 || cudaMemGetInfo(&left, &all) != cudaSuccess || bytes + all / 64 > left)
        return nullptr;
    void *memory = gpu::allocate(bytes);
    gpu::buffer flag;
    uint32_t *largest = static_cast<uint32_t *>(memory),
             *flag_there = static_cast<uint32_t *>(flag.of(sizeof(uint32_t)));
    if (!memory || !flag_there)
        return nullptr;
    gpu::launch(largest_of_columns,
                dim3(gpu::blocks_for(columns, THREADS), gpu::blocks_for(rows, ROWS_EACH)),
                dim3(THREADS), 0, dense, stride, rows, columns, largest);
    gpu::launch(split_each, dim3(unsigned(gpu::processors) * 8), dim3(THREADS), 0, dense, stride,
                rows, columns, width, static_cast<const uint32_t *>(largest),
                reinterpret_cast<__half *>(largest + width), flag_there);
    gpu::launch(units_of, dim3(gpu::blocks_for(width, THREADS)), dim3(THREADS), 0, width, largest);
    gpu::download(&too_small, flag_there, sizeof too_small);
    if (!too_small && !gpu::failure())
        return memory;
    gpu::release(memory);
    return nullptr;
}
