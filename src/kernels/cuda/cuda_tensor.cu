/* One pass over dense float rows with tensor cores, as accurate as float.
 *
 * A number is the sum of two of half precision, x = x1 + x2, and a product that of three:
 * x w = x1 w1 + x1 w2 + x2 w1 up to about 2^-22. Half precision has few exponents, so powers of two
 * bring the largest number of each column of the data, of each class of W and V and of the
 * coefficients of a tile to 2^14. Rows are kept in this form (cuda_split.cu): nothing is converted on
 * the way. Tensor cores truncate when they add, hence a sum over rows leaves them after 16 rows and
 * goes on in float.
 *
 * A block stays on its multiprocessor and takes tiles of 16 rows, which are fetched tiles ahead (bulk
 * copies, row by row, so lists of rows are as good as ranges). A warp owns a slice of the columns:
 * its part of W and V and its part of the sums stay in registers.
 *
 *   scores        each warp over its columns: m = 16 rows, n = 8 scores, k = 16 columns
 *   coefficients  four other warps, a tile each: the warps' scores are added in order, two lanes to
 *                 a row
 *   sums          each warp for its columns: m = 16 columns, n = 8 outputs, k = 16 rows
 *
 * The scores of a tile come before the sums of the one before, whose coefficients are made meanwhile:
 * tensor cores do not wait for them. The four warps fetch tiles, too.
 *
 * Shared rows are an odd multiple of 16 bytes apart: then neither way of reading them, as rows or as
 * columns, meets a bank twice. */
#include "kernels/cuda/cuda_tile.cuh"

#include <algorithm>

/* ---- The pass ---- */

/* A warp's columns of W and V, in two halves each; a class is a multiple of its unit. */
template <int NS, bool V, int MT>
__device__ static void load_weights(const sweep_task<float> &a, const tensor_shape &shape,
                                    tile_memory &m, int base, int mine, uint32_t (&high)[MT][NS][2],
                                    uint32_t (&low)[MT][NS][2]) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float w[MT][NS][4];
#pragma unroll
    for (int n = 0; n < NS; n++) {
        const int o = n * 8 + g;
        const bool of_v = V && o >= V_AT<NS>;
        const int k = of_v ? o - V_AT<NS> : o;
        uint32_t largest = 0;
#pragma unroll
        for (int i = 0; i < MT; i++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const size_t j = size_t(base + i * 16 + e / 2 * 8 + 2 * t + e % 2);
                w[i][n][e] = i < mine && j < a.columns && k < a.classes
                                 ? (of_v ? a.v : a.w)[size_t(k) * a.columns + j] * shape.rows.unit[j]
                                 : 0.0f;
                largest = max(largest, bits_of_size(w[i][n][e]));
            }
        largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        if (t == 0)
            atomicMax(&m.largest_weight[o], largest);
    }
    __syncthreads();
    if (threadIdx.x < MOST_OUTPUTS)
        m.weight_unit[threadIdx.x] = scale_for(m.largest_weight[threadIdx.x]).unit;
#pragma unroll
    for (int n = 0; n < NS; n++) {
        const float factor = scale_for(m.largest_weight[n * 8 + g]).factor;
#pragma unroll
        for (int i = 0; i < MT; i++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                split_pair(w[i][n][2 * e] * factor, w[i][n][2 * e + 1] * factor, high[i][n][e],
                           low[i][n][e]);
    }
}

/* Where things are in a block. */
struct tile_layout {
    uint32_t tiles, apart; /* in shared memory; bytes between two rows */
    tile_memory *more;
    int count; /* of the tiles of this block */

    __device__ tile_layout(const tensor_shape &shape, char *memory)
        : tiles(shared_address(memory)), apart(uint32_t(shape.apart)),
          more(reinterpret_cast<tile_memory *>(memory + shape.stages * TILE * shape.apart)),
          count(int((shape.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x)) {}
    __device__ uint32_t tile(int stage) const { return tiles + uint32_t(stage) * TILE * apart; }
};

/* The warps that fetch tiles and make coefficients. */
template <int NS, bool V>
__device__ static void serve_rows(const sweep_task<float> &a, const tensor_shape &shape,
                                  const tile_layout &at) {
    tile_memory &m = *at.more;
    const int warp = threadIdx.x / 32 - WARPS;
    double loss = 0.0;
    __syncthreads(); /* with the others: weights have their units */
    for (int turn = warp; turn < at.count; turn += ROW_WARPS) {
        const row_facts facts = facts_of(a, blockIdx.x + turn * size_t(gridDim.x));
        barrier_wait(&m.scored[warp], uint32_t(turn / ROW_WARPS % 2));
        if (turn >= 2 && turn - 2 + shape.stages < at.count) {
            /* nobody reads the tile of two turns ago any more */
            const int free = (turn - 2) % shape.stages;
            fetch_tile(a, shape.rows, blockIdx.x + (turn - 2 + shape.stages) * size_t(gridDim.x),
                       at.tile(free), at.apart, &m.full[free]);
        }
        loss += activate<NS, V>(a, shape, facts, m, turn % 2);
    }
    for (int step = 16; step > 0; step /= 2)
        loss += __shfl_down_sync(0xffffffffu, loss, step);
    if (threadIdx.x % 32 == 0)
        m.loss[warp] = loss;
}

/* The warps that multiply. */
template <int NS, int NO, bool V, int MT>
__device__ static void multiply_rows(const sweep_task<float> &a, const tensor_shape &shape,
                                     const tile_layout &at, float *partial) {
    tile_memory &m = *at.more;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int slices = shape.rows.width / 16;
    const int mine = slices / WARPS + (warp < slices % WARPS);
    const int base = 16 * (warp * (slices / WARPS) + min(warp, slices % WARPS));
    const uint32_t apart = at.apart, low_at = uint32_t(shape.rows.width) * 2;
    uint32_t high[MT][NS][2], low[MT][NS][2]; /* of W and V */
    load_weights<NS, V, MT>(a, shape, m, base, mine, high, low);
    float sum[MT][NO][4];
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int n = 0; n < NO; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[i][n][e] = 0.0f;
    int stage = 0, phase = 0;
    /* where a lane's part of a matrix begins, as rows and as columns */
    const uint32_t as_rows = lane % 16 * apart + uint32_t(base + lane / 16 * 8) * 2;
    const uint32_t as_columns =
        (lane % 8 + lane / 16 * 8) * apart + uint32_t(base + lane / 8 % 2 * 8) * 2;
    uint32_t scored = 0, summed = 0;
    for (int turn = 0; turn <= at.count; turn++) {
        if (turn < at.count) { /* scores of this tile */
            barrier_wait(&m.full[stage], uint32_t(phase));
            scored = at.tile(stage);
            float d[2][NS][4] = {}; /* of small products and of large ones */
#pragma unroll
            for (int i = 0; i < MT; i++) {
                if (i >= mine)
                    break;
                uint32_t x[4], rest[4];
                load_matrix(x, scored + as_rows + i * 32);
                load_matrix(rest, scored + as_rows + i * 32 + low_at);
#pragma unroll
                for (int n = 0; n < NS; n++)
                    multiply(d[0][n], x, low[i][n]);
#pragma unroll
                for (int n = 0; n < NS; n++)
                    multiply(d[1][n], x, high[i][n]);
#pragma unroll
                for (int n = 0; n < NS; n++)
                    multiply(d[0][n], rest, high[i][n]);
            }
#pragma unroll
            for (int n = 0; n < NS; n++)
#pragma unroll
                for (int e = 0; e < 4; e += 2) {
                    const int row = g + 4 * e;
                    *reinterpret_cast<float2 *>(
                        &m.scores[turn % 2][warp][row][score_at(row, n * 8 + 2 * t)]) =
                        make_float2(d[0][n][e] + d[1][n][e], d[0][n][e + 1] + d[1][n][e + 1]);
                }
            barrier_arrive(&m.scored[turn % ROW_WARPS]);
        }
        if (turn > 0) { /* sums of the tile before */
            const int before = (turn + 1) % 2;
            barrier_wait(&m.weighed[before], uint32_t((turn - 1) / 2 % 2));
            uint32_t c[2][NO][2];
            float unit[NO][2];
#pragma unroll
            for (int n = 0; n < NO; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    unit[n][e] = m.unit[before][n * 8 + 2 * t + e];
#pragma unroll
                    for (int part = 0; part < 2; part++)
                        c[part][n][e] = *reinterpret_cast<const uint32_t *>(
                            &m.coefficient[before][part][n * 8 + g][2 * t + 8 * e]);
                }
#pragma unroll
            for (int i = 0; i < MT; i++) {
                if (i >= mine)
                    break;
                uint32_t x[4], rest[4];
                float d[NO][4] = {};
                load_transposed(x, summed + as_columns + i * 32);
                load_transposed(rest, summed + as_columns + i * 32 + low_at);
#pragma unroll
                for (int n = 0; n < NO; n++)
                    multiply(d[n], x, c[1][n]);
#pragma unroll
                for (int n = 0; n < NO; n++)
                    multiply(d[n], rest, c[0][n]);
#pragma unroll
                for (int n = 0; n < NO; n++)
                    multiply(d[n], x, c[0][n]);
#pragma unroll
                for (int n = 0; n < NO; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        sum[i][n][e] += d[n][e] * unit[n][e % 2];
            }
        }
        summed = scored;
        stage = stage + 1 == shape.stages ? 0 : stage + 1;
        phase ^= stage == 0;
    }

    const int K = a.classes, outputs = (shape.r_at >= 0 ? K : 0) + (shape.q_at >= 0 ? K : 0);
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int n = 0; n < NO; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int o = n * 8 + 2 * t + e % 2; /* gradient, then H v, as they are asked for */
                const size_t j = size_t(base + i * 16 + g + e / 2 * 8);
                if (i < mine && j < a.columns && o < outputs)
                    partial[(blockIdx.x * size_t(outputs) + size_t(o)) * a.columns + j] =
                        sum[i][n][e] * shape.rows.unit[j];
            }
}

template <int NS, int NO, bool V, int MT>
__global__ void __launch_bounds__(THREADS, 1)
    tensor_pass(const __grid_constant__ sweep_task<float> a,
                const __grid_constant__ tensor_shape shape, float *partial, double *losses) {
    extern __shared__ __align__(128) char memory[];
    if (shape.same) {
        gpu::begin_small_kernel();
        if ((*shape.same != 0) != (shape.keep == tensor_shape::READ))
            return;
    }
    const tile_layout at(shape, memory);
    for (size_t i = threadIdx.x; i < offsetof(tile_memory, full) / 4; i += THREADS)
        reinterpret_cast<uint32_t *>(at.more)[i] = 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < shape.stages; s++)
            barrier_init(&at.more->full[s], 1);
        for (int w = 0; w < ROW_WARPS; w++)
            barrier_init(&at.more->scored[w], 32 * WARPS);
        for (int t = 0; t < 2; t++)
            barrier_init(&at.more->weighed[t], 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x / 32 == WARPS) /* rows do not change: they need not wait for kernels before */
        for (int s = 0; s < min(shape.stages, at.count); s++)
            fetch_tile(a, shape.rows, blockIdx.x + s * size_t(gridDim.x), at.tile(s), at.apart,
                       &at.more->full[s]);
    gpu::begin_small_kernel();
    if (threadIdx.x < 32 * WARPS) {
        take_registers<216>();
        multiply_rows<NS, NO, V, MT>(a, shape, at, partial);
    } else {
        take_registers<72>();
        serve_rows<NS, V>(a, shape, at);
    }
    __syncthreads();
    const double *loss = at.more->loss;
    if (threadIdx.x == 0)
        losses[blockIdx.x] = ((loss[0] + loss[1]) + loss[2]) + loss[3];
}

/* ---- Which pass ---- */

typedef void (*pass)(sweep_task<float>, tensor_shape, float *, double *);

template <int NS, int NO, bool V> static pass pass_for(int slices) {
    return slices <= 2 * WARPS ? tensor_pass<NS, NO, V, 2> : tensor_pass<NS, NO, V, 7>;
}

/* Eights of scores and of outputs; NULL: there is none. */
static pass find_pass(int scores, int outputs, bool v, int slices) {
    if (slices > 7 * WARPS)
        return nullptr;
    switch (v ? scores * 4 + std::max(outputs, 1) : -scores) {
    case -1:
        return pass_for<1, 1, false>(slices);
    case -2:
        return pass_for<2, 2, false>(slices);
    case -3:
        return pass_for<3, 3, false>(slices);
    case 5:
        return pass_for<1, 1, true>(slices);
    case 9:
        return pass_for<2, 1, true>(slices);
    case 10:
        return pass_for<2, 2, true>(slices);
    case 13:
    case 14:
        return pass_for<3, 2, true>(slices);
    case 15:
        return pass_for<3, 3, true>(slices);
    default:
        return nullptr;
    }
}

static int eights(int n) {
    return (n + 7) / 8;
}

/* Whether W is the one that is kept; if not, it is from now on. */
static __global__ void compare_point(size_t n, const float *w, float *kept, int known, int *same) {
    bool differ = !known;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        differ |= __float_as_uint(w[i]) != __float_as_uint(kept[i]);
    if (!__syncthreads_or(differ)) {
        if (threadIdx.x == 0)
            *same = 1;
        return;
    }
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        kept[i] = w[i];
    if (threadIdx.x == 0)
        *same = 0;
}

/* Launches the pass for this shape; false: there is none. blocks: how many it has. */
static bool launch_pass(const sweep_task<float> &a, tensor_shape shape, blv_sweep_work *work,
                        size_t *blocks) {
    const int K = a.classes, scored = a.v ? 2 * K : K;
    const int summed = K * ((a.gradient ? 1 : 0) + (a.hessian ? 1 : 0));
    if (!a.split || scored > MOST_OUTPUTS || a.count == 0)
        return false;
    shape.rows = split_rows_at(a.split, a.columns);
    const int slices = shape.rows.width / 16;
    const pass run = find_pass(eights(scored), eights(summed), a.v, slices);
    shape.apart = shape.rows.width * 4 + 16;
    shape.r_at = a.gradient ? 0 : -1;
    shape.q_at = !a.hessian ? -1 : a.gradient ? K : 0;
    shape.tiles = (a.count + TILE - 1) / TILE;
    const size_t of_stage = TILE * size_t(shape.apart);
    shape.stages =
        int(std::min<size_t>(MOST_STAGES, (gpu::shared_most - sizeof(tile_memory)) / of_stage));
    const size_t shared = size_t(shape.stages) * of_stage + sizeof(tile_memory);
    *blocks = std::min(shape.tiles, size_t(gpu::processors));
    if (!run || shape.stages < 3 || !make_groups(work, *blocks))
        return false;
    GPU_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void *>(run),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
    gpu::launch_early(run, dim3(unsigned(*blocks)), dim3(THREADS), shared, a, shape,
                      static_cast<float *>(work->partial), work->losses);
    return true;
}

/* H v and J v alone, over all rows, at a point that may be that of the sweep before. */
static bool is_series(const sweep_task<float> &a, const blv_sweep *sweep,
                      const blv_sweep_work *work) {
    return sweep->keep && work->kept && a.v && !a.gradient && a.classes > 1 && !a.index &&
           a.first == 0 && a.count == a.rows && a.rows <= work->kept_rows && !sweep->loss &&
           !a.row_loss && !a.row_probability && !a.row_class;
}

static bool kept_passes(const sweep_task<float> &a, blv_sweep_work *work, size_t *blocks) {
    const size_t weights = work->classes * work->columns;
    float *kept_w = work->kept + work->kept_rows * work->classes;
    int *same = reinterpret_cast<int *>(kept_w + weights);
    tensor_shape shape = {};
    shape.keep = tensor_shape::WRITE;
    shape.kept = work->kept;
    shape.same = same;
    const int known = work->kept_of == a.x;
    work->kept_of = a.x;
    gpu::launch(compare_point, dim3(1), dim3(1024), 0, weights, a.w, kept_w, known, same);
    if (!launch_pass(a, shape, work, blocks)) {
        work->kept_of = nullptr;
        return false;
    }
    sweep_task<float> of_v = a;
    of_v.w = a.v;
    of_v.v = nullptr;
    shape.keep = tensor_shape::READ;
    return launch_pass(of_v, shape, work, blocks);
}

bool tensor_sweep(const sweep_task<float> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    tensor_shape shape = {};
    size_t blocks;
    if (!(is_series(a, sweep, work) ? kept_passes(a, work, &blocks)
                                    : launch_pass(a, shape, work, &blocks)))
        return false;
    finish_task<float> f = {};
    f.columns = a.columns;
    f.groups = f.loss_groups = blocks;
    f.classes = a.classes;
    f.partial = static_cast<float *>(work->partial);
    f.losses = work->losses;
    finish_sweep(sweep, f);
    return true;
}
