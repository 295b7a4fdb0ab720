/* Vector operations in one launch, and reductions.
 *
 * Elements of a vector of n are given to threads by n alone, so a thread meets the same elements in
 * every operation and no operation has to wait for another, and a sum does not depend on what else
 * is in the launch. Arithmetic is in double, rounded once, as on the host. */
#include "base/cuda/vector_program.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpu {

constexpr unsigned THREADS = 256, EACH = 4, MOST_BLOCKS = 512;
static_assert(SHORT_PAIR == THREADS * EACH, "a vector of one block is short");

__host__ __device__ static unsigned blocks_of(size_t n) {
    const size_t blocks = (n + THREADS * EACH - 1) / (THREADS * EACH);
    return blocks < MOST_BLOCKS ? static_cast<unsigned>(blocks) : MOST_BLOCKS;
}

/* A long pair is summed by all blocks, in the places of their warps. */
__device__ static void sum_long(const vector_pair &p, double *of_warp) {
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

/* Sums of all pairs, in shared memory, go to the host or stay. */
__device__ static void hand_over(int pairs, const double *sums, const late_end &late, answer *to,
                                 unsigned long long number) {
    if (late.numbers) {
        end_late(late, pairs, sums, late_number(late));
        return;
    }
    for (int k = static_cast<int>(threadIdx.x); k < pairs; k += THREADS)
        to->value[k] = sums[k];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        reply(to, number);
}

template <int PAIRS>
__global__ void __launch_bounds__(THREADS)
    run_program(const __grid_constant__ program<PAIRS> p, const __grid_constant__ late_end late,
                double *partial, unsigned *done, answer *to, unsigned long long number) {
    begin_small_kernel();
    if (gridDim.x == 1)
        run_in_block(p.op, p.ops, [](auto...) {});
    for (int o = 0; gridDim.x > 1 && o < p.ops; o++) {
        const vector_op &op = p.op[o];
        const unsigned blocks = blocks_of(op.n);
        if (blockIdx.x < blocks)
            for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < op.n;
                 i += static_cast<size_t>(blocks) * THREADS)
                update(op, i);
    }
    if constexpr (PAIRS > 0) {
        __shared__ double of_warp[PAIRS][THREADS / 32]; /* of long pairs */
        __shared__ double sums[PAIRS];
        __shared__ bool last;
        const int warp = static_cast<int>(threadIdx.x) / 32;
        __syncthreads(); /* short vectors are updated by this block */
        for (int k = 0; k < p.pairs; k++)
            if (blocks_of(p.pair[k].n) > 1) {
                sum_long(p.pair[k], of_warp[k]);
            } else if (blockIdx.x == 0 && warp == k % static_cast<int>(THREADS / 32)) {
                const double sum = sum_short(p.pair[k]);
                if (threadIdx.x % 32 == 0)
                    partial[k * MOST_BLOCKS] = sums[k] = sum;
            }
        __syncthreads();
        if (gridDim.x == 1) {
            hand_over(p.pairs, sums, late, to, number);
            return;
        }
        for (int k = static_cast<int>(threadIdx.x); k < p.pairs; k += THREADS) {
            double sum = 0.0;
            if (blocks_of(p.pair[k].n) == 1)
                continue;
            for (int w = 0; w < static_cast<int>(THREADS / 32); w++)
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
        for (int k = warp; k < p.pairs; k += THREADS / 32) {
            double sum = 0.0;
            for (unsigned b = threadIdx.x % 32; b < blocks_of(p.pair[k].n); b += 32)
                sum += __ldcg(&partial[k * MOST_BLOCKS + b]);
            sum = sum_of_warp(sum);
            if (threadIdx.x % 32 == 0)
                sums[k] = sum;
        }
        if (threadIdx.x == 0)
            *done = 0;
        __syncthreads();
        hand_over(p.pairs, sums, late, to, number);
    }
}

static void launch_programs();
static vector_op queue[QUEUE];
static int queued;
static double *partials;
static unsigned *finished;

/* How many operations the wave that begins with this one has, and how many teams of warps take them:
 * not so many that each has to come back often. */
static void size_wave(vector_op *op, int left) {
    int count = 1, shift = 0;
    size_t longest = op->n;
    for (; count < left && !op[count].starts_wave; count++)
        longest = std::max(longest, op[count].n);
    while (shift < 3 && (1 << shift) < count && longest << (shift + 1) <= 2 * BLOCK)
        shift++;
    op->in_wave = static_cast<uint8_t>(count);
    op->teams_log2 = static_cast<uint8_t>(shift);
}

template <int PAIRS>
static size_t fill_program(program<PAIRS> &p, size_t count, const vector_pair *pairs) {
    size_t longest = 0;
    p.ops = queued;
    p.pairs = static_cast<int>(count);
    p.needs_numbers = false;
    for (int o = 0; o < queued; o++) {
        p.op[o] = queue[o];
        longest = std::max(longest, queue[o].n);
    }
    for (int o = 0; o < queued; o += p.op[o].in_wave)
        size_wave(p.op + o, queued - o);
    for (int o = 0; queued > 0 && o < p.op[0].in_wave; o++)
        p.needs_numbers |= p.op[o].factor != nullptr;
    for (size_t k = 0; k < count; k++) {
        p.pair[k] = pairs[k];
        longest = std::max(longest, pairs[k].n);
    }
    queued = 0;
    return longest;
}

/* Of what is queued, where its numbers stay on the GPU. Closed: nothing more can be queued. */
static late_end ending;
static vector_pair ending_pair[FEW_PAIRS];
static size_t ending_pairs;
static bool closed;

template <int PAIRS> static void send(size_t count, const vector_pair *pairs, const question &q) {
    program<PAIRS> p;
    launch_programs();
    const size_t longest = fill_program(p, count, pairs);
    launch_small(run_program<PAIRS>, dim3(std::max(blocks_of(longest), 1u)), dim3(THREADS), 0, p,
                 ending, partials, finished, q.to, q.number);
}

/* ---- Tasks ---- */

enum { TASK_USES = 12 };
static task tasks[TASKS];
static task_memory uses_of[TASKS][TASK_USES];
static size_t use_count[TASKS];
static int task_count;
static task_kernel kernel_of_tasks; /* of those that are queued */

/* ---- Programs ---- */

static program_list<PROGRAMS> waiting; /* to be launched */
static task_kernel kernel_of_programs;

template <int N> static void launch_list(void (*kernel)(program_list<N>), const program_list<N> &list) {
    constexpr int SHARED = N * sizeof(block_program);
    static void (*has_room)(program_list<N>); /* for programs, the last kernel that was asked */
    if (has_room != kernel &&
        !GPU_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED)))
        return;
    has_room = kernel;
    launch_small(kernel, dim3(1), dim3(BLOCK), SHARED, list);
}

static void launch_programs() {
    const int count = waiting.count;
    if (count == 1)
        launch_list(kernel_of_programs.one, program_list<1>{1, {waiting.of[0]}});
    else if (count > 1)
        launch_list(kernel_of_programs.several, waiting);
    waiting.count = 0;
}

static void send_tasks(size_t count, const vector_pair *pairs, const question &q) {
    const int of_program = task_count;
    task_count = 0;
    if (kernel_of_programs.one != kernel_of_tasks.one)
        launch_programs();
    block_program &p = waiting.of[waiting.count];
    fill_program(p.list, count, pairs);
    p.to = q.to;
    p.number = q.number;
    p.late = ending;
    for (int i = 0; i < of_program; i++)
        p.of[i] = tasks[i];
    kernel_of_programs = kernel_of_tasks;
    if (++waiting.count == PROGRAMS)
        launch_programs();
}

static bool are_short(size_t count, const vector_pair *pairs) {
    for (size_t k = 0; k < count; k++)
        if (pairs[k].n > SHORT_PAIR)
            return false;
    return count <= FEW_PAIRS;
}

static bool make_partials() {
    if (!partials) {
        partials = room<double>(SCALARS * MOST_BLOCKS);
        finished = room<unsigned>(1);
    }
    return partials && finished;
}

static void send_ending() {
    if (task_count > 0 && !are_short(ending_pairs, ending_pair)) {
        const late_end kept = ending;
        ending.numbers = nullptr;
        send_tasks(0, nullptr, question{});
        ending = kept;
    }
    if (task_count > 0)
        send_tasks(ending_pairs, ending_pair, question{});
    else if (make_partials())
        send<FEW_PAIRS>(ending_pairs, ending_pair, question{});
    ending.numbers = nullptr;
    ending.ops = ending.waves = 0;
    ending_pairs = 0;
    closed = false;
}

/* What is queued becomes a program, or a launch. */
static void close_program() {
    if (ending.numbers)
        send_ending();
    else if (task_count > 0)
        send_tasks(0, nullptr, question{});
    else if (queued > 0)
        send<0>(0, nullptr, question{});
}

void flush() {
    std::lock_guard<std::recursive_mutex> hold(lock);
    close_program();
    launch_programs();
}

static bool overlap(const void *a, size_t bytes, const void *b, size_t more) {
    const char *p = static_cast<const char *>(a), *q = static_cast<const char *>(b);
    return p && q && p < q + more && q < p + bytes;
}

/* Whether one of the two writes what the other uses. */
static bool tasks_meet(int one, int other) {
    for (size_t i = 0; i < use_count[one]; i++)
        for (size_t j = 0; j < use_count[other]; j++) {
            const task_memory &a = uses_of[one][i], &b = uses_of[other][j];
            if ((a.written || b.written) && overlap(a.begin, a.bytes, b.begin, b.bytes))
                return true;
        }
    return false;
}

static bool meets_task(const vector_op &op, int number) {
    const size_t bytes = op.n * (op.single ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < use_count[number]; i++) {
        const task_memory &m = uses_of[number][i];
        if (overlap(op.out, bytes, m.begin, m.bytes))
            return true;
        for (int t = 0; m.written && (t < op.count || (t < 2 && op.kind == APPLY)); t++)
            if (overlap(op.in[t], bytes, m.begin, m.bytes))
                return true;
    }
    return false;
}

static bool reads(const vector_op &op, const void *memory) {
    for (int t = 0; t < op.count || (t < 2 && op.kind == APPLY); t++)
        if (op.in[t] == memory)
            return true;
    return false;
}

/* Whether one of an operation and one of its wave writes what the other uses. */
static bool meets_wave(const vector_op &op) {
    for (int o = queued - 1; o >= 0; o--) {
        if (queue[o].kind == TASK || op.out == queue[o].out || reads(op, queue[o].out) ||
            reads(queue[o], op.out))
            return true;
        if (queue[o].starts_wave)
            break;
    }
    return false;
}

void enqueue(const vector_op &op) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (closed || (ending.numbers && op.factor) || queued == QUEUE ||
        (task_count > 0 && op.n > LONGEST_IN_BLOCK))
        close_program();
    /* before the last task where that makes no difference, so that two tasks come together */
    const bool before_task = queued > 0 && queue[queued - 1].kind == TASK &&
                             queue[queued - 1].starts_wave &&
                             !meets_task(op, queue[queued - 1].operation);
    const vector_op last = before_task ? queue[--queued] : op;
    queue[queued] = op;
    queue[queued].starts_wave = meets_wave(op);
    queued++;
    if (before_task)
        queue[queued++] = last;
}

void enqueue_task(task_kernel kernel, const void *bytes, size_t size, size_t uses,
                  const task_memory *memory) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    bool fits =
        !closed && queued < QUEUE && task_count < TASKS && (task_count == 0 || kernel_of_tasks.one == kernel.one);
    for (int o = 0; o < queued; o++)
        fits = fits && queue[o].n <= LONGEST_IN_BLOCK;
    if (!fits)
        close_program();
    vector_op op = {};
    op.kind = TASK;
    op.operation = static_cast<uint8_t>(task_count);
    use_count[task_count] = uses;
    std::copy(memory, memory + uses, uses_of[task_count]);
    op.starts_wave = queued == 0 || queue[queued - 1].kind != TASK ||
                     tasks_meet(queue[queued - 1].operation, task_count);
    queue[queued++] = op;
    kernel_of_tasks = kernel;
    memcpy(tasks[task_count++].bytes, bytes, size);
}

void reduce(size_t count, const vector_pair *pairs, double *result) {
    question q;
    {
        std::lock_guard<std::recursive_mutex> hold(lock);
        if (ending.numbers)
            close_program();
        q = ask();
        if (task_count > 0 && are_short(count, pairs)) {
            send_tasks(count, pairs, q);
            launch_programs();
        } else if (make_partials()) {
            if (task_count > 0)
                close_program();
            (count <= FEW_PAIRS ? send<FEW_PAIRS> : send<SCALARS>)(count, pairs, q);
        }
    }
    const bool answered = wait(q);
    for (size_t k = 0; k < count; k++)
        result[k] = answered ? q.here->value[k] : NAN;
}

/* ---- Numbers that stay ---- */

void reduce_late(late_numbers *numbers, size_t count, const vector_pair *pairs, const int *place,
                 const bool *is_norm) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (closed || (ending.numbers && ending.numbers != numbers))
        close_program();
    ending.numbers = numbers;
    ending.waves = std::max(ending.waves, 1);
    ending_pairs = count;
    closed = true;
    for (size_t i = 0; i < count; i++) {
        ending_pair[i] = pairs[i];
        ending.place[i] = static_cast<int8_t>(place[i]);
        ending.is_norm[i] = is_norm[i];
    }
}

void compute_late(late_numbers *numbers, const late_op &op) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (ending.numbers && (ending.numbers != numbers || ending.ops == LATE_OPS))
        close_program();
    int wave = closed ? 1 : 0;
    for (int i = 0; i < ending.ops; i++) {
        const late_op &before = ending.op[i];
        if (before.result == op.a.place || before.result == op.b.place ||
            before.result == op.result || before.a.place == op.result || before.b.place == op.result)
            wave = std::max(wave, before.wave + 1);
    }
    if (!closed && wave > 0) { /* those before the sums are one wave */
        close_program();
        compute_late(numbers, op);
        return;
    }
    ending.numbers = numbers;
    ending.op[ending.ops] = op;
    ending.op[ending.ops++].wave = wave;
    ending.waves = std::max(ending.waves, wave + 1);
}

double late_value_here(int rule, double c, double a, double b) {
    return late_value(rule, c, a, b);
}

static __global__ void report_late(late_numbers *numbers, answer *to, unsigned long long number) {
    if (threadIdx.x < BLV_LATER_NUMBERS)
        to->value[threadIdx.x] = numbers->value[threadIdx.x];
    if (threadIdx.x == 31) {
        to->value[BLV_LATER_NUMBERS] = numbers->not_finite;
        numbers->not_finite = 0;
    }
    __threadfence_system();
    __syncwarp();
    if (threadIdx.x == 0)
        reply(to, number);
}

bool read_late(late_numbers *numbers, double *value) {
    const question q = ask();
    launch(report_late, dim3(1), dim3(32), 0, numbers, q.to, q.number);
    if (!wait(q))
        return false;
    for (int i = 0; i < BLV_LATER_NUMBERS; i++)
        value[i] = q.here->value[i];
    return q.here->value[BLV_LATER_NUMBERS] == 0.0 && !failure();
}

} // namespace gpu
