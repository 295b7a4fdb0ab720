/* A list of vector operations as kernels get it.
 *
 * Small passes over rows wait in the list, too, as tasks: a step of a solver on a batch is then one
 * program of one block, from the updates of the step before to the scalars of this one. One launch
 * carries out several of them, one after the other: they are its parameters, and what one has written
 * is still in the cache of its multiprocessor when the next reads it. */
#pragma once

#include "base/cuda/device.cuh"
#include "space/apply_element.h"

#include <type_traits>

namespace gpu {

constexpr int QUEUE = 16, TASKS = 2, FEW_PAIRS = BLV_LATER_PAIRS, LATE_OPS = 12;
constexpr unsigned BLOCK = 512;           /* threads of a block that does tasks */
constexpr size_t LONGEST_IN_BLOCK = 20000; /* numbers that one block may update on the way */
constexpr size_t SHORT_PAIR = 1024;        /* that one warp sums */

template <int PAIRS> struct program {
    int ops, pairs;
    bool needs_numbers; /* the first operations have factors that the program before computes */
    vector_op op[QUEUE];
    vector_pair pair[PAIRS > 0 ? PAIRS : 1];
};

/* What comes after the pairs of a launch whose numbers stay on the GPU. */
struct late_end {
    late_numbers *numbers; /* NULL: the host gets them */
    int ops, waves; /* at least one wave */
    int8_t place[FEW_PAIRS];
    bool is_norm[FEW_PAIRS];
    late_op op[LATE_OPS];
};

/* What a task is made of is known to its kernel. */
struct task {
    alignas(16) unsigned char bytes[512];
};
struct alignas(16) block_program {
    program<FEW_PAIRS> list;
    answer *to; /* of the pairs */
    unsigned long long number;
    late_end late;
    task of[TASKS];
};

/* Memory that a task reads or writes. */
struct task_memory {
    const void *begin;
    size_t bytes;
    bool written;
};
/* Programs of one launch; as many as its parameters can hold. */
constexpr int PROGRAMS = 7;
template <int N> struct program_list {
    int count;
    block_program of[N];
};
static_assert(sizeof(program_list<PROGRAMS>) <= 32764, "parameters of a launch");
/* The same kernel for one program, and for several. */
struct task_kernel {
    void (*one)(program_list<1>);
    void (*several)(program_list<PROGRAMS>);
};
/* Two tasks of which neither needs the other are done at once, by half of the block each. */
void enqueue_task(task_kernel kernel, const void *bytes, size_t size, size_t uses,
                  const task_memory *memory);

/* Such kernels are on the GPU before the one before has ended, and wait for it there. */
__device__ inline void let_next_begin() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ inline void wait_for_last() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ inline void begin_small_kernel() {
    let_next_begin();
    wait_for_last();
}

template <class... P>
void launch_small(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                  const std::type_identity_t<P> &...arguments) {
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
    void *list[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
    check(cudaLaunchKernelExC(&how, reinterpret_cast<const void *>(kernel), list), "a launch");
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

template <class real> __device__ inline double element(const vector_op &op, size_t i) {
    const auto in = [&](int t) { return static_cast<const real *>(op.in[t])[i]; };
    switch (op.kind) {
    case FILL:
        return op.c[0];
    case CLAMP: {
        const double a = double(in(0)), lo = double(real(op.c[0])), hi = double(real(op.c[1]));
        return a < lo ? lo : a > hi ? hi : a;
    }
    case APPLY: {
        const real a = in(0), b = op.in[1] ? in(1) : real(0);
        return blv_apply_element(blv_elementwise(op.operation), op.c[0], double(a), double(b));
    }
    case EXP:
        return exp(double(in(0))) * op.c[0];
    case PRODUCT: {
        const real a = in(0), b = op.count > 1 ? in(1) : real(1), c = op.count > 2 ? in(2) : real(1);
        double product = op.c[0] * double(a) * double(b) * double(c);
        for (int t = 3; t < op.count; t++)
            product *= double(in(t));
        return product;
    }
    default: { /* all operands are asked for before one is used */
        const real first = in(0), second = op.count > 1 ? in(1) : real(0);
        const double factor = op.factor ? *op.factor : 1.0;
        double sum = __dmul_rn(op.c[0], double(first));
        if (op.count > 1)
            sum = __dadd_rn(sum, __dmul_rn(op.c[1] * factor, double(second)));
        for (int t = 2; t < op.count; t++)
            sum = __dadd_rn(sum, __dmul_rn(op.c[t], double(in(t))));
        return sum;
    }
    }
}

__device__ inline void update(const vector_op &op, size_t i) {
    if (op.single)
        static_cast<float *>(op.out)[i] = static_cast<float>(element<float>(op, i));
    else
        static_cast<double *>(op.out)[i] = element<double>(op, i);
}

/* A wave: operations of which none reads or writes what another of them writes. Teams of warps take
 * them, so that the operands of several are on their way at once. */
__device__ inline void run_wave(const vector_op *op) {
    const int count = op->in_wave, shift = op->teams_log2, warp = int(threadIdx.x) / 32;
    const size_t begin = size_t(warp >> shift) * 32 + threadIdx.x % 32, stride = blockDim.x >> shift;
    for (int o = warp & ((1 << shift) - 1); o < count; o += 1 << shift)
        for (size_t i = begin; i < op[o].n; i += stride)
            update(op[o], i);
}

/* By one block, wave after wave; one or two tasks are a wave, too. */
template <class F> __device__ inline void run_in_block(const vector_op *op, int ops, F run_task) {
    for (int o = 0; o < ops; o += op[o].in_wave) {
        if (o > 0)
            __syncthreads(); /* what came before is there */
        if (op[o].kind != TASK)
            run_wave(op + o);
        else if (op[o].in_wave == 1)
            run_task(op[o].operation);
        else
            run_task(op[o].operation, op[o + 1].operation);
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

/* As blv_later_value, with the same bits on the host and on the GPU: products and sums are rounded
 * one by one. */
__host__ __device__ inline double late_value(int rule, double c, double a, double b) {
    switch (rule) {
    case BLV_LATER_HYPOT: {
        const double q = b / c, larger = fmax(a, q), share = larger > 0.0 ? fmin(a, q) / larger : 0.0;
#ifdef __CUDA_ARCH__
        return larger * sqrt(__dadd_rn(1.0, __dmul_rn(share, share)));
#else
        return larger * sqrt(1.0 + share * share);
#endif
    }
    case BLV_LATER_LARGER:
        return fmax(a, b);
    case BLV_LATER_PRODUCT:
        return a * b;
    default:
        return c / a;
    }
}

/* By the last warp of the block that has all sums of the pairs, in the memory of its block: an
 * operation to a lane, wave after wave. Sums come after wave 0. Each lane brings the number of its
 * place. */
__device__ inline bool in_last_warp() {
    return threadIdx.x >= blockDim.x - 32;
}
__device__ inline double late_number(const late_end &e) {
    const unsigned lane = threadIdx.x % 32;
    return in_last_warp() && lane < BLV_LATER_NUMBERS ? e.numbers->value[lane] : 0.0;
}
__device__ inline void end_late(const late_end &e, int pairs, const double *sum, double number) {
    __shared__ double value[BLV_LATER_NUMBERS];
    const int lane = int(threadIdx.x % 32);
    if (!in_last_warp())
        return;
    late_op op = {};
    op.wave = -1;
    if (lane < e.ops)
        op = e.op[lane];
    if (lane < BLV_LATER_NUMBERS)
        value[lane] = number;
    __syncwarp();
    for (int wave = 0; wave < e.waves; wave++) {
        if (wave == op.wave) {
            const double a = op.a.place < 0 ? op.a.value : value[op.a.place],
                         b = op.b.place < 0 ? op.b.value : value[op.b.place];
            value[op.result] = late_value(op.rule, op.c, a, b);
        }
        __syncwarp();
        if (wave == 0 && lane < pairs) {
            if (!isfinite(sum[lane]))
                e.numbers->not_finite = 1;
            if (e.place[lane] >= 0)
                value[e.place[lane]] = e.is_norm[lane] ? sqrt(sum[lane]) : sum[lane];
        }
        __syncwarp();
    }
    if (lane < BLV_LATER_NUMBERS)
        e.numbers->value[lane] = value[lane];
}
static_assert(BLV_LATER_NUMBERS <= 32 && BLV_LATER_PAIRS <= 32 && LATE_OPS <= 32,
              "one warp has them all");

/* Operations, tasks, pairs. */
template <class F> __device__ inline void run_block_program(const block_program &p, F run_task) {
    run_in_block(p.list.op, p.list.ops, run_task);
    if (p.late.numbers) {
        __shared__ double sums[FEW_PAIRS];
        const double number = late_number(p.late);
        for (int k = int(threadIdx.x) / 32; k < p.list.pairs; k += int(BLOCK) / 32) {
            const double sum = sum_short(p.list.pair[k]);
            if (threadIdx.x % 32 == 0)
                sums[k] = sum;
        }
        __syncthreads();
        end_late(p.late, p.list.pairs, sums, number);
        return;
    }
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

/* The programs of a launch. `fetch(program)` asks for the rows of a program's tasks, which do not
 * depend on what has not ended yet. */
template <int N, class F, class G>
__device__ inline void run_programs(const program_list<N> &list, F run_task, G fetch) {
    extern __shared__ block_program programs[]; /* N of them */
    let_next_begin();
    const auto *from = reinterpret_cast<const uint2 *>(list.of);
    for (unsigned i = threadIdx.x; i < unsigned(list.count) * sizeof *list.of / sizeof *from; i += BLOCK)
        reinterpret_cast<uint2 *>(programs)[i] = from[i];
    __syncthreads();
    for (int i = 0; i < list.count; i++)
        fetch(programs[i]);
    wait_for_last();
    for (int i = 0; i < list.count; i++) {
        const block_program &p = programs[i];
        if (p.list.needs_numbers) /* else the last warp may still be at them */
            __syncthreads();
        run_block_program(p, [&](auto... number) { run_task(p, number...); });
    }
}

} // namespace gpu
