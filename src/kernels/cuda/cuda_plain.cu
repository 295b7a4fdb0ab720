/* Sweeps over dense rows of any shape, in either precision, in three launches: scores X W' and X V',
 * coefficients of each row, sums of coefficients times rows. Reads the rows twice. */
#include "kernels/cuda/cuda_sweep.cuh"

#include <algorithm>

enum { WARPS = 8, ROWS = 4, SCORES = 8 };

/* A warp takes four rows and eight scores, lanes share the columns. */
template <class real> __global__ void score_rows(const sweep_task<real> a, real *scores) {
    const size_t begin = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
    const unsigned lane = threadIdx.x % 32, outputs = unsigned(a.classes) * (a.v ? 2 : 1),
                   of = blockIdx.y * SCORES;
    const real *x[ROWS], *w[SCORES];
    real sum[ROWS][SCORES] = {};
    if (begin >= a.count)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        x[r] = a.x + a.row_at(min(begin + r, a.count - 1)) * a.stride;
#pragma unroll
    for (int o = 0; o < SCORES; o++) {
        const unsigned k = min(of + o, outputs - 1);
        w[o] = k < unsigned(a.classes) ? a.w + k * a.columns
                                       : a.v + (k - unsigned(a.classes)) * a.columns;
    }
    for (size_t j = lane; j < a.columns; j += 32) {
        real entry[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            entry[r] = x[r][j];
#pragma unroll
        for (int o = 0; o < SCORES; o++) {
            if (of + o >= outputs)
                break;
            const real weight = w[o][j];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r][o] += entry[r] * weight;
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int o = 0; o < SCORES; o++) {
            real s = sum[r][o];
            for (int step = 16; step > 0; step /= 2)
                s += __shfl_down_sync(0xffffffffu, s, step);
            if (lane == 0 && begin + r < a.count && of + o < outputs)
                scores[(begin + r) * outputs + of + o] = s;
        }
}

/* ---- Coefficients ---- */

/* Losses of the rows of a block are added by its first thread, in order. */
template <class real>
__global__ void activate(const sweep_task<real> a, real *scores, double *losses) {
    __shared__ double of_row[ACTIVATED];
    const size_t i = blockIdx.x * size_t(ACTIVATED) + threadIdx.x;
    const size_t outputs = size_t(a.classes) * (a.v ? 2 : 1);
    of_row[threadIdx.x] = 0.0;
    if (i < a.count) {
        const size_t row = a.row_at(i);
        real *s = scores + i * outputs;
        of_row[threadIdx.x] = double(activate_row(a, row, row_weight(a, row), s));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0.0;
        for (int t = 0; t < ACTIVATED; t++)
            sum += of_row[t];
        losses[blockIdx.x] = sum;
    }
}

template <class real> void activate_rows(const sweep_task<real> &a, real *scores, double *losses) {
    gpu::launch(activate<real>, dim3(gpu::blocks_for(a.count, ACTIVATED)), dim3(ACTIVATED), 0, a,
                scores, losses);
}

template void activate_rows<float>(const sweep_task<float> &, float *, double *);
template void activate_rows<double>(const sweep_task<double> &, double *, double *);

/* ---- Sums ---- */

enum { SUM_COLUMNS = 32, SUM_LANES = 8, SUM_OUTPUTS = 10 };

/* A block: 32 columns, ten outputs, one group of rows, which its lanes share. */
template <class real>
__global__ void sum_rows(const sweep_task<real> a, const real *coefficients, unsigned first_output,
                         unsigned outputs, size_t group_rows, real *partial) {
    __shared__ real part[SUM_LANES][SUM_OUTPUTS][SUM_COLUMNS];
    const size_t all = size_t(a.classes) * (a.v ? 2 : 1);
    const size_t j = blockIdx.x * SUM_COLUMNS + threadIdx.x;
    const unsigned of = blockIdx.z * SUM_OUTPUTS, here = min(unsigned(SUM_OUTPUTS), outputs - of);
    const size_t begin = blockIdx.y * group_rows, end = min(a.count, begin + group_rows);
    real sum[SUM_OUTPUTS] = {};
    for (size_t i = begin + threadIdx.y; i < end; i += SUM_LANES) {
        const real entry = j < a.columns ? a.x[a.row_at(i) * a.stride + j] : real(0);
        const real *c = coefficients + i * all + first_output + of;
#pragma unroll
        for (unsigned o = 0; o < SUM_OUTPUTS; o++)
            if (o < here)
                sum[o] += c[o] * entry;
    }
#pragma unroll
    for (int o = 0; o < SUM_OUTPUTS; o++)
        part[threadIdx.y][o][threadIdx.x] = sum[o];
    __syncthreads();
    for (unsigned o = threadIdx.y; o < here && j < a.columns; o += SUM_LANES) {
        real s = 0;
        for (int l = 0; l < SUM_LANES; l++)
            s += part[l][o][threadIdx.x];
        partial[(blockIdx.y * size_t(outputs) + of + o) * a.columns + j] = s;
    }
}

bool make_groups(blv_sweep_work *work, size_t groups) {
    if (groups <= work->groups)
        return true;
    gpu::release(work->partial);
    gpu::release(work->losses);
    const size_t losses = std::max(groups, work->max_rows / ACTIVATED + 1);
    work->partial = work->sparse ? gpu::allocate(1)
                                 : gpu::allocate(groups * 2 * work->classes * work->columns *
                                                 work->real_size);
    work->losses = gpu::room<double>(losses);
    work->groups = work->partial && work->losses ? groups : 0;
    return work->groups > 0;
}

template <class real>
void plain_sweep(const sweep_task<real> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    enum { GROUP_ROWS = 512, MOST_GROUPS = 128 };
    const unsigned K = unsigned(a.classes), all = a.v ? 2 * K : K;
    const unsigned first = a.gradient ? 0 : K;
    const unsigned outputs = (a.gradient ? K : 0) + (a.hessian ? K : 0);
    const size_t groups =
        std::min<size_t>(MOST_GROUPS, std::max<size_t>(1, (a.count + GROUP_ROWS - 1) / GROUP_ROWS));
    const size_t group_rows = (a.count + groups - 1) / groups;
    if (!work->scores)
        work->scores = gpu::allocate(work->max_rows * 2 * work->classes * sizeof(real));
    if (!work->scores || !make_groups(work, groups))
        return;
    real *scores = static_cast<real *>(work->scores), *partial = static_cast<real *>(work->partial);
    const unsigned blocks = gpu::blocks_for(a.count, ACTIVATED);
    gpu::launch(score_rows<real>,
                dim3(gpu::blocks_for(a.count, WARPS * ROWS), (all + SCORES - 1) / SCORES),
                dim3(32 * WARPS), 0, a, scores);
    activate_rows(a, scores, work->losses);
    if (outputs > 0)
        gpu::launch(sum_rows<real>,
                    dim3(gpu::blocks_for(a.columns, SUM_COLUMNS), unsigned(groups),
                         (outputs + SUM_OUTPUTS - 1) / SUM_OUTPUTS),
                    dim3(SUM_COLUMNS, SUM_LANES), 0, a, scores, first, outputs, group_rows,
                    partial);
    finish_task<real> f = {};
    f.columns = a.columns;
    f.groups = groups;
    f.classes = a.classes;
    f.partial = partial;
    f.losses = work->losses;
    f.loss_groups = blocks;
    finish_sweep(sweep, f);
}

template void plain_sweep<float>(const sweep_task<float> &, const blv_sweep *, blv_sweep_work *);
template void plain_sweep<double>(const sweep_task<double> &, const blv_sweep *, blv_sweep_work *);
