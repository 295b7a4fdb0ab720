#include "learn/label_threshold.h"
#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double *sorted_copy(blv_arena *arena, const double *values, size_t count) {
    double *sorted = blv_arena_alloc(arena, count, sizeof *sorted);
    if (sorted && count > 0) {
        memcpy(sorted, values, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, ascending);
    }
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

blv_error blv_threshold_from_clean(size_t count, const double *probability, size_t clean_count,
                                   const double *clean, double level, blv_label_threshold *result) {
    static const double levels[] = {0.04, 0.1, 0.2};
    size_t tries = level > 0.0 ? 1 : sizeof levels / sizeof levels[0], suspects = 0;
    blv_arena arena = {0};
    double *sorted = sorted_copy(&arena, probability, count);
    double *sorted_clean = sorted_copy(&arena, clean, clean_count);
    double *p_value = blv_arena_alloc(&arena, count, sizeof *p_value);
    bool well = sorted && sorted_clean && p_value;
    if (well) {
        find_p_values(count, sorted, clean_count, sorted_clean, p_value);
        double right = share_right(count, p_value), aimed = NAN;
        for (size_t t = 0; t < tries && suspects == 0; t++) {
            aimed = level > 0.0 ? level : levels[t];
            suspects = count_suspects(count, p_value, right, aimed);
        }
        *result =
            (blv_label_threshold){threshold_after(sorted, count, suspects), 1.0 - right, aimed};
    }
    blv_arena_free(&arena);
    return well ? BLV_OK : BLV_E_MEMORY;
}

/* ---- Without clean rows ---- */

/* The mean probability of each class over the rows that are labelled with it. */
static void mean_of_own_class(size_t count, size_t classes, const double *probability,
                              const int32_t *label, double *mean, size_t *rows) {
    for (size_t i = 0; i < count; i++) {
        mean[label[i]] += probability[i * classes + (size_t)label[i]];
        rows[label[i]]++;
    }
    for (size_t k = 0; k < classes; k++)
        mean[k] = rows[k] > 0 ? mean[k] / (double)rows[k] : 2.0; /* no row: never likely */
}

blv_error blv_threshold_alone(size_t count, size_t classes, const double *probability,
                              const int32_t *label, blv_label_threshold *result) {
    blv_arena arena = {0};
    double *likely = blv_arena_alloc(&arena, classes, sizeof *likely);
    size_t *rows = blv_arena_alloc(&arena, classes, sizeof *rows), wrong = 0;
    double *given = blv_arena_alloc(&arena, count, sizeof *given);
    blv_error error = likely && rows && given ? BLV_OK : BLV_E_MEMORY;
    if (error == BLV_OK)
        mean_of_own_class(count, classes, probability, label, likely, rows);
    for (size_t i = 0; error == BLV_OK && i < count; i++) {
        const double *p = probability + i * classes;
        size_t own = (size_t)label[i], best = classes;
        for (size_t k = 0; k < classes; k++)
            if (p[k] >= likely[k] && (best == classes || p[k] > p[best]))
                best = k;
        wrong += best != classes && best != own;
        given[i] = p[own];
    }
    if (error == BLV_OK)
        error = blv_threshold_by_count(count, given, wrong, result);
    if (error == BLV_OK)
        result->wrong = (double)wrong / (double)count;
    blv_arena_free(&arena);
    return error;
}

blv_error blv_threshold_by_count(size_t count, const double *probability, size_t suspects,
                                 blv_label_threshold *result) {
    blv_arena arena = {0};
    double *sorted = sorted_copy(&arena, probability, count);
    if (sorted)
        *result = (blv_label_threshold){threshold_after(sorted, count, suspects), NAN, NAN};
    blv_arena_free(&arena);
    return sorted ? BLV_OK : BLV_E_MEMORY;
}
