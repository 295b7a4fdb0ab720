/* Networks of linear layers, activations and dropout in the memory of a GPU: products by cuBLAS,
 * which is loaded when the first network is made, everything else by kernels of ours. Rows go
 * through in slices; all work is on one stream and cuBLAS may not use atomics, so results are
 * bitwise identical from run to run. Products are in the precision of the network: no TF32. */
#include "nn/cuda/cuda_network.cuh"
#include "kernels/cuda/cuda_sweep.cuh"
#include "nn/cuda/cuda_layers.cuh"
extern "C" {
#include "nn/nn_private.h"
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <dlfcn.h>

/* ---- Products ---- */

namespace blas {

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
static const char library[] = "libcublas.so." QUOTE(CUBLAS_VER_MAJOR);

static cublasHandle_t handle;
static decltype(&cublasSgemm_v2) sgemm;
static decltype(&cublasDgemm_v2) dgemm;

template <class F> static bool find(void *from, const char *name, F *function) {
    *function = reinterpret_cast<F>(dlsym(from, name));
    return *function != nullptr;
}

/* Once for all; false: it is not there. */
static bool open() {
    static bool tried;
    std::lock_guard<std::recursive_mutex> hold(gpu::lock);
    if (tried)
        return handle != nullptr;
    tried = true;
    decltype(&cublasCreate_v2) create;
    decltype(&cublasSetStream_v2) set_stream;
    decltype(&cublasSetMathMode) set_mode;
    void *from = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    cublasHandle_t made;
    if (!from || !find(from, "cublasCreate_v2", &create) ||
        !find(from, "cublasSetStream_v2", &set_stream) ||
        !find(from, "cublasSetMathMode", &set_mode) || !find(from, "cublasSgemm_v2", &sgemm) ||
        !find(from, "cublasDgemm_v2", &dgemm) || create(&made) != CUBLAS_STATUS_SUCCESS)
        return false;
    if (set_stream(made, gpu::stream) == CUBLAS_STATUS_SUCCESS &&
        set_mode(made, CUBLAS_PEDANTIC_MATH) == CUBLAS_STATUS_SUCCESS)
        handle = made;
    return handle != nullptr;
}

/* A matrix as its rows, `step` elements apart; a transposed factor is given by its own rows. */
template <class real> struct matrix {
    const real *data;
    size_t step;
    bool transposed;
};

static cublasStatus_t gemm(cublasOperation_t b, cublasOperation_t a, int n, int m, int k,
                           const float *one, const float *B, int b_step, const float *A, int a_step,
                           const float *beta, float *C, int c_step) {
    return sgemm(handle, b, a, n, m, k, one, B, b_step, A, a_step, beta, C, c_step);
}

static cublasStatus_t gemm(cublasOperation_t b, cublasOperation_t a, int n, int m, int k,
                           const double *one, const double *B, int b_step, const double *A,
                           int a_step, const double *beta, double *C, int c_step) {
    return dgemm(handle, b, a, n, m, k, one, B, b_step, A, a_step, beta, C, c_step);
}

/* C = A B or C += A B, rows x columns, whose rows are next to each other. cuBLAS has columns where
 * we have rows, so it is asked for C' = B' A'. */
template <class real>
static void multiply(size_t rows, size_t columns, size_t depth, matrix<real> a, matrix<real> b,
                     real *c, bool add) {
    const real one = 1, beta = add ? real(1) : real(0);
    std::lock_guard<std::recursive_mutex> hold(gpu::lock);
    gpu::flush();
    const cublasStatus_t status =
        gemm(b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
             int(columns), int(rows), int(depth), &one, b.data, int(b.step), a.data, int(a.step),
             &beta, c, int(columns));
    if (status != CUBLAS_STATUS_SUCCESS)
        gpu::check(status == CUBLAS_STATUS_ALLOC_FAILED ? cudaErrorMemoryAllocation
                                                        : cudaErrorUnknown,
                   "a product of cuBLAS");
}

} // namespace blas

/* ---- Memory of passes ---- */

struct slot_arrays {
    void *value, *tangent, *delta, *delta_tangent;
};

struct blv_nn_work {
    const blv_nn *net;
    bool single;
    size_t slice, blocks; /* rows at once; blocks that have losses, of a whole pass */
    slot_arrays *slots;
    void *input, *ones;
    double *losses, *chance;
};

enum { MOST_ROWS = 32768, FEWEST_ROWS = 256 };
static const size_t most_bytes = size_t(1) << 29; /* of a slice, unless it is of FEWEST_ROWS */

static size_t width_of(const blv_nn *net, size_t slot) {
    return net->slots[slot].shape.channels;
}

static size_t rows_at_once(const blv_nn *net, size_t real, size_t max_rows, size_t slice) {
    size_t each = net->nodes[NN_INPUT].shape.channels;
    for (size_t s = 0; s < net->slot_count; s++)
        each += 4 * width_of(net, s);
    const size_t fit = std::clamp<size_t>(most_bytes / (each * real), FEWEST_ROWS, MOST_ROWS);
    return std::max<size_t>(std::min(slice ? slice : fit, max_rows), 1);
}

static void work_destroy(blv_nn_work *w) {
    if (!w)
        return;
    for (size_t s = 0; w->slots && s < w->net->slot_count; s++)
        for (void *memory : {w->slots[s].value, w->slots[s].tangent, w->slots[s].delta,
                             w->slots[s].delta_tangent})
            gpu::release(memory);
    gpu::release(w->input);
    gpu::release(w->ones);
    gpu::release(w->losses);
    gpu::release(w->chance);
    free(w->slots);
    free(w);
}

template <class real> static bool make_arrays(blv_nn_work *w, size_t max_rows) {
    const size_t classes = w->net->nodes[w->net->scores].shape.channels;
    bool well = true;
    for (size_t s = 0; s < w->net->slot_count; s++)
        for (void **to : {&w->slots[s].value, &w->slots[s].tangent, &w->slots[s].delta,
                          &w->slots[s].delta_tangent})
            well = (*to = gpu::room<real>(w->slice * width_of(w->net, s))) && well;
    w->blocks = (max_rows / w->slice + 1) * gpu::blocks_for(w->slice, layers::WARPS);
    w->input = gpu::room<real>(w->slice * w->net->nodes[NN_INPUT].shape.channels);
    w->ones = gpu::room<real>(w->slice);
    w->losses = gpu::room<double>(w->blocks);
    w->chance = gpu::room<double>(classes * classes);
    if (!well || !w->input || !w->ones || !w->losses || !w->chance)
        return false;
    gpu::vector_op ones = {};
    ones.kind = gpu::FILL;
    ones.single = sizeof(real) == sizeof(float);
    ones.n = w->slice;
    ones.out = w->ones;
    ones.c[0] = 1.0;
    gpu::enqueue(ones);
    return true;
}

static blv_nn_work *work_create(const blv_nn *net, blv_precision precision, size_t max_rows,
                                size_t slice, int) {
    const bool single = precision == BLV_F32;
    auto *w = static_cast<blv_nn_work *>(calloc(1, sizeof(blv_nn_work)));
    if (!w)
        return nullptr;
    w->net = net;
    w->single = single;
    w->slice = rows_at_once(net, single ? sizeof(float) : sizeof(double), max_rows, slice);
    w->slots = static_cast<slot_arrays *>(calloc(net->slot_count, sizeof *w->slots));
    if (w->slots && (single ? make_arrays<float> : make_arrays<double>)(w, max_rows))
        return w;
    work_destroy(w);
    return nullptr;
}

/* ---- A pass ---- */

template <class real> struct network_pass {
    blv_nn_work *work;
    const blv_rows *rows;
    const blv_nn_pass *pass;
    const size_t *list; /* of rows, where the GPU can read it */
    bool tangent, delta, delta_tangent;
    size_t begin, count, block; /* the slice, and the number of its first block */
    blas::matrix<real> input;

    layers::row_numbers numbers() const {
        return {rows->first + begin, list ? list + begin : nullptr};
    }
    size_t width(int node) const { return work->net->nodes[node].shape.channels; }
    size_t elements(int node) const { return count * width(node); }
    const slot_arrays &slot(int node) const { return work->slots[work->net->nodes[node].slot]; }
    layers::pair<real> values(int node) const {
        return {static_cast<real *>(slot(node).value),
                tangent ? static_cast<real *>(slot(node).tangent) : nullptr};
    }
    layers::pair<real> deltas(int node) const {
        return {static_cast<real *>(slot(node).delta),
                delta_tangent ? static_cast<real *>(slot(node).delta_tangent) : nullptr};
    }
    /* Of what a layer takes; the data has no tangent. */
    blas::matrix<real> taken(int node) const {
        return node == NN_INPUT ? input
                                : blas::matrix<real>{values(node).first, width(node), false};
    }
    blas::matrix<real> taken_tangent(int node) const {
        return {node == NN_INPUT ? nullptr : values(node).second, width(node), false};
    }
    static const real *at(const void *parameters, size_t place) {
        return static_cast<const real *>(parameters) + place;
    }

    void fetch() {
        const size_t columns = rows->columns;
        const real *data = static_cast<const real *>(rows->dense);
        real *to = static_cast<real *>(work->input);
        input = {list ? to : data + (rows->first + begin) * rows->stride,
                 list ? columns : rows->stride, false};
        if (list)
            layers::each(count * columns,
                         layers::move_rows<real>{data, rows->stride, columns, to, columns, true,
                                                 numbers()});
    }

    void linear_forward(const nn_op &op) {
        const size_t from = width(op.in), to = width(op.out);
        const layers::pair<real> out = values(op.out);
        const blas::matrix<real> x = taken(op.in), x_t = taken_tangent(op.in);
        const blas::matrix<real> w = {at(pass->params, op.weight), to, false};
        layers::each(count * to,
                     layers::repeat_row<real>{at(pass->params, op.bias), to, out.first});
        blas::multiply(count, to, from, x, w, out.first, true);
        if (!out.second)
            return;
        layers::each(count * to, layers::repeat_row<real>{at(pass->v, op.bias), to, out.second});
        blas::multiply(count, to, from, x, {at(pass->v, op.weight), to, false}, out.second, true);
        if (x_t.data)
            blas::multiply(count, to, from, x_t, w, out.second, true);
    }

    /* sums += x' delta and, for the bias, 1' delta */
    void add_sums(const nn_op &op, blas::matrix<real> x, const real *of, void *sums, bool bias) {
        const size_t from = width(op.in), to = width(op.out);
        real *out = static_cast<real *>(sums);
        x.transposed = true;
        blas::multiply(from, to, count, x, {of, to, false}, out + op.weight, true);
        if (bias)
            blas::multiply(1, to, count, {static_cast<real *>(work->ones), count, false},
                           {of, to, false}, out + op.bias, true);
    }

    void linear_backward(const nn_op &op) {
        const size_t from = width(op.in), to = width(op.out);
        const layers::pair<real> out = deltas(op.out);
        const blas::matrix<real> x = taken(op.in), x_t = taken_tangent(op.in);
        if (pass->gradient)
            add_sums(op, x, out.first, pass->gradient, true);
        if (out.second) {
            add_sums(op, x, out.second, pass->hessian, true);
            if (x_t.data)
                add_sums(op, x_t, out.first, pass->hessian, false);
        }
        if (op.in == NN_INPUT)
            return;
        const layers::pair<real> in = deltas(op.in);
        const blas::matrix<real> w = {at(pass->params, op.weight), to, true};
        blas::multiply(count, from, to, {out.first, to, false}, w, in.first, op.adds);
        if (!out.second)
            return;
        blas::multiply(count, from, to, {out.second, to, false}, w, in.second, op.adds);
        blas::multiply(count, from, to, {out.first, to, false}, {at(pass->v, op.weight), to, true},
                       in.second, true);
    }

    void dropout(const nn_op &op, layers::pair<real> arrays) {
        const size_t units = width(op.out);
        if (pass->drop)
            layers::each(count * ((units + 3) / 4),
                         layers::drop<real>{blv_stream_make(pass->drop_seed, "dropout"), op.number,
                                            op.share, units, numbers(), arrays});
    }

    void forward(const nn_op &op) {
        if (op.kind == NN_LINEAR)
            linear_forward(op);
        else if (op.kind == NN_RELU)
            layers::each(elements(op.out), layers::relu<real>{values(op.out)});
        else if (op.kind == NN_ACTIVATION)
            layers::each(elements(op.out), layers::activate<real>{op.activation, values(op.in),
                                                                  values(op.out)});
        else
            dropout(op, values(op.out));
    }

    void backward(const nn_op &op) {
        if (op.kind == NN_LINEAR)
            linear_backward(op);
        else if (op.kind == NN_RELU)
            layers::each(elements(op.out),
                         layers::relu_back<real>{values(op.out).first, deltas(op.out)});
        else if (op.kind == NN_ACTIVATION)
            layers::each(elements(op.in), layers::activate_back<real>{values(op.in), deltas(op.out),
                                                                      deltas(op.in)});
        else
            dropout(op, deltas(op.out));
    }

    void take_losses() {
        const int node = work->net->scores;
        layers::score_rows<real> s = {};
        s.rows = count;
        s.classes = int(width(node));
        s.scale = real(pass->scale);
        s.score = values(node).first;
        s.tangent = values(node).second;
        s.delta = delta ? deltas(node).first : nullptr;
        s.delta_tangent = deltas(node).second;
        s.label = rows->label;
        s.weight = static_cast<const real *>(rows->weight);
        s.chance = pass->chance ? work->chance : nullptr;
        s.loss = static_cast<real *>(pass->row_loss);
        s.cross = static_cast<real *>(pass->row_cross);
        s.probability = static_cast<real *>(pass->row_probability);
        s.best = pass->row_class;
        s.row_at = numbers();
        s.losses = work->losses + block;
        const unsigned blocks = gpu::blocks_for(count, layers::WARPS);
        gpu::launch(layers::score_all<real>, dim3(blocks), dim3(layers::THREADS), 0, s);
        block += blocks;
    }

    /* What a layer takes for each row goes to `out`, by row of the data. */
    void hand_out(blas::matrix<real> from, size_t columns, void *out) {
        if (out)
            layers::each(count * columns,
                         layers::move_rows<real>{from.data, from.step, columns,
                                                 static_cast<real *>(out), columns, false,
                                                 numbers()});
    }

    void run_slice() {
        const blv_nn *net = work->net;
        const int features = nn_last_layer(net)->in;
        fetch();
        for (size_t op = 0; op < net->op_count; op++)
            forward(net->ops[op]);
        take_losses();
        hand_out(taken(net->scores), width(net->scores), pass->row_scores);
        hand_out(taken(features), width(features), pass->row_features);
        for (size_t op = net->op_count; delta && op-- > 0;)
            backward(net->ops[op]);
    }

    void run() {
        for (begin = 0; begin < rows->count; begin += count) {
            count = std::min(work->slice, rows->count - begin);
            run_slice();
        }
        if (pass->loss)
            *pass->loss = finish_losses(work->losses, block, pass->scale);
    }
};

template <class real>
static void run_as(blv_nn_work *w, const blv_rows *rows, const blv_nn_pass *pass) {
    network_pass<real> p = {};
    p.work = w;
    p.rows = rows;
    p.pass = pass;
    p.list = index_there(rows);
    p.tangent = pass->v && (pass->hessian || pass->row_cross);
    p.delta = pass->gradient || (pass->v && pass->hessian);
    p.delta_tangent = pass->v && pass->hessian;
    const size_t classes = p.width(w->net->scores);
    if (pass->chance)
        gpu::upload(w->chance, pass->chance, classes * classes * sizeof(double));
    p.run();
}

static void run(blv_nn_work *w, const blv_rows *rows, const blv_nn_pass *pass) {
    (w->single ? run_as<float> : run_as<double>)(w, rows, pass);
}

/* Of norms, which no network here has. */
static void observe(blv_nn_work *, const blv_rows *, const void *, double *) {
}

static blv_error fits(const blv_nn *net, blv_message *why) {
    for (size_t i = 0; i < net->op_count; i++)
        switch (net->ops[i].kind) {
        case NN_LINEAR:
        case NN_RELU:
        case NN_ACTIVATION:
        case NN_DROPOUT:
            break;
        default:
            snprintf(why->text, sizeof why->text,
                     "on a GPU networks are mlp:..., not ones with convolutions");
            return BLV_E_UNSUPPORTED;
        }
    if (blas::open())
        return BLV_OK;
    snprintf(why->text, sizeof why->text, "networks on a GPU need cuBLAS: no %s here",
             blas::library);
    return BLV_E_UNSUPPORTED;
}

const blv_nn_kernels blv_cuda_networks = {
    .fits = fits, .work_create = work_create, .work_destroy = work_destroy, .run = run,
    .observe = observe};
