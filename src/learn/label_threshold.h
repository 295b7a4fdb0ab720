/* Which labels are suspect: from the probability of every given label to a threshold. */
#ifndef BLV_LEARN_LABEL_THRESHOLD_H
#define BLV_LEARN_LABEL_THRESHOLD_H

#include "bilevel/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row is suspect when the probability of its label is below the threshold. */
typedef struct blv_label_threshold {
    double threshold;
    double wrong;        /* estimated share of wrong labels; NaN: not estimated */
    double false_alarms; /* the share of them among the suspects that was aimed at; NaN: none */
} blv_label_threshold;

/* All of them return BLV_OK or BLV_E_MEMORY. */

/* From rows whose labels are right. A row's p-value is the share of these rows with a probability
 * as small as its own; where a label is right p-values are uniform. Rows are called suspect from
 * the smallest on as long as the expected false alarms among them are at most a share of 1/25
 * (Benjamini and Hochberg, with Storey's estimate of how many labels are right); where not even one
 * row could be called suspect, 1/10, then 1/5. A level above 0 replaces these.
 *
 * probability: of the given label, count rows; clean: of the true label, clean_count rows, by
 * models that have not seen them. */
blv_error blv_threshold_from_clean(size_t count, const double *probability, size_t clean_count,
                                   const double *clean, double level, blv_label_threshold *result);

/* Without such rows, by confident learning (Northcutt, Jiang and Chuang): a class is likely for a
 * row when its probability is at least the mean over the rows that are labelled with that class; a
 * label is wrong when the likeliest of these is another one. As many rows are suspect, those with
 * the smallest probabilities.
 *
 * probability: count x classes. */
blv_error blv_threshold_alone(size_t count, size_t classes, const double *probability,
                              const int32_t *label, blv_label_threshold *result);

/* The `suspects` rows with the smallest probabilities, more where there are ties. */
blv_error blv_threshold_by_count(size_t count, const double *probability, size_t suspects,
                                 blv_label_threshold *result);

#endif
