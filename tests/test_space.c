/* Host spaces, and the defaults that a space of one's own gets. */
#include "space/host/host_loops.h"
#include "space_conformance.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define ABOVE_THREADING 600001 /* every operation is shared among threads from here on */

static const size_t dims[] = {
    1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 1000, 4095, 4096, 4097, 100003, ABOVE_THREADING};

static blv_space *host_space(size_t dim, blv_precision precision, int threads) {
    blv_space *space;
    assert_int_equal(blv_space_create_host(&space, dim, precision, threads), BLV_OK);
    return space;
}

static blv_vec *new_vec(const blv_space *space) {
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    return v;
}

static void *aligned(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 255) / 256 * 256);
    assert_non_null(memory);
    return memory;
}

/* Values of mixed size and sign, so that a change in the order of a sum changes its bits. */
static double wavy(size_t vector, size_t i) {
    return sin(1.3 * (double)i + (double)vector) * exp(4.0 * cos(0.7 * (double)i));
}

static blv_vec *wavy_vec(const blv_space *space, size_t number) {
    blv_vec *v = new_vec(space);
    const size_t dim = blv_space_dim(space);
    double *host = aligned(dim * sizeof *host);
    for (size_t i = 0; i < dim; i++)
        host[i] = wavy(number, i);
    blv_vec_write(v, host);
    free(host);
    return v;
}

/* ---- Conformance ---- */

static void conform(blv_precision precision) {
    for (size_t d = 0; d < LENGTH(dims); d++)
        for (int threads = 1; threads <= 3; threads++) {
            blv_space *space = host_space(dims[d], precision, threads);
            blv_space *other = host_space(5, precision, threads);
            space_conformance(space, other);
            blv_space_destroy(other);
            blv_space_destroy(space);
        }
}

static void test_host_f64_conforms(void **state) {
    (void)state;
    conform(BLV_F64);
}

static void test_host_f32_conforms(void **state) {
    (void)state;
    conform(BLV_F32);
}

/* A space with the required operations only: plain arrays of double. */

static void *plain_create(const blv_space *s) {
    return calloc(blv_space_dim(s), sizeof(double));
}

static void plain_destroy(const blv_space *s, void *v) {
    (void)s;
    free(v);
}

static void plain_copy(const blv_space *s, void *dst, const void *src) {
    memcpy(dst, src, blv_space_dim(s) * sizeof(double));
}

static void plain_fill(const blv_space *s, void *v, double a) {
    for (size_t i = 0; i < blv_space_dim(s); i++)
        ((double *)v)[i] = a;
}

static void plain_scale(const blv_space *s, void *v, double a) {
    for (size_t i = 0; i < blv_space_dim(s); i++)
        ((double *)v)[i] *= a;
}

static void plain_axpy(const blv_space *s, void *y, double a, const void *x) {
    for (size_t i = 0; i < blv_space_dim(s); i++)
        ((double *)y)[i] += a * ((const double *)x)[i];
}

static double plain_dot(const blv_space *s, const void *a, const void *b) {
    double sum = 0.0;
    for (size_t i = 0; i < blv_space_dim(s); i++)
        sum += ((const double *)a)[i] * ((const double *)b)[i];
    return sum;
}

static void plain_clamp(const blv_space *s, void *v, double lo, double hi) {
    double *x = v;
    for (size_t i = 0; i < blv_space_dim(s); i++)
        x[i] = x[i] < lo ? lo : x[i] > hi ? hi : x[i];
}

static void plain_read(const blv_space *s, const void *v, double *host) {
    memcpy(host, v, blv_space_dim(s) * sizeof(double));
}

static void plain_write(const blv_space *s, void *v, const double *host) {
    memcpy(v, host, blv_space_dim(s) * sizeof(double));
}

static void count_release(void *context) {
    ++*(int *)context;
}

static const blv_space_ops plain_ops = {
    BLV_SIZED(blv_space_ops),      .name = "plain",    .create = plain_create,
    .destroy = plain_destroy,      .copy = plain_copy, .fill = plain_fill,
    .scale = plain_scale,          .axpy = plain_axpy, .dot = plain_dot,
    .clamp = plain_clamp,          .read = plain_read, .write = plain_write,
    .free_context = count_release,
};

static void test_required_operations_suffice(void **state) {
    (void)state;
    static const size_t some_dims[] = {1, 2, 17, 1000};
    for (size_t d = 0; d < LENGTH(some_dims); d++) {
        int released = 0;
        blv_space *space;
        assert_int_equal(blv_space_create(&space, &plain_ops, some_dims[d], BLV_F64, &released),
                         BLV_OK);
        assert_true(blv_space_context(space) == &released);
        blv_space *other;
        assert_int_equal(blv_space_create(&other, &plain_ops, 5, BLV_F64, &released), BLV_OK);
        space_conformance(space, other);
        blv_space_destroy(other);
        released = 0;
        blv_vec *v = new_vec(space);
        assert_null(blv_vec_f64(v));
        assert_null(blv_vec_f32(v));
        blv_vec_destroy(v);
        blv_space_destroy(space);
        assert_int_equal(released, 1);
    }
}

/* ---- Same bits ---- */

enum { RESULTS = 12 };

/* Runs every reduction once; leaves the last combination in `out`. */
static void reduce_all(const blv_space *space, double *results, double *out) {
    static const double coef[5] = {0.3, -1.7, 0.9, 1e-3, 7.1};
    blv_vec *v[6];
    for (size_t i = 0; i < LENGTH(v); i++)
        v[i] = wavy_vec(space, i);
    const blv_vec *const *terms = (const blv_vec *const *)v + 1;
    blv_vec_axpy(v[1], 0.77, v[2]);
    blv_vec_clamp(v[3], -20.0, 20.0);
    blv_vec_scale(v[4], 1.0 / 3.0);
    results[0] = blv_vec_dot(v[1], v[2]);
    results[1] = blv_vec_norm(v[3]);
    blv_scalar scalars[5];
    for (size_t i = 0; i < LENGTH(scalars); i++)
        scalars[i] = (blv_scalar)BLV_DOT(&results[2 + i], terms[i], v[i]);
    blv_reduce(LENGTH(scalars), scalars);
    for (size_t count = 1; count <= 5; count++) {
        blv_vec_lincomb(v[0], count, coef, terms);
        results[6 + count] = blv_vec_norm(v[0]);
    }
    blv_vec_read(v[0], out);
    for (size_t i = 0; i < LENGTH(v); i++)
        blv_vec_destroy(v[i]);
}

static void test_threads_do_not_change_bits(void **state) {
    (void)state;
    static const size_t some_dims[] = {4097, 100003, ABOVE_THREADING};
    static const int threads[] = {2, 3, 5, 0};
    for (size_t d = 0; d < LENGTH(some_dims); d++)
        for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
            const size_t bytes = some_dims[d] * sizeof(double);
            double serial[RESULTS], shared[RESULTS];
            double *serial_out = aligned(bytes), *shared_out = aligned(bytes);
            blv_space *space = host_space(some_dims[d], (blv_precision)precision, 1);
            reduce_all(space, serial, serial_out);
            blv_space_destroy(space);
            for (size_t t = 0; t < LENGTH(threads); t++) {
                space = host_space(some_dims[d], (blv_precision)precision, threads[t]);
                reduce_all(space, shared, shared_out);
                blv_space_destroy(space);
                assert_memory_equal(shared, serial, sizeof serial);
                assert_memory_equal(shared_out, serial_out, bytes);
            }
            free(serial_out);
            free(shared_out);
        }
}

/* Solvers may fuse operations or not: the bits are the same. */
static void test_fused_and_separate_agree(void **state) {
    (void)state;
    for (size_t d = 0; d < LENGTH(dims); d++)
        for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
            blv_space *space = host_space(dims[d], (blv_precision)precision, 2);
            blv_vec *a = wavy_vec(space, 1), *b = wavy_vec(space, 2), *out = new_vec(space);
            double result[3];
            assert_true(blv_reduce(BLV_SCALARS(BLV_DOT(&result[0], a, a), BLV_DOT(&result[1], a, b),
                                               BLV_DOT(&result[2], b, b))));
            assert_true(result[0] == blv_vec_dot(a, a));
            assert_true(result[1] == blv_vec_dot(a, b));
            assert_true(result[2] == blv_vec_dot(b, b));
            blv_vec_combine(out, 0.3, a, 0.7, b);
            assert_true(blv_vec_norm_known(out));
            const double left_behind = blv_vec_norm(out);
            assert_true(blv_vec_f64_mut(out) || blv_vec_f32_mut(out));
            assert_false(blv_vec_norm_known(out));
            assert_true(blv_vec_norm(out) == left_behind);
            blv_vec_destroy(a);
            blv_vec_destroy(b);
            blv_vec_destroy(out);
            blv_space_destroy(space);
        }
}

enum { LOOP_TERMS = BLV_LINCOMB_MAX };

/* Runs each loop of a table on elements [0, n); out collects the results, one vector per loop. */
static void run_table(const blv_host_loops *loops, size_t n, size_t stride,
                      const void *const *terms, const double *host, char *out, double *back,
                      double *sums) {
    static const double coef[BLV_LINCOMB_MAX] = {0.3, -1.7, 0.9, 1e-3, 7.1, -0.2, 0.6, 2.3};
    const void *source = host;
    blv_host_args args = {.out = out, .left = &source};
    loops->write(&args, 0, n, NULL);
    args = (blv_host_args){.out = out += stride, .a = 0.1};
    loops->fill(&args, 0, n, NULL);
    args = (blv_host_args){.out = out += stride, .left = terms, .a = 1.0 / 3.0};
    loops->copy(&args, 0, n, NULL);
    loops->scale(&args, 0, n, NULL);
    args = (blv_host_args){.out = out += stride, .left = terms, .a = -0.9, .b = 0.8};
    loops->copy(&args, 0, n, NULL);
    loops->clamp(&args, 0, n, NULL);
    args.left = terms + 1;
    loops->axpy(&args, 0, n, NULL);
    for (size_t count = 1; count <= BLV_LINCOMB_MAX; count++) {
        args = (blv_host_args){.out = out += stride, .count = count, .coef = coef, .left = terms};
        loops->lincomb(&args, 0, n, sums++);
    }
    args = (blv_host_args){.count = 7, .left = terms, .right = terms + 1};
    loops->dots(&args, 0, n, sums);
    args = (blv_host_args){.out = back, .left = terms};
    loops->read(&args, 0, n, NULL);
}

static void compare_isas(blv_precision precision, size_t n) {
    enum { OUTPUTS = 4 + BLV_LINCOMB_MAX, SUMS = BLV_LINCOMB_MAX + 7 };
    const size_t size = precision == BLV_F32 ? sizeof(float) : sizeof(double);
    const size_t stride = (n + BLV_HOST_GROUP - 1) / BLV_HOST_GROUP * BLV_HOST_GROUP * size;
    char *memory = aligned(LOOP_TERMS * stride);
    double *host = aligned(n * sizeof *host);
    const void *terms[LOOP_TERMS];
    for (size_t t = 0; t < LOOP_TERMS; t++) {
        for (size_t i = 0; i < n; i++)
            host[i] = wavy(t, i);
        terms[t] = memory + t * stride;
        /* padding that would show in any result it reached */
        memset(memory + t * stride, 0xff, stride);
        const void *source = host;
        const blv_host_args args = {.out = memory + t * stride, .left = &source};
        blv_host_loops_of(BLV_INSTRUCTIONS_BASE, precision)->write(&args, 0, n, NULL);
    }
    char *out[2] = {aligned(OUTPUTS * stride), aligned(OUTPUTS * stride)};
    double *back[2] = {aligned(n * sizeof(double)), aligned(n * sizeof(double))};
    double sums[2][SUMS];
    for (blv_instructions isa = BLV_INSTRUCTIONS_BASE; isa < BLV_INSTRUCTION_SETS; isa++) {
        if (!blv_has_instructions(isa))
            continue;
        const size_t to = isa != BLV_INSTRUCTIONS_BASE;
        run_table(blv_host_loops_of(isa, precision), n, stride, terms, host, out[to], back[to],
                  sums[to]);
        for (size_t i = 0; i < SUMS; i++)
            assert_true(isfinite(sums[to][i]));
        if (to == 0)
            continue;
        assert_memory_equal(sums[1], sums[0], sizeof sums[0]);
        assert_memory_equal(back[1], back[0], n * sizeof(double));
        for (size_t o = 0; o < OUTPUTS; o++)
            assert_memory_equal(out[1] + o * stride, out[0] + o * stride, n * size);
    }
    for (size_t i = 0; i < 2; i++) {
        free(out[i]);
        free(back[i]);
    }
    free(memory);
    free(host);
}

static void test_instruction_sets_do_not_change_bits(void **state) {
    (void)state;
    static const char *const names[] = {"base", "avx2", "avx512"};
    for (blv_instructions isa = BLV_INSTRUCTIONS_BASE; isa < BLV_INSTRUCTION_SETS; isa++)
        if (!blv_has_instructions(isa))
            print_message("skipped: this processor lacks %s\n", names[isa]);
    for (size_t n = 1; n <= 130; n++)
        for (int precision = BLV_F64; precision <= BLV_F32; precision++)
            compare_isas((blv_precision)precision, n);
    for (int precision = BLV_F64; precision <= BLV_F32; precision++)
        compare_isas((blv_precision)precision, 4096 + 77);
}

/* ---- Accuracy of f32 ---- */

static void test_f32_reductions_are_sums_in_double(void **state) {
    (void)state;
    enum { DIM = 1000000 };
    blv_space *space = host_space(DIM, BLV_F32, 2);
    blv_vec *a = new_vec(space), *b = new_vec(space);
    float *x = blv_vec_f32_mut(a), *y = blv_vec_f32_mut(b);
    long double dot = 0.0L, squares = 0.0L;
    for (size_t i = 0; i < DIM; i++) {
        x[i] = (float)(0.1 + fabs(sin((double)i)));
        y[i] = (float)(0.1 + fabs(cos(1.7 * (double)i)));
        dot += (long double)x[i] * (long double)y[i];
        squares += (long double)x[i] * (long double)x[i];
    }
    assert_true(fabsl((long double)blv_vec_dot(a, b) - dot) <= 1e-12L * dot);
    assert_true(fabsl((long double)blv_vec_norm(a) - sqrtl(squares)) <= 1e-12L * sqrtl(squares));
    blv_vec_destroy(a);
    blv_vec_destroy(b);
    blv_space_destroy(space);
}

/* Terms that cancel: rounding them to float before the sum would leave nothing right. */
static void test_f32_combination_rounds_once(void **state) {
    (void)state;
    enum { DIM = 1000 };
    static const double coef[3] = {1.0 / 3.0, -1.0 / 3.0 + 1e-9, 1e-10};
    blv_space *space = host_space(DIM, BLV_F32, 1);
    blv_vec *v[3] = {new_vec(space), new_vec(space), new_vec(space)}, *out = new_vec(space);
    for (size_t i = 0; i < DIM; i++) {
        blv_vec_f32_mut(v[0])[i] = blv_vec_f32_mut(v[1])[i] = (float)wavy(0, i);
        blv_vec_f32_mut(v[2])[i] = (float)wavy(1, i);
    }
    blv_vec_lincomb(out, 3, coef, (const blv_vec *const *)v);
    for (size_t i = 0; i < DIM; i++) {
        long double sum = 0.0L, size = 0.0L;
        for (size_t t = 0; t < 3; t++) {
            const long double term = (long double)coef[t] * (long double)blv_vec_f32(v[t])[i];
            sum += term;
            size += fabsl(term);
        }
        const long double tolerance = FLT_EPSILON / 2 * fabsl(sum) + 2 * DBL_EPSILON * size;
        assert_true(fabsl((long double)blv_vec_f32(out)[i] - sum) <= tolerance);
    }
    for (size_t t = 0; t < 3; t++)
        blv_vec_destroy(v[t]);
    blv_vec_destroy(out);
    blv_space_destroy(space);
}

/* ---- Creation and access ---- */

static void test_create_refuses_bad_arguments(void **state) {
    (void)state;
    blv_space *space = (blv_space *)&space;
    assert_int_equal(blv_space_create_host(NULL, 3, BLV_F64, 1), BLV_E_ARGUMENT);
    assert_int_equal(blv_space_create_host(&space, 0, BLV_F64, 1), BLV_E_ARGUMENT);
    assert_null(space);
    assert_int_equal(blv_space_create_host(&space, 3, BLV_F64, -1), BLV_E_ARGUMENT);
    assert_int_equal(blv_space_create_host(&space, 3, (blv_precision)7, 1), BLV_E_ARGUMENT);
    assert_int_equal(blv_space_create_host(&space, SIZE_MAX, BLV_F32, 1), BLV_E_ARGUMENT);
    assert_int_equal(blv_space_create_host(&space, SIZE_MAX / 8, BLV_F64, 1), BLV_E_ARGUMENT);
    assert_null(space);

    blv_space_ops incomplete = plain_ops;
    incomplete.dot = NULL;
    assert_int_equal(blv_space_create(&space, &incomplete, 3, BLV_F64, NULL), BLV_E_ARGUMENT);
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, NULL), BLV_E_ARGUMENT);
    blv_vec_destroy(NULL);
    blv_space_destroy(NULL);
}

static void test_elements_are_reached_in_their_precision_only(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_space *space = host_space(5, (blv_precision)precision, 0);
        assert_true(blv_space_threads(space) >= 1);
        assert_int_equal(blv_space_precision(space), precision);
        blv_vec *v = new_vec(space);
        blv_vec_fill(v, 0.5);
        if (precision == BLV_F64) {
            assert_true(blv_vec_f64(v)[4] == 0.5 && blv_vec_f64_mut(v) == blv_vec_f64(v));
            assert_int_equal((uintptr_t)blv_vec_f64(v) % 64, 0);
            assert_null(blv_vec_f32(v));
            assert_null(blv_vec_f32_mut(v));
        } else {
            assert_true(blv_vec_f32(v)[4] == 0.5f && blv_vec_f32_mut(v) == blv_vec_f32(v));
            assert_int_equal((uintptr_t)blv_vec_f32(v) % 64, 0);
            assert_null(blv_vec_f64(v));
            assert_null(blv_vec_f64_mut(v));
        }
        blv_vec_destroy(v);
        blv_space_destroy(space);
    }
}

/* One element at a time, in either precision; an output that is not wanted is NULL. */
static void test_elements(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_space *space;
        blv_vec *v;
        assert_int_equal(blv_space_create_host(&space, 5, (blv_precision)precision, 1), BLV_OK);
        assert_int_equal(blv_vec_create(&v, space), BLV_OK);
        blv_vec_put(v, 3, 0.1);
        blv_vec_put(NULL, 3, 0.1);
        assert_true(blv_vec_at(v, 3) == (precision == BLV_F32 ? (double)0.1f : 0.1));
        assert_true(blv_vec_at(v, 2) == 0.0 && blv_vec_at(v, 4) == 0.0);
        blv_vec_destroy(v);
        blv_space_destroy(space);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_host_f64_conforms),
        cmocka_unit_test(test_host_f32_conforms),
        cmocka_unit_test(test_required_operations_suffice),
        cmocka_unit_test(test_threads_do_not_change_bits),
        cmocka_unit_test(test_fused_and_separate_agree),
        cmocka_unit_test(test_instruction_sets_do_not_change_bits),
        cmocka_unit_test(test_f32_reductions_are_sums_in_double),
        cmocka_unit_test(test_f32_combination_rounds_once),
        cmocka_unit_test(test_create_refuses_bad_arguments),
        cmocka_unit_test(test_elements_are_reached_in_their_precision_only),
    };
    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
