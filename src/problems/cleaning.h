/* What the problems that look for bad labels share, whatever the model: row i of the training data
 * has the weight sigmoid(x_i). */
#ifndef BLV_PROBLEMS_CLEANING_H
#define BLV_PROBLEMS_CLEANING_H

#include "bilevel/dataset.h"
#include "kernels/elementwise.h"
#include "kernels/row_sweep.h"

/* weight = sigmoid(x) at the rows of the pass */
void cleaning_weights(const blv_element_loops *loops, blv_precision precision, const blv_rows *rows,
                      const void *x, void *weight);
/* out = w_i (1 - w_i) factor_i / count at the rows of the pass, 0 at the others */
void cleaning_slopes(const blv_element_loops *loops, blv_precision precision, const blv_rows *rows,
                     const void *x, const void *factor, blv_vec *out);

/* Of both levels, as for every problem on data, and how well the bad labels are found. */
extern const char *const cleaning_measures[];
/* The last four of these, NaN where true labels are not known. Suspicion is 1 - weight, or 1 -
 * probability that the model gives the stated label; precision and recall are those of the rows
 * whose probability is below 1/2. -1 when memory is short. */
int cleaning_measure(const blv_dataset_view *train, blv_precision precision, const void *x,
                     const void *probability, double *values);

#endif
