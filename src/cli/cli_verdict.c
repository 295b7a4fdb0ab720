#include "cli_verdict.h"
#include "cli_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double *sorted_copy(const double *values, size_t count) {
    double *sorted = cli_alloc(count, sizeof *sorted);
    if (count > 0)
        memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    return sorted;
}

/* The first `suspects` of the sorted probabilities are below it, and what equals the last of them.
 */
static double threshold_after(const double *sorted, size_t count, size_t suspects) {
    if (suspects == 0)
        return 0.0;
    size_t next = suspects;
    while (next < count && sorted[next] == sorted[suspects - 1])
        next++;
    return next < count ? sorted[next] : 2.0;
}

/* ---- From clean rows ---- */

/* p_value[i] for the sorted probabilities; both lists ascend. */
static void find_p_values(size_t count, const double *sorted, size_t clean_count,
                          const double *clean, double *p_value) {
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        while (below < clean_count && clean[below] <= sorted[i])
            below++;
        p_value[i] = (1.0 + (double)below) / (1.0 + (double)clean_count);
    }
}

/* Half of the p-values of right labels are above 1/2, and those of wrong ones hardly ever. */
static double share_right(size_t count, const double *p_value) {
    size_t above = 0;
    for (size_t i = 0; i < count; i++)
        above += p_value[i] > 0.5;
    return fmin(1.0, (1.0 + (double)above) / (0.5 * (double)count));
}

/* How many of the first rows may be called suspect. */
static size_t count_suspects(size_t count, const double *p_value, double right, double level) {
    size_t suspects = 0;
    for (size_t i = 0; i < count; i++)
        if (right * (double)count * p_value[i] <= level * (double)(i + 1))
            suspects = i + 1;
    return suspects;
}

cli_verdict cli_verdict_from_clean(size_t count, const double *probability, size_t clean_count,
                                   const double *clean, double level) {
    static const double levels[] = {0.04, 0.1, 0.2};
    size_t tries = level > 0.0 ? 1 : sizeof levels / sizeof levels[0], suspects = 0;
    double *sorted = sorted_copy(probability, count),
           *sorted_clean = sorted_copy(clean, clean_count);
    double *p_value = cli_alloc(count, sizeof *p_value);
    find_p_values(count, sorted, clean_count, sorted_clean, p_value);
    double right = share_right(count, p_value), aimed = NAN;
    for (size_t t = 0; t < tries && suspects == 0; t++) {
        aimed = level > 0.0 ? level : levels[t];
        suspects = count_suspects(count, p_value, right, aimed);
    }
    cli_verdict verdict = {.threshold = threshold_after(sorted, count, suspects),
                           .wrong = 1.0 - right,
                           .false_alarms = aimed};
    free(sorted);
    free(sorted_clean);
    free(p_value);
    return verdict;
}

/* ---- Alone ---- */

static double *mean_of_own_class(size_t count, size_t classes, const double *probability,
                                 const int32_t *label) {
    double *mean = cli_alloc(classes, sizeof *mean);
    size_t *rows = cli_alloc(classes, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        mean[label[i]] += probability[i * classes + (size_t)label[i]];
        rows[label[i]]++;
    }
    for (size_t k = 0; k < classes; k++)
        mean[k] = rows[k] > 0 ? mean[k] / (double)rows[k] : 2.0; /* no row: never likely */
    free(rows);
    return mean;
}

cli_verdict cli_verdict_alone(size_t count, size_t classes, const double *probability,
                              const int32_t *label) {
    double *likely = mean_of_own_class(count, classes, probability, label);
    double *stated = cli_alloc(count, sizeof *stated);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const double *p = probability + i * classes;
        size_t own = (size_t)label[i], best = classes;
        for (size_t k = 0; k < classes; k++)
            if (p[k] >= likely[k] && (best == classes || p[k] > p[best]))
                best = k;
        wrong += best != classes && best != own;
        stated[i] = p[own];
    }
    cli_verdict verdict = cli_verdict_by_count(count, stated, wrong);
    verdict.wrong = (double)wrong / (double)count;
    free(likely);
    free(stated);
    return verdict;
}

cli_verdict cli_verdict_by_count(size_t count, const double *probability, size_t suspects) {
    double *sorted = sorted_copy(probability, count);
    cli_verdict verdict = {
        .threshold = threshold_after(sorted, count, suspects), .wrong = NAN, .false_alarms = NAN};
    free(sorted);
    return verdict;
}
