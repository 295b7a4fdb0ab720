/* Everything that oracles do to rows of data and to raw arrays, as one table of functions for each
 * kind of memory and precision. A problem asks for its table once, when it is created.
 *
 * Arrays are in the table's kind of memory and hold its precision, unless a comment says otherwise.
 * Another device needs one folder beside cpu/ and one line in kernel_table.c. */
#pragma once

#include "kernels/row_sweep.h"

/* Elements begin .. end - 1 of a vector belong to group `of`. */
typedef struct blv_range {
    size_t begin, end, of;
} blv_range;

typedef struct blv_kernels {
    blv_memory_kind memory;
    blv_precision precision;
    size_t real_size;
    bool logits; /* sweeps take weights from logits */
    /* What memory was short of, or the device failed with; NULL: nothing, or not known. */
    const char *(*failure)(void);

    /* ---- Memory ---- */

    void *(*allocate)(size_t bytes); /* zero-filled; NULL when memory is short */
    void (*release)(void *memory);   /* NULL is allowed */
    void (*write)(size_t n, const double *host, void *to);
    void (*read)(size_t n, const void *from, double *host);
    /* A copy of `bytes` bytes from the host, of another type than the elements. */
    void (*write_bytes)(size_t bytes, const void *host, void *to);
    /* Rows of a data set, where they may stay: all arrays of `host` are in host memory and outlive
     * the result. False when memory is short. */
    bool (*rows_open)(const blv_rows *host, blv_rows *rows);
    void (*rows_close)(blv_rows *rows);

    /* ---- Sweeps over rows ---- */

    /* sparse: of the data. threads 0: all processors. NULL when memory is short. */
    blv_sweep_work *(*sweep_open)(size_t classes, size_t columns, bool sparse, size_t max_rows,
                                  int threads);
    void (*sweep_close)(blv_sweep_work *work); /* NULL is allowed */
    /* Lets sweeps that say `keep` leave the probabilities of up to `rows` rows for the next sweep
     * at the same point. False when memory is short: sweeps work without. */
    bool (*sweep_keep)(blv_sweep_work *work, size_t rows);
    void (*sweep)(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work);

    /* ---- At the rows of a sweep: arrays by row of the data, in which a row may occur twice ----
     */

    /* out_i = sigmoid(x_i) */
    void (*row_sigmoid)(const blv_rows *rows, const void *x, void *out);
    /* out_i += scale s (1 - s) factor_i with s = sigmoid(x_i); out comes as 0, or anything when the
     * sweep is over all rows in order */
    void (*row_sigmoid_slope)(const blv_rows *rows, double scale, const void *x, const void *factor,
                              void *out);
    /* out_i += scale factor_i */
    void (*row_add)(const blv_rows *rows, double scale, const void *factor, void *out);
    /* rows of the sweep whose guess is their label */
    size_t (*count_right)(const blv_rows *rows, const int32_t *guess);

    /* ---- Elements ---- */

    /* out[i] = scale exp(x[i]); overflow gives infinity; out is not x */
    void (*exp_scaled)(size_t n, double scale, const void *x, void *out);
    /* out[j] = factor scale[j] sum_k u[k,j] v[k,j], rows x columns matrices; transposed: [j,k] */
    void (*column_products)(size_t columns, size_t rows, int transposed, double factor,
                            const void *scale, const void *u, const void *v, void *out);
    double (*sum)(size_t n, const void *u); /* accumulated in double */
    /* out[j] = from[group[j]] */
    void (*spread_groups)(size_t n, const uint32_t *group, const void *from, void *out);
    /* out[k] = sum of in[j] over group k; sums: `groups` doubles to work in */
    void (*sum_groups)(size_t n, const uint32_t *group, const void *in, size_t groups, double *sums,
                       void *out);
    /* With groups that are ranges of elements; no ranges: element k is group k.
     *   out = exp(x_group) o u
     *   out_k = factor exp(x_k) sum of u_j v_j over group k, unless out is NULL; returns the sum */
    void (*penalize)(size_t groups, size_t ranges, const blv_range *range, const void *x,
                     const void *u, void *out);
    double (*penalty_products)(size_t groups, size_t ranges, const blv_range *range, double factor,
                               const void *x, const void *u, const void *v, void *out);

    /* ---- Small dense matrices, row by row; sums are accumulated in double ---- */

    double (*dot)(size_t n, const void *a, const void *b);
    void (*axpy)(size_t n, double a, const void *x, void *y); /* y += a x */
    void (*combine)(size_t n, double a, const void *x, double b, const void *y, void *out);
    /* out = alpha M v + beta w; w may be NULL (taken as zero), or out */
    void (*gemv)(size_t rows, size_t columns, double alpha, const void *m, const void *v,
                 double beta, const void *w, void *out);
    /* y'(A y/2 + C x + c), A n x n and C n x m */
    double (*quadratic)(size_t n, size_t m, const void *A, const void *C, const void *c,
                        const void *x, const void *y);
} blv_kernels;

/* NULL: there is no table for this kind of memory. */
const blv_kernels *blv_kernels_for(blv_memory_kind memory, blv_precision precision);
