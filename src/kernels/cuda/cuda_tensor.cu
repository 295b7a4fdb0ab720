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
#include "base/cuda/vector_program.cuh"
#include "kernels/cuda/cuda_split.cuh"
#include "kernels/cuda/cuda_sweep.cuh"

#include <algorithm>

enum { WARPS = 8, ROW_WARPS = 4, TILE = 16, MOST_OUTPUTS = 24, MOST_STAGES = 4 };
constexpr int THREADS = 32 * (WARPS + ROW_WARPS);
/* Named barriers. At the first, one for each of the row warps, and the second, for even and for odd
 * tiles, the warp of a tile meets all that multiply. */
enum { SCORES_READY = 1, COEFFICIENTS_READY = 5, AMONG_PRODUCTS = 7, AMONG_ROWS = 8 };
constexpr int MEETING = 32 * (WARPS + 1);
enum { OF_OUTPUT = 24 }; /* halves between the coefficients of two outputs: no bank twice */

/* What blocks keep in shared memory besides rows and scores. */
struct tile_memory {
    __half coefficient[2][2][MOST_OUTPUTS][OF_OUTPUT]; /* by tile, part, output and row */
    float unit[2][MOST_OUTPUTS];                       /* what those of an output are multiples of */
    uint32_t largest_weight[MOST_OUTPUTS];
    float weight_unit[MOST_OUTPUTS];
    uint64_t full[MOST_STAGES];
    double loss[ROW_WARPS];
};

__device__ static void multiply(float *d, const uint32_t *a, const uint32_t *b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ static void load_matrix(uint32_t *a, uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from));
}

__device__ static void load_transposed(uint32_t *a, uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from));
}

/* Two floats as halves and what these leave. */
__device__ static void split_pair(float x, float y, uint32_t &high, uint32_t &low) {
    const __half2 h = __floats2half2_rn(x, y);
    const __half2 l = __floats2half2_rn(x - __low2float(h), y - __high2float(h));
    high = *reinterpret_cast<const uint32_t *>(&h);
    low = *reinterpret_cast<const uint32_t *>(&l);
}

/* ---- Waiting ---- */

__device__ static void meet(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ static void arrive(int barrier) { /* without waiting */
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(MEETING) : "memory");
}

/* Registers of these warps from now on: products need more than a twelfth, rows fewer. */
template <int COUNT> __device__ static void take_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (COUNT > 65536 / THREADS)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
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

/* By one warp, a row to a lane; the last row stands for those that a tile lacks. */
__device__ static void fetch_tile(const sweep_task<float> &a, const split_rows &rows, size_t tile,
                                  uint32_t to, uint32_t apart, uint64_t *barrier) {
    const unsigned lane = threadIdx.x % 32;
    const uint32_t bytes = uint32_t(rows.width) * 4;
    if (lane == 0)
        barrier_expect(barrier, TILE * bytes);
    __syncwarp();
    if (lane < TILE) {
        const size_t row = a.row_at(min(tile * TILE + lane, a.count - 1));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                     "[%1], %2, [%3];" ::"r"(to + lane * apart),
                     "l"(rows.part + row * 2 * rows.width), "r"(bytes),
                     "r"(shared_address(barrier))
                     : "memory");
    }
}

/* ---- Coefficients of rows ---- */

__device__ static float sum_of_row(float value) {
    return value + __shfl_xor_sync(0xffffffffu, value, 16);
}

struct tensor_shape {
    split_rows rows;
    int apart;        /* bytes between two rows of data in shared memory */
    int scores_apart; /* numbers between two rows of scores */
    int stages;       /* tiles in shared memory */
    int v_at;         /* where the scores of V begin; 0: there are none */
    int r_at, q_at;   /* where the coefficients of the gradient and of H v begin; -1: none */
    size_t tiles;
    bool losses; /* some output needs them */
    /* Probabilities of all rows, where a point is kept: the pass that finds W to be another writes
     * them, the other reads them. */
    enum { NOT_KEPT, WRITE, READ } keep;
    float *kept;
    const int *same; /* whether W is that of the pass before; NULL: nothing is kept */
};

/* What a row's lanes need to know of it, fetched before it is needed. */
struct row_facts {
    size_t row;
    bool there;
    float weight; /* or its logit */
    int label;
};

__device__ static row_facts facts_of(const sweep_task<float> &a, size_t tile) {
    const size_t i = tile * TILE + threadIdx.x % TILE;
    row_facts f = {};
    f.there = i < a.count;
    if (f.there) {
        f.row = a.row_at(i);
        f.weight = a.logit ? a.logit[f.row] : a.weight ? a.weight[f.row] : 1.0f;
        f.label = a.label ? a.label[f.row] : 0;
    }
    return f;
}

/* A weight from its logit, and its slope s (1 - s). */
struct row_weights {
    float weight, slope;
};

__device__ static row_weights weights_of(const sweep_task<float> &a, const row_facts &f) {
    if (!a.logit)
        return {f.there ? f.weight : 0.0f, 1.0f};
    const float e = expf(-fabsf(f.weight)), share = __fdividef(1.0f, 1.0f + e);
    return {f.there ? (f.weight > 0.0f ? share : e * share) : 0.0f, e * share * share};
}

__device__ static void put_slope(const sweep_task<float> &a, size_t row, float value, float *out) {
    if (a.index && a.row_slope != 0.0)
        atomicAdd(out + row, value); /* a row that comes twice adds the same number twice */
    else
        out[row] = value;
}

__device__ static uint32_t bits_of_size(float x) {
    return __float_as_uint(fabsf(x));
}

/* Coefficients of a tile as multiples of a unit. A lane has classes half, half + 2, ... of its row. */
template <int LANE>
__device__ static void put_coefficients(const tensor_shape &shape, tile_memory &m, int tile, int K,
                                        const float *r, const float *q) {
    const int lane = threadIdx.x % 32, row = lane % TILE, half = lane / TILE;
    uint32_t of_r = 0, of_q = 0;
#pragma unroll
    for (int c = 0; c < LANE; c++) {
        if (2 * c >= K)
            break;
        of_r = max(of_r, bits_of_size(r[c]));
        of_q = max(of_q, bits_of_size(q[c]));
    }
    const scale_pair to_r = scale_for(__reduce_max_sync(0xffffffffu, of_r)),
                     to_q = scale_for(__reduce_max_sync(0xffffffffu, of_q));
    if (lane < MOST_OUTPUTS)
        m.unit[tile][lane] = shape.q_at >= 0 && lane >= shape.q_at ? to_q.unit : to_r.unit;
    __half *high_r = &m.coefficient[tile][0][shape.r_at + half][row],
           *high_q = &m.coefficient[tile][0][shape.q_at + half][row];
    constexpr int LOW = MOST_OUTPUTS * OF_OUTPUT;
#pragma unroll
    for (int c = 0; c < LANE; c++) {
        if (2 * c >= K)
            break;
        uint32_t high, low; /* of r, then of q */
        split_pair(r[c] * to_r.factor, q[c] * to_q.factor, high, low);
        if (half + 2 * c < K && shape.r_at >= 0) {
            high_r[2 * c * OF_OUTPUT] = __ushort_as_half(uint16_t(high));
            high_r[2 * c * OF_OUTPUT + LOW] = __ushort_as_half(uint16_t(low));
        }
        if (half + 2 * c < K && shape.q_at >= 0) {
            high_q[2 * c * OF_OUTPUT] = __ushort_as_half(uint16_t(high >> 16));
            high_q[2 * c * OF_OUTPUT + LOW] = __ushort_as_half(uint16_t(low >> 16));
        }
    }
}

/* The sum of a score over the warps. */
__device__ static float whole_score(const float *score, int apart, int parts) {
    float part[WARPS], sum = 0.0f;
#pragma unroll
    for (int p = 0; p < WARPS; p++)
        part[p] = p < parts ? score[p * TILE * apart] : 0.0f;
#pragma unroll
    for (int p = 0; p < WARPS; p++)
        sum += part[p];
    return sum;
}

/* Scores of a row, of all warps, become its coefficients. The largest score is taken off before
 * exponentials. */
template <int NS, int NO>
__device__ static double activate(const sweep_task<float> &a, const tensor_shape &shape,
                                  const row_facts &f, const float *scores, int parts,
                                  tile_memory &m, int tile) {
    constexpr int LANE = 4 * NS; /* classes of a lane, at most */
    const int row = threadIdx.x % TILE, half = threadIdx.x % 32 / TILE, K = a.classes;
    const int apart = shape.scores_apart;
    const float *of_row = scores + row * apart;
    float s[LANE], t[LANE]; /* scores of W and V, then coefficients of the gradient and of H v */
#pragma unroll
    for (int c = 0; c < LANE; c++) {
        const int k = half + 2 * c;
        s[c] = t[c] = 0.0f;
        if (2 * c >= K)
            continue;
        if (k < K)
            s[c] = whole_score(of_row + k, apart, parts) * m.weight_unit[k];
        if (k < K && shape.v_at)
            t[c] = whole_score(of_row + shape.v_at + k, apart, parts) *
                   m.weight_unit[shape.v_at + k];
    }
    const row_weights w = weights_of(a, f);
    float loss = 0.0f, cross = 0.0f;
    int best = 0;
    if (K == 1) {
        float residual = 0.0f, second = 0.0f;
        if (f.there && half == 0)
            loss = one_score(a, f.row, s[0], t[0], &residual, &second);
        best = s[0] > 0.0f;
        cross = residual * t[0];
        s[0] = w.weight * residual;
        t[0] = w.weight * second;
    } else {
        if (shape.keep == tensor_shape::READ) {
#pragma unroll
            for (int c = 0; c < LANE; c++) {
                if (2 * c >= K)
                    break;
                t[c] = s[c]; /* of V alone */
                s[c] = f.there && half + 2 * c < K
                           ? shape.kept[f.row * size_t(K) + size_t(half + 2 * c)]
                           : 0.0f;
            }
        } else {
            float largest = -INFINITY, sum = 0.0f, own = 0.0f;
#pragma unroll
            for (int c = 0; c < LANE; c++)
                if (2 * c < K && half + 2 * c < K)
                    largest = fmaxf(largest, s[c]);
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 16));
            if (a.row_class) {
                best = K;
#pragma unroll
                for (int c = LANE - 1; c >= 0; c--)
                    if (half + 2 * c < K && s[c] == largest)
                        best = half + 2 * c;
                best = min(best, __shfl_xor_sync(0xffffffffu, best, 16));
                best = best < K ? best : 0;
            }
#pragma unroll
            for (int c = 0; c < LANE; c++) {
                const int k = half + 2 * c;
                if (2 * c >= K)
                    break;
                own += k == f.label ? s[c] - largest : 0.0f;
                s[c] = k < K ? expf(s[c] - largest) : 0.0f;
                sum += s[c];
            }
            sum = sum_of_row(sum);
            if (shape.losses)
                loss = logf(sum) - sum_of_row(own);
            const float share = __fdividef(1.0f, sum);
#pragma unroll
            for (int c = 0; c < LANE; c++) {
                if (2 * c >= K)
                    break;
                s[c] *= share;
                if (shape.keep == tensor_shape::WRITE && f.there && half + 2 * c < K)
                    shape.kept[f.row * size_t(K) + size_t(half + 2 * c)] = s[c];
            }
        }
        float mean = 0.0f;
        if (shape.q_at >= 0) {
#pragma unroll
            for (int c = 0; c < LANE; c++)
                mean += 2 * c < K ? s[c] * t[c] : 0.0f;
            mean = sum_of_row(mean);
        }
#pragma unroll
        for (int c = 0; c < LANE; c++) {
            if (2 * c >= K)
                break;
            const float residual = s[c] - (half + 2 * c == f.label ? 1.0f : 0.0f);
            cross += residual * t[c];
            t[c] = w.weight * s[c] * (t[c] - mean);
            s[c] = w.weight * residual;
        }
        if (a.row_cross)
            cross = sum_of_row(cross);
    }
    if constexpr (NO > 0)
        put_coefficients<LANE>(shape, m, tile, K, s, t);
    arrive(COEFFICIENTS_READY + tile);
    if (!f.there || half != 0)
        return 0.0;
    const float slope = a.row_slope != 0.0 ? float(a.row_slope) * w.slope : 1.0f;
    if (a.row_loss)
        put_slope(a, f.row, slope * loss, a.row_loss);
    if (a.row_cross)
        put_slope(a, f.row, slope * cross, a.row_cross);
    if (a.row_probability)
        a.row_probability[f.row] = expf(-loss);
    if (a.row_class)
        a.row_class[f.row] = best;
    return shape.losses ? double(w.weight) * double(loss) : 0.0;
}

/* ---- The pass ---- */

/* A warp's columns of W and V, in two halves each; a class is a multiple of its unit. */
template <int NS, int MT>
__device__ static void load_weights(const sweep_task<float> &a, const tensor_shape &shape,
                                    tile_memory &m, int base, int mine, uint32_t (&high)[MT][NS][2],
                                    uint32_t (&low)[MT][NS][2]) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float w[MT][NS][4];
#pragma unroll
    for (int n = 0; n < NS; n++) {
        const int o = n * 8 + g;
        const bool of_v = shape.v_at && o >= shape.v_at;
        const int k = of_v ? o - shape.v_at : o;
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
    meet(AMONG_PRODUCTS, 32 * WARPS);
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
    float *scores;
    int parts, scores_size; /* warps that have columns; numbers of a tile */
    tile_memory *more;
    int count; /* of the tiles of this block */

    __device__ tile_layout(const tensor_shape &shape, char *memory)
        : tiles(shared_address(memory)), apart(uint32_t(shape.apart)),
          scores(reinterpret_cast<float *>(memory + shape.stages * TILE * shape.apart)),
          parts(min(shape.rows.width / 16, int(WARPS))),
          scores_size(parts * TILE * shape.scores_apart),
          more(reinterpret_cast<tile_memory *>(scores + 2 * scores_size)),
          count(int((shape.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x)) {}
    __device__ uint32_t tile(int stage) const { return tiles + uint32_t(stage) * TILE * apart; }
};

/* The warps that fetch tiles and make coefficients. */
template <int NS, int NO>
__device__ static void serve_rows(const sweep_task<float> &a, const tensor_shape &shape,
                                  const tile_layout &at, double *losses) {
    tile_memory &m = *at.more;
    const int warp = threadIdx.x / 32 - WARPS;
    double loss = 0.0;
    for (int turn = warp; turn < at.count; turn += ROW_WARPS) {
        const row_facts facts = facts_of(a, blockIdx.x + turn * size_t(gridDim.x));
        meet(SCORES_READY + warp, MEETING);
        if (turn >= 2 && turn - 2 + shape.stages < at.count) {
            /* nobody reads the tile of two turns ago any more */
            const int free = (turn - 2) % shape.stages;
            fetch_tile(a, shape.rows, blockIdx.x + (turn - 2 + shape.stages) * size_t(gridDim.x),
                       at.tile(free), at.apart, &m.full[free]);
        }
        loss += activate<NS, NO>(a, shape, facts, at.scores + turn % 2 * at.scores_size, at.parts, m,
                                 turn % 2);
    }
    for (int step = 16; step > 0; step /= 2)
        loss += __shfl_down_sync(0xffffffffu, loss, step);
    if (threadIdx.x % 32 == 0)
        m.loss[warp] = loss;
    meet(AMONG_ROWS, 32 * ROW_WARPS);
    if (warp == 0 && threadIdx.x % 32 == 0)
        losses[blockIdx.x] = ((m.loss[0] + m.loss[1]) + m.loss[2]) + m.loss[3];
}

/* The warps that multiply. */
template <int NS, int NO, int MT>
__device__ static void multiply_rows(const sweep_task<float> &a, const tensor_shape &shape,
                                     const tile_layout &at, float *partial) {
    constexpr int OUT = NO > 0 ? NO : 1;
    tile_memory &m = *at.more;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int slices = shape.rows.width / 16;
    const int mine = slices / WARPS + (warp < slices % WARPS);
    const int base = 16 * (warp * (slices / WARPS) + min(warp, slices % WARPS));
    const uint32_t apart = at.apart, low_at = uint32_t(shape.rows.width) * 2;
    uint32_t high[MT][NS][2], low[MT][NS][2]; /* of W and V */
    load_weights<NS, MT>(a, shape, m, base, mine, high, low);
    float sum[MT][OUT][4];
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int n = 0; n < OUT; n++)
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
            if (mine > 0) {
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
                float *to = at.scores + turn % 2 * at.scores_size +
                            (warp * TILE + g) * shape.scores_apart + 2 * t;
#pragma unroll
                for (int n = 0; n < NS; n++)
                    if (n * 8 + 2 * t < shape.scores_apart) {
                        *reinterpret_cast<float2 *>(to + n * 8) =
                            make_float2(d[0][n][0] + d[1][n][0], d[0][n][1] + d[1][n][1]);
                        *reinterpret_cast<float2 *>(to + 8 * shape.scores_apart + n * 8) =
                            make_float2(d[0][n][2] + d[1][n][2], d[0][n][3] + d[1][n][3]);
                    }
            }
            arrive(SCORES_READY + turn % ROW_WARPS);
        }
        if (turn > 0)
            meet(COEFFICIENTS_READY + (turn + 1) % 2, MEETING);
        if (NO > 0 && turn > 0 && mine > 0) { /* sums of the tile before */
            const int before = (turn + 1) % 2;
            uint32_t c[2][OUT][2];
            float unit[OUT][2];
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
                float d[OUT][4] = {};
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

template <int NS, int NO, int MT>
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
    if (threadIdx.x == 0)
        for (int s = 0; s < shape.stages; s++)
            barrier_init(&at.more->full[s]);
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x / 32 == WARPS) /* rows do not change: they need not wait for kernels before */
        for (int s = 0; s < min(shape.stages, at.count); s++)
            fetch_tile(a, shape.rows, blockIdx.x + s * size_t(gridDim.x), at.tile(s), at.apart,
                       &at.more->full[s]);
    gpu::begin_small_kernel();
    if (threadIdx.x < 32 * WARPS) {
        take_registers<216>();
        multiply_rows<NS, NO, MT>(a, shape, at, partial);
    } else {
        take_registers<72>();
        serve_rows<NS, NO>(a, shape, at, losses);
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
    const int K = a.classes, scored = shape.v_at ? 2 * K : K;
    const int summed = K * ((a.gradient ? 1 : 0) + (a.hessian ? 1 : 0));
    if (!a.split || scored > MOST_OUTPUTS || a.count == 0)
        return false;
    shape.rows = split_rows_at(a.split, a.columns);
    shape.losses = shape.losses || a.row_loss || a.row_probability || K == 1;
    const int slices = shape.rows.width / 16;
    const pass run = find_pass(eights(scored), eights(summed), slices);
    shape.apart = shape.rows.width * 4 + 16;
    shape.scores_apart = ((scored + 1) / 2 | 1) * 2; /* rows meet no bank twice */
    shape.r_at = a.gradient ? 0 : -1;
    shape.q_at = !a.hessian ? -1 : a.gradient ? K : 0;
    shape.tiles = (a.count + TILE - 1) / TILE;
    const size_t of_stage = TILE * size_t(shape.apart);
    const size_t others = 2 * TILE * sizeof(float) *
                              size_t(std::min(slices, int(WARPS)) * shape.scores_apart) +
                          sizeof(tile_memory);
    shape.stages = int(std::min<size_t>(MOST_STAGES, (gpu::shared_most - others) / of_stage));
    const size_t shared = size_t(shape.stages) * of_stage + others;
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
    shape.losses = sweep->loss;
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
