/* How well a score tells positives from negatives. */
#ifndef BLV_PROBLEMS_AUROC_H
#define BLV_PROBLEMS_AUROC_H

#include <stdbool.h>
#include <stddef.h>

/* The probability that a random positive has a higher score than a random negative, ties counting
 * half; NaN when there are only positives or only negatives. False when memory is short. */
bool auroc(size_t count, const double *score, const bool *positive, double *area);

#endif
