/* Tiles of 16 rows of cuda_tensor.cu, which says how they are used: what a block keeps of them,
 * products of tensor cores, barriers, fetching rows, and the coefficients of rows. */
#pragma once

#include "base/cuda/vector_program.cuh"
#include "kernels/cuda/cuda_split.cuh"
#include "kernels/cuda/cuda_sweep.cuh"

enum { WARPS = 8, ROW_WARPS = 4, TILE = 16, MOST_OUTPUTS = 24, MOST_STAGES = 4 };
constexpr int THREADS = 32 * (WARPS + ROW_WARPS);
/* Barriers in shared memory. At `scored`, one for each of the row warps, and `weighed`, for even and
 * for odd tiles, the warp of a tile meets all that multiply: one side arrives, the other waits.
 *
 *   scores        written in turn t, arrive; the row warp waits, reads, and arrives at the second
 *                 barrier, where the others wait in turn t + 1, before they write again in t + 2
 *   coefficients  written before that arrival, read after that wait; the row warp of t + 2 writes
 *                 after it has waited for scores of t + 2, which come after the reading
 *   rows          read for the last time in turn t + 1; the row warp of t + 2 has waited for its
 *                 scores when it fetches others into their place
 *
 * Turns t and t + 4, which have one barrier for their scores, are apart by the second barrier. All
 * lanes of a warp arrive: where one does for them, behind __syncwarp, racecheck takes the others' reads
 * and writes for unordered; and it does at named barriers. */
enum { OF_OUTPUT = 24 }; /* halves between the coefficients of two outputs: no bank twice */

/* What blocks keep in shared memory besides rows. */
struct tile_memory {
    __half coefficient[2][2][MOST_OUTPUTS][OF_OUTPUT]; /* by tile, part, output and row */
    float unit[2][MOST_OUTPUTS];                       /* what those of an output are multiples of */
    uint32_t largest_weight[MOST_OUTPUTS];
    float weight_unit[MOST_OUTPUTS];
    uint64_t full[MOST_STAGES], scored[ROW_WARPS], weighed[2]; /* barriers */
    double loss[ROW_WARPS];
    float scores[2][WARPS][TILE][MOST_OUTPUTS]; /* by tile, warp and row; see score_at */
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

/* Registers of these warps from now on: products need more than a twelfth, rows fewer. */
template <int COUNT> __device__ static void take_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (COUNT > 65536 / THREADS)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

/* ---- Waiting ---- */

__device__ static uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ static void barrier_init(uint64_t *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

__device__ static void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
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

/* ---- Fetching rows ---- */

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
    int apart;      /* bytes between two rows of data in shared memory */
    int stages;     /* tiles in shared memory */
    int r_at, q_at; /* where the coefficients of the gradient and of H v begin; -1: none */
    size_t tiles;
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

/* Where a score of a row is: pairs of scores change places, so that no bank is met twice. */
__device__ static int score_at(int row, int score) {
    return (score / 2 ^ row / 4) * 2 + score % 2;
}

/* Where the scores of V begin, and how many classes a lane has at most. */
template <int NS> constexpr int V_AT = 4 * NS;
template <int NS, bool V> constexpr int LANE = V ? 2 * NS : 4 * NS;

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

/* Sums of a row's scores over the warps, from score `first` on; those of no class are 0. */
template <int LANE>
__device__ static void add_scores(const tile_memory &m, int tile, int first, float *s) {
    const int row = threadIdx.x % TILE, half = threadIdx.x % 32 / TILE;
#pragma unroll
    for (int c = 0; c < LANE; c++) {
        const float *at = &m.scores[tile][0][row][score_at(row, first + half + 2 * c)];
        float sum = 0.0f;
#pragma unroll
        for (int warp = 0; warp < WARPS; warp++)
            sum += at[warp * TILE * MOST_OUTPUTS];
        s[c] = sum * m.weight_unit[first + half + 2 * c];
    }
}

/* Scores of a row, of all warps, become its coefficients. The largest score is taken off before
 * exponentials. */
template <int NS, bool V>
__device__ static double activate(const sweep_task<float> &a, const tensor_shape &shape,
                                  const row_facts &f, tile_memory &m, int tile) {
    constexpr int CLASSES = LANE<NS, V>;
    const int half = threadIdx.x % 32 / TILE, K = a.classes;
    float s[CLASSES], t[CLASSES]; /* scores of W and V, then coefficients of the gradient and H v */
    add_scores<CLASSES>(m, tile, 0, s);
    if constexpr (V)
        add_scores<CLASSES>(m, tile, V_AT<NS>, t);
#pragma unroll
    for (int c = 0; !V && c < CLASSES; c++)
        t[c] = 0.0f;
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
            for (int c = 0; c < CLASSES; c++) {
                t[c] = s[c]; /* of V alone */
                s[c] = f.there && half + 2 * c < K
                           ? shape.kept[f.row * size_t(K) + size_t(half + 2 * c)]
                           : 0.0f;
            }
        } else {
            float largest = -INFINITY, sum = 0.0f, own = 0.0f;
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                largest = fmaxf(largest, half + 2 * c < K ? s[c] : -INFINITY);
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 16));
            if (a.row_class) {
                best = K;
#pragma unroll
                for (int c = CLASSES - 1; c >= 0; c--)
                    if (half + 2 * c < K && s[c] == largest)
                        best = half + 2 * c;
                best = min(best, __shfl_xor_sync(0xffffffffu, best, 16));
                best = best < K ? best : 0;
            }
#pragma unroll
            for (int c = 0; c < CLASSES; c++) {
                own += half + 2 * c == f.label ? s[c] - largest : 0.0f;
                s[c] = half + 2 * c < K ? expf(s[c] - largest) : 0.0f;
                sum += s[c];
            }
            sum = sum_of_row(sum);
            if (a.losses)
                loss = logf(sum) - sum_of_row(own);
            const float share = __fdividef(1.0f, sum);
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                s[c] *= share;
            if (shape.keep == tensor_shape::WRITE && f.there)
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
                    if (half + 2 * c < K)
                        shape.kept[f.row * size_t(K) + size_t(half + 2 * c)] = s[c];
        }
        float mean = 0.0f;
        if (shape.q_at >= 0) {
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                mean += s[c] * t[c];
            mean = sum_of_row(mean);
        }
#pragma unroll
        for (int c = 0; c < CLASSES; c++) {
            const float residual = s[c] - (half + 2 * c == f.label ? 1.0f : 0.0f);
            cross += residual * t[c];
            t[c] = w.weight * s[c] * (t[c] - mean);
            s[c] = w.weight * residual;
        }
        if (a.row_cross)
            cross = sum_of_row(cross);
    }
    put_coefficients<CLASSES>(shape, m, tile, K, s, t);
    barrier_arrive(&m.weighed[tile]);
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
    return a.losses ? double(w.weight) * double(loss) : 0.0;
}
