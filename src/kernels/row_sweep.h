/* One pass over rows of data: losses of linear models, their gradients and second-order products.
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
 * and over the rows of the pass, all in one sweep, what of these is asked for:
 *
 *   loss      scale sum_i weight_i loss_i
 *   gradient  scale sum_i weight_i gradient_i  + ridge o W
 *   hessian   scale sum_i weight_i Hessian_i V + ridge o V
 *   row_loss[i] = loss_i      row_cross[i] = <gradient_i, V>, both without weight and scale
 *
 * Nothing here knows of problems or solvers: raw arrays in, raw arrays out. `real` below is double
 * or float, by the function. Sums over rows go over a partition that depends on the pass alone, and
 * are added in order: the number of threads does not show in the bits. */
#ifndef BLV_KERNELS_ROW_SWEEP_H
#define BLV_KERNELS_ROW_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The data, and which of its rows. Dense when `dense` is set, else compressed sparse rows. */
typedef struct blv_rows {
    size_t rows, columns; /* of the data */
    const void *dense;    /* row i begins at element i * stride; stride >= columns */
    size_t stride;
    const size_t *row_start; /* rows + 1 numbers; entries row_start[i] .. row_start[i+1] - 1 */
    const uint32_t *column;
    const void *value;
    const size_t *column_start; /* the same entries by column; NULL: not there */
    const uint32_t *row;
    const void *column_value;
    const int32_t *label; /* class of each row; logistic: 1 or 0 */
    const void *weight;   /* of each row; NULL: 1 */
    /* The rows of this pass: index[0 .. count-1], or first .. first+count-1 when index is NULL.
     * label, weight and the row_ outputs are by row of the data, whatever the pass. */
    size_t first, count;
    const size_t *index;
    /* Rows that the next pass will ask for, if known: fetched ahead. 0: not known. */
    size_t next_first, next_count;
} blv_rows;

/* W, V, gradient and hessian are classes x columns, row by row, for dense data, and columns x
 * classes for sparse data: there a row's entries pick few columns and want all classes of each at
 * once. */
typedef struct blv_sweep {
    size_t classes; /* softmax: >= 2; logistic: 1 */
    const void *w;
    const void *v; /* NULL: no second-order output is asked for */
    double scale;
    const void *ridge_column; /* multiplier of each column, NULL: 0 */
    const void *ridge_class;  /* multiplier of each class, NULL: 0; at most one of the two */
    double ridge;             /* a multiplier of all, added to the above */
    bool keep;                /* what blv_sweep_work_keep has room for */

    double *loss; /* NULL: not needed, here and below */
    void *gradient;
    void *hessian;
    void *row_loss;
    void *row_cross;
    void *row_probability; /* of the given label */
    int32_t *row_class;    /* the class with the largest score; ties: the lowest */
} blv_sweep;

/* Room for the partial sums of passes with these sizes. One pass at a time may use it. */
typedef struct blv_sweep_work blv_sweep_work;
/* real_size: sizeof(float) or sizeof(double). NULL when memory is short. */
blv_sweep_work *blv_sweep_work_create(size_t classes, size_t columns, size_t real_size, bool sparse,
                                      size_t max_rows, int threads);
void blv_sweep_work_destroy(blv_sweep_work *work);
size_t blv_sweep_work_bytes(const blv_sweep_work *work);
/* Makes room for the probabilities of all rows of a set of up to `rows` rows. From then on softmax
 * passes over all rows that say `keep` leave them there, and when one at the same W follows it does
 * without the scores X W: Hv takes two products over the data instead of three. The bits are the
 * same. Data and labels must not change in between. Once for each work, before its first pass.
 * False when memory is short: passes go without. */
bool blv_sweep_work_keep(blv_sweep_work *work, size_t rows);

typedef enum blv_instructions {
    BLV_INSTRUCTIONS_REFERENCE, /* plain loops in double: slow and plainly right; for tests */
    BLV_INSTRUCTIONS_BASE,
    BLV_INSTRUCTIONS_AVX2,
    BLV_INSTRUCTIONS_AVX512,
    BLV_INSTRUCTIONS_BEST /* the best that this processor has */
} blv_instructions;

void blv_softmax_pass_f64(const blv_rows *rows, const blv_sweep *pass, blv_sweep_work *work);
void blv_softmax_pass_f32(const blv_rows *rows, const blv_sweep *pass, blv_sweep_work *work);
void blv_logistic_pass_f64(const blv_rows *rows, const blv_sweep *pass, blv_sweep_work *work);
void blv_logistic_pass_f32(const blv_rows *rows, const blv_sweep *pass, blv_sweep_work *work);
/* For tests and benchmarks: another instruction set than the best one. */
bool blv_has_instructions(blv_instructions instructions); /* whether this processor does */
void blv_sweep_work_instructions(blv_sweep_work *work, blv_instructions instructions);

#endif
