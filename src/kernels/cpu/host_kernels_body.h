/* The tables of host_kernels.c for one precision: REAL is the element type, NAMED(x) adds its
 * suffix, LOOPS(isa) is the address of its element loops. */

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

static double NAMED(quadratic)(size_t n, size_t m, const void *A_data, const void *C_data,
                               const void *c_data, const void *x, const void *y_data) {
    const REAL *A = A_data, *C = C_data, *c = c_data, *y = y_data;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double Ay = NAMED(dot)(n, A + i * n, y), Cx = NAMED(dot)(m, C + i * m, x);
        sum += (double)y[i] * (0.5 * Ay + Cx + (double)c[i]);
    }
    return sum;
}

static void NAMED(write)(size_t n, const double *host, void *to_data) {
    REAL *to = to_data;
    for (size_t i = 0; i < n; i++)
        to[i] = (REAL)host[i];
}

static void NAMED(read)(size_t n, const void *from_data, double *host) {
    const REAL *from = from_data;
    for (size_t i = 0; i < n; i++)
        host[i] = (double)from[i];
}

static blv_sweep_work *NAMED(sweep_open)(size_t classes, size_t columns, bool sparse,
                                         size_t max_rows, int threads) {
    return blv_sweep_work_create(classes, columns, sizeof(REAL), sparse, max_rows, threads);
}

static const blv_element_loops *NAMED(loops)(void) {
    static const blv_element_loops *const loops[] = {LOOPS(base), LOOPS(avx2), LOOPS(avx512)};
    return loops[blv_usable_instructions(BLV_INSTRUCTIONS_BEST)];
}

static void NAMED(row_sigmoid)(const blv_rows *rows, const void *x_data, void *out_data) {
    const REAL *x = x_data;
    REAL *out = out_data;
    const blv_element_loops *loops = NAMED(loops)();
    if (!rows->index)
        loops->sigmoid(rows->count, x + rows->first, out + rows->first);
    for (size_t i = 0; rows->index && i < rows->count; i++)
        loops->sigmoid(1, x + rows->index[i], out + rows->index[i]);
}

static void NAMED(row_sigmoid_slope)(const blv_rows *rows, double scale, const void *x_data,
                                     const void *factor_data, void *out_data) {
    const REAL *x = x_data, *factor = factor_data;
    REAL *out = out_data;
    if (!rows->index)
        NAMED(loops)
    ()->sigmoid_slope(rows->count, scale, x + rows->first, factor + rows->first, out + rows->first);
    for (size_t i = 0; rows->index && i < rows->count; i++) {
        const size_t row = rows->index[i];
        const double s = 1.0 / (1.0 + exp(-(double)x[row]));
        out[row] = (REAL)((double)out[row] + scale * s * (1.0 - s) * (double)factor[row]);
    }
}

static void NAMED(row_add)(const blv_rows *rows, double scale, const void *factor_data,
                           void *out_data) {
    const REAL *factor = factor_data;
    REAL *out = out_data;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = row_at(rows, i);
        out[row] = (REAL)((double)out[row] + scale * (double)factor[row]);
    }
}

static void NAMED(spread_groups)(size_t n, const uint32_t *group, const void *from_data,
                                 void *out_data) {
    const REAL *from = from_data;
    REAL *out = out_data;
    for (size_t j = 0; j < n; j++)
        out[j] = from[group[j]];
}

static void NAMED(sum_groups)(size_t n, const uint32_t *group, const void *in_data, size_t groups,
                              double *sums, void *out) {
    const REAL *in = in_data;
    memset(sums, 0, groups * sizeof *sums);
    for (size_t j = 0; j < n; j++)
        sums[group[j]] += (double)in[j];
    NAMED(write)(groups, sums, out);
}

static void NAMED(penalize)(size_t groups, size_t ranges, const blv_range *range,
                            const void *x_data, const void *u_data, void *out_data) {
    const REAL *x = x_data, *u = u_data;
    REAL *out = out_data;
    if (ranges == 0)
        NAMED(loops)()->exp_scaled(groups, 1.0, x, out);
    for (size_t j = 0; ranges == 0 && j < groups; j++)
        out[j] = (REAL)((double)out[j] * (double)u[j]);
    for (size_t i = 0; i < ranges; i++) {
        const double factor = exp((double)x[range[i].of]);
        for (size_t j = range[i].begin; j < range[i].end; j++)
            out[j] = (REAL)(factor * (double)u[j]);
    }
}

static double NAMED(penalty_products)(size_t groups, size_t ranges, const blv_range *range,
                                      double factor, const void *x_data, const void *u_data,
                                      const void *v_data, void *out_data) {
    const REAL *x = x_data, *u = u_data, *v = v_data;
    REAL *out = out_data;
    double total = 0.0;
    for (size_t k = 0; k < groups; k++) {
        double sum = ranges ? 0.0 : (double)u[k] * (double)v[k];
        for (size_t i = 0; i < ranges; i++)
            for (size_t j = range[i].begin; range[i].of == k && j < range[i].end; j++)
                sum += (double)u[j] * (double)v[j];
        sum *= factor * exp((double)x[k]);
        total += sum;
        if (out)
            out[k] = (REAL)sum;
    }
    return total;
}

/* One for each instruction set. */
#define TABLE(isa)                                                                                 \
    {                                                                                              \
        .memory = BLV_MEMORY_HOST, .precision = PRECISION, .real_size = sizeof(REAL),              \
        .allocate = allocate, .release = free, .write = NAMED(write), .read = NAMED(read),         \
        .write_bytes = write_bytes, .rows_open = rows_open, .rows_close = rows_close,              \
        .sweep_open = NAMED(sweep_open), .sweep_close = blv_sweep_work_destroy,                    \
        .sweep_keep = blv_sweep_work_keep, .sweep = blv_host_sweep,                                \
        .row_sigmoid = NAMED(row_sigmoid), .row_sigmoid_slope = NAMED(row_sigmoid_slope),          \
        .row_add = NAMED(row_add), .count_right = count_right,                                     \
        .spread_groups = NAMED(spread_groups), .sum_groups = NAMED(sum_groups),                    \
        .penalize = NAMED(penalize), .penalty_products = NAMED(penalty_products),                  \
        .dot = NAMED(dot), .axpy = NAMED(axpy), .combine = NAMED(combine), .gemv = NAMED(gemv),    \
        .quadratic = NAMED(quadratic), .elements = LOOPS(isa),                                     \
    }
static const blv_kernels NAMED(host)[] = {TABLE(base), TABLE(avx2), TABLE(avx512)};
#undef TABLE
