/* Vector operations in one launch, and reductions.
 *
 * Elements of a vector of n are given to threads by n alone, so a thread meets the same elements in
 * every operation and no operation has to wait for another, and a sum does not depend on what else
 * is in the launch. Arithmetic is in double, rounded once, as on the host. */
#include "base/cuda/device.cuh"

#include <algorithm>
#include <cmath>

namespace gpu {

constexpr unsigned THREADS = 256, EACH = 4, MOST_BLOCKS = 512;
constexpr int QUEUE = 16, FEW_PAIRS = 12;

template <int PAIRS> struct program {
    int ops, pairs;
    vector_op op[QUEUE];
    vector_pair pair[PAIRS > 0 ? PAIRS : 1];
};

__host__ __device__ static unsigned blocks_of(size_t n) {
    const size_t blocks = (n + THREADS * EACH - 1) / (THREADS * EACH);
    return blocks < MOST_BLOCKS ? static_cast<unsigned>(blocks) : MOST_BLOCKS;
}

__device__ static double get(const void *v, bool single, size_t i) {
    return single ? static_cast<double>(static_cast<const float *>(v)[i])
                  : static_cast<const double *>(v)[i];
}

__device__ static void put(void *v, bool single, size_t i, double value) {
    if (single)
        static_cast<float *>(v)[i] = static_cast<float>(value);
    else
        static_cast<double *>(v)[i] = value;
}

/* As blv_apply_element on the host. */
__device__ static double apply_element(int operation, double c, double a, double b) {
    switch (operation) {
    case BLV_PRODUCT:
        return c * a * b;
    case BLV_QUOTIENT:
        return a / (b + c);
    case BLV_SQRT:
        return sqrt(c * a);
    case BLV_SIGMOID:
        return 1.0 / (1.0 + exp(-c * a));
    case BLV_LEAST:
        return a < b ? b : a;
    case BLV_MOST:
        return a > b ? b : a;
    case BLV_EXCESS:
        return a <= c ? 0.0 : a - c;
    default:
        return a > c ? 1.0 : a <= c ? 0.0 : a;
    }
}

__device__ static double element(const vector_op &op, size_t i) {
    const bool single = op.single;
    switch (op.kind) {
    case FILL:
        return op.c[0];
    case CLAMP: {
        const double a = get(op.in[0], single, i);
        const double lo = single ? static_cast<double>(static_cast<float>(op.c[0])) : op.c[0];
        const double hi = single ? static_cast<double>(static_cast<float>(op.c[1])) : op.c[1];
        return a < lo ? lo : a > hi ? hi : a;
    }
    case APPLY:
        return apply_element(op.operation, op.c[0], get(op.in[0], single, i),
                             op.in[1] ? get(op.in[1], single, i) : 0.0);
    default: {
        double sum = __dmul_rn(op.c[0], get(op.in[0], single, i));
        for (int t = 1; t < op.count; t++)
            sum = __dadd_rn(sum, __dmul_rn(op.c[t], get(op.in[t], single, i)));
        return sum;
    }
    }
}

__device__ static double sum_of_warp(double value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

/* The sum of a pair over this block's elements, in the block's warps' places. */
__device__ static void sum_pair(const vector_pair &p, double *of_warp) {
    double sum = 0.0;
    const unsigned blocks = blocks_of(p.n);
    if (blockIdx.x < blocks)
        for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < p.n;
             i += static_cast<size_t>(blocks) * THREADS)
            sum += get(p.a, p.single, i) * get(p.b, p.single, i);
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
}

template <int PAIRS>
__global__ void __launch_bounds__(THREADS)
    run_program(const __grid_constant__ program<PAIRS> p, double *partial, unsigned *done,
                answer *to, unsigned long long number) {
    for (int o = 0; o < p.ops; o++) {
        const vector_op &op = p.op[o];
        const unsigned blocks = blocks_of(op.n);
        if (blockIdx.x < blocks)
            for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < op.n;
                 i += static_cast<size_t>(blocks) * THREADS)
                put(op.out, op.single, i, element(op, i));
    }
    if constexpr (PAIRS > 0) {
        __shared__ double of_warp[PAIRS][THREADS / 32];
        __shared__ bool last;
        for (int k = 0; k < p.pairs; k++)
            sum_pair(p.pair[k], of_warp[k]);
        __syncthreads();
        for (int k = static_cast<int>(threadIdx.x); k < p.pairs; k += THREADS) {
            double sum = 0.0;
            for (int w = 0; w < THREADS / 32; w++)
                sum += of_warp[k][w];
            partial[k * MOST_BLOCKS + blockIdx.x] = sum;
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            last = atomicAdd(done, 1u) == gridDim.x - 1;
        __syncthreads();
        if (!last)
            return;
        __threadfence();
        for (int k = static_cast<int>(threadIdx.x) / 32; k < p.pairs; k += THREADS / 32) {
            double sum = 0.0;
            for (unsigned b = threadIdx.x % 32; b < blocks_of(p.pair[k].n); b += 32)
                sum += __ldcg(&partial[k * MOST_BLOCKS + b]);
            sum = sum_of_warp(sum);
            if (threadIdx.x % 32 == 0)
                to->value[k] = sum;
        }
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x == 0) {
            *done = 0;
            reply(to, number);
        }
    }
}

static vector_op queue[QUEUE];
static int queued;
static double *partials;
static unsigned *finished;

template <int PAIRS> static void send(size_t count, const vector_pair *pairs, const question &q) {
    program<PAIRS> p;
    size_t longest = 0;
    p.ops = queued;
    p.pairs = static_cast<int>(count);
    for (int o = 0; o < queued; o++) {
        p.op[o] = queue[o];
        longest = std::max(longest, queue[o].n);
    }
    for (size_t k = 0; k < count; k++) {
        p.pair[k] = pairs[k];
        longest = std::max(longest, pairs[k].n);
    }
    queued = 0;
    run_program<PAIRS>
        <<<blocks_of(longest), THREADS, 0, stream>>>(p, partials, finished, q.to, q.number);
    check(cudaGetLastError(), "vector operations");
}

void flush() {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (queued > 0)
        send<0>(0, nullptr, question{});
}

void enqueue(const vector_op &op) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (queued == QUEUE)
        flush();
    queue[queued++] = op;
}

void reduce(size_t count, const vector_pair *pairs, double *result) {
    question q;
    {
        std::lock_guard<std::recursive_mutex> hold(lock);
        if (!partials) {
            partials = room<double>(SCALARS * MOST_BLOCKS);
            finished = room<unsigned>(1);
        }
        q = ask();
        if (partials && finished)
            (count <= FEW_PAIRS ? send<FEW_PAIRS> : send<SCALARS>)(count, pairs, q);
    }
    const bool answered = wait(q);
    for (size_t k = 0; k < count; k++)
        result[k] = answered ? q.here->value[k] : NAN;
}

} // namespace gpu
