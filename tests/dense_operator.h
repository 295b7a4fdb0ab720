/* Random symmetric matrices of a chosen spectrum, as operators that can be made to fail. */
#ifndef BLV_TESTS_DENSE_OPERATOR_H
#define BLV_TESTS_DENSE_OPERATOR_H

#include "bilevel/space.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define DENSE_MAX 60

typedef struct dense_operator {
    size_t n;
    double a[DENSE_MAX * DENSE_MAX];
    size_t products;
    size_t fail_at, nan_at; /* product number, from 1; 0: never */
    int code;               /* what the failing product returns */
} dense_operator;

/* splitmix64, uniform in [-1, 1) */
static inline double dense_random(uint64_t *seed) {
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1.0;
}

static inline void dense_random_vector(uint64_t *seed, size_t n, double *v) {
    for (size_t i = 0; i < n; i++)
        v[i] = dense_random(seed);
}

static inline double dense_norm(size_t n, const double *v) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

/* Eigenvalues between 1/kappa and 1 in size, of alternating signs when indefinite. The last `zeros`
 * are zero. */
static inline void random_spectrum(double *values, size_t n, double kappa, bool indefinite,
                                   size_t zeros) {
    for (size_t i = 0; i < n; i++) {
        const double share = n > 1 ? (double)i / (double)(n - 1) : 0.0;
        values[i] = pow(kappa, -share) * (indefinite && i % 2 ? -1.0 : 1.0);
        if (i + zeros >= n)
            values[i] = 0.0;
    }
}

/* a = Q diag(eigenvalues) Q' for a random product Q of n reflections. */
static inline void dense_with_spectrum(dense_operator *op, size_t n, const double *eigenvalues,
                                       uint64_t *seed) {
    double *a = op->a;
    *op = (dense_operator){.n = n};
    for (size_t i = 0; i < n; i++)
        a[i * n + i] = eigenvalues[i];
    for (size_t k = 0; n > 1 && k < n; k++) {
        double v[DENSE_MAX], av[DENSE_MAX], vav = 0.0;
        dense_random_vector(seed, n, v);
        const double norm = dense_norm(n, v);
        for (size_t i = 0; i < n; i++)
            v[i] /= norm;
        for (size_t i = 0; i < n; i++) {
            av[i] = 0.0;
            for (size_t j = 0; j < n; j++)
                av[i] += a[i * n + j] * v[j];
            vav += v[i] * av[i];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] += 4.0 * vav * v[i] * v[j] - 2.0 * (v[i] * av[j] + av[i] * v[j]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
}

static inline void dense_multiply(const dense_operator *op, const double *x, double *out) {
    for (size_t i = 0; i < op->n; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < op->n; j++)
            out[i] += op->a[i * op->n + j] * x[j];
    }
}

/* |b - A x|, from the raw matrix */
static inline double dense_residual(const dense_operator *op, const double *b, const double *x) {
    double r[DENSE_MAX];
    dense_multiply(op, x, r);
    for (size_t i = 0; i < op->n; i++)
        r[i] = b[i] - r[i];
    return dense_norm(op->n, r);
}

/* a blv_operator_fn */
static inline int dense_apply(void *context, const blv_vec *in, blv_vec *out) {
    dense_operator *op = context;
    double x[DENSE_MAX], y[DENSE_MAX];
    op->products++;
    if (op->products == op->fail_at)
        return op->code;
    blv_vec_read(in, x);
    dense_multiply(op, x, y);
    if (op->products == op->nan_at)
        y[op->n - 1] = NAN;
    blv_vec_write(out, y);
    return 0;
}

#endif
