/* How well a score tells positives from negatives. */
#include "bilevel/linear.h"

#include <math.h>
#include <stdlib.h>

typedef struct scored {
    double score;
    bool positive;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* By the sum of ranks (Mann-Whitney), ties sharing their mean rank. */
blv_error blv_auroc(size_t count, const double *score, const bool *positive, double *area) {
    if (!score || !positive || !area)
        return BLV_E_ARGUMENT;
    scored *sorted = malloc((count ? count : 1) * sizeof *sorted);
    if (!sorted)
        return BLV_E_MEMORY;
    double positives = 0.0, rank_sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = (scored){score[i], positive[i]};
        positives += positive[i];
    }
    qsort(sorted, count, sizeof *sorted, by_score);
    for (size_t first = 0, next; first < count; first = next) {
        double tied = 0.0;
        for (next = first; next < count && sorted[next].score == sorted[first].score; next++)
            tied += sorted[next].positive;
        rank_sum += tied * 0.5 * (double)(first + 1 + next);
    }
    free(sorted);
    double negatives = (double)count - positives;
    *area = positives > 0.0 && negatives > 0.0
                ? (rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives)
                : (double)NAN;
    return BLV_OK;
}
