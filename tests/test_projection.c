/* The projection onto the simplex against bisection on its multiplier and its own conditions: p is
 * in the set and (v - p)'(q - p) <= 0 for every q in it; twice is once; distances do not grow. Then
 * the forms for any space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "blv_testing.h"
#include "space/projection.h"

#include <float.h>

typedef struct case_of {
    size_t dim;
    double size; /* total of the simplex */
    double *room;
} case_of;

static void project(const case_of *c, blv_vec *v) {
    blv_project_simplex(v, c->size, c->room);
}

/* The multiplier by bisection, in long double. */
static void simplex_slowly(size_t dim, const double *v, double total, double *out) {
    long double lo = v[0], hi = v[0];
    for (size_t i = 0; i < dim; i++) {
        lo = fminl(lo, v[i] - (long double)total);
        hi = fmaxl(hi, v[i]);
    }
    for (int i = 0; i < 300; i++) {
        long double middle = 0.5L * (lo + hi), sum = 0.0L;
        for (size_t j = 0; j < dim; j++)
            sum += fmaxl(v[j] - middle, 0.0L);
        if (sum > total)
            lo = middle;
        else
            hi = middle;
    }
    for (size_t i = 0; i < dim; i++)
        out[i] = (double)fmaxl(v[i] - 0.5L * (lo + hi), 0.0L);
}

static void assert_inside(const case_of *c, const double *p, double eps) {
    double sum = 0.0, scale = 1.0 + c->size;
    for (size_t i = 0; i < c->dim; i++) {
        sum += p[i];
        assert_true(p[i] >= 0.0);
    }
    assert_near(sum, c->size, 8.0 * eps * scale * sqrt((double)c->dim));
}

/* A point of the set that owes nothing to the projections. */
static void draw_inside(const case_of *c, const blv_stream *stream, uint64_t at, double *q) {
    double sum = 0.0;
    for (size_t i = 0; i < c->dim; i++)
        sum += q[i] = -log(1.0 - blv_random_uniform(stream, at + i));
    for (size_t i = 0; i < c->dim; i++)
        q[i] *= c->size / sum;
}

static void check_one(const case_of *c, blv_precision precision, double spread, uint64_t seed) {
    blv_space *space;
    blv_vec *v, *w;
    size_t n = c->dim;
    double eps = precision == BLV_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    blv_stream stream = blv_stream_make(seed, "projection");
    double *from = make_numbers(n), *p = make_numbers(n), *q = make_numbers(n);
    double *again = make_numbers(n), *slow = make_numbers(n);
    assert_int_equal(blv_space_create_host(&space, n, precision, 1), BLV_OK);
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    assert_int_equal(blv_vec_create(&w, space), BLV_OK);
    for (size_t i = 0; i < n; i++) /* some of them alike */
        from[i] = (double)(float)(spread * blv_random_normal(&stream, i % 7 == 3 ? i - 1 : i));
    blv_vec_write(v, from);
    project(c, v);
    blv_vec_read(v, p);
    assert_inside(c, p, eps);
    double reach = dense_size(n, from) + c->size + 1.0;
    simplex_slowly(n, from, c->size, slow);
    assert_at_most(dense_gap(n, p, slow), 8.0 * eps * reach);
    for (uint64_t trial = 1; trial <= 5; trial++) {
        double inner = 0.0;
        draw_inside(c, &stream, trial * (uint64_t)(2 * n), q);
        for (size_t i = 0; i < n; i++)
            inner += (from[i] - p[i]) * (q[i] - p[i]);
        assert_at_most(inner, 64.0 * eps * reach * (reach + dense_size(n, q)));
    }
    blv_vec_copy(w, v);
    project(c, w);
    blv_vec_read(w, again);
    assert_at_most(dense_gap(n, p, again), 16.0 * eps * (dense_size(n, p) + 1e-300));
    for (size_t i = 0; i < n; i++) /* another point: distances do not grow */
        q[i] = from[i] + 0.1 * spread * blv_random_normal(&stream, 100000 + i);
    blv_vec_write(w, q);
    blv_vec_read(w, q);
    project(c, w);
    blv_vec_read(w, again);
    assert_at_most(dense_gap(n, p, again), dense_gap(n, from, q) + 8.0 * eps * reach);
    double *const arrays[] = {from, p, q, again, slow};
    for (size_t i = 0; i < 5; i++)
        free(arrays[i]);
    blv_vec_destroy(v);
    blv_vec_destroy(w);
    blv_space_destroy(space);
}

static void test_projections(void **state) {
    (void)state;
    static const size_t dims[] = {1, 2, 3, 8, 100, 1001};
    static const double spreads[] = {1e-6, 0.01, 1.0, 1000.0}, sizes[] = {1.0, 0.05, 30.0};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        case_of c = {.dim = dims[d], .room = make_numbers(dims[d])};
        for (size_t k = 0; k < 4 * 3 * 2; k++) {
            c.size = sizes[k % 3];
            check_one(&c, k % 2 ? BLV_F32 : BLV_F64, spreads[k / 6], 31 * k + d);
        }
        free(c.room);
    }
}

/* Points of the simplex stay; one far largest number takes all; NaN is not hidden. */
static void test_simplex_ends(void **state) {
    (void)state;
    blv_space *space;
    blv_vec *v;
    double room[4], got[4];
    assert_int_equal(blv_space_create_host(&space, 4, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    blv_vec_write(v, (const double[]){0.5, 0.25, 0.25, 0.0});
    blv_project_simplex(v, 1.0, room);
    blv_vec_read(v, got);
    assert_memory_equal(got, ((const double[]){0.5, 0.25, 0.25, 0.0}), sizeof got);
    blv_vec_write(v, (const double[]){1e6, 0.25, -3.0, 1.0});
    blv_project_simplex(v, 1.0, room);
    blv_vec_read(v, got);
    assert_memory_equal(got, ((const double[]){1.0, 0.0, 0.0, 0.0}), sizeof got);
    blv_vec_write(v, (const double[]){-7.0, -7.0, -7.0, -7.0});
    blv_project_simplex(v, 2.0, room);
    blv_vec_read(v, got);
    assert_memory_equal(got, ((const double[]){0.5, 0.5, 0.5, 0.5}), sizeof got);
    blv_vec_write(v, (const double[]){1.0, (double)NAN, 0.0, 0.0});
    blv_project_simplex(v, 1.0, room);
    blv_vec_read(v, got);
    assert_true(isnan(got[1]));
    blv_vec_destroy(v);
    blv_space_destroy(space);
}

/* The simplex agrees with the form for the host, the box with its definition. */
static void test_elementwise_forms(void **state) {
    (void)state;
    static const size_t dims[] = {1, 2, 17, 1000};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const size_t dim = dims[d];
        blv_space *space;
        blv_vec *v[6];
        double *host = malloc(4 * dim * sizeof *host), *lo = host + dim, *hi = lo + dim;
        assert_non_null(host);
        assert_int_equal(blv_space_create_host(&space, dim, BLV_F64, 1), BLV_OK);
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(blv_vec_create(&v[i], space), BLV_OK);
        blv_stream stream = blv_stream_make(7, "forms");
        blv_random_normals(&stream, 0, dim, host);
        for (size_t i = 0; i < dim; i++) {
            lo[i] = -0.1 * (double)(i % 7);
            hi[i] = 0.3 * (double)(i % 3);
        }
        blv_vec_write(v[4], lo);
        blv_vec_write(v[5], hi);
        for (double total = 1e-3; total < 1e4; total *= 30.0) {
            blv_vec_write(v[0], host);
            blv_vec_write(v[1], host);
            blv_project_simplex(v[0], total, host + 3 * dim);
            blv_project_simplex_by(v[1], total, v[2], v[3]);
            for (size_t i = 0; i < dim; i++)
                assert_near(blv_vec_at(v[1], i), blv_vec_at(v[0], i), 1e-12 * (1.0 + total));
        }
        blv_vec_write(v[1], host);
        blv_project_between(v[1], v[4], v[5]);
        for (size_t i = 0; i < dim; i++)
            assert_true(blv_vec_at(v[1], i) == fmin(fmax(host[i], lo[i]), hi[i]));
        for (size_t i = 0; i < 6; i++)
            blv_vec_destroy(v[i]);
        blv_space_destroy(space);
        free(host);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise_forms),
        cmocka_unit_test(test_projections),
        cmocka_unit_test(test_simplex_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
