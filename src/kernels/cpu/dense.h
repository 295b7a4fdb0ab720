/* Small dense loops in one precision: the data are float or double behind void pointers, sums are
 * accumulated in double. Serial, in a fixed order. */
#ifndef BLV_KERNELS_CPU_DENSE_H
#define BLV_KERNELS_CPU_DENSE_H

#include <stddef.h>

typedef struct blv_dense_kernels {
    size_t real_size;
    /* out = alpha M v + beta w; M has rows x columns, row by row; w may be NULL (taken as zero) */
    void (*gemv)(size_t rows, size_t columns, double alpha, const void *m, const void *v,
                 double beta, const void *w, void *out);
    double (*dot)(size_t n, const void *a, const void *b);
    void (*axpy)(size_t n, double a, const void *x, void *y); /* y += a x */
    void (*combine)(size_t n, double a, const void *x, double b, const void *y, void *out);
    void (*from_double)(size_t n, const double *in, void *out);
} blv_dense_kernels;

extern const blv_dense_kernels blv_dense_f64;
extern const blv_dense_kernels blv_dense_f32;

#endif
