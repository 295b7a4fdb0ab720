/* The loops of one precision. Included by host_loops.c for each REAL; has no include guard.
 *
 * Every element is computed in double and rounded once to REAL, which costs nothing in f64. */

#define NAME(name) PASTE(name##_, PRECISION, BLV_ISA)
#define real_vector NAME(real_vector)
#define real_bits NAME(real_bits)

typedef REAL real_vector __attribute__((vector_size(WIDTH * sizeof(REAL)), may_alias));
typedef REAL_BITS real_bits __attribute__((vector_size(WIDTH * sizeof(REAL)), may_alias));

static void NAME(copy)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    memcpy((REAL *)args->out + begin, (const REAL *)args->left[0] + begin,
           (end - begin) * sizeof(REAL));
}

static void NAME(fill)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    REAL *out = args->out;
    const real_vector value = (REAL)args->a - (real_vector){0};
    for (size_t i = begin; i < end; i += GROUP) {
        UNROLL
        for (size_t k = 0; k < VECTORS; k++)
            *(real_vector *)(out + i + k * WIDTH) = value;
    }
}

static void NAME(scale)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    REAL *out = args->out;
    const double a = args->a;
    for (size_t i = begin; i < end; i += GROUP) {
        UNROLL
        for (size_t k = 0; k < VECTORS; k++) {
            real_vector *v = (real_vector *)(out + i + k * WIDTH);
            *v = NARROW(a * WIDEN(*v));
        }
    }
}

static void NAME(axpy)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    REAL *out = args->out;
    const REAL *x = args->left[0];
    const double a = args->a;
    for (size_t i = begin; i < end; i += GROUP) {
        UNROLL
        for (size_t k = 0; k < VECTORS; k++) {
            real_vector *v = (real_vector *)(out + i + k * WIDTH);
            *v = NARROW(WIDEN(*v) + a * WIDEN(*(const real_vector *)(x + i + k * WIDTH)));
        }
    }
}

/* NaN compares false with both bounds, so it is kept. */
static void NAME(clamp)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    REAL *out = args->out;
    const real_vector lo = (REAL)args->a - (real_vector){0};
    const real_vector hi = (REAL)args->b - (real_vector){0};
    for (size_t i = begin; i < end; i += GROUP) {
        UNROLL
        for (size_t k = 0; k < VECTORS; k++) {
            real_vector *v = (real_vector *)(out + i + k * WIDTH);
            real_bits bits = *(real_bits *)v;
            const real_bits below = (real_bits)(*v < lo), above = (real_bits)(*v > hi);
            bits = (bits & ~above) | ((real_bits)hi & above);
            bits = (bits & ~below) | ((real_bits)lo & below);
            *v = (real_vector)bits;
        }
    }
}

/* One vector of a linear combination; keep is NULL when all its lanes count. The squares are those
 * of the rounded elements, so that an element that overflows REAL shows in the norm. */
ALWAYS_INLINE void NAME(lincomb_vector)(size_t k, double_vector *sum, const loose_mask *keep,
                                        size_t count, const double *coef, const REAL *const *term,
                                        REAL *out, size_t i) {
    const size_t at = i + k * WIDTH;
    double_vector element = coef[0] * WIDEN(*(const real_vector *)(term[0] + at));
    UNROLL
    for (size_t t = 1; t < count; t++)
        element += coef[t] * WIDEN(*(const real_vector *)(term[t] + at));
    const real_vector rounded = NARROW(element);
    *(real_vector *)(out + at) = rounded;
    double_vector square = WIDEN(rounded) * WIDEN(rounded);
    if (keep)
        square = (double_vector)((lane_mask)square & keep[k]);
    sum[k] += square;
}

/* Inlined with a constant count, so that coefficients and pointers stay in registers. */
ALWAYS_INLINE double NAME(lincomb_of)(size_t count, const blv_host_args *args, size_t begin,
                                      size_t end) {
    REAL *out = args->out;
    double coef[BLV_LINCOMB_MAX];
    const REAL *term[BLV_LINCOMB_MAX];
    /* volatile: one load each. The caller has just stored these one by one, and a vector load over
     * several such stores stalls for longer than a short vector takes. */
    for (size_t t = 0; t < count; t++) {
        coef[t] = ((const volatile double *)args->coef)[t];
        term[t] = ((const void *const volatile *)args->left)[t];
    }
    double_vector sum[VECTORS] = {{0}};
    size_t i = begin;
    for (; i + GROUP <= end; i += GROUP) {
        EACH_VECTOR(NAME(lincomb_vector), sum, NULL, count, coef, term, out, i);
    }
    if (i < end) {
        const loose_mask *keep = first_lanes(end - i);
        EACH_VECTOR(NAME(lincomb_vector), sum, keep, count, coef, term, out, i);
    }
    return fold_lanes(sum);
}

static void NAME(lincomb)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        sums[0] = NAME(lincomb_of)(n, args, begin, end);                                           \
        return;
    switch (args->count) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
    }
#undef CASE
}
_Static_assert(BLV_LINCOMB_MAX == 8, "a case for each count");

ALWAYS_INLINE void NAME(dot_vector)(size_t k, double_vector *sum, const loose_mask *keep,
                                    const REAL *a, const REAL *b) {
    double_vector product =
        WIDEN(*(const real_vector *)(a + k * WIDTH)) * WIDEN(*(const real_vector *)(b + k * WIDTH));
    if (keep)
        product = (double_vector)((lane_mask)product & keep[k]);
    sum[k] += product;
}

/* Adds a'b over [begin, end) to the lanes of `total`. */
ALWAYS_INLINE void NAME(dot_onto)(double_vector total[VECTORS], const REAL *a, const REAL *b,
                                  size_t begin, size_t end) {
    double_vector sum[VECTORS];
    EACH_VECTOR(copy_vector, sum, total);
    size_t i = begin;
    for (; i + GROUP <= end; i += GROUP) {
        EACH_VECTOR(NAME(dot_vector), sum, NULL, a + i, b + i);
    }
    if (i < end) {
        const loose_mask *keep = first_lanes(end - i);
        EACH_VECTOR(NAME(dot_vector), sum, keep, a + i, b + i);
    }
    EACH_VECTOR(copy_vector, total, sum);
}

/* Several dots take turns on stretches that stay in cache, so a vector that occurs in more than one
 * is fetched from memory once. The lanes live on across stretches: a dot has the same bits whether
 * it is computed alone or with others. */
static void NAME(dots)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    enum { STRETCH = 16 * GROUP };
    if (args->count == 1 || end - begin <= STRETCH) {
        for (size_t t = 0; t < args->count; t++) {
            double_vector sum[VECTORS] = {{0}};
            NAME(dot_onto)(sum, args->left[t], args->right[t], begin, end);
            sums[t] = fold_lanes(sum);
        }
        return;
    }
    double_vector total[BLV_LINCOMB_MAX][VECTORS];
    memset(total, 0, args->count * sizeof total[0]);
    for (size_t i = begin; i < end; i += STRETCH) {
        const size_t stop = end - i < STRETCH ? end : i + STRETCH;
        for (size_t t = 0; t < args->count; t++)
            NAME(dot_onto)(total[t], args->left[t], args->right[t], i, stop);
    }
    for (size_t t = 0; t < args->count; t++)
        sums[t] = fold_lanes(total[t]);
}

/* The switch is outside of the loop. Out may be one of the others, element by element. */
static void NAME(apply)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    REAL *out = args->out;
    const REAL *a = args->left[0], *b = args->right[0];
    const double c = args->a;
#define CASE(operation)                                                                            \
    case operation:                                                                                \
        for (size_t i = begin; i < end; i++)                                                       \
            out[i] = (REAL)blv_apply_element(operation, c, (double)a[i], (double)b[i]);            \
        return;
    switch (args->operation) {
        CASE(BLV_PRODUCT)
        CASE(BLV_QUOTIENT)
        CASE(BLV_SQRT)
        CASE(BLV_SIGMOID)
        CASE(BLV_LEAST)
        CASE(BLV_MOST)
        CASE(BLV_EXCESS)
        CASE(BLV_STEP)
    case BLV_ELEMENTWISE_COUNT:
        return;
    }
#undef CASE
}

/* The host's array has no padding, so these two stop at the last element. */
static void NAME(read)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    double *restrict host = args->out;
    const REAL *restrict v = args->left[0];
    for (size_t i = begin; i < end; i++)
        host[i] = (double)v[i];
}

static void NAME(write)(const blv_host_args *args, size_t begin, size_t end, double *sums) {
    (void)sums;
    REAL *restrict v = args->out;
    const double *restrict host = args->left[0];
    for (size_t i = begin; i < end; i++)
        v[i] = (REAL)host[i];
}

extern const blv_host_loops NAME(blv_host_loops);
const blv_host_loops NAME(blv_host_loops) = {
    .copy = NAME(copy),
    .fill = NAME(fill),
    .scale = NAME(scale),
    .axpy = NAME(axpy),
    .clamp = NAME(clamp),
    .lincomb = NAME(lincomb),
    .dots = NAME(dots),
    .apply = NAME(apply),
    .read = NAME(read),
    .write = NAME(write),
};

#undef NAME
#undef real_vector
#undef real_bits
