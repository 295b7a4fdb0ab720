/* One pass over dense rows of few columns with one score: logistic and squares. Eight lanes take a
 * row, and its columns stay in their registers with those of W, V and the sums.
 *
 * A small batch is a task of one block, which waits in the queue of vector operations and in the end
 * writes the outputs itself. */
#include "base/cuda/vector_program.cuh"
#include "kernels/cuda/cuda_sweep.cuh"

#include <algorithm>

enum { LANES = 8, SMALL = 256, THREADS = 256, BLOCKS_EACH = 4 };

template <class real> __device__ real sum_of_row(real value) {
    for (int step = LANES / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

/* The threads of a pass: the block, or half of it. */
template <int WARPS> __device__ int place_in_team() {
    return int(threadIdx.x) % (32 * WARPS);
}

/* Sums of the warps: by column, of the gradient and of H v, and of the losses. */
template <int PER, int WARPS> struct pass_room {
    double sum[2][WARPS][LANES * PER];
    double loss[WARPS];
};

/* The sums of the team by its first threads, in the place of the first warp; losses stay with their
 * warps. All threads of the block meet here, whatever their team does. */
template <class real, int PER, int WARPS>
__device__ void sum_team(const real *g, const real *h, double loss, pass_room<PER, WARPS> &room) {
    const int me = place_in_team<WARPS>(), warp = me / 32, lane = me % 32;
#pragma unroll
    for (int p = 0; p < PER; p++) {
        real s[2] = {g[p], h[p]};
#pragma unroll
        for (int kind = 0; kind < 2; kind++) {
            for (int step = 16; step >= LANES; step /= 2)
                s[kind] += __shfl_down_sync(0xffffffffu, s[kind], step);
            if (lane < LANES)
                room.sum[kind][warp][lane + LANES * p] = double(s[kind]);
        }
    }
    loss = gpu::sum_of_warp(loss);
    if (lane == 0)
        room.loss[warp] = loss;
    __syncthreads();
    if (me < 2 * LANES * PER) {
        const int kind = me / (LANES * PER), j = me % (LANES * PER);
        double of_warp[WARPS], s = 0.0;
#pragma unroll
        for (int other = 0; other < WARPS; other++)
            of_warp[other] = room.sum[kind][other][j];
#pragma unroll
        for (int other = 0; other < WARPS; other++)
            s += of_warp[other];
        room.sum[kind][0][j] = s; /* only this thread reads column j */
    }
}

/* A row as it comes from memory: lane l has columns l, l + LANES, ... */
template <class real, int PER> struct row_values {
    size_t row;
    bool there;
    int32_t label;
    double target;
    real weight, x[PER]; /* weight: its logit where the sweep has those */
};

template <class real, int PER>
__device__ row_values<real, PER> load_row(const sweep_task<real> &a, size_t i, int lane) {
    row_values<real, PER> r;
    r.there = i < a.count;
    r.row = a.row_at(r.there ? i : a.count - 1);
    const real *from = a.x + r.row * a.stride;
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const size_t j = size_t(lane + LANES * p);
        r.x[p] = j < a.columns ? from[j] : real(0);
    }
    r.weight = a.logit ? a.logit[r.row] : a.weight ? a.weight[r.row] : real(1);
    r.label = a.target ? 0 : a.label[r.row];
    r.target = a.target ? a.target[r.row] : 0.0;
    return r;
}

/* ALONE: half of a block, which writes the outputs; idle: which only comes along. */
template <class real, int PER, int WARPS, bool ALONE>
__device__ void one_score_rows(const sweep_task<real> &a, const finish_task<real> &f,
                               pass_room<PER, WARPS> &room, real *partial, double *losses,
                               bool idle = false) {
    constexpr int BLOCK = 32 * WARPS;
    constexpr bool AHEAD = PER * sizeof(real) <= 32; /* there are registers for two rows */
    static_assert(2 * LANES * PER <= BLOCK, "a thread has one output");
    const int me = place_in_team<WARPS>(), lane = me % LANES;
    const size_t count = idle ? 0 : a.count;
    const size_t groups = size_t(gridDim.x) * (BLOCK / LANES);
    /* all lanes of a warp stay together */
    const size_t first = (blockIdx.x * size_t(BLOCK) + size_t(me)) / LANES,
                 in_warp = first % (32 / LANES);
    size_t turn = first - in_warp;
    row_values<real, PER> next;
    if (AHEAD && turn < count)
        next = load_row<real, PER>(a, turn + in_warp, lane);
    real w[PER], v[PER], g[PER], h[PER];
#pragma unroll
    for (int p = 0; p < PER; p++) {
        const size_t j = size_t(lane + LANES * p);
        w[p] = j < a.columns ? a.w[j] : real(0);
        v[p] = a.v && j < a.columns ? a.v[j] : real(0);
        g[p] = h[p] = real(0);
    }
    /* what the output of this thread is made with */
    const bool second_output = me >= LANES * PER;
    const size_t column = size_t(me % (LANES * PER));
    const bool has_output = !idle && me < 2 * LANES * PER && column < a.columns &&
                            (second_output ? a.hessian : a.gradient);
    real of_column = 0, of_class = 0, at = 0;
    if (ALONE && has_output) {
        of_column = f.ridge_column ? f.ridge_column[column] : real(0);
        of_class = f.ridge_class ? f.ridge_class[0] : real(0);
        at = (second_output ? f.v : f.w)[column];
    }
    double loss = 0.0;
    for (; turn < count; turn += groups) {
        row_values<real, PER> r;
        if constexpr (AHEAD) {
            r = next;
            if (turn + groups < count)
                next = load_row<real, PER>(a, turn + groups + in_warp, lane);
        } else {
            r = load_row<real, PER>(a, turn + in_warp, lane);
        }
        real s = 0, t = 0;
#pragma unroll
        for (int p = 0; p < PER; p++) {
            s += r.x[p] * w[p];
            t += r.x[p] * v[p];
        }
        s = sum_of_row(s);
        if (a.v)
            t = sum_of_row(t);
        const real weight = !r.there ? real(0) : a.logit ? sigmoid_of(r.weight) : r.weight;
        real residual, second;
        const real of_row = one_score(a, r.label != 0, r.target, s, t, &residual, &second);
        const real by_w = weight * residual, by_v = weight * second;
#pragma unroll
        for (int p = 0; p < PER; p++) {
            g[p] += by_w * r.x[p];
            h[p] += by_v * r.x[p];
        }
        if (r.there && lane == 0) {
            put_row_outputs(a, r.row, of_row, residual * t, s > 0);
            loss += double(weight) * double(of_row);
        }
    }
    sum_team<real, PER, WARPS>(g, h, loss, room);
    if (has_output) { /* which this thread has summed */
        const double sum = room.sum[second_output][0][column];
        if constexpr (ALONE) {
            const double ridge = f.ridge + double(of_column) + double(of_class);
            (second_output ? f.hessian : f.gradient)[column] =
                real(f.scale * sum + (ridge != 0.0 ? ridge * double(at) : 0.0));
        } else {
            const size_t outputs = (a.gradient ? 1 : 0) + (a.hessian ? 1 : 0);
            partial[(blockIdx.x * outputs + (second_output && a.gradient)) * a.columns + column] =
                real(sum);
        }
    }
    if (me > 0 || idle || (ALONE && !f.to))
        return;
    loss = room.loss[0];
    for (int other = 1; other < WARPS; other++)
        loss += room.loss[other];
    if constexpr (ALONE) {
        f.to->value[0] = f.scale * loss;
        gpu::reply(f.to, f.number);
    } else {
        losses[blockIdx.x] = loss;
    }
}

template <class real, int PER>
__global__ void __launch_bounds__(THREADS)
    one_score_pass(const __grid_constant__ sweep_task<real> a,
                   const __grid_constant__ finish_task<real> f, real *partial, double *losses) {
    __shared__ pass_room<PER, THREADS / 32> room;
    one_score_rows<real, PER, THREADS / 32, false>(a, f, room, partial, losses);
}

/* ---- Small batches ---- */

template <class real> struct small_sweep {
    sweep_task<real> a;
    finish_task<real> f;
};

constexpr int HALF = gpu::BLOCK / 32 / 2; /* warps */

template <class real>
__device__ const small_sweep<real> &sweep_of(const gpu::block_program &p, int number) {
    return *reinterpret_cast<const small_sweep<real> *>(p.of[number].bytes);
}

/* Asks for the lines of rows. */
__device__ void fetch_lines(const void *begin, size_t bytes, size_t of, size_t step) {
    const char *at = static_cast<const char *>(begin);
    for (size_t i = of * 128; i < bytes; i += step * 128)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at + i));
}

template <class real> __device__ void fetch_rows(const sweep_task<real> &a) {
    const size_t me = threadIdx.x, all = gpu::BLOCK;
    if (a.index) {
        for (size_t i = me; i < a.count; i += all) {
            const size_t row = a.index[i];
            fetch_lines(a.x + row * a.stride, a.columns * sizeof(real), 0, 1);
            if (a.label)
                fetch_lines(a.label + row, 1, 0, 1);
        }
        return;
    }
    fetch_lines(a.x + a.first * a.stride, a.count * a.stride * sizeof(real), me, all);
    if (a.label)
        fetch_lines(a.label + a.first, a.count * sizeof *a.label, me, all);
}

template <class real, int PER, int N>
__global__ void __launch_bounds__(gpu::BLOCK, 1)
    small_passes(const __grid_constant__ gpu::program_list<N> list) {
    __shared__ pass_room<PER, HALF> room[2];
    /* A task has half of the block, with or without another one beside it: whether two come together
     * must not change how its sums are added up. */
    struct sweeps {
        pass_room<PER, HALF> (&room)[2];
        __device__ void operator()(const gpu::block_program &p, int first, int second = -1) const {
            const int half = int(threadIdx.x) / (32 * HALF);
            const bool idle = half == 1 && second < 0;
            const small_sweep<real> &s = sweep_of<real>(p, half == 0 || idle ? first : second);
            one_score_rows<real, PER, HALF, true>(s.a, s.f, room[half], nullptr, nullptr, idle);
        }
    };
    gpu::run_programs(list, sweeps{room}, [](const gpu::block_program &p) {
        for (int o = 0; o < p.list.ops; o++)
            if (p.list.op[o].kind == gpu::TASK)
                fetch_rows(sweep_of<real>(p, p.list.op[o].operation).a);
    });
}

template <class real, int PER>
static void run_pass(const sweep_task<real> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    finish_task<real> f = {};
    f.columns = a.columns;
    f.classes = 1;
    f.losses = work->losses;
    f.partial = static_cast<real *>(work->partial);
    if (a.count > SMALL) {
        const size_t blocks = std::min<size_t>(size_t(gpu::processors) * BLOCKS_EACH,
                                               gpu::blocks_for(a.count, THREADS / LANES));
        f.groups = f.loss_groups = blocks;
        gpu::launch(one_score_pass<real, PER>, dim3(unsigned(blocks)), dim3(THREADS), 0, a, f,
                    static_cast<real *>(work->partial), work->losses);
        finish_sweep(sweep, f);
        return;
    }
    const gpu::question asked = sweep->loss ? gpu::ask() : gpu::question{};
    small_sweep<real> small = {a, finish_inputs(sweep, f)};
    static_assert(sizeof small <= sizeof(gpu::task), "a task holds a small sweep");
    small.f.to = asked.to;
    small.f.number = asked.number;
    const size_t model = a.columns * sizeof(real), rows = a.rows * sizeof(real);
    const gpu::task_memory uses[] = {
        {a.w, model, false},
        {sweep->v, model, false},
        {a.weight, rows, false},
        {a.logit, rows, false},
        {sweep->ridge_column, model, false},
        {sweep->ridge_class, sizeof(real), false},
        {sweep->gradient, model, true},
        {sweep->hessian, model, true},
        {a.row_loss, rows, true},
        {a.row_cross, rows, true},
        {a.row_probability, rows, true},
        {a.row_class, a.rows * sizeof(int32_t), true}};
    gpu::enqueue_task({small_passes<real, PER, 1>, small_passes<real, PER, gpu::PROGRAMS>}, &small, sizeof small, sizeof uses / sizeof *uses,
                      uses);
    if (!sweep->loss)
        return;
    gpu::flush();
    *sweep->loss = gpu::wait(asked) ? asked.here->value[0] : double(NAN);
}

template <class real>
bool one_score_sweep(const sweep_task<real> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    if (a.classes != 1 || a.columns > 128 || a.count == 0 ||
        !make_groups(work, size_t(gpu::processors) * BLOCKS_EACH))
        return false;
    (a.columns <= 32   ? run_pass<real, 4>
     : a.columns <= 64 ? run_pass<real, 8>
                       : run_pass<real, 16>)(a, sweep, work);
    return true;
}

template bool one_score_sweep<float>(const sweep_task<float> &, const blv_sweep *,
                                     blv_sweep_work *);
template bool one_score_sweep<double>(const sweep_task<double> &, const blv_sweep *,
                                      blv_sweep_work *);
