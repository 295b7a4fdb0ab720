/* A sweep over rows of data: losses of linear models, their gradients and second-order products.
 *
 * For row i with features a_i, label b_i and scores s_i = W a_i (one for each class):
 *
 *   softmax     loss_i = log sum_k exp(s_ik) - s_i,b
 *               gradient_i = (p_i - e_i) a_i'
 *               Hessian_i V = (p_i o (t_i - p_i't_i)) a_i'
 *               where p_i = softmax(s_i), e_i is the unit vector of b_i and t_i = V a_i
 *
 *   logistic    one score, label 1 or 0 (sign +1 or -1): loss_i = log(1 + exp(-sign s_i))
 *
 *   squares     one score, and rows that have targets b_i: loss_i = (s_i - b_i)^2 / 2
 *
 * and over the rows of the sweep, all at once, those of these that are asked for:
 *
 *   loss      scale sum_i weight_i loss_i
 *   gradient  scale sum_i weight_i gradient_i  + ridge o W
 *   hessian   scale sum_i weight_i Hessian_i V + ridge o V
 *   row_loss[i] = loss_i      row_cross[i] = <gradient_i, V>, both without weight and scale
 *
 * Nothing here knows of problems or solvers: raw arrays in, raw arrays out, all in one kind of
 * memory (kernel_table.h). Elements are double or float. Sums over rows use a partition that
 * depends on the sweep alone and are added in order: results do not depend on the number of
 * threads. */
#pragma once

#include "bilevel/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The data, and which of its rows. Dense when `dense` is set, else compressed sparse rows. */
typedef struct blv_rows {
    size_t rows, columns; /* of the data */
    const void *dense;    /* row i begins at element i * stride; stride >= columns */
    size_t stride;
    const void *split; /* dense once more, in another form; belongs to the table that made it */
    const size_t *row_start; /* rows + 1 numbers; entries row_start[i] .. row_start[i+1] - 1 */
    const uint32_t *column;
    const void *value;
    const size_t *column_start; /* the same entries by column; NULL: not there */
    const uint32_t *row;
    const void *column_value;
    const int32_t *label; /* class of each row; logistic: 1 or 0 */
    const double *target; /* of each row, for squares; NULL: logistic or softmax, by label */
    const void *weight;   /* of each row; NULL: 1 */
    const void *logit;    /* weights are the sigmoid of these; NULL: `weight` says. Where the table
                             says `logits` */
    /* The rows of this sweep: index[0 .. count-1], or first .. first+count-1 when index is NULL.
     * label, weight and the row_ outputs are by row of the data, whatever the sweep. */
    size_t first, count;
    size_t whole; /* those of all ranks, that means are over; kernels do not look at it */
    const size_t *index;
    blv_memory_kind index_memory;
    const struct blv_index_list *list; /* that index lies in; NULL: none */
    /* Rows that the next sweep will ask for, if known: fetched ahead. 0: not known. */
    size_t next_first, next_count;
} blv_rows;

/* Another loss than softmax of the label. score: those of the row, `classes` numbers of the
 * precision; they become the gradient of its loss in them. tangent, unless NULL: t_i, which becomes
 * the product of the Hessian with it. Both add up to 0: a loss does not change when one number is
 * added to all scores. Returns the loss. Called by several threads, for different rows. */
typedef double (*blv_row_rule)(void *context, size_t row, void *score, void *tangent);

/* W, V, gradient and hessian are classes x columns, row by row, for dense data, and columns x
 * classes for sparse data: there a row's entries pick few columns and want all classes of each at
 * once. */
typedef struct blv_sweep {
    size_t classes; /* 1: logistic, or squares where rows have targets; more: softmax */
    const void *w;
    const void *v; /* NULL: no second-order output is asked for */
    double scale;
    const void *ridge_column; /* multiplier of each column, NULL: 0 */
    const void *ridge_class;  /* multiplier of each class, NULL: 0; at most one of the two */
    double ridge;             /* a multiplier of all, added to the above */
    blv_row_rule rule;        /* NULL: softmax; else no row_ output but row_loss, and no keep */
    void *rule_context;
    bool keep; /* probabilities may be kept: see sweep_keep in kernel_table.h */

    /* Not 0: what goes to row_loss and row_cross is multiplied by row_slope s (1 - s), s the weight
     * from the row's logit, and added where the sweep is by index. */
    double row_slope;

    double *loss; /* NULL: not needed, here and below */
    void *gradient;
    void *hessian;
    void *row_loss;
    void *row_cross;
    void *row_probability; /* of the given label */
    int32_t *row_class;    /* the class with the largest score; ties: the lowest */
} blv_sweep;

enum { BLV_RULE_CLASSES = 1024 }; /* most classes of a row_rule */

/* Buffers for sweeps of certain sizes. One sweep at a time may use them. */
typedef struct blv_sweep_work blv_sweep_work;
