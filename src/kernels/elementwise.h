/* Loops over elements that the problems on data need: exponentials, sigmoids, sums of products.
 * Compiled for each instruction set and precision; serial, in a fixed order, bitwise identical on
 * every instruction set. */
#ifndef BLV_KERNELS_ELEMENTWISE_H
#define BLV_KERNELS_ELEMENTWISE_H

#include <stddef.h>

/* Arrays hold double or float, by the table; out is none of the others. */
typedef struct blv_element_loops {
    /* out[i] = scale exp(x[i]); overflow gives infinity */
    void (*exp_scaled)(size_t n, double scale, const void *x, void *out);
    /* out[i] = 1/(1 + exp(-x[i])) */
    void (*sigmoid)(size_t n, const void *x, void *out);
    /* out[i] = scale s (1 - s) factor[i] with s = sigmoid(x[i]) */
    void (*sigmoid_slope)(size_t n, double scale, const void *x, const void *factor, void *out);
    /* out[j] = factor scale[j] sum_k u[k,j] v[k,j], rows x columns matrices; transposed: [j,k] */
    void (*column_products)(size_t columns, size_t rows, int transposed, double factor,
                            const void *scale, const void *u, const void *v, void *out);
    /* sum_k u[k], accumulated in double */
    double (*sum)(size_t n, const void *u);
} blv_element_loops;

#endif
