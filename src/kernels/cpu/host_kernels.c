/* The table of host memory: sweeps from their files, and all other loops, serial and in a fixed
 * order, bitwise identical on every instruction set.
 *
 * exp(x) = 2^n exp(r): n = round(x / log 2), r = x - n log 2 in two parts, |r| <= log(2)/2, and the
 * Taylor polynomial of degree 13, whose error is below 1e-17 there. The result is within 2 units in
 * the last place of a double. Vectors of doubles in both precisions: f32 results are then rounded
 * once. No fma: bitwise identical on every instruction set. */
#include "base/instructions.h"
#include "kernels/cpu/host_sweep.h"
#include "kernels/kernel_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if REAL_IS_FLOAT
typedef float real;
#else
typedef double real;
#endif

/* ---- Exponentials ---- */

#if defined(BLV_ISA_avx512)
#define WIDTH 8
#elif defined(BLV_ISA_avx2)
#define WIDTH 4
#else
#define WIDTH 2
#endif

typedef double lanes __attribute__((vector_size(WIDTH * sizeof(double))));
typedef int64_t bits __attribute__((vector_size(WIDTH * sizeof(int64_t))));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* x beyond these over- and underflows; the clamped value is put right at the end */
#define LARGEST 709.782712893384
#define SMALLEST (-745.2)

ALWAYS_INLINE void pick(lanes *out, const bits *mask, const lanes *yes, const lanes *no) {
    *out = (lanes)(((bits)*yes & *mask) | ((bits)*no & ~*mask));
}

/* In place, by pointer: wide vectors are not passed by value. NaN stays NaN. */
ALWAYS_INLINE void exp_lanes(lanes *value) {
    const lanes x = *value, zero = {0.0};
    const lanes shift = 6755399441055744.0 - zero; /* 1.5 * 2^52: adding it rounds to whole */
    lanes low = -1000.0 - zero, high = 1000.0 - zero, clamped;
    bits below = (bits)(x < low), above = (bits)(x > high);
    pick(&clamped, &below, &low, &x);
    pick(&clamped, &above, &high, &clamped);
    lanes rounded = clamped * 1.4426950408889634 + shift;
    lanes n = rounded - shift;
    lanes r = (clamped - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    lanes r2 = r * r; /* even and odd powers apart: two short chains instead of a long one */
    lanes even = 1.0 / 479001600 - zero, odd = 1.0 / 6227020800.0 - zero;
    static const double even_factor[] = {1.0 / 3628800, 1.0 / 40320, 1.0 / 720, 1.0 / 24, 0.5, 1.0};
    static const double odd_factor[] = {1.0 / 39916800, 1.0 / 362880, 1.0 / 5040,
                                        1.0 / 120,      1.0 / 6,      1.0};
    for (int i = 0; i < 6; i++) {
        even = even * r2 + even_factor[i];
        odd = odd * r2 + odd_factor[i];
    }
    lanes p = even + r * odd;
    /* 2^n in two factors, so that neither overflows where the product does not: the low bits of
     * `rounded` hold n */
    bits whole = (bits)rounded - (bits)shift, half = whole >> 1, rest = whole - half;
    lanes first = (lanes)((half + 1023) << 52), second = (lanes)((rest + 1023) << 52);
    lanes result = p * first * second;
    const lanes infinity = __builtin_inf() - zero;
    bits over = (bits)(x > LARGEST - zero), under = (bits)(x < SMALLEST - zero),
         nan = (bits)(x != x); // NOLINT(misc-redundant-expression): true for NaN
    pick(&result, &over, &infinity, &result);
    pick(&result, &under, &zero, &result);
    pick(value, &nan, &x, &result);
}

typedef real vector __attribute__((vector_size(WIDTH * sizeof(real))));

/* Whole vectors go through registers; fewer elements one by one. */
ALWAYS_INLINE void load(const real *from, size_t count, lanes *to) {
    vector v = {0};
    if (count == WIDTH)
        memcpy(&v, from, sizeof v);
    else
        memcpy(&v, from, count * sizeof *from);
    *to = __builtin_convertvector(v, lanes);
}

ALWAYS_INLINE void store(const lanes *from, size_t count, real *to) {
    vector v = __builtin_convertvector(*from, vector);
    if (count == WIDTH)
        memcpy(to, &v, sizeof v);
    else
        memcpy(to, &v, count * sizeof *to);
}

/* Runs the block for each i with `count` of n elements: WIDTH, but n where that is less.
 * The last vector reaches back over elements that are done already, and come out the same again. */
#define FOR_LANES(...)                                                                             \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + WIDTH <= n; i += WIDTH) {                                                       \
            const size_t count = WIDTH;                                                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        if (i < n) {                                                                               \
            const size_t count = n < WIDTH ? n : WIDTH;                                            \
            i = n - count;                                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } while (0)

static void exp_scaled(size_t n, double scale, const void *x_data, void *out_data) {
    const real *x = x_data;
    real *out = out_data;
    FOR_LANES({
        lanes v;
        load(x + i, count, &v);
        exp_lanes(&v);
        v = v * scale;
        store(&v, count, out + i);
    });
}

ALWAYS_INLINE void sigmoid_lanes(lanes *v) {
    *v = -*v;
    exp_lanes(v);
    *v = 1.0 / (1.0 + *v);
}

static void sigmoid(size_t n, const void *x_data, void *out_data) {
    const real *x = x_data;
    real *out = out_data;
    FOR_LANES({
        lanes v;
        load(x + i, count, &v);
        sigmoid_lanes(&v);
        store(&v, count, out + i);
    });
}

static void sigmoid_slope(size_t n, double scale, const void *x_data, const void *factor_data,
                          void *out_data) {
    const real *x = x_data, *factor = factor_data;
    real *out = out_data;
    FOR_LANES({
        lanes v, f, slope;
        load(x + i, count, &v);
        load(factor + i, count, &f);
        slope = -v;
        exp_lanes(&slope);
        v = 1.0 / (1.0 + slope);
        slope = v * (1.0 - v);
        v = scale * slope * f;
        store(&v, count, out + i);
    });
}

static void column_products(size_t columns, size_t rows, int transposed, double factor,
                            const void *scale_data, const void *u_data, const void *v_data,
                            void *out_data) {
    enum { BLOCK = 64 };
    const real *scale = scale_data, *u = u_data, *v = v_data;
    real *out = out_data;
    if (transposed) {
        for (size_t j = 0; j < columns; j++) {
            const real *a = u + j * rows, *b = v + j * rows;
            double sum[4] = {0.0};
            size_t k = 0;
            for (; k + 4 <= rows; k += 4)
                for (size_t i = 0; i < 4; i++)
                    sum[i] += (double)a[k + i] * (double)b[k + i];
            for (size_t i = 0; k < rows; k++, i++)
                sum[i] += (double)a[k] * (double)b[k];
            out[j] = (real)(factor * (double)scale[j] * ((sum[0] + sum[2]) + (sum[1] + sum[3])));
        }
        return;
    }
    for (size_t first = 0; first < columns; first += BLOCK) {
        double sum[BLOCK] = {0.0};
        size_t count = columns - first < BLOCK ? columns - first : BLOCK;
        for (size_t k = 0; k < rows; k++) {
            const real *a = u + k * columns + first, *b = v + k * columns + first;
            for (size_t j = 0; j < count; j++)
                sum[j] += (double)a[j] * (double)b[j];
        }
        for (size_t j = 0; j < count; j++)
            out[first + j] = (real)(factor * (double)scale[first + j] * sum[j]);
    }
}

static double sum(size_t n, const void *u_data) {
    const real *u = u_data;
    double sum[8] = {0.0};
    for (size_t i = 0; i < n; i++)
        sum[i & 7] += (double)u[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* ---- Memory and rows ---- */

static void *allocate(size_t bytes) {
    return calloc(1, bytes ? bytes : 1);
}

static void write_bytes(size_t bytes, const void *host, void *to) {
    memcpy(to, host, bytes);
}

static bool rows_open(const blv_rows *host, blv_rows *rows) {
    *rows = *host;
    return true;
}

static void rows_close(blv_rows *rows) {
    *rows = (blv_rows){0};
}

static size_t row_at(const blv_rows *rows, size_t i) {
    return rows->index ? rows->index[i] : rows->first + i;
}

static size_t count_right(const blv_rows *rows, const int32_t *guess) {
    size_t right = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = rows->index ? rows->index[i] : rows->first + i;
        right += guess[row] == rows->label[row];
    }
    return right;
}

/* ---- Small matrices, groups ---- */

/* Eight running sums, so that the compiler can keep them in vector registers, in an order that does
 * not depend on the instruction set. */
static double dot(size_t n, const void *a_data, const void *b_data) {
    const real *a = a_data, *b = b_data;
    double sum[8] = {0.0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            sum[j] += (double)a[i + j] * (double)b[i + j];
    for (size_t j = 0; i < n; i++, j++)
        sum[j] += (double)a[i] * (double)b[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static void gemv(size_t rows, size_t columns, double alpha, const void *m_data, const void *v,
                 double beta, const void *w_data, void *out_data) {
    const real *m = m_data, *w = w_data;
    real *out = out_data;
    for (size_t i = 0; i < rows; i++) {
        double sum = alpha * dot(columns, m + i * columns, v);
        out[i] = (real)(w ? sum + beta * (double)w[i] : sum);
    }
}

static void axpy(size_t n, double a, const void *x_data, void *y_data) {
    const real *x = x_data;
    real *y = y_data;
    for (size_t i = 0; i < n; i++)
        y[i] = (real)((double)y[i] + a * (double)x[i]);
}

static void combine(size_t n, double a, const void *x_data, double b, const void *y_data,
                    void *out_data) {
    const real *x = x_data, *y = y_data;
    real *out = out_data;
    for (size_t i = 0; i < n; i++)
        out[i] = (real)(a * (double)x[i] + b * (double)y[i]);
}

static double quadratic(size_t n, size_t m, const void *A_data, const void *C_data,
                        const void *c_data, const void *x, const void *y_data) {
    const real *A = A_data, *C = C_data, *c = c_data, *y = y_data;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double Ay = dot(n, A + i * n, y), Cx = dot(m, C + i * m, x);
        sum += (double)y[i] * (0.5 * Ay + Cx + (double)c[i]);
    }
    return sum;
}

static void write(size_t n, const double *host, void *to_data) {
    real *to = to_data;
    for (size_t i = 0; i < n; i++)
        to[i] = (real)host[i];
}

static void read(size_t n, const void *from_data, double *host) {
    const real *from = from_data;
    for (size_t i = 0; i < n; i++)
        host[i] = (double)from[i];
}

static blv_sweep_work *sweep_open(size_t classes, size_t columns, bool sparse, size_t max_rows,
                                  int threads) {
    return blv_sweep_work_create(classes, columns, sizeof(real), sparse, max_rows, threads);
}

static void row_sigmoid(const blv_rows *rows, const void *x_data, void *out_data) {
    const real *x = x_data;
    real *out = out_data;
    if (!rows->index)
        sigmoid(rows->count, x + rows->first, out + rows->first);
    for (size_t i = 0; rows->index && i < rows->count; i++)
        sigmoid(1, x + rows->index[i], out + rows->index[i]);
}

static void row_sigmoid_slope(const blv_rows *rows, double scale, const void *x_data,
                              const void *factor_data, void *out_data) {
    const real *x = x_data, *factor = factor_data;
    real *out = out_data;
    if (!rows->index)
        sigmoid_slope(rows->count, scale, x + rows->first, factor + rows->first, out + rows->first);
    for (size_t i = 0; rows->index && i < rows->count; i++) {
        const size_t row = rows->index[i];
        const double s = 1.0 / (1.0 + exp(-(double)x[row]));
        out[row] = (real)((double)out[row] + scale * s * (1.0 - s) * (double)factor[row]);
    }
}

static void row_add(const blv_rows *rows, double scale, const void *factor_data, void *out_data) {
    const real *factor = factor_data;
    real *out = out_data;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = row_at(rows, i);
        out[row] = (real)((double)out[row] + scale * (double)factor[row]);
    }
}

static void spread_groups(size_t n, const uint32_t *group, const void *from_data, void *out_data) {
    const real *from = from_data;
    real *out = out_data;
    for (size_t j = 0; j < n; j++)
        out[j] = from[group[j]];
}

static void sum_groups(size_t n, const uint32_t *group, const void *in_data, size_t groups,
                       double *sums, void *out) {
    const real *in = in_data;
    memset(sums, 0, groups * sizeof *sums);
    for (size_t j = 0; j < n; j++)
        sums[group[j]] += (double)in[j];
    write(groups, sums, out);
}

static void penalize(size_t groups, size_t ranges, const blv_range *range, const void *x_data,
                     const void *u_data, void *out_data) {
    const real *x = x_data, *u = u_data;
    real *out = out_data;
    if (ranges == 0)
        exp_scaled(groups, 1.0, x, out);
    for (size_t j = 0; ranges == 0 && j < groups; j++)
        out[j] = (real)((double)out[j] * (double)u[j]);
    for (size_t i = 0; i < ranges; i++) {
        const double factor = exp((double)x[range[i].of]);
        for (size_t j = range[i].begin; j < range[i].end; j++)
            out[j] = (real)(factor * (double)u[j]);
    }
}

static double penalty_products(size_t groups, size_t ranges, const blv_range *range, double factor,
                               const void *x_data, const void *u_data, const void *v_data,
                               void *out_data) {
    const real *x = x_data, *u = u_data, *v = v_data;
    real *out = out_data;
    double total = 0.0;
    for (size_t k = 0; k < groups; k++) {
        double sum = ranges ? 0.0 : (double)u[k] * (double)v[k];
        for (size_t i = 0; i < ranges; i++)
            for (size_t j = range[i].begin; range[i].of == k && j < range[i].end; j++)
                sum += (double)u[j] * (double)v[j];
        sum *= factor * exp((double)x[k]);
        total += sum;
        if (out)
            out[k] = (real)sum;
    }
    return total;
}

const blv_kernels BLV_TABLE(blv_host_kernels) = {
    .memory = BLV_MEMORY_HOST,
    .precision = REAL_IS_FLOAT ? BLV_F32 : BLV_F64,
    .real_size = sizeof(real),
    .allocate = allocate,
    .release = free,
    .write = write,
    .read = read,
    .write_bytes = write_bytes,
    .rows_open = rows_open,
    .rows_close = rows_close,
    .sweep_open = sweep_open,
    .sweep_close = blv_sweep_work_destroy,
    .sweep_keep = blv_sweep_work_keep,
    .sweep = blv_host_sweep,
    .row_sigmoid = row_sigmoid,
    .row_sigmoid_slope = row_sigmoid_slope,
    .row_add = row_add,
    .count_right = count_right,
    .exp_scaled = exp_scaled,
    .column_products = column_products,
    .sum = sum,
    .spread_groups = spread_groups,
    .sum_groups = sum_groups,
    .penalize = penalize,
    .penalty_products = penalty_products,
    .dot = dot,
    .axpy = axpy,
    .combine = combine,
    .gemv = gemv,
    .quadratic = quadratic,
};
