/* A list of vector operations as kernels get it.
 *
 * Small passes over rows wait in the list, too, as tasks: a step of a solver on a batch is then one
 * launch of one block, from the updates of the step before to the scalars that the host waits for. */
#pragma once

#include "base/cuda/device.cuh"

namespace gpu {

constexpr int QUEUE = 16, TASKS = 2, FEW_PAIRS = 12;
constexpr unsigned BLOCK = 512;           /* threads of a block that does tasks */
constexpr size_t LONGEST_IN_BLOCK = 20000; /* numbers that one block may update on the way */
constexpr size_t SHORT_PAIR = 1024;        /* that one warp sums */

template <int PAIRS> struct program {
    int ops, pairs;
    vector_op op[QUEUE];
    vector_pair pair[PAIRS > 0 ? PAIRS : 1];
};

/* What a task is made of is known to its kernel. */
struct task {
    alignas(16) unsigned char bytes[512];
};
struct alignas(16) block_program {
    program<FEW_PAIRS> list;
    answer *to; /* of the pairs */
    unsigned long long number;
    task of[TASKS];
};

typedef void (*task_kernel)(block_program);
void enqueue_task(task_kernel kernel, const void *bytes, size_t size);

/* Such kernels are on the GPU before the one before has ended, and wait for it there. */
__device__ inline void begin_small_kernel() {
    asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;" ::: "memory");
}

template <class... P, class... A>
void launch_small(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... arguments) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = grid;
    how.blockDim = block;
    how.dynamicSmemBytes = shared;
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    check(cudaLaunchKernelEx(&how, kernel, static_cast<P>(arguments)...), "a launch");
}

/* The same after the queued operations. */
template <class... P, class... A>
void launch_early(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... arguments) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    flush();
    launch_small(kernel, grid, block, shared, arguments...);
}

__device__ inline double get(const void *v, bool single, size_t i) {
    return single ? static_cast<double>(static_cast<const float *>(v)[i])
                  : static_cast<const double *>(v)[i];
}

__device__ inline void put(void *v, bool single, size_t i, double value) {
    if (single)
        static_cast<float *>(v)[i] = static_cast<float>(value);
    else
        static_cast<double *>(v)[i] = value;
}

/* As blv_apply_element on the host. */
__device__ inline double apply_element(int operation, double c, double a, double b) {
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

__device__ inline double element(const vector_op &op, size_t i) {
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
    case EXP:
        return exp(get(op.in[0], single, i)) * op.c[0];
    case PRODUCT: {
        double product = op.c[0];
        for (int t = 0; t < op.count; t++)
            product *= get(op.in[t], single, i);
        return product;
    }
    default: {
        const double first = get(op.in[0], single, i);
        const double second = op.count > 1 ? get(op.in[1], single, i) : 0.0;
        double sum = __dmul_rn(op.c[0], first);
        if (op.count > 1)
            sum = __dadd_rn(sum, __dmul_rn(op.c[1], second));
        for (int t = 2; t < op.count; t++)
            sum = __dadd_rn(sum, __dmul_rn(op.c[t], get(op.in[t], single, i)));
        return sum;
    }
    }
}


/* Elements begin, begin + stride, ... of operations `first` to `end` - 1, none of which reads or
 * writes what another of them writes: the operands of four are on their way at once. */
__device__ inline void run_wave(const vector_op *op, int first, int end, size_t begin,
                                size_t stride) {
    for (; first < end; first += 4)
        for (size_t i = begin;; i += stride) {
            double value[4];
            bool any = false;
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (first + q < end && i < op[first + q].n) {
                    value[q] = element(op[first + q], i);
                    any = true;
                }
            if (!any)
                break;
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (first + q < end && i < op[first + q].n)
                    put(op[first + q].out, op[first + q].single, i, value[q]);
        }
}

/* By one block; a thread takes the same elements in every operation. */
template <class F> __device__ inline void run_in_block(const vector_op *op, int ops, F run_task) {
    for (int o = 0; o < ops;) {
        int end = o + 1;
        while (end < ops && !op[end].starts_wave)
            end++;
        if (op[o].kind == TASK) {
            __syncthreads();
            run_task(op[o].operation);
            __syncthreads();
        } else {
            run_wave(op, o, end, threadIdx.x, blockDim.x);
        }
        o = end;
    }
    __syncthreads();
}

__device__ inline double sum_of_warp(double value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

/* A short pair is summed by one warp, so that the elements of all short ones are on their way at
 * once. */
__device__ inline double sum_short(const vector_pair &p) {
    double sum = 0.0;
    for (size_t i = threadIdx.x % 32; i < p.n; i += 4 * 32) {
        double a[4], b[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const bool there = i + e * 32 < p.n;
            a[e] = there ? get(p.a, p.single, i + e * 32) : 0.0;
            b[e] = there ? get(p.b, p.single, i + e * 32) : 0.0;
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum += a[e] * b[e];
    }
    return sum_of_warp(sum);
}

/* Operations, tasks, pairs. */
template <class F> __device__ inline void run_block_program(const block_program &p, F run_task) {
    run_in_block(p.list.op, p.list.ops, run_task);
    if (p.list.pairs == 0)
        return;
    for (int k = int(threadIdx.x) / 32; k < p.list.pairs; k += int(BLOCK) / 32) {
        const double sum = sum_short(p.list.pair[k]);
        if (threadIdx.x % 32 == 0)
            p.to->value[k] = sum;
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        reply(p.to, p.number);
}

} // namespace gpu
