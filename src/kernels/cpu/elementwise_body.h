/* The loops of elementwise.c for one precision: REAL is the element type, NAMED(x) adds suffixes.
 * Included for each REAL; has no include guard. */

typedef REAL NAMED(vector) __attribute__((vector_size(WIDTH * sizeof(REAL))));

/* Whole vectors go through registers; fewer elements one by one. */
ALWAYS_INLINE void NAMED(load)(const REAL *from, size_t count, lanes *to) {
    NAMED(vector) v = {0};
    if (count == WIDTH)
        memcpy(&v, from, sizeof v);
    else
        memcpy(&v, from, count * sizeof *from);
    *to = __builtin_convertvector(v, lanes);
}

ALWAYS_INLINE void NAMED(store)(const lanes *from, size_t count, REAL *to) {
    NAMED(vector) v = __builtin_convertvector(*from, NAMED(vector));
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

static void NAMED(exp_scaled)(size_t n, double scale, const void *x_data, void *out_data) {
    const REAL *x = x_data;
    REAL *out = out_data;
    FOR_LANES({
        lanes v;
        NAMED(load)(x + i, count, &v);
        exp_lanes(&v);
        v = v * scale;
        NAMED(store)(&v, count, out + i);
    });
}

ALWAYS_INLINE void NAMED(sigmoid_lanes)(lanes *v) {
    *v = -*v;
    exp_lanes(v);
    *v = 1.0 / (1.0 + *v);
}

static void NAMED(sigmoid)(size_t n, const void *x_data, void *out_data) {
    const REAL *x = x_data;
    REAL *out = out_data;
    FOR_LANES({
        lanes v;
        NAMED(load)(x + i, count, &v);
        NAMED(sigmoid_lanes)(&v);
        NAMED(store)(&v, count, out + i);
    });
}

static void NAMED(sigmoid_slope)(size_t n, double scale, const void *x_data,
                                 const void *factor_data, void *out_data) {
    const REAL *x = x_data, *factor = factor_data;
    REAL *out = out_data;
    FOR_LANES({
        lanes v, f, slope;
        NAMED(load)(x + i, count, &v);
        NAMED(load)(factor + i, count, &f);
        slope = -v;
        exp_lanes(&slope);
        v = 1.0 / (1.0 + slope);
        slope = v * (1.0 - v);
        v = scale * slope * f;
        NAMED(store)(&v, count, out + i);
    });
}

static void NAMED(column_products)(size_t columns, size_t rows, int transposed, double factor,
                                   const void *scale_data, const void *u_data, const void *v_data,
                                   void *out_data) {
    enum { BLOCK = 64 };
    const REAL *scale = scale_data, *u = u_data, *v = v_data;
    REAL *out = out_data;
    if (transposed) {
        for (size_t j = 0; j < columns; j++) {
            const REAL *a = u + j * rows, *b = v + j * rows;
            double sum[4] = {0.0};
            size_t k = 0;
            for (; k + 4 <= rows; k += 4)
                for (size_t i = 0; i < 4; i++)
                    sum[i] += (double)a[k + i] * (double)b[k + i];
            for (size_t i = 0; k < rows; k++, i++)
                sum[i] += (double)a[k] * (double)b[k];
            out[j] = (REAL)(factor * (double)scale[j] * ((sum[0] + sum[2]) + (sum[1] + sum[3])));
        }
        return;
    }
    for (size_t first = 0; first < columns; first += BLOCK) {
        double sum[BLOCK] = {0.0};
        size_t count = columns - first < BLOCK ? columns - first : BLOCK;
        for (size_t k = 0; k < rows; k++) {
            const REAL *a = u + k * columns + first, *b = v + k * columns + first;
            for (size_t j = 0; j < count; j++)
                sum[j] += (double)a[j] * (double)b[j];
        }
        for (size_t j = 0; j < count; j++)
            out[first + j] = (REAL)(factor * (double)scale[first + j] * sum[j]);
    }
}

static double NAMED(sum)(size_t n, const void *u_data) {
    const REAL *u = u_data;
    double sum[8] = {0.0};
    for (size_t i = 0; i < n; i++)
        sum[i & 7] += (double)u[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

extern const blv_element_loops NAMED(blv_element_loops);
const blv_element_loops NAMED(blv_element_loops) = {.exp_scaled = NAMED(exp_scaled),
                                                    .sigmoid = NAMED(sigmoid),
                                                    .sigmoid_slope = NAMED(sigmoid_slope),
                                                    .column_products = NAMED(column_products),
                                                    .sum = NAMED(sum)};
#undef FOR_LANES
