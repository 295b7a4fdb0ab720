/* Which labels are suspect: from the probability of every stated label to a threshold. */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row is suspect when the probability of its label is below the threshold. */
typedef struct cli_verdict {
    double threshold;
    double wrong;        /* estimated share of wrong labels; NaN: not estimated */
    double false_alarms; /* share of them among the suspects that was aimed at; NaN: none was */
} cli_verdict;

/* From rows whose labels are right. A row's p-value is the share of these rows with a probability
 * as small as its own; where a label is right p-values are uniform. Rows are called suspect from
 * the smallest on as long as the expected false alarms among them are at most a share of 1/25
 * (Benjamini and Hochberg, with Storey's estimate of how many labels are right); where not even one
 * row could be called suspect, 1/10, then 1/5. A level above 0 stands in place of these.
 *
 * probability: of the stated label, count rows; clean: of the true label, clean_count rows, by
 * models that have not seen them. */
cli_verdict cli_verdict_from_clean(size_t count, const double *probability, size_t clean_count,
                                   const double *clean, double level);

/* Without such rows, by confident learning (Northcutt, Jiang and Chuang): a class is likely for a
 * row when its probability is at least the mean over the rows that are stated to be of that class;
 * a label is wrong when the likeliest of these is another one. As many rows are suspect, those with
 * the smallest probabilities.
 *
 * probability: count x classes. */
cli_verdict cli_verdict_alone(size_t count, size_t classes, const double *probability,
                              const int32_t *label);

/* The `suspects` rows with the smallest probabilities, more where there are ties. */
cli_verdict cli_verdict_by_count(size_t count, const double *probability, size_t suspects);

#endif
