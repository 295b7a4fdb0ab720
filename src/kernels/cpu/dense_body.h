/* The loops of dense.c for one precision: REAL is the element type, NAMED(x) adds its suffix. */

/* Eight running sums, so that the compiler can keep them in vector registers, in an order that does
 * not depend on the instruction set. */
static double NAMED(dot)(size_t n, const void *a_data, const void *b_data) {
    const REAL *a = a_data, *b = b_data;
    double sum[8] = {0.0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            sum[j] += (double)a[i + j] * (double)b[i + j];
    for (size_t j = 0; i < n; i++, j++)
        sum[j] += (double)a[i] * (double)b[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static void NAMED(gemv)(size_t rows, size_t columns, double alpha, const void *m_data,
                        const void *v, double beta, const void *w_data, void *out_data) {
    const REAL *m = m_data, *w = w_data;
    REAL *out = out_data;
    for (size_t i = 0; i < rows; i++) {
        double sum = alpha * NAMED(dot)(columns, m + i * columns, v);
        out[i] = (REAL)(w ? sum + beta * (double)w[i] : sum);
    }
}

static void NAMED(axpy)(size_t n, double a, const void *x_data, void *y_data) {
    const REAL *x = x_data;
    REAL *y = y_data;
    for (size_t i = 0; i < n; i++)
        y[i] = (REAL)((double)y[i] + a * (double)x[i]);
}

static void NAMED(combine)(size_t n, double a, const void *x_data, double b, const void *y_data,
                           void *out_data) {
    const REAL *x = x_data, *y = y_data;
    REAL *out = out_data;
    for (size_t i = 0; i < n; i++)
        out[i] = (REAL)(a * (double)x[i] + b * (double)y[i]);
}

static void NAMED(from_double)(size_t n, const double *in, void *out_data) {
    REAL *out = out_data;
    for (size_t i = 0; i < n; i++)
        out[i] = (REAL)in[i];
}

const blv_dense_kernels NAMED(blv_dense) = {.real_size = sizeof(REAL),
                                            .gemv = NAMED(gemv),
                                            .dot = NAMED(dot),
                                            .axpy = NAMED(axpy),
                                            .combine = NAMED(combine),
                                            .from_double = NAMED(from_double)};
