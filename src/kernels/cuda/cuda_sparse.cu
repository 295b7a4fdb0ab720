/* Sweeps over compressed sparse rows. W is columns x classes, so an entry of a row meets all classes
 * at once: lanes of a warp are classes and, where there are few of them, several entries. Sums go
 * through the copy by columns: each is made by one warp, in one order, with no other's help. */
#include "kernels/cuda/cuda_sweep.cuh"

enum { WARPS = 8 };

static unsigned lanes_for(unsigned outputs) {
    unsigned lanes = 1;
    while (lanes < outputs && lanes < 32)
        lanes *= 2;
    return lanes;
}

/* The sum over lanes that have the same output. */
__device__ static double sum_entries(double value, unsigned lanes) {
    for (unsigned step = 16; step >= lanes; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

template <class real>
__global__ void sparse_scores(const sweep_task<real> a, unsigned lanes, real *scores) {
    const size_t i = blockIdx.x * size_t(WARPS) + threadIdx.x / 32;
    const unsigned K = unsigned(a.classes), outputs = a.v ? 2 * K : K;
    const unsigned lane = threadIdx.x % 32, entry = lane / lanes, entries = 32 / lanes;
    if (i >= a.count)
        return;
    const size_t row = a.row_at(i), end = a.row_start[row + 1];
    for (unsigned of = 0; of < outputs; of += lanes) {
        const unsigned o = of + lane % lanes;
        const real *w = o < K ? a.w + o : a.v + (o - K);
        double sum = 0.0;
        if (o < outputs)
            for (size_t e = a.row_start[row] + entry; e < end; e += entries)
                sum += double(a.value[e]) * double(w[size_t(a.column[e]) * K]);
        sum = sum_entries(sum, lanes);
        if (entry == 0 && o < outputs)
            scores[i * outputs + o] = real(sum);
    }
}

static __global__ void count_times(size_t count, const size_t *index, size_t first,
                                   uint32_t *times) {
    const size_t i = blockIdx.x * size_t(256) + threadIdx.x;
    if (i < count)
        atomicAdd(&times[index ? index[i] : first + i], 1u);
}

/* Coefficients by row of the data. A row that comes twice has the same ones each time. */
template <class real>
__global__ void spread_rows(const sweep_task<real> a, const real *scores, size_t outputs,
                            const uint32_t *times, real *by_row) {
    const size_t at = blockIdx.x * size_t(256) + threadIdx.x, i = at / outputs;
    if (i >= a.count)
        return;
    const size_t row = a.row_at(i);
    by_row[row * outputs + at % outputs] = real(times[row]) * scores[at];
}

struct column_entries {
    const size_t *start;
    const uint32_t *row;
};

/* A warp makes all outputs of a column. by_row begins at row `first` of the data; rows before and
 * behind count as nothing. */
template <class real>
__global__ void sparse_sums(const sweep_task<real> a, const finish_task<real> f,
                            const column_entries by_column, const real *value, const real *by_row,
                            const uint32_t *times, unsigned lanes) {
    const size_t j = blockIdx.x * size_t(WARPS) + threadIdx.x / 32;
    const unsigned K = unsigned(a.classes), all = a.v ? 2 * K : K, first = f.gradient ? 0 : K,
                   outputs = (f.gradient ? K : 0) + (f.hessian ? K : 0);
    const unsigned lane = threadIdx.x % 32, entry = lane / lanes, entries = 32 / lanes;
    if (j >= a.columns)
        return;
    for (unsigned of = 0; of < outputs; of += lanes) {
        const unsigned o = of + lane % lanes;
        double sum = 0.0;
        if (o < outputs)
            for (size_t e = by_column.start[j] + entry; e < by_column.start[j + 1]; e += entries) {
                const size_t row = by_column.row[e];
                if (!times || times[row])
                    sum += double(value[e]) * double(by_row[row * all + first + o]);
            }
        sum = sum_entries(sum, lanes);
        if (entry != 0 || o >= outputs)
            continue;
        const bool second = first + o >= K;
        const unsigned k = (first + o) % K;
        const double ridge = f.ridge + (f.ridge_column ? double(f.ridge_column[j]) : 0.0) +
                             (f.ridge_class ? double(f.ridge_class[k]) : 0.0);
        const real *of_ridge = second ? f.v : f.w;
        (second ? f.hessian : f.gradient)[j * K + k] = real(
            f.scale * sum + (ridge != 0.0 ? ridge * double(of_ridge[j * K + k]) : 0.0));
    }
}

template <class real>
void sparse_sweep(const sweep_task<real> &a, const blv_rows *rows, const blv_sweep *sweep,
                  blv_sweep_work *work) {
    const unsigned K = unsigned(a.classes), all = a.v ? 2 * K : K;
    const bool whole = !a.index && a.first == 0 && a.count == a.rows;
    const bool sums = a.gradient || a.hessian;
    if (!make_groups(work, 1))
        return;
    if (!work->scores)
        work->scores = gpu::allocate(2 * work->max_rows * 2 * work->classes * sizeof(real));
    if (!whole && sums && !work->times)
        work->times = gpu::room<uint32_t>(work->max_rows);
    if (!work->scores || (!whole && sums && !work->times))
        return;
    real *scores = static_cast<real *>(work->scores),
         *by_row = whole ? scores : scores + work->max_rows * 2 * work->classes;
    gpu::launch(sparse_scores<real>, dim3(gpu::blocks_for(a.count, WARPS)), dim3(32 * WARPS), 0, a,
                lanes_for(all), scores);
    activate_rows(a, scores, work->losses);
    finish_task<real> f = {};
    f = finish_inputs(sweep, f);
    f.losses = work->losses;
    f.loss_groups = gpu::blocks_for(a.count, ACTIVATED);
    if (sums && !whole) {
        gpu::flush();
        GPU_CHECK(cudaMemsetAsync(work->times, 0, a.rows * sizeof *work->times, gpu::stream));
        gpu::launch(count_times, dim3(gpu::blocks_for(a.count, 256)), dim3(256), 0, a.count,
                    a.index, a.first, work->times);
        gpu::launch(spread_rows<real>, dim3(gpu::blocks_for(a.count * all, 256)), dim3(256), 0, a,
                    scores, size_t(all), work->times, by_row);
    }
    if (sums)
        gpu::launch(sparse_sums<real>, dim3(gpu::blocks_for(a.columns, WARPS)), dim3(32 * WARPS), 0,
                    a, f, column_entries{rows->column_start, rows->row},
                    static_cast<const real *>(rows->column_value), by_row,
                    whole ? nullptr : work->times,
                    lanes_for((a.gradient ? K : 0) + (a.hessian ? K : 0)));
    finish_sweep(sweep, f); /* the loss alone: there are no sums of groups */
}

template void sparse_sweep<float>(const sweep_task<float> &, const blv_rows *, const blv_sweep *,
                                  blv_sweep_work *);
template void sparse_sweep<double>(const sweep_task<double> &, const blv_rows *, const blv_sweep *,
                                   blv_sweep_work *);
