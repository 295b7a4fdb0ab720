/* One pass over dense float rows with tensor cores, as accurate as float.
 *
 * A product of floats is made of three products of TF32 numbers: x = x1 + x2 with x1 rounded to 11
 * bits and x2 the rest, so x w = x1 w1 + x1 w2 + x2 w1 up to 2^-21. Tensor cores truncate when they
 * add, hence a sum over rows leaves them after every eight rows and is added up in float.
 *
 * A block stays on its multiprocessor and takes tiles of 32 rows, each fetched while the one before
 * is worked on (bulk copies, row by row, so lists of rows are as good as ranges). A warp owns a
 * slice of the columns: its part of W and V and its part of the sums stay in registers.
 *
 *   scores        each warp over its columns, m = 16 rows, n = 8 scores, k = 8 columns
 *   coefficients  the warps' scores are added in order; eight lanes to a row
 *   sums          each warp for its columns, m = 16 columns, n = 8 outputs, k = 8 rows
 *
 * Shared rows are a multiple of 32 plus 8 numbers apart: then neither way of reading them, as rows
 * or as columns, meets a bank twice. */
#include "kernels/cuda/cuda_sweep.cuh"

#include <algorithm>

enum { WARPS = 8, TILE = 32 };

template <int TILES> __host__ __device__ constexpr int padded() {
    return TILES <= 1 ? 8 : 24; /* numbers of a row of scores or coefficients */
}

__device__ static void split(float x, uint32_t &high, uint32_t &low) {
    high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

__device__ static void multiply(float *d, const uint32_t *a, uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* ---- Fetching rows ---- */

__device__ static uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ static void barrier_init(uint64_t *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)));
}

__device__ static void barrier_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ static void barrier_wait(uint64_t *barrier, uint32_t phase) {
    uint32_t done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(phase)
                     : "memory");
    } while (!done);
}

__device__ static void fetch_row(float *to, const float *from, uint32_t bytes, uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

/* By the first warp, a row to a lane. */
__device__ static void fetch_tile(const sweep_task<float> &a, size_t tile, float *to, int apart,
                                  uint64_t *barrier) {
    const unsigned lane = threadIdx.x % 32;
    const size_t begin = tile * TILE, rows = min(size_t(TILE), a.count - begin);
    const uint32_t bytes = uint32_t((a.columns + 3) / 4 * 16);
    if (lane == 0)
        barrier_expect(barrier, uint32_t(rows) * bytes);
    __syncwarp();
    if (lane < rows)
        fetch_row(to + lane * apart, a.x + a.row_at(begin + lane) * a.stride, bytes, barrier);
}

/* ---- Coefficients of rows ---- */

__device__ static float sum_of_eight(float value) {
    for (int step = 4; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

/* Eight lanes to a row; the row's coefficients take the place of the first warp's scores. v_at:
 * where the scores of V begin; q_at: where the coefficients of H v go; either may be -1. */
template <int NS, int NO>
__device__ static double coefficients(const sweep_task<float> &a, size_t tile, float *scores,
                                      int parts, int v_at, int r_at, int q_at) {
    constexpr int APART = padded<NS>(), MOST = NS; /* classes of a lane */
    const int lane = threadIdx.x % 8, in_tile = int(threadIdx.x) / 8;
    const size_t i = tile * TILE + size_t(in_tile);
    const bool real_row = i < a.count;
    const size_t row = real_row ? a.row_at(i) : 0;
    const int K = a.classes;
    float s[MOST], t[MOST], r[MOST], q[MOST];
    float *of_row = scores + in_tile * APART;
#pragma unroll
    for (int c = 0; c < MOST; c++) {
        const int k = lane + 8 * c;
        s[c] = t[c] = 0.0f;
        if (k < K)
            for (int p = 0; p < parts; p++) {
                s[c] += of_row[p * TILE * APART + k];
                if (v_at > 0)
                    t[c] += of_row[p * TILE * APART + v_at + k];
            }
    }
    float loss = 0.0f, cross = 0.0f;
    const float weight = real_row ? row_weight(a, row) : 0.0f;
    int best = 0;
    if (K == 1) {
        float residual = 0.0f, second = 0.0f;
        if (real_row && lane == 0)
            loss = one_score(a, row, s[0], t[0], &residual, &second);
        best = s[0] > 0.0f;
        cross = residual * t[0];
        r[0] = weight * residual;
        q[0] = weight * second;
    } else {
        const int label = real_row ? a.label[row] : 0;
        float largest = -INFINITY, sum = 0.0f, mean = 0.0f, own = 0.0f;
        best = K;
#pragma unroll
        for (int c = 0; c < MOST; c++) {
            const int k = lane + 8 * c;
            if (k < K && s[c] > largest) {
                largest = s[c];
                best = k;
            }
        }
        for (int step = 4; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, largest, step);
            const int of = __shfl_xor_sync(0xffffffffu, best, step);
            if (other > largest || (other == largest && of < best)) {
                largest = other;
                best = of;
            }
        }
        if (best == K)
            best = 0;
#pragma unroll
        for (int c = 0; c < MOST; c++) {
            const int k = lane + 8 * c;
            own += k == label && k < K ? s[c] - largest : 0.0f;
            s[c] = k < K ? expf(s[c] - largest) : 0.0f;
            sum += s[c];
        }
        sum = sum_of_eight(sum);
        loss = logf(sum) - sum_of_eight(own);
#pragma unroll
        for (int c = 0; c < MOST; c++) {
            s[c] /= sum;
            mean += s[c] * t[c];
        }
        mean = sum_of_eight(mean);
#pragma unroll
        for (int c = 0; c < MOST; c++) {
            const float residual = s[c] - (lane + 8 * c == label ? 1.0f : 0.0f);
            cross += residual * t[c];
            r[c] = weight * residual;
            q[c] = weight * s[c] * (t[c] - mean);
        }
        cross = sum_of_eight(cross);
    }
    __syncwarp();
    if (NO > 0) {
#pragma unroll
        for (int o = lane; o < APART; o += 8)
            of_row[o] = 0.0f;
        __syncwarp();
#pragma unroll
        for (int c = 0; c < MOST; c++) {
            const int k = lane + 8 * c;
            if (real_row && k < K && r_at >= 0)
                of_row[r_at + k] = r[c];
            if (real_row && k < K && q_at >= 0)
                of_row[q_at + k] = q[c];
        }
    }
    if (!real_row || lane != 0)
        return 0.0;
    put_row_outputs(a, row, loss, cross, best);
    return double(weight) * double(loss);
}

/* ---- The pass ---- */

struct tensor_shape {
    int apart;            /* numbers between two rows in shared memory */
    int v_at, r_at, q_at; /* see above */
    size_t tiles;
};

template <int NS, int NO, int MT>
__global__ void __launch_bounds__(32 * WARPS, 1)
    tensor_pass(const __grid_constant__ sweep_task<float> a,
                const __grid_constant__ tensor_shape shape, float *partial, double *losses) {
    extern __shared__ __align__(128) float memory[];
    constexpr int APART = padded<NS>();
    const int apart = shape.apart, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int g = lane / 4, t = lane % 4;
    float *scores = memory + 2 * TILE * apart;
    const int slices = int((a.columns + 15) / 16), parts = min(slices, int(WARPS));
    uint64_t *full = reinterpret_cast<uint64_t *>(scores + parts * TILE * APART);
    const int mine = slices / WARPS + (warp < slices % WARPS);
    const int base = 16 * (warp * (slices / WARPS) + min(warp, slices % WARPS));

    for (int i = threadIdx.x; i < 2 * TILE * apart; i += 32 * WARPS)
        memory[i] = 0.0f; /* what no row fills must be finite */
    if (threadIdx.x == 0) {
        barrier_init(&full[0]);
        barrier_init(&full[1]);
    }
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        for (int b = 0; b < 2; b++)
            if (blockIdx.x + b * gridDim.x < shape.tiles)
                fetch_tile(a, blockIdx.x + b * size_t(gridDim.x), memory + b * TILE * apart, apart,
                           &full[b]);

    float w[MT][2][NS][2], sum[MT][NO > 0 ? NO : 1][4];
#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
        for (int n = 0; n < (NO > 0 ? NO : 1); n++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[m][n][c] = 0.0f;
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int n = 0; n < NS; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int o = n * 8 + g, k = shape.v_at > 0 && o >= shape.v_at
                                                     ? o - shape.v_at
                                                     : o;
                    const size_t j = size_t(base + m * 16 + half * 8 + 2 * t + e);
                    const float *from = o == k ? a.w : a.v;
                    w[m][half][n][e] = m < mine && j < a.columns && k < a.classes
                                           ? from[size_t(k) * a.columns + j]
                                           : 0.0f;
                }
    }
    double loss = 0.0;
    uint32_t turn = 0; /* buffers in turn; each one's phase changes every other time */
    for (size_t tile = blockIdx.x; tile < shape.tiles; tile += gridDim.x, turn++) {
        uint64_t *barrier = &full[turn % 2];
        float *rows = memory + turn % 2 * TILE * apart;
        barrier_wait(barrier, turn / 2 % 2);
        if (warp < parts) { /* scores */
            float d[2][NS][4] = {};
#pragma unroll
            for (int m = 0; m < MT; m++) {
                if (m >= mine)
                    break;
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const float *at = rows + g * apart + base + m * 16 + half * 8 + 2 * t;
                    uint32_t high[2][4], low[2][4];
#pragma unroll
                    for (int r = 0; r < 2; r++) {
                        const float2 above = *reinterpret_cast<const float2 *>(at + r * 16 * apart);
                        const float2 below =
                            *reinterpret_cast<const float2 *>(at + (r * 16 + 8) * apart);
                        split(above.x, high[r][0], low[r][0]);
                        split(below.x, high[r][1], low[r][1]);
                        split(above.y, high[r][2], low[r][2]);
                        split(below.y, high[r][3], low[r][3]);
                    }
#pragma unroll
                    for (int n = 0; n < NS; n++) {
                        uint32_t h0, l0, h1, l1;
                        split(w[m][half][n][0], h0, l0);
                        split(w[m][half][n][1], h1, l1);
#pragma unroll
                        for (int r = 0; r < 2; r++) {
                            multiply(d[r][n], low[r], h0, h1);
                            multiply(d[r][n], high[r], l0, l1);
                            multiply(d[r][n], high[r], h0, h1);
                        }
                    }
                }
            }
            float *to = scores + (warp * TILE + g) * APART + 2 * t;
#pragma unroll
            for (int r = 0; r < 2; r++)
#pragma unroll
                for (int n = 0; n < NS; n++) {
                    *reinterpret_cast<float2 *>(to + r * 16 * APART + n * 8) =
                        make_float2(d[r][n][0], d[r][n][1]);
                    *reinterpret_cast<float2 *>(to + (r * 16 + 8) * APART + n * 8) =
                        make_float2(d[r][n][2], d[r][n][3]);
                }
        }
        __syncthreads();
        loss += coefficients<NS, NO>(a, tile, scores, parts, shape.v_at, shape.r_at, shape.q_at);
        __syncthreads();
        if (NO > 0 && warp < parts) { /* sums */
#pragma unroll
            for (int step = 0; step < TILE / 8; step++) {
                uint32_t high[NO > 0 ? NO : 1][2], low[NO > 0 ? NO : 1][2];
                const float *c = scores + (step * 8 + t) * APART + g;
#pragma unroll
                for (int n = 0; n < NO; n++) {
                    split(c[n * 8], high[n][0], low[n][0]);
                    split(c[n * 8 + 4 * APART], high[n][1], low[n][1]);
                }
#pragma unroll
                for (int m = 0; m < MT; m++) {
                    if (m >= mine)
                        break;
                    const float *at = rows + (step * 8 + t) * apart + base + m * 16 + 2 * g;
                    const float2 above = *reinterpret_cast<const float2 *>(at);
                    const float2 below = *reinterpret_cast<const float2 *>(at + 4 * apart);
                    uint32_t xh[4], xl[4];
                    split(above.x, xh[0], xl[0]);
                    split(above.y, xh[1], xl[1]);
                    split(below.x, xh[2], xl[2]);
                    split(below.y, xh[3], xl[3]);
#pragma unroll
                    for (int n = 0; n < NO; n++) {
                        float d[4] = {};
                        multiply(d, xl, high[n][0], high[n][1]);
                        multiply(d, xh, low[n][0], low[n][1]);
                        multiply(d, xh, high[n][0], high[n][1]);
#pragma unroll
                        for (int e = 0; e < 4; e++)
                            sum[m][n][e] += d[e];
                    }
                }
            }
        }
        __syncthreads();
        if (warp == 0 && tile + 2 * size_t(gridDim.x) < shape.tiles)
            fetch_tile(a, tile + 2 * size_t(gridDim.x), rows, apart, barrier);
    }

    const int K = a.classes, outputs = (shape.r_at >= 0 ? K : 0) + (shape.q_at >= 0 ? K : 0);
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NO; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int o = n * 8 + 2 * t + e % 2;
                const int second = shape.q_at >= 0 && o >= shape.q_at;
                const int k = second ? o - shape.q_at : o;
                const size_t j = size_t(base + m * 16 + 2 * g + e / 2);
                if (m < mine && j < a.columns && k < K)
                    partial[(blockIdx.x * size_t(outputs) +
                             size_t(second && shape.r_at >= 0 ? K + k : k)) *
                                a.columns +
                            j] = sum[m][n][e];
            }
    for (int step = 16; step > 0; step /= 2)
        loss += __shfl_down_sync(0xffffffffu, loss, step);
    double *of_warp = reinterpret_cast<double *>(scores);
    if (lane == 0)
        of_warp[warp] = loss;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int other = 1; other < WARPS; other++)
            loss += of_warp[other];
        losses[blockIdx.x] = loss;
    }
}

/* ---- Which pass ---- */

typedef void (*pass)(sweep_task<float>, tensor_shape, float *, double *);

template <int NS, int NO> static pass pass_for(int slices) {
    return slices <= 2 * WARPS ? tensor_pass<NS, NO, 2> : tensor_pass<NS, NO, 7>;
}

/* Scores and outputs, in eights; NULL: there is none. */
static pass find_pass(int scores, int outputs, int slices) {
    if (slices > 7 * WARPS)
        return nullptr;
    switch (scores * 4 + outputs) {
    case 4:
        return pass_for<1, 0>(slices);
    case 8:
        return pass_for<2, 0>(slices);
    case 12:
        return pass_for<3, 0>(slices);
    case 5:
        return pass_for<1, 1>(slices);
    case 9:
        return pass_for<2, 1>(slices);
    case 10:
        return pass_for<2, 2>(slices);
    case 14:
        return pass_for<3, 2>(slices);
    case 15:
        return pass_for<3, 3>(slices);
    default:
        return nullptr;
    }
}

static int eights(int n) {
    return (n + 7) / 8;
}

bool tensor_sweep(const sweep_task<float> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    const int K = a.classes, slices = int((a.columns + 15) / 16);
    if (K > 24 || a.count == 0 || a.stride % 4 != 0 || slices > 7 * WARPS)
        return false;
    /* with V, the second half of the eights is its */
    const int scores = eights(a.v ? 2 * (K <= 4 ? 4 : K <= 8 ? 8 : 12) : K);
    const int kinds = (a.gradient ? 1 : 0) + (a.hessian ? 1 : 0);
    const int outputs = kinds == 2 ? scores : kinds == 1 ? eights(K) : 0;
    if (a.v && K > 12)
        return false;
    const pass run = find_pass(scores, outputs, slices);
    tensor_shape shape = {};
    shape.apart = (slices * 16 - 8 + 31) / 32 * 32 + 8;
    shape.v_at = a.v ? scores * 4 : -1;
    shape.r_at = a.gradient ? 0 : -1;
    shape.q_at = !a.hessian ? -1 : a.gradient ? outputs * 4 : 0;
    shape.tiles = (a.count + TILE - 1) / TILE;
    const size_t apart_scores = scores <= 1 ? 8 : 24;
    const size_t shared = (2 * TILE * size_t(shape.apart) +
                           size_t(std::min(slices, int(WARPS))) * TILE * apart_scores) *
                              sizeof(float) +
                          2 * sizeof(uint64_t);
    const size_t blocks = std::min(shape.tiles, size_t(gpu::processors));
    if (!run || shared > gpu::shared_most || !make_groups(work, blocks))
        return false;
    GPU_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void *>(run),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
    gpu::launch(run, dim3(unsigned(blocks)), dim3(32 * WARPS), shared, a, shape,
                static_cast<float *>(work->partial), work->losses);
    finish_task<float> f = {};
    f.columns = a.columns;
    f.groups = blocks;
    f.classes = K;
    f.partial = static_cast<float *>(work->partial);
    f.losses = work->losses;
    f.loss_groups = blocks;
    finish_sweep(sweep, f);
    return true;
}
