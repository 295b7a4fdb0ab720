/* Sweeps over dense rows, as host_sweep.c drives them: one table of functions for each precision
 * and instruction set.
 *
 * A sweep goes over its rows in blocks that stay in cache, in three steps for each block:
 *   scores      s = W a (and t = V a) of every row: packed weights in L1, four rows at a time
 *   activation  loss, residual p - e and Hessian factors, in place of the scores; lanes are rows
 *   sums        residual a' added up over the rows of the block, many columns in registers
 *
 * Softmax does not change when one number is added to all scores, and the residuals of a row add up
 * to 0. So the last class is never computed: weights are packed as differences to it, its own score
 * is 0, and its sums are minus the sum of the others. That is one class less in both products. */
#pragma once

#include "base/instructions.h"
#include "kernels/row_sweep.h"

#define BLV_BLOCK_ROWS ((size_t)64) /* most rows of a block, and the stride of its scores */

typedef struct blv_dense_task {
    const blv_rows *rows;
    const blv_sweep *sweep;
    bool logistic;
    bool few_columns;  /* logistic, and a row fits in the registers */
    bool stream;       /* logistic, many short rows one after the other, only the gradient */
    bool second_order; /* V a is needed */
    size_t block_rows;
    size_t rows_ahead;  /* distance of the rows to ask memory for; 0: do not */
    size_t scores;      /* of one matrix: classes - 1, logistic 1; V's scores follow W's */
    size_t first_score; /* those that are computed: first_score .. end_score - 1 */
    size_t end_score;
    size_t first_sum;   /* scores whose products with the rows are added up: first_sum .. */
    size_t sums;        /* first_sum + sums - 1; 0 when neither gradient nor hessian is asked for */
    size_t padded;      /* columns, rounded up to whole vectors: distance between rows of sums */
    size_t part_stride; /* distance between the parts */
    void *packed;       /* weights, as `pack` leaves them */
    void *parts;        /* sums of each group of rows: (2 scores) x padded of them */
    size_t groups;
    void *kept; /* softmax: probabilities of all rows of the sweep, see below; NULL: none */
    bool known; /* they are there to be read, and W's scores are not computed; else written */
} blv_dense_task;

/* Kept probabilities lie in the order in which blocks use them: for each BLV_KEPT_ROWS rows one
 * class after the other, the last class left out, and then p - 1 of the label. */
#define BLV_KEPT_ROWS ((size_t)16)

/* Where one thread works on one block: block_bytes of it, aligned to a cache line. */
typedef struct blv_dense_block blv_dense_block;

typedef struct blv_dense_sweep_table {
    size_t lanes;             /* reals in a vector, a power of two: columns are padded to it */
    size_t most_in_registers; /* columns up to which few_columns may be set */
    size_t block_bytes;       /* of a blv_dense_block, the same in every instruction set */
    /* Fills task->packed: room for (2 scores) x padded reals. */
    void (*pack)(const blv_dense_task *task);
    /* Rows begin .. end - 1 of the sweep: their sums into `part`, their loss as the result.
     * `scores` has room for (2 scores) x BLV_BLOCK_ROWS reals, `spare` for one more part. */
    double (*sweep_rows)(const blv_dense_task *task, size_t begin, size_t end,
                         blv_dense_block *block, void *scores, void *spare, void *part);
    /* Columns begin .. end - 1 of gradient and hessian, from all parts. */
    void (*finish)(const blv_dense_task *task, size_t begin, size_t end);
} blv_dense_sweep_table;
