/* The end of a sweep: sums of groups of rows are added in their order, in double. */
#include "base/cuda/vector_program.cuh"
#include "kernels/cuda/cuda_sweep.cuh"

enum { COLUMNS = 32, LANES = 8 };

/* A block: 32 columns of one class of one output; lanes share the groups. */
template <class real> __global__ void finish_sums(const finish_task<real> f) {
    __shared__ double part[LANES][COLUMNS];
    gpu::begin_small_kernel();
    const bool second = blockIdx.y >= unsigned(f.classes) || !f.gradient;
    const size_t k = blockIdx.y % unsigned(f.classes);
    const size_t j = blockIdx.x * COLUMNS + threadIdx.x;
    const size_t outputs = gridDim.y;
    double sum = 0.0;
    if (j < f.columns)
        for (size_t g = threadIdx.y; g < f.groups; g += LANES)
            sum += double(f.partial[(g * outputs + blockIdx.y) * f.columns + j]);
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && j < f.columns) {
        for (int l = 1; l < LANES; l++)
            sum += part[l][threadIdx.x];
        const size_t at = f.sparse ? j * size_t(f.classes) + k : k * f.columns + j;
        const double ridge = f.ridge + (f.ridge_column ? double(f.ridge_column[j]) : 0.0) +
                             (f.ridge_class ? double(f.ridge_class[k]) : 0.0);
        const real *of = second ? f.v : f.w;
        (second ? f.hessian : f.gradient)[at] =
            real(f.scale * sum + (ridge != 0.0 ? ridge * double(of[at]) : 0.0));
    }
}

/* One warp, so that the order is fixed. */
static __global__ void finish_loss(const double *losses, size_t groups, double scale,
                                   gpu::answer *to, unsigned long long number) {
    double sum = 0.0;
    for (size_t g = threadIdx.x; g < groups; g += 32)
        sum += losses[g];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) {
        to->value[0] = scale * sum;
        gpu::reply(to, number);
    }
}

double finish_losses(const double *losses, size_t groups, double scale) {
    const gpu::question asked = gpu::ask();
    gpu::launch(finish_loss, dim3(1), dim3(32), 0, losses, groups, scale, asked.to, asked.number);
    return gpu::wait(asked) ? asked.here->value[0] : double(NAN);
}

template <class real> void finish_sweep(const blv_sweep *sweep, finish_task<real> f) {
    f = finish_inputs(sweep, f);
    const unsigned outputs = unsigned(f.classes) * ((f.gradient ? 1u : 0u) + (f.hessian ? 1u : 0u));
    if (outputs > 0 && f.partial)
        gpu::launch_early(finish_sums<real>, dim3(gpu::blocks_for(f.columns, COLUMNS), outputs),
                          dim3(COLUMNS, LANES), 0, f);
    if (sweep->loss)
        *sweep->loss = finish_losses(f.losses, f.loss_groups, sweep->scale);
}

template void finish_sweep<float>(const blv_sweep *, finish_task<float>);
template void finish_sweep<double>(const blv_sweep *, finish_task<double>);
