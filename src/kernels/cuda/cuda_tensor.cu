/* One pass over dense float rows with tensor cores, as accurate as float.
 *
 * A product of floats is made of three products of TF32 numbers, of which tensor cores read the
 * upper 19 bits: x = x1 + x2, so x w = x1 w1 + x1 w2 + x2 w1 up to about 2^-21. Tensor cores
 * truncate when they add, hence a sum over rows leaves them after 16 rows and goes on in float.
 *
 * A block stays on its multiprocessor and takes tiles of 16 rows, which are fetched tiles ahead (bulk
 * copies, row by row, so lists of rows are as good as ranges). A warp owns a slice of the columns:
 * its part of W and V and its part of the sums stay in registers.
 *
 *   scores        each warp over its columns: m = 16 rows, n = 8 scores, k = 8 columns
 *   coefficients  half of the warps, in turn: the warps' scores are added in order, eight lanes a row
 *   sums          each warp for its columns: m = 16 columns, n = 8 outputs, k = 8 rows
 *
 * Between two barriers are the sums of a tile, the scores of the next and, beside the sums, the
 * coefficients of the one whose scores are ready: tensor cores do not wait for them.
 *
 * Shared rows are a multiple of 32 plus 8 numbers apart: then neither way of reading them, as rows
 * or as columns, meets a bank twice. */
#include "kernels/cuda/cuda_sweep.cuh"

#include <algorithm>

enum { WARPS = 8, TILE = 16, COEFFICIENTS = 24, MOST_STAGES = 4 };

/* To the nearest. */
__device__ static void split(float x, uint32_t &high, uint32_t &low) {
    high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    low = __float_as_uint(x - __uint_as_float(high));
}

/* What tensor cores leave of x, which they get as it is. */
__device__ static uint32_t rest_of(float x) {
    return __float_as_uint(x - __uint_as_float(__float_as_uint(x) & 0xffffe000u));
}

__device__ static void multiply(float *d, const uint32_t *a, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
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

struct tensor_shape {
    int apart;          /* numbers between two rows of data in shared memory */
    int scores_apart;   /* between two rows of scores */
    int stages;         /* tiles in shared memory */
    int v_at;           /* where the scores of V begin; 0: there are none */
    int r_at, q_at;     /* where the coefficients of the gradient and of H v begin; -1: none */
    size_t tiles;
    /* Probabilities of all rows, where a point is kept: the pass that finds W to be another writes
     * them, the other reads them. */
    enum { NOT_KEPT, WRITE, READ } keep;
    float *kept;
    const int *same; /* whether W is that of the pass before; NULL: nothing is kept */
};

/* What a row's eight lanes need to know of it, fetched before it is needed. */
struct row_facts {
    size_t row;
    bool there;
    float weight;
    int label;
};

__device__ static row_facts facts_of(const sweep_task<float> &a, size_t tile) {
    const size_t i = tile * TILE + threadIdx.x % 128 / 8;
    row_facts f = {};
    f.there = i < a.count;
    if (f.there) {
        f.row = a.row_at(i);
        f.weight = a.logit ? a.logit[f.row] : a.weight ? a.weight[f.row] : 1.0f;
        f.label = a.label ? a.label[f.row] : 0;
    }
    return f;
}

/* Scores of a row, of all warps, become its coefficients. */
template <int NS, int NO>
__device__ static double activate(const sweep_task<float> &a, const tensor_shape &shape,
                                  const row_facts &f, const float *scores, int parts,
                                  float *coefficients) {
    const int lane = threadIdx.x % 8, in_tile = threadIdx.x % 128 / 8, K = a.classes;
    const float *of_row = scores + in_tile * shape.scores_apart;
    float s[NS], t[NS], r[NS], q[NS];
#pragma unroll
    for (int c = 0; c < NS; c++)
        s[c] = t[c] = r[c] = q[c] = 0.0f;
    for (int p = 0; p < parts; p++, of_row += TILE * shape.scores_apart)
#pragma unroll
        for (int c = 0; c < NS; c++) {
            const int k = lane + 8 * c;
            if (k < K) {
                s[c] += of_row[k];
                if (shape.v_at)
                    t[c] += of_row[shape.v_at + k];
            }
        }
    const float weight = !f.there ? 0.0f : a.logit ? sigmoid_of(f.weight) : f.weight;
    float loss = 0.0f, cross = 0.0f;
    int best = K;
    if (K == 1) {
        float residual = 0.0f, second = 0.0f;
        if (f.there && lane == 0)
            loss = one_score(a, f.row, s[0], t[0], &residual, &second);
        best = s[0] > 0.0f;
        cross = residual * t[0];
        r[0] = weight * residual;
        q[0] = weight * second;
    } else if (shape.keep == tensor_shape::READ) {
#pragma unroll
        for (int c = 0; c < NS; c++) {
            t[c] = s[c]; /* of V alone */
            s[c] = f.there && lane + 8 * c < K ? shape.kept[f.row * size_t(K) + lane + 8 * c] : 0.0f;
        }
    } else {
        float largest = -INFINITY, sum = 0.0f, own = 0.0f;
#pragma unroll
        for (int c = 0; c < NS; c++)
            if (lane + 8 * c < K && s[c] > largest) {
                largest = s[c];
                best = lane + 8 * c;
            }
        for (int step = 4; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, largest, step);
            const int of = __shfl_xor_sync(0xffffffffu, best, step);
            if (other > largest || (other == largest && of < best)) {
                largest = other;
                best = of;
            }
        }
#pragma unroll
        for (int c = 0; c < NS; c++) {
            const int k = lane + 8 * c;
            own += k == f.label ? s[c] - largest : 0.0f;
            s[c] = k < K ? expf(s[c] - largest) : 0.0f;
            sum += s[c];
        }
        sum = sum_of_eight(sum);
        loss = logf(sum) - sum_of_eight(own);
#pragma unroll
        for (int c = 0; c < NS; c++) {
            s[c] /= sum;
            if (shape.keep == tensor_shape::WRITE && f.there && lane + 8 * c < K)
                shape.kept[f.row * size_t(K) + lane + 8 * c] = s[c];
        }
    }
    if (K > 1) {
        float mean = 0.0f;
#pragma unroll
        for (int c = 0; c < NS; c++)
            mean += s[c] * t[c];
        mean = sum_of_eight(mean);
#pragma unroll
        for (int c = 0; c < NS; c++) {
            const float residual = s[c] - (lane + 8 * c == f.label ? 1.0f : 0.0f);
            cross += residual * t[c];
            r[c] = weight * residual;
            q[c] = weight * s[c] * (t[c] - mean);
        }
        cross = sum_of_eight(cross);
    }
    if constexpr (NO > 0) {
        float *to = coefficients + in_tile * COEFFICIENTS;
        for (int o = lane; o < COEFFICIENTS; o += 8)
            to[o] = 0.0f;
        __syncwarp();
#pragma unroll
        for (int c = 0; c < NS; c++) {
            const int k = lane + 8 * c;
            if (f.there && k < K && shape.r_at >= 0)
                to[shape.r_at + k] = r[c];
            if (f.there && k < K && shape.q_at >= 0)
                to[shape.q_at + k] = q[c];
        }
    }
    if (!f.there || lane != 0)
        return 0.0;
    put_row_outputs(a, f.row, loss, cross, best < K || K == 1 ? best : 0);
    return double(weight) * double(loss);
}

/* ---- The pass ---- */

template <int NS, int NO, int MT>
__global__ void __launch_bounds__(32 * WARPS, 1)
    tensor_pass(const __grid_constant__ sweep_task<float> a,
                const __grid_constant__ tensor_shape shape, float *partial, double *losses) {
    extern __shared__ __align__(128) float memory[];
    constexpr int OUT = NO > 0 ? NO : 1;
    if (shape.same && (*shape.same != 0) != (shape.keep == tensor_shape::READ))
        return;
    const int apart = shape.apart, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int g = lane / 4, t = lane % 4;
    const int slices = int((a.columns + 15) / 16), parts = min(slices, int(WARPS));
    float *scores = memory + shape.stages * TILE * apart;
    const int scores_size = parts * TILE * shape.scores_apart;
    float *coefficients = scores + 2 * scores_size;
    uint64_t *full = reinterpret_cast<uint64_t *>(coefficients + 2 * TILE * COEFFICIENTS);
    const int mine = slices / WARPS + (warp < slices % WARPS);
    const int base = 16 * (warp * (slices / WARPS) + min(warp, slices % WARPS));

    for (int i = threadIdx.x; i < shape.stages * TILE * apart; i += 32 * WARPS)
        memory[i] = 0.0f; /* what no row fills must be finite */
    if (threadIdx.x == 0)
        for (int s = 0; s < shape.stages; s++)
            barrier_init(&full[s]);
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        for (int s = 0; s < shape.stages; s++)
            if (blockIdx.x + s * size_t(gridDim.x) < shape.tiles)
                fetch_tile(a, blockIdx.x + s * size_t(gridDim.x), memory + s * TILE * apart, apart,
                           &full[s]);

    float w[MT][2][NS][2], sum[MT][OUT][4];
#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
        for (int n = 0; n < OUT; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[m][n][e] = 0.0f;
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int n = 0; n < NS; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int o = n * 8 + g;
                    const bool of_v = shape.v_at && o >= shape.v_at;
                    const int k = of_v ? o - shape.v_at : o;
                    const size_t j = size_t(base + m * 16 + half * 8 + 2 * t + e);
                    w[m][half][n][e] = m < mine && j < a.columns && k < a.classes
                                           ? (of_v ? a.v : a.w)[size_t(k) * a.columns + j]
                                           : 0.0f;
                }
    }
    double loss = 0.0;
    const int tiles = int((shape.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x);
    int stage = 0, phase = 0;
    const float *scored = memory, *summed = memory;
    for (int turn = 0; turn <= tiles; turn++) {
        const size_t tile = blockIdx.x + turn * size_t(gridDim.x);
        const bool activates = turn < tiles && (warp / 4 == turn % 2);
        row_facts facts = {};
        if (activates)
            facts = facts_of(a, tile);
        float *of_turn = scores + turn % 2 * scores_size;
        if (turn < tiles) { /* scores of this tile */
            barrier_wait(&full[stage], uint32_t(phase));
            scored = memory + stage * TILE * apart;
            if (warp < parts) {
                float d[2][NS][4] = {};
#pragma unroll
                for (int m = 0; m < MT; m++) {
                    if (m >= mine)
                        break;
                    float x[2][4];
                    uint32_t low[2][4];
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const float *at = scored + g * apart + base + m * 16 + half * 8 + 2 * t;
                        const float2 above = *reinterpret_cast<const float2 *>(at);
                        const float2 below = *reinterpret_cast<const float2 *>(at + 8 * apart);
                        x[half][0] = above.x;
                        x[half][1] = below.x;
                        x[half][2] = above.y;
                        x[half][3] = below.y;
#pragma unroll
                        for (int e = 0; e < 4; e++)
                            low[half][e] = rest_of(x[half][e]);
                    }
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const uint32_t *upper = reinterpret_cast<const uint32_t *>(x[half]);
                        uint32_t h[NS][2], l[NS][2];
#pragma unroll
                        for (int n = 0; n < NS; n++)
#pragma unroll
                            for (int e = 0; e < 2; e++) {
                                /* parts of W are made each time: no registers are left for them */
                                asm volatile("" : "+f"(w[m][half][n][e]));
                                split(w[m][half][n][e], h[n][e], l[n][e]);
                            }
#pragma unroll
                        for (int n = 0; n < NS; n++)
                            multiply(d[half][n], low[half], h[n][0], h[n][1]);
#pragma unroll
                        for (int n = 0; n < NS; n++)
                            multiply(d[half][n], upper, l[n][0], l[n][1]);
#pragma unroll
                        for (int n = 0; n < NS; n++)
                            multiply(d[half][n], upper, h[n][0], h[n][1]);
                    }
                }
                float *to = of_turn + (warp * TILE + g) * shape.scores_apart + 2 * t;
#pragma unroll
                for (int n = 0; n < NS; n++)
                    if (n * 8 + 2 * t < shape.scores_apart) {
                        *reinterpret_cast<float2 *>(to + n * 8) =
                            make_float2(d[0][n][0] + d[1][n][0], d[0][n][1] + d[1][n][1]);
                        *reinterpret_cast<float2 *>(to + 8 * shape.scores_apart + n * 8) =
                            make_float2(d[0][n][2] + d[1][n][2], d[0][n][3] + d[1][n][3]);
                    }
            }
        }
        __syncthreads();
        if (warp == 0 && turn >= 2 && turn - 2 + shape.stages < tiles) {
            /* nobody reads the tile of two turns ago any more */
            const int free = (turn - 2) % shape.stages;
            fetch_tile(a, blockIdx.x + (turn - 2 + shape.stages) * size_t(gridDim.x),
                       memory + free * TILE * apart, apart, &full[free]);
        }
        if (activates)
            loss += activate<NS, NO>(a, shape, facts, of_turn, parts,
                                     coefficients + turn % 2 * TILE * COEFFICIENTS);
        if (NO > 0 && turn > 0 && warp < parts) { /* sums of the tile before */
            uint32_t high[2][OUT][2], low[2][OUT][2];
            const float *c = coefficients + ((turn + 1) % 2 * TILE + t) * COEFFICIENTS + g;
#pragma unroll
            for (int step = 0; step < 2; step++)
#pragma unroll
                for (int n = 0; n < NO; n++) {
                    split(c[step * 8 * COEFFICIENTS + n * 8], high[step][n][0], low[step][n][0]);
                    split(c[(step * 8 + 4) * COEFFICIENTS + n * 8], high[step][n][1],
                          low[step][n][1]);
                }
#pragma unroll
            for (int m = 0; m < MT; m++) {
                if (m >= mine)
                    break;
                float d[OUT][4] = {};
#pragma unroll
                for (int step = 0; step < 2; step++) {
                    const float *at = summed + (step * 8 + t) * apart + base + m * 16 + 2 * g;
                    const float2 above = *reinterpret_cast<const float2 *>(at);
                    const float2 below = *reinterpret_cast<const float2 *>(at + 4 * apart);
                    const float x[4] = {above.x, above.y, below.x, below.y};
                    const uint32_t *upper = reinterpret_cast<const uint32_t *>(x);
                    uint32_t rest[4];
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        rest[e] = rest_of(x[e]);
#pragma unroll
                    for (int n = 0; n < NO; n++)
                        multiply(d[n], rest, high[step][n][0], high[step][n][1]);
#pragma unroll
                    for (int n = 0; n < NO; n++)
                        multiply(d[n], upper, low[step][n][0], low[step][n][1]);
#pragma unroll
                    for (int n = 0; n < NO; n++)
                        multiply(d[n], upper, high[step][n][0], high[step][n][1]);
                }
#pragma unroll
                for (int n = 0; n < NO; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        sum[m][n][e] += d[n][e];
            }
        }
        summed = scored;
        stage = stage + 1 == shape.stages ? 0 : stage + 1;
        phase ^= stage == 0;
    }

    const int K = a.classes, outputs = (shape.r_at >= 0 ? K : 0) + (shape.q_at >= 0 ? K : 0);
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NO; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int o = n * 8 + 2 * t + e % 2; /* gradient, then H v, as they are asked for */
                const size_t j = size_t(base + m * 16 + 2 * g + e / 2);
                if (m < mine && j < a.columns && o < outputs)
                    partial[(blockIdx.x * size_t(outputs) + size_t(o)) * a.columns + j] =
                        sum[m][n][e];
            }
    for (int step = 16; step > 0; step /= 2)
        loss += __shfl_down_sync(0xffffffffu, loss, step);
    double *of_warp = reinterpret_cast<double *>(scores);
    __syncthreads();
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
    const int K = a.classes, slices = int((a.columns + 15) / 16);
    const int scored = shape.v_at ? 2 * K : K;
    const int summed = K * ((a.gradient ? 1 : 0) + (a.hessian ? 1 : 0));
    if (scored > 24 || a.count == 0 || a.stride % 4 != 0 || slices > 7 * WARPS)
        return false;
    const pass run = find_pass(eights(scored), eights(summed), slices);
    shape.apart = (slices * 16 - 8 + 31) / 32 * 32 + 8;
    shape.scores_apart = (scored + 3) / 4 * 4;
    shape.r_at = a.gradient ? 0 : -1;
    shape.q_at = !a.hessian ? -1 : a.gradient ? K : 0;
    shape.tiles = (a.count + TILE - 1) / TILE;
    const size_t of_stage = TILE * size_t(shape.apart) * sizeof(float);
    const size_t others = 2 * TILE * sizeof(float) *
                              (size_t(std::min(slices, int(WARPS)) * shape.scores_apart) +
                               COEFFICIENTS) +
                          MOST_STAGES * sizeof(uint64_t);
    shape.stages = int(std::min<size_t>(MOST_STAGES, (gpu::shared_most - others) / of_stage));
    const size_t shared = size_t(shape.stages) * of_stage + others;
    *blocks = std::min(shape.tiles, size_t(gpu::processors));
    if (!run || shape.stages < 3 || !make_groups(work, *blocks))
        return false;
    GPU_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void *>(run),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
    gpu::launch(run, dim3(unsigned(*blocks)), dim3(32 * WARPS), shared, a, shape,
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
    shape.v_at = a.classes;
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
    shape.v_at = 0;
    shape.keep = tensor_shape::READ;
    return launch_pass(of_v, shape, work, blocks);
}

bool tensor_sweep(const sweep_task<float> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    tensor_shape shape = {};
    size_t blocks;
    shape.v_at = a.v ? a.classes : 0;
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
