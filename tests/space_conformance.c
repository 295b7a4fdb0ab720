/* The conformance suite of spaces.
 *
 * Each operation runs on vectors whose elements are known, and is compared with the same sum in
 * long double. Elements may be off by a few roundings of the space's precision; reductions must be
 * as accurate as sums in double, in f32 too. */
#include "space_conformance.h"
#include "bilevel/ranks.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define VECTORS (BLV_LINCOMB_MAX + 1)

typedef struct suite {
    const blv_space *space, *other; /* other: of the same kind and another dimension */
    size_t dim;
    double rounding; /* relative error of one rounding of an element */
    blv_vec *vec[VECTORS];
    double *host[VECTORS]; /* what vec was given, exactly representable in the space's precision */
    double *got;
} suite;

static double representable(const suite *s, double x) {
    return blv_space_precision(s->space) == BLV_F32 ? (double)(float)x : x;
}

/* A number in (-1, 1) that depends on the vector and the element only. */
static double scattered(size_t vector, size_t element) {
    uint64_t z =
        (uint64_t)element * 0x9e3779b97f4a7c15u + (uint64_t)(vector + 1) * 0xd1b54a32d192ed03u;
    z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    z ^= z >> 32;
    return (double)(z >> 11) * 0x1p-52 - 1.0;
}

static void *allocate(size_t count, size_t size) {
    void *memory = malloc(count * size);
    assert_non_null(memory);
    return memory;
}

static void refill(suite *s, size_t vector) {
    for (size_t i = 0; i < s->dim; i++)
        s->host[vector][i] = representable(s, scattered(vector, i));
    blv_vec_write(s->vec[vector], s->host[vector]);
}

static void check_near(const suite *s, const char *what, size_t element, double got,
                       long double expected, long double tolerance) {
    if (fabsl((long double)got - expected) <= tolerance)
        return;
    fail_msg("%s, %s of dimension %zu, element %zu: got %.17g, expected %.17Lg, tolerance %.3Lg",
             what, blv_space_name(s->space), s->dim, element, got, expected, tolerance);
}

static void check_same(const suite *s, const char *what, const blv_vec *v, const double *expected) {
    blv_vec_read(v, s->got);
    for (size_t i = 0; i < s->dim; i++)
        check_near(s, what, i, s->got[i], (long double)expected[i], 0.0L);
}

static void check_not_finite(const suite *s, const char *what, double got) {
    if (isfinite(got))
        fail_msg("%s, %s of dimension %zu: %g hides a value that is not finite", what,
                 blv_space_name(s->space), s->dim, got);
}

static void check_dot(const suite *s, const char *what, double got, const double *a,
                      const double *b) {
    long double sum = 0.0L, size = 0.0L;
    for (size_t i = 0; i < s->dim; i++) {
        const long double product = (long double)a[i] * (long double)b[i];
        sum += product;
        size += fabsl(product);
    }
    check_near(s, what, 0, got, sum, (8.0L + sqrtl((long double)s->dim)) * DBL_EPSILON * size);
}

static void check_norm(const suite *s, const char *what, double got, const double *a) {
    check_dot(s, what, got * got, a, a);
}

static void test_create(suite *s) {
    assert_true(blv_vec_space(s->vec[0]) == s->space);
    assert_int_equal(blv_vec_dim(s->vec[0]), s->dim);
    assert_true(blv_space_vec_bytes(s->space) >=
                blv_space_local_dim(s->space) * (blv_space_precision(s->space) == BLV_F32 ? 4 : 8));
    for (size_t i = 0; i < s->dim; i++)
        s->host[0][i] = 0.0;
    check_same(s, "a new vector", s->vec[0], s->host[0]);
}

static void test_move(suite *s) {
    for (size_t i = 0; i < s->dim; i++)
        s->host[0][i] = scattered(0, i);
    blv_vec_write(s->vec[0], s->host[0]);
    blv_vec_read(s->vec[0], s->got);
    for (size_t i = 0; i < s->dim; i++)
        check_near(s, "write and read", i, s->got[i], (long double)s->host[0][i],
                   s->rounding * fabs(s->host[0][i]));

    refill(s, 0);
    refill(s, 1);
    blv_vec_copy(s->vec[1], s->vec[0]);
    check_same(s, "copy", s->vec[1], s->host[0]);
    blv_vec_copy(s->vec[0], s->vec[0]);
    check_same(s, "copy onto itself", s->vec[0], s->host[0]);

    refill(s, 1);
    blv_vec_swap(s->vec[0], s->vec[1]);
    check_same(s, "swap", s->vec[0], s->host[1]);
    check_same(s, "swap", s->vec[1], s->host[0]);

    blv_vec_fill(s->vec[0], -0.3);
    blv_vec_read(s->vec[0], s->got);
    for (size_t i = 0; i < s->dim; i++)
        check_near(s, "fill", i, s->got[i], -0.3L, 0.3L * (long double)s->rounding);
}

static void test_scale_axpy(suite *s) {
    refill(s, 0);
    blv_vec_scale(s->vec[0], 1.7);
    blv_vec_read(s->vec[0], s->got);
    for (size_t i = 0; i < s->dim; i++) {
        const long double expected = (long double)1.7 * (long double)s->host[0][i];
        check_near(s, "scale", i, s->got[i], expected, 2 * s->rounding * fabsl(expected));
    }
    refill(s, 0);
    refill(s, 1);
    blv_vec_axpy(s->vec[0], -0.7, s->vec[1]);
    blv_vec_read(s->vec[0], s->got);
    for (size_t i = 0; i < s->dim; i++) {
        const long double y = (long double)s->host[0][i];
        const long double ax = (long double)-0.7 * (long double)s->host[1][i];
        check_near(s, "axpy", i, s->got[i], y + ax, 3 * s->rounding * (fabsl(y) + fabsl(ax)));
    }
    check_same(s, "axpy leaves x alone", s->vec[1], s->host[1]);
}

static void test_dot_norm(suite *s) {
    refill(s, 0);
    refill(s, 1);
    check_dot(s, "dot", blv_vec_dot(s->vec[0], s->vec[1]), s->host[0], s->host[1]);
    check_dot(s, "dot with itself", blv_vec_dot(s->vec[0], s->vec[0]), s->host[0], s->host[0]);
    check_norm(s, "norm", blv_vec_norm(s->vec[0]), s->host[0]);
}

/* The combination of terms given as vector numbers, the result in vector `out`. */
static void check_lincomb(suite *s, const char *what, size_t out, size_t count,
                          const size_t *term_numbers) {
    static const double coef[BLV_LINCOMB_MAX] = {0.9, -1.3, 0.4, 2.1, -0.6, 1.1, -0.8, 0.3};
    const blv_vec *terms[BLV_LINCOMB_MAX];
    for (size_t t = 0; t < count; t++) {
        refill(s, term_numbers[t]);
        terms[t] = s->vec[term_numbers[t]];
    }
    blv_vec_lincomb(s->vec[out], count, coef, terms);
    const double norm = blv_vec_norm(s->vec[out]);
    blv_vec_read(s->vec[out], s->got);
    for (size_t i = 0; i < s->dim; i++) {
        long double sum = 0.0L, size = 0.0L;
        for (size_t t = 0; t < count; t++) {
            const long double term =
                (long double)coef[t] * (long double)s->host[term_numbers[t]][i];
            sum += term;
            size += fabsl(term);
        }
        check_near(s, what, i, s->got[i], sum, (long double)(count + 1) * s->rounding * size);
    }
    check_norm(s, what, norm, s->got);
}

static void test_lincomb(suite *s) {
    static const size_t distinct[BLV_LINCOMB_MAX] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t count = 1; count <= BLV_LINCOMB_MAX; count++)
        check_lincomb(s, "lincomb", 0, count, distinct);
    for (size_t count = 1; count <= 4; count++)
        for (size_t out = 1; out <= count; out++)
            check_lincomb(s, "lincomb onto a term", out, count, distinct);
    check_lincomb(s, "lincomb onto the last of eight terms", 8, 8, distinct);
    check_lincomb(s, "lincomb with a term twice", 0, 3, (const size_t[]){1, 2, 1});
    check_lincomb(s, "lincomb onto a term that occurs twice", 1, 3, (const size_t[]){1, 2, 1});

    refill(s, 1);
    refill(s, 2);
    const double coef[2] = {0.5, -0.25};
    blv_vec_combine(s->vec[0], coef[0], s->vec[1], coef[1], s->vec[2]);
    const double norm = blv_vec_norm(s->vec[0]);
    blv_vec_lincomb(s->vec[3], 2, coef, (const blv_vec *const[]){s->vec[1], s->vec[2]});
    const double again = blv_vec_norm(s->vec[3]);
    assert_true(norm == again);
    blv_vec_read(s->vec[3], s->host[3]);
    check_same(s, "combine", s->vec[0], s->host[3]);
}

/* One reduction of many scalars, of vectors of another dimension too, is that of each alone. */
static void test_reduce(suite *s) {
    enum { COUNT = BLV_REDUCE_MAX + 3 };
    blv_scalar scalars[COUNT];
    double result[COUNT];
    for (size_t i = 0; i < VECTORS; i++)
        refill(s, i);
    blv_vec_combine(s->vec[8], 1.0, s->vec[8], 0.0, s->vec[8]); /* may leave its norm behind */
    for (size_t i = 0; i < COUNT; i++)
        scalars[i] = (blv_scalar){&result[i], s->vec[i % VECTORS],
                                  i % 4 == 3 ? NULL : s->vec[i * i % VECTORS]};
    for (size_t count = 1; count <= (s->dim < 5000 ? COUNT : 12); count += count < 12 ? 1 : 17) {
        result[count < COUNT ? count : 0] = 12345.0;
        assert_true(blv_reduce(count, scalars));
        for (size_t i = 0; i < count; i++)
            if (scalars[i].b)
                check_dot(s, "reduce", result[i], s->host[i % VECTORS], s->host[i * i % VECTORS]);
            else
                check_norm(s, "reduce", result[i], s->host[i % VECTORS]);
        if (count < COUNT)
            assert_true(result[count] == 12345.0);
    }
    double alone = blv_vec_dot(s->vec[0], s->vec[1]), here, there;
    blv_vec *other;
    assert_int_equal(blv_vec_create(&other, s->other), BLV_OK);
    blv_vec_fill(other, 2.0);
    assert_true(blv_reduce(
        BLV_SCALARS(BLV_DOT(&there, other, other), BLV_DOT(&here, s->vec[0], s->vec[1]))));
    assert_true(here == alone);
    check_near(s, "reduce over two spaces", 0, there, 4.0L * (long double)blv_space_dim(s->other),
               0.0L);
    blv_vec_destroy(other);
}

static long double applied(blv_elementwise operation, long double c, long double a, long double b) {
    switch (operation) {
    case BLV_PRODUCT:
        return c * a * b;
    case BLV_QUOTIENT:
        return a / (b + c);
    case BLV_SQRT:
        return sqrtl(c * a);
    case BLV_SIGMOID:
        return 1.0L / (1.0L + expl(-c * a));
    case BLV_LEAST:
        return a < b ? b : a;
    case BLV_MOST:
        return a > b ? b : a;
    case BLV_EXCESS:
        return a > c ? a - c : 0.0L;
    default:
        return a > c ? 1.0L : 0.0L;
    }
}

static void test_apply(suite *s) {
    for (int o = 0; o < BLV_ELEMENTWISE_COUNT; o++) {
        const blv_elementwise operation = (blv_elementwise)o;
        const double c = operation == BLV_SQRT ? 2.5 : 0.3;
        for (size_t out = 0; out < (s->dim < 5000 ? 3 : 1);
             out++) { /* another vector, the first, the second */
            refill(s, 1);
            refill(s, 2);
            if (operation == BLV_SQRT) {
                for (size_t i = 0; i < s->dim; i++)
                    s->host[1][i] = fabs(s->host[1][i]);
                blv_vec_write(s->vec[1], s->host[1]);
            }
            blv_vec_apply(s->vec[out], operation, c, s->vec[1], s->vec[2]);
            blv_vec_read(s->vec[out], s->got);
            for (size_t i = 0; i < s->dim; i++) {
                const long double expected =
                    applied(operation, (long double)c, (long double)s->host[1][i],
                            (long double)s->host[2][i]);
                check_near(s, "apply", i, s->got[i], expected, 4 * s->rounding * fabsl(expected));
            }
        }
        blv_vec_fill(s->vec[1], NAN);
        refill(s, 2);
        blv_vec_apply(s->vec[0], operation, c, s->vec[1], s->vec[2]);
        check_not_finite(s, "apply to NaN", blv_vec_norm(s->vec[0]));
    }
}

/* What a space says about itself fits what it does. */
static void test_description(suite *s) {
    blv_dlpack d;
    const blv_error error = blv_vec_dlpack(s->vec[0], &d);
    assert_true(error == BLV_OK || error == BLV_E_UNSUPPORTED);
    assert_true(blv_space_local_dim(s->space) <= s->dim);
    assert_int_equal(blv_space_error(s->space, NULL), BLV_OK);
    assert_true(blv_space_agree(s->space, 3.25) == 3.25);
    if (error != BLV_OK)
        return;
    refill(s, 0);
    assert_int_equal(d.tensor.ndim, 1);
    assert_int_equal(d.tensor.shape[0], blv_space_local_dim(s->space));
    assert_int_equal(d.tensor.strides[0], 1);
    assert_int_equal(d.tensor.dtype.code, 2);
    assert_int_equal(d.tensor.dtype.bits, blv_space_precision(s->space) == BLV_F32 ? 32 : 64);
    assert_int_equal(d.tensor.byte_offset, 0);
    if (blv_space_memory(s->space) != BLV_MEMORY_HOST)
        return;
    assert_int_equal(d.tensor.device.type, 1);
    for (size_t i = 0; i < s->dim && blv_space_local_dim(s->space) == s->dim; i++)
        assert_true((d.tensor.dtype.bits == 32 ? (double)((float *)d.tensor.data)[i]
                                               : ((double *)d.tensor.data)[i]) == s->host[0][i]);
}

/* A vector around our memory does what any other does, and leaves what it holds there. */
static void test_wrap(suite *s) {
    if (blv_space_memory(s->space) != BLV_MEMORY_HOST || blv_space_ranks(s->space))
        return;
    const size_t bytes = (blv_space_vec_bytes(s->space) + 63) / 64 * 64;
    char *memory = aligned_alloc(64, bytes + 64);
    assert_non_null(memory);
    blv_vec *wrapped, *refused, *plain = s->vec[0];
    const blv_error error = blv_vec_wrap(&wrapped, s->space, memory, bytes);
    if (error == BLV_E_UNSUPPORTED) {
        free(memory);
        return;
    }
    assert_int_equal(error, BLV_OK);
    assert_int_equal(blv_vec_wrap(&refused, s->space, memory, bytes / 2 - 1), BLV_E_ARGUMENT);
    assert_int_equal(blv_vec_wrap(&refused, s->space, memory + 1, bytes), BLV_E_ARGUMENT);
    assert_null(refused);
    refill(s, 0);
    refill(s, 1);
    blv_vec_copy(wrapped, s->vec[1]);
    assert_true(blv_vec_dot(wrapped, plain) == blv_vec_dot(s->vec[1], plain));
    blv_vec_swap(wrapped, plain);
    check_same(s, "swap with wrapped memory", wrapped, s->host[0]);
    check_same(s, "swap with wrapped memory", plain, s->host[1]);
    blv_vec_scale(wrapped, 2.0);
    blv_vec_destroy(wrapped);
    for (size_t i = 0; i < s->dim; i++)
        assert_true((blv_space_precision(s->space) == BLV_F32
                         ? (double)((float *)memory)[i]
                         : ((double *)memory)[i]) == 2.0 * s->host[0][i]);
    free(memory);
}

static void test_clamp(suite *s) {
    static const double special[] = {-2.0, 2.0, -0.5, 0.25, 0.0, NAN, INFINITY, -INFINITY};
    const size_t specials = sizeof special / sizeof *special;
    for (size_t shift = 0; shift < (s->dim < specials ? specials : 1); shift++) {
        for (size_t i = 0; i < s->dim; i++)
            s->host[0][i] = special[(i + shift) % specials];
        blv_vec_write(s->vec[0], s->host[0]);
        blv_vec_clamp(s->vec[0], -INFINITY, INFINITY);
        for (int narrow = 0; narrow < 2; narrow++) {
            if (narrow)
                blv_vec_clamp(s->vec[0], -0.5, 0.25);
            blv_vec_read(s->vec[0], s->got);
            for (size_t i = 0; i < s->dim; i++) {
                double expected = s->host[0][i];
                if (narrow && expected < -0.5)
                    expected = -0.5;
                if (narrow && expected > 0.25)
                    expected = 0.25;
                if (isnan(expected))
                    check_not_finite(s, "clamp", s->got[i]);
                else if (s->got[i] != expected)
                    fail_msg("clamp, %s of dimension %zu, element %zu: got %g, expected %g",
                             blv_space_name(s->space), s->dim, i, s->got[i], expected);
            }
        }
    }
}

/* One element that is not finite, anywhere, shows in every reduction. */
static void test_not_finite(suite *s) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const size_t places[] = {0, s->dim / 2, s->dim - 1};
    refill(s, 1);
    for (size_t k = 0; k < 9; k++) {
        refill(s, 0);
        s->host[0][places[k % 3]] = bad[k / 3];
        blv_vec_write(s->vec[0], s->host[0]);
        check_not_finite(s, "norm", blv_vec_norm(s->vec[0]));
        check_not_finite(s, "dot", blv_vec_dot(s->vec[1], s->vec[0]));
        double result[2];
        assert_false(blv_reduce(BLV_SCALARS(BLV_DOT(&result[0], s->vec[1], s->vec[1]),
                                            BLV_DOT(&result[1], s->vec[0], s->vec[1]))));
        assert_true(isfinite(result[0]));
        check_not_finite(s, "reduce", result[1]);
        blv_vec_combine(s->vec[2], 0.5, s->vec[1], -0.5, s->vec[0]);
        check_not_finite(s, "lincomb", blv_vec_norm(s->vec[2]));
        blv_vec_lincomb(s->vec[2], 1, (const double[]){1.0}, (const blv_vec *const[]){s->vec[0]});
        check_not_finite(s, "lincomb of one", blv_vec_norm(s->vec[2]));
    }
    /* finite terms whose combination overflows the precision */
    const double huge = blv_space_precision(s->space) == BLV_F32 ? FLT_MAX : DBL_MAX;
    for (size_t i = 0; i < s->dim; i++)
        s->host[0][i] = i == s->dim - 1 ? huge : 0.0;
    blv_vec_write(s->vec[0], s->host[0]);
    blv_vec_combine(s->vec[2], 1.0, s->vec[0], 1.0, s->vec[0]);
    check_not_finite(s, "lincomb that overflows", blv_vec_norm(s->vec[2]));
}

/* What a vector held before it was written must not be seen, padding included. */
static void test_no_leftovers(suite *s) {
    refill(s, 1);
    blv_vec_fill(s->vec[0], 1.0);
    blv_vec_scale(s->vec[0], NAN);
    refill(s, 0);
    check_norm(s, "norm after NaN was overwritten", blv_vec_norm(s->vec[0]), s->host[0]);
    check_dot(s, "dot after NaN was overwritten", blv_vec_dot(s->vec[0], s->vec[1]), s->host[0],
              s->host[1]);
    check_lincomb(s, "lincomb after NaN was overwritten", 2, 2, (const size_t[]){0, 1});
    blv_vec_fill(s->vec[2], NAN);
    check_lincomb(s, "lincomb onto NaN", 2, 2, (const size_t[]){0, 1});
}

void space_conformance(const blv_space *space, const blv_space *other) {
    suite s = {.space = space, .other = other, .dim = blv_space_dim(space)};
    s.rounding = blv_space_precision(space) == BLV_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    s.got = allocate(s.dim, sizeof *s.got);
    for (size_t i = 0; i < VECTORS; i++) {
        s.host[i] = allocate(s.dim, sizeof *s.host[i]);
        assert_int_equal(blv_vec_create(&s.vec[i], space), BLV_OK);
    }
    test_create(&s);
    test_move(&s);
    test_scale_axpy(&s);
    test_dot_norm(&s);
    test_lincomb(&s);
    test_reduce(&s);
    test_apply(&s);
    test_description(&s);
    test_wrap(&s);
    test_clamp(&s);
    test_not_finite(&s);
    test_no_leftovers(&s);
    for (size_t i = 0; i < VECTORS; i++) {
        blv_vec_destroy(s.vec[i]);
        free(s.host[i]);
    }
    free(s.got);
}
