/* Raw arrays in the memory of a GPU: elements, groups, small matrices. Sums are accumulated in
 * double, in an order that the sizes determine. */
#include "kernels/cuda/cuda_elements.cuh"

namespace elements {

enum { THREADS = 256 };

__device__ static size_t thread_number() {
    return blockIdx.x * size_t(THREADS) + threadIdx.x;
}

/* The sum over a block, for its first thread. */
__device__ static double sum_of_block(double value) {
    __shared__ double of_warp[THREADS / 32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    for (int w = 1; threadIdx.x == 0 && w < THREADS / 32; w++)
        value += of_warp[w];
    return value;
}

static double answer_of(const gpu::question &asked) {
    return gpu::wait(asked) ? asked.here->value[0] : double(NAN);
}

/* ---- Rows of a sweep ---- */

template <class real, class F>
__global__ void each_row(size_t first, size_t count, const size_t *index, F f) {
    const size_t i = thread_number();
    if (i < count)
        f(index ? index[i] : first + i);
}

template <class real, class F> static void for_rows(const blv_rows *rows, F f) {
    gpu::launch(each_row<real, F>, dim3(gpu::blocks_for(rows->count, THREADS)), dim3(THREADS), 0,
                rows->first, rows->count, index_there(rows), f);
}

template <class real> struct sigmoid_at {
    const real *x;
    real *out;
    __device__ void operator()(size_t row) const {
        out[row] = real(1.0 / (1.0 + exp(-double(x[row]))));
    }
};

template <class real> void row_sigmoid(const blv_rows *rows, const void *x, void *out) {
    for_rows<real>(rows,
                   sigmoid_at<real>{static_cast<const real *>(x), static_cast<real *>(out)});
}

template <class real> struct slope_at {
    double scale;
    const real *x, *factor;
    real *out;
    bool add; /* a row that comes twice adds the same number twice: any order will do */
    __device__ void operator()(size_t row) const {
        double value = scale * double(factor[row]);
        if (x) {
            const double s = 1.0 / (1.0 + exp(-double(x[row])));
            value *= s * (1.0 - s);
        }
        if (add)
            atomicAdd(out + row, real(value));
        else
            out[row] = real(value);
    }
};

template <class real>
void row_sigmoid_slope(const blv_rows *rows, double scale, const void *x, const void *factor,
                       void *out) {
    for_rows<real>(rows, slope_at<real>{scale, static_cast<const real *>(x),
                                        static_cast<const real *>(factor), static_cast<real *>(out),
                                        rows->index != nullptr});
}

template <class real>
void row_add(const blv_rows *rows, double scale, const void *factor, void *out) {
    for_rows<real>(rows, slope_at<real>{scale, nullptr, static_cast<const real *>(factor),
                                        static_cast<real *>(out), true});
}

static __global__ void count_equal(size_t first, size_t count, const size_t *index,
                                   const int32_t *label, const int32_t *guess, gpu::answer *to,
                                   unsigned long long number) {
    double right = 0.0;
    for (size_t i = threadIdx.x; i < count; i += THREADS) {
        const size_t row = index ? index[i] : first + i;
        right += guess[row] == label[row];
    }
    right = sum_of_block(right);
    if (threadIdx.x == 0) {
        to->value[0] = right;
        gpu::reply(to, number);
    }
}

size_t count_right(const blv_rows *rows, const int32_t *guess) {
    const gpu::question asked = gpu::ask();
    gpu::launch(count_equal, dim3(1), dim3(THREADS), 0, rows->first, rows->count,
                index_there(rows), rows->label, guess, asked.to, asked.number);
    const double right = answer_of(asked);
    return right >= 0.0 ? size_t(right) : 0;
}

/* ---- Elements ---- */

template <class F> __global__ void each_element(size_t n, F f) {
    const size_t i = thread_number();
    if (i < n)
        f(i);
}

template <class F> static void for_elements(size_t n, F f) {
    gpu::launch(each_element<F>, dim3(gpu::blocks_for(n, THREADS)), dim3(THREADS), 0, n, f);
}

/* Through the queue of vector operations. */
template <class real>
static void enqueue(gpu::vector_kind kind, size_t n, void *out, size_t count, const double *c,
                    const void *const *in) {
    gpu::vector_op op = {};
    op.kind = kind;
    op.single = sizeof(real) == sizeof(float);
    op.count = uint8_t(count);
    op.n = n;
    op.out = out;
    for (size_t t = 0; t < count; t++) {
        op.in[t] = in[t];
        op.c[t] = kind == gpu::LINCOMB ? c[t] : *c;
    }
    gpu::enqueue(op);
}

template <class real> void exp_scaled(size_t n, double scale, const void *x, void *out) {
    enqueue<real>(gpu::EXP, n, out, 1, &scale, &x);
}

template <class real> void axpy(size_t n, double a, const void *x, void *y) {
    const double c[] = {1.0, a};
    const void *in[] = {y, x};
    enqueue<real>(gpu::LINCOMB, n, y, 2, c, in);
}

template <class real>
void combine(size_t n, double a, const void *x, double b, const void *y, void *out) {
    const double c[] = {a, b};
    const void *in[] = {x, y};
    enqueue<real>(gpu::LINCOMB, n, out, 2, c, in);
}

template <class real>
void spread_groups(size_t n, const uint32_t *group, const void *from_data, void *out_data) {
    const real *from = static_cast<const real *>(from_data);
    real *out = static_cast<real *>(out_data);
    for_elements(n, [=] __device__(size_t j) { out[j] = from[group[j]]; });
}

/* ---- Sums of elements ---- */

/* A block to each of `columns` sums of `count` products, `step` and `next` elements apart. */
template <class real>
__global__ void block_products(size_t count, size_t step, size_t next, double factor,
                               const real *scale, const real *u, const real *v, real *out) {
    const size_t j = blockIdx.x;
    double sum = 0.0;
    for (size_t k = threadIdx.x; k < count; k += THREADS)
        sum += double(u[j * step + k * next]) * double(v[j * step + k * next]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        out[j] = real(factor * double(scale[j]) * sum);
}

template <class real>
void column_products(size_t columns, size_t rows, int transposed, double factor,
                     const void *scale_data, const void *u_data, const void *v_data,
                     void *out_data) {
    const real *scale = static_cast<const real *>(scale_data),
               *u = static_cast<const real *>(u_data), *v = static_cast<const real *>(v_data);
    real *out = static_cast<real *>(out_data);
    const size_t step = transposed ? rows : 1, next = transposed ? 1 : columns;
    if (rows == 1) {
        const void *in[] = {scale, u, v};
        enqueue<real>(gpu::PRODUCT, columns, out, 3, &factor, in);
        return;
    }
    if (rows > 64) {
        gpu::launch(block_products<real>, dim3(unsigned(columns)), dim3(THREADS), 0, rows, step,
                    next, factor, scale, u, v, out);
        return;
    }
    for_elements(columns, [=] __device__(size_t j) {
        double sum = 0.0;
        for (size_t k = 0; k < rows; k++)
            sum += double(u[j * step + k * next]) * double(v[j * step + k * next]);
        out[j] = real(factor * double(scale[j]) * sum);
    });
}

template <class real, bool PRODUCTS>
__global__ void add_up(size_t n, const real *a, const real *b, gpu::answer *to,
                       unsigned long long number) {
    double sum = 0.0;
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        sum += PRODUCTS ? double(a[i]) * double(b[i]) : double(a[i]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) {
        to->value[0] = sum;
        gpu::reply(to, number);
    }
}

template <class real> double sum(size_t n, const void *u) {
    const gpu::question asked = gpu::ask();
    gpu::launch(add_up<real, false>, dim3(1), dim3(THREADS), 0, n, static_cast<const real *>(u),
                static_cast<const real *>(nullptr), asked.to, asked.number);
    return answer_of(asked);
}

template <class real> double dot(size_t n, const void *a, const void *b) {
    const gpu::vector_pair pair = {a, b, n, sizeof(real) == sizeof(float)};
    double result;
    gpu::reduce(1, &pair, &result);
    return result;
}

/* ---- Groups ---- */

/* Sums that do not depend on the order: whole numbers, of two sizes, in units of the largest |in|,
 * whose bits compare as numbers do, NaN above all. */
__device__ static double unit_of(unsigned long long largest, int exponent) {
    int e;
    frexp(__longlong_as_double((long long)largest), &e);
    return ldexp(1.0, exponent - e);
}

template <class real>
void sum_groups(size_t n, const uint32_t *group, const void *in_data, size_t groups, double *,
                void *out_data) {
    enum { BITS = 36 };
    static thread_local gpu::buffer room;
    const real *in = static_cast<const real *>(in_data);
    real *out = static_cast<real *>(out_data);
    auto *all = static_cast<unsigned long long *>(room.of((1 + 2 * groups) * sizeof(long long)));
    if (!all)
        return;
    for_elements(1 + 2 * groups, [=] __device__(size_t i) { all[i] = 0; });
    for_elements(n, [=] __device__(size_t j) {
        atomicMax(all, (unsigned long long)__double_as_longlong(fabs(double(in[j]))));
    });
    for_elements(n, [=] __device__(size_t j) {
        const double scaled = double(in[j]) * unit_of(*all, BITS), high = rint(scaled);
        const double low = rint((scaled - high) * ldexp(1.0, BITS));
        atomicAdd(&all[1 + 2 * group[j]], (unsigned long long)(long long)high);
        atomicAdd(&all[2 + 2 * group[j]], (unsigned long long)(long long)low);
    });
    for_elements(groups, [=] __device__(size_t k) {
        const double high = double((long long)all[1 + 2 * k]), low = double((long long)all[2 + 2 * k]);
        const double largest = __longlong_as_double((long long)*all);
        out[k] = !isfinite(largest)
                     ? real(NAN)
                     : real((high + low * ldexp(1.0, -BITS)) / unit_of(*all, BITS));
    });
}

template <class real>
void penalize(size_t groups, size_t ranges, const blv_range *range, const void *x_data,
              const void *u_data, void *out_data) {
    const real *x = static_cast<const real *>(x_data), *u = static_cast<const real *>(u_data);
    real *out = static_cast<real *>(out_data);
    if (ranges == 0) {
        for_elements(groups,
                     [=] __device__(size_t j) { out[j] = real(exp(double(x[j])) * double(u[j])); });
        return;
    }
    for_elements(ranges * THREADS, [=] __device__(size_t i) {
        const blv_range r = range[i / THREADS];
        const double factor = exp(double(x[r.of]));
        for (size_t j = r.begin + i % THREADS; j < r.end; j += THREADS)
            out[j] = real(factor * double(u[j]));
    });
}

/* A block to a group. */
template <class real>
__global__ void group_products(size_t ranges, const blv_range *range, double factor, const real *x,
                               const real *u, const real *v, double *sums) {
    const size_t k = blockIdx.x;
    double sum = 0.0;
    if (ranges == 0 && threadIdx.x == 0)
        sum = double(u[k]) * double(v[k]);
    for (size_t i = 0; i < ranges; i++)
        if (range[i].of == k)
            for (size_t j = range[i].begin + threadIdx.x; j < range[i].end; j += THREADS)
                sum += double(u[j]) * double(v[j]);
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        sums[k] = sum * factor * exp(double(x[k]));
}

template <class real>
double penalty_products(size_t groups, size_t ranges, const blv_range *range, double factor,
                        const void *x, const void *u, const void *v, void *out_data) {
    static thread_local gpu::buffer room;
    double *sums = static_cast<double *>(room.of(groups * sizeof(double)));
    real *out = static_cast<real *>(out_data);
    if (!sums)
        return double(NAN);
    gpu::launch(group_products<real>, dim3(unsigned(groups)), dim3(THREADS), 0, ranges, range,
                factor, static_cast<const real *>(x), static_cast<const real *>(u),
                static_cast<const real *>(v), sums);
    if (out)
        for_elements(groups, [=] __device__(size_t k) { out[k] = real(sums[k]); });
    return sum<double>(groups, sums);
}

/* ---- Small matrices ---- */

/* A warp to a row. */
template <class real>
__global__ void multiply_rows(size_t rows, size_t columns, double alpha, const real *m,
                              const real *v, double beta, const real *w, real *out) {
    const size_t i = thread_number() / 32;
    if (i >= rows)
        return;
    double sum = 0.0;
    for (size_t j = threadIdx.x % 32; j < columns; j += 32)
        sum += double(m[i * columns + j]) * double(v[j]);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0)
        out[i] = real(alpha * sum + (w ? beta * double(w[i]) : 0.0));
}

template <class real>
void gemv(size_t rows, size_t columns, double alpha, const void *m, const void *v, double beta,
          const void *w, void *out) {
    gpu::launch(multiply_rows<real>, dim3(gpu::blocks_for(rows * 32, THREADS)), dim3(THREADS), 0,
                rows, columns, alpha, static_cast<const real *>(m), static_cast<const real *>(v),
                beta, static_cast<const real *>(w), static_cast<real *>(out));
}

template <class real>
double quadratic(size_t n, size_t m, const void *A, const void *C, const void *c, const void *x,
                 const void *y) {
    static thread_local gpu::buffer room;
    real *sum = static_cast<real *>(room.of(n * sizeof(real)));
    if (!sum)
        return double(NAN);
    gemv<real>(n, m, 1.0, C, x, 1.0, c, sum);
    gemv<real>(n, n, 0.5, A, y, 1.0, sum, sum);
    return dot<real>(n, y, sum);
}

#define INSTANCES(real)                                                                            \
    template void row_sigmoid<real>(const blv_rows *, const void *, void *);                       \
    template void row_sigmoid_slope<real>(const blv_rows *, double, const void *, const void *,    \
                                          void *);                                                 \
    template void row_add<real>(const blv_rows *, double, const void *, void *);                   \
    template void exp_scaled<real>(size_t, double, const void *, void *);                          \
    template void spread_groups<real>(size_t, const uint32_t *, const void *, void *);             \
    template void axpy<real>(size_t, double, const void *, void *);                                \
    template void combine<real>(size_t, double, const void *, double, const void *, void *);       \
    template void column_products<real>(size_t, size_t, int, double, const void *, const void *,   \
                                        const void *, void *);                                     \
    template double sum<real>(size_t, const void *);                                               \
    template double dot<real>(size_t, const void *, const void *);                                 \
    template void sum_groups<real>(size_t, const uint32_t *, const void *, size_t, double *,       \
                                   void *);                                                        \
    template void penalize<real>(size_t, size_t, const blv_range *, const void *, const void *,    \
                                 void *);                                                          \
    template double penalty_products<real>(size_t, size_t, const blv_range *, double,              \
                                           const void *, const void *, const void *, void *);      \
    template void gemv<real>(size_t, size_t, double, const void *, const void *, double,           \
                             const void *, void *);                                                \
    template double quadratic<real>(size_t, size_t, const void *, const void *, const void *,      \
                                    const void *, const void *);
INSTANCES(float)
INSTANCES(double)

} // namespace elements
