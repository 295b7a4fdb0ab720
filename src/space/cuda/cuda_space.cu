/* Spaces in the memory of a GPU: a vector is a pointer to its elements. */
#include "space/cuda/cuda_space.cuh"
#include "base/cuda/device.cuh"

#include <cmath>
#include <cstdlib>
#include <cstring>

static size_t bytes_of(const blv_space *s) {
    return blv_space_dim(s) * (blv_space_precision(s) == BLV_F32 ? sizeof(float) : sizeof(double));
}

static bool is_single(const blv_space *s) {
    return blv_space_precision(s) == BLV_F32;
}

/* What the GPU failed with becomes the space's failure. */
static void report(const blv_space *s) {
    if (gpu::failure())
        blv_space_fail(s, gpu::failure_kind(), "%s", gpu::failure());
}

static gpu::vector_op op_on(const blv_space *s, gpu::vector_kind kind, void *out, const void *in) {
    gpu::vector_op op = {};
    op.kind = kind;
    op.single = is_single(s);
    op.count = 1;
    op.n = blv_space_dim(s);
    op.out = out;
    op.in[0] = in;
    op.c[0] = 1.0;
    return op;
}

static void *cuda_create(const blv_space *s) {
    void *v = gpu::allocate(bytes_of(s));
    if (!v)
        report(s);
    return v;
}

static void cuda_destroy(const blv_space *, void *v) {
    gpu::release(v);
}

static void cuda_copy(const blv_space *s, void *dst, const void *src) {
    gpu::enqueue(op_on(s, gpu::LINCOMB, dst, src));
}

static void cuda_fill(const blv_space *s, void *v, double a) {
    gpu::vector_op op = op_on(s, gpu::FILL, v, nullptr);
    op.c[0] = a;
    gpu::enqueue(op);
}

static void cuda_scale(const blv_space *s, void *v, double a) {
    gpu::vector_op op = op_on(s, gpu::LINCOMB, v, v);
    op.c[0] = a;
    gpu::enqueue(op);
}

static void cuda_axpy(const blv_space *s, void *y, double a, const void *x) {
    gpu::vector_op op = op_on(s, gpu::LINCOMB, y, y);
    op.count = 2;
    op.in[1] = x;
    op.c[1] = a;
    gpu::enqueue(op);
}

static void cuda_clamp(const blv_space *s, void *v, double lo, double hi) {
    gpu::vector_op op = op_on(s, gpu::CLAMP, v, v);
    op.c[0] = lo;
    op.c[1] = hi;
    gpu::enqueue(op);
}

static bool cuda_lincomb(const blv_space *s, void *out, size_t count, const double *coef,
                         const void *const *terms, double *) {
    gpu::vector_op op = op_on(s, gpu::LINCOMB, out, nullptr);
    op.count = static_cast<uint8_t>(count);
    for (size_t t = 0; t < count; t++) {
        op.in[t] = terms[t];
        op.c[t] = coef[t];
    }
    gpu::enqueue(op);
    return false;
}

static void cuda_apply(const blv_space *s, blv_elementwise operation, void *out, double c,
                       const void *a, const void *b) {
    gpu::vector_op op = op_on(s, gpu::APPLY, out, a);
    op.operation = static_cast<uint8_t>(operation);
    op.in[1] = b;
    op.c[0] = c;
    gpu::enqueue(op);
}

static void cuda_reduce(size_t count, const blv_operands *pairs, double *result) {
    gpu::vector_pair pair[BLV_REDUCE_MAX] = {};
    for (size_t i = 0; i < count; i++)
        pair[i] = {pairs[i].a, pairs[i].b, blv_space_dim(pairs[i].space),
                   is_single(pairs[i].space)};
    gpu::reduce(count, pair, result);
    if (gpu::failure())
        for (size_t i = 0; i < count; i++)
            report(pairs[i].space);
}

static double cuda_dot(const blv_space *s, const void *a, const void *b) {
    const blv_operands pair = {s, a, b};
    double result = NAN;
    cuda_reduce(1, &pair, &result);
    return result;
}

static void cuda_read(const blv_space *s, const void *v, double *host) {
    const size_t n = blv_space_dim(s);
    if (!is_single(s)) {
        gpu::download(host, v, bytes_of(s));
    } else { /* the floats come into the upper half of where the doubles go */
        float *narrow = reinterpret_cast<float *>(host) + n;
        gpu::download(narrow, v, bytes_of(s));
        for (size_t i = 0; i < n; i++) {
            float value;
            memcpy(&value, narrow + i, sizeof value);
            host[i] = static_cast<double>(value);
        }
    }
    report(s);
    for (size_t i = 0; gpu::failure() && i < n; i++)
        host[i] = NAN;
}

static void cuda_write(const blv_space *s, void *v, const double *host) {
    const size_t n = blv_space_dim(s);
    if (!is_single(s)) {
        gpu::upload(v, host, bytes_of(s));
    } else {
        float *narrow = static_cast<float *>(malloc(bytes_of(s)));
        if (!narrow) {
            blv_space_fail(s, BLV_E_MEMORY, "no memory to convert a vector");
            return;
        }
        for (size_t i = 0; i < n; i++)
            narrow[i] = static_cast<float>(host[i]);
        gpu::upload(v, narrow, bytes_of(s));
        free(narrow);
    }
    report(s);
}

static void *cuda_data(const blv_space *, void *v, int *device) {
    if (*device != -1)
        gpu::flush();
    cudaGetDevice(device);
    return v;
}

static void *cuda_wrap(const blv_space *s, void *memory, size_t bytes) {
    cudaPointerAttributes is = {};
    const bool ours = cudaPointerGetAttributes(&is, memory) == cudaSuccess &&
                      (is.type == cudaMemoryTypeDevice || is.type == cudaMemoryTypeManaged);
    return ours && bytes >= bytes_of(s) && reinterpret_cast<uintptr_t>(memory) % 16 == 0 ? memory
                                                                                         : nullptr;
}

const blv_space_ops blv_cuda_ops = {.size = sizeof(blv_space_ops),
                                    .name = "cuda",
                                    .memory = BLV_MEMORY_CUDA,
                                    .create = cuda_create,
                                    .destroy = cuda_destroy,
                                    .copy = cuda_copy,
                                    .fill = cuda_fill,
                                    .scale = cuda_scale,
                                    .axpy = cuda_axpy,
                                    .dot = cuda_dot,
                                    .clamp = cuda_clamp,
                                    .read = cuda_read,
                                    .write = cuda_write,
                                    .lincomb = cuda_lincomb,
                                    .reduce = cuda_reduce,
                                    .apply = cuda_apply,
                                    .vec_bytes = bytes_of,
                                    .local_dim = nullptr,
                                    .data = cuda_data,
                                    .wrap = cuda_wrap,
                                    .unwrap = nullptr,
                                    .agree = nullptr,
                                    .free_context = nullptr};
