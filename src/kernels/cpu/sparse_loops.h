/* The loops of sweeps over sparse rows: one table for each precision and instruction set. */
#pragma once

#include "base/instructions.h"
#include "kernels/row_sweep.h"

/* A sweep and the room it works in. Position i of the sweep stands for the row index[i] or first +
 * i; what it leaves in residual and curvature begins at element i * stride. */
typedef struct blv_sparse_args {
    const blv_rows *rows;
    const blv_sweep *sweep;
    bool logistic;
    bool second_order; /* curvature is wanted, or row_cross */
    void *residual;    /* scale weight_i (p_i - e_i) */
    void *curvature;   /* scale weight_i p_i o (t_i - p_i't_i) */
    size_t stride;
    void *kept; /* softmax: probabilities of each row, then p - 1 of its label; NULL: none */
    bool known; /* they are there to be read, and X W is not computed; else written */
} blv_sparse_args;

/* out = X'factor + ridge o of: a gradient, or a product with the Hessian. */
typedef struct blv_sparse_product {
    const void *factor; /* residual or curvature */
    const void *of;     /* W or V */
    void *out;
} blv_sparse_product;

typedef struct blv_sparse_loops {
    /* Scores, row outputs, residuals and curvatures of positions [begin, end). Returns the sum of
     * their weighted losses. */
    double (*rows)(const blv_sparse_args *args, size_t begin, size_t end);
    /* Columns [begin, end) of the product by the transposed copy; position i is row i. */
    void (*columns)(const blv_sparse_args *args, const blv_sparse_product *product, size_t begin,
                    size_t end);
    /* Columns [begin, end) of the product by the rows of the sweep. */
    void (*scatter)(const blv_sparse_args *args, const blv_sparse_product *product, size_t begin,
                    size_t end);
} blv_sparse_loops;
