/* What LAPACK says about a dense operator. Include after cmocka.h. */
#ifndef BLV_TESTS_DENSE_LAPACK_H
#define BLV_TESTS_DENSE_LAPACK_H

#include "dense_operator.h"

#include <lapacke.h>
#include <string.h>

static inline void solve_definite_by_lapack(const dense_operator *op, const double *b, double *x) {
    double a[DENSE_MAX * DENSE_MAX];
    memcpy(a, op->a, op->n * op->n * sizeof *a);
    memcpy(x, b, op->n * sizeof *x);
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', (int)op->n, 1, a, (int)op->n, x, 1), 0);
}

static inline void solve_symmetric_by_lapack(const dense_operator *op, const double *b, double *x) {
    double a[DENSE_MAX * DENSE_MAX];
    int pivots[DENSE_MAX];
    memcpy(a, op->a, op->n * op->n * sizeof *a);
    memcpy(x, b, op->n * sizeof *x);
    assert_int_equal(
        LAPACKE_dsysv(LAPACK_ROW_MAJOR, 'U', (int)op->n, 1, a, (int)op->n, pivots, x, 1), 0);
}

static inline void solve_least_squares_by_lapack(const dense_operator *op, const double *b,
                                                 double *x) {
    double a[DENSE_MAX * DENSE_MAX];
    int pivots[DENSE_MAX] = {0}, rank;
    const int n = (int)op->n;
    memcpy(a, op->a, op->n * op->n * sizeof *a);
    memcpy(x, b, op->n * sizeof *x);
    assert_int_equal(LAPACKE_dgelsy(LAPACK_ROW_MAJOR, n, n, 1, a, n, x, 1, pivots, 1e-11, &rank),
                     0);
}

static inline double distance(size_t n, const double *a, const double *b) {
    double d[DENSE_MAX];
    for (size_t i = 0; i < n; i++)
        d[i] = a[i] - b[i];
    return dense_norm(n, d);
}

static inline void eigenvalues_by_lapack(const dense_operator *op, double *values) {
    double a[DENSE_MAX * DENSE_MAX];
    memcpy(a, op->a, op->n * op->n * sizeof *a);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', (int)op->n, a, (int)op->n, values),
                     0);
}

#endif
