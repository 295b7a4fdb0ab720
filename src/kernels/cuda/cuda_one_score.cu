/* One pass over dense rows of few columns with one score: logistic and squares. Eight lanes take a
 * row, and its columns stay in their registers with those of W, V and the sums.
 *
 * A small batch is the work of one block, which first does what vector operations are queued and at
 * the end writes the outputs: one launch in all. */
#include "base/cuda/vector_program.cuh"
#include "kernels/cuda/cuda_sweep.cuh"

#include <algorithm>

enum { LANES = 8, SMALL = 256, SMALL_THREADS = 512, THREADS = 256, BLOCKS_EACH = 4 };
constexpr size_t LONGEST_QUEUED = 20000; /* numbers that one block may update on the way */

template <class real> __device__ real sum_of_row(real value) {
    for (int step = LANES / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

/* The sums of the warps, by column, in `room`; then of the block, by its first threads. */
template <class real, int PER>
__device__ void sum_block(const real *sum, size_t columns, double *room) {
    constexpr int WIDTH = LANES * PER;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < PER; p++) {
        double s = double(sum[p]);
        for (int step = 16; step >= LANES; step /= 2)
            s += __shfl_down_sync(0xffffffffu, s, step);
        if (lane < LANES)
            room[warp * WIDTH + lane + LANES * p] = s;
    }
    __syncthreads();
    const int warps = blockDim.x / 32;
    for (size_t j = threadIdx.x; j < columns; j += blockDim.x) {
        double s = room[j];
        for (int other = 1; other < warps; other++)
            s += room[other * WIDTH + j];
        room[j] = s; /* only this thread reads column j */
    }
}

template <class real, int PER, int BLOCK, bool ALONE>
__global__ void __launch_bounds__(BLOCK)
    one_score_pass(const __grid_constant__ sweep_task<real> a,
                   const __grid_constant__ finish_task<real> f,
                   const __grid_constant__ gpu::program<0> before, real *partial, double *losses) {
    __shared__ double room[BLOCK / 32 * LANES * PER];
    __shared__ double of_warp[BLOCK / 32];
    if constexpr (ALONE) {
        gpu::begin_small_kernel();
        gpu::run_in_block(before);
    }
    const int lane = threadIdx.x % LANES;
    const size_t groups = size_t(gridDim.x) * (BLOCK / LANES);
    real w[PER], v[PER], g[PER], h[PER];
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const size_t j = size_t(lane + LANES * p);
        w[p] = j < a.columns ? a.w[j] : real(0);
        v[p] = a.v && j < a.columns ? a.v[j] : real(0);
        g[p] = h[p] = real(0);
    }
    double loss = 0.0;
    /* all lanes of a warp stay together */
    const size_t first = (blockIdx.x * size_t(BLOCK) + threadIdx.x) / LANES;
    for (size_t turn = first / (32 / LANES) * (32 / LANES); turn < a.count; turn += groups) {
        const size_t i = turn + first % (32 / LANES);
        const bool there = i < a.count;
        const size_t row = a.row_at(there ? i : a.count - 1);
        const real *from = a.x + row * a.stride;
        real x[PER], s = 0, t = 0;
#pragma unroll
        for (int p = 0; p < PER; p++) {
            const size_t j = size_t(lane + LANES * p);
            x[p] = j < a.columns ? from[j] : real(0);
        }
        const real weight = there ? row_weight(a, row) : real(0);
#pragma unroll
        for (int p = 0; p < PER; p++) {
            s += x[p] * w[p];
            t += x[p] * v[p];
        }
        s = sum_of_row(s);
        if (a.v)
            t = sum_of_row(t);
        real residual, second;
        const real of_row = one_score(a, row, s, t, &residual, &second);
        const real r = weight * residual, q = weight * second;
#pragma unroll
        for (int p = 0; p < PER; p++) {
            g[p] += r * x[p];
            h[p] += q * x[p];
        }
        if (there && lane == 0) {
            put_row_outputs(a, row, of_row, residual * t, s > 0);
            loss += double(weight) * double(of_row);
        }
    }
    const int outputs = (a.gradient ? 1 : 0) + (a.hessian ? 1 : 0);
#pragma unroll
    for (int kind = 0; kind < 2; kind++) {
        if (!(kind ? a.hessian : a.gradient))
            continue;
        sum_block<real, PER>(kind ? h : g, a.columns, room);
        for (size_t j = threadIdx.x; j < a.columns; j += BLOCK) {
            if constexpr (ALONE) {
                const double ridge = f.ridge + (f.ridge_column ? double(f.ridge_column[j]) : 0.0) +
                                     (f.ridge_class ? double(f.ridge_class[0]) : 0.0);
                const real *of = kind ? f.v : f.w;
                (kind ? f.hessian : f.gradient)[j] =
                    real(f.scale * room[j] + (ridge != 0.0 ? ridge * double(of[j]) : 0.0));
            } else {
                partial[(blockIdx.x * size_t(outputs) + (kind && a.gradient)) * a.columns + j] =
                    real(room[j]);
            }
        }
    }
    for (int step = 16; step > 0; step /= 2)
        loss += __shfl_down_sync(0xffffffffu, loss, step);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = loss;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int other = 1; other < BLOCK / 32; other++)
            loss += of_warp[other];
        losses[blockIdx.x] = loss;
        if (ALONE && f.to) {
            f.to->value[0] = f.scale * loss;
            gpu::reply(f.to, f.number);
        }
    }
}

template <class real, int PER>
static void run_pass(const sweep_task<real> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    finish_task<real> f = {};
    gpu::program<0> before = {};
    f.columns = a.columns;
    f.classes = 1;
    f.losses = work->losses;
    f.partial = static_cast<real *>(work->partial);
    if (a.count > SMALL) {
        const size_t blocks = std::min<size_t>(size_t(gpu::processors) * BLOCKS_EACH,
                                               gpu::blocks_for(a.count, THREADS / LANES));
        f.groups = f.loss_groups = blocks;
        gpu::launch(one_score_pass<real, PER, THREADS, false>, dim3(unsigned(blocks)),
                    dim3(THREADS), 0, a, f, before, static_cast<real *>(work->partial),
                    work->losses);
        finish_sweep(sweep, f);
        return;
    }
    f = finish_inputs(sweep, f);
    const gpu::question asked = sweep->loss ? gpu::ask() : gpu::question{};
    f.to = asked.to;
    f.number = asked.number;
    {
        std::lock_guard<std::recursive_mutex> hold(gpu::lock);
        if (!gpu::take_queue(LONGEST_QUEUED, before))
            gpu::flush();
        gpu::launch_small(one_score_pass<real, PER, SMALL_THREADS, true>, dim3(1),
                          dim3(SMALL_THREADS), 0, a, f, before, static_cast<real *>(work->partial),
                          work->losses);
    }
    if (sweep->loss)
        *sweep->loss = gpu::wait(asked) ? asked.here->value[0] : double(NAN);
}

template <class real>
bool one_score_sweep(const sweep_task<real> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    if (a.classes != 1 || a.columns > 128 || a.count == 0 ||
        !make_groups(work, size_t(gpu::processors) * BLOCKS_EACH))
        return false;
    (a.columns <= 32   ? run_pass<real, 4>
     : a.columns <= 64 ? run_pass<real, 8>
                       : run_pass<real, 16>)(a, sweep, work);
    return true;
}

template bool one_score_sweep<float>(const sweep_task<float> &, const blv_sweep *,
                                     blv_sweep_work *);
template bool one_score_sweep<double>(const sweep_task<double> &, const blv_sweep *,
                                      blv_sweep_work *);
