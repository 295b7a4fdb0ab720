/* Answers of a linear model: probabilities of the rows of a set, and how well they tell positives
 * from negatives. */
#include "base/message.h"
#include "base/rank_exchange.h"
#include "bilevel/linear.h"
#include "problems/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Several sums: one addition need not wait for the one before. */
#define DOT(real)                                                                                  \
    static double dot_##real(size_t count, const double *w, const real *a) {                       \
        enum { SUMS = 8 };                                                                         \
        double sum[SUMS] = {0}, rest = 0.0;                                                        \
        size_t j = 0;                                                                              \
        for (; j + SUMS <= count; j += SUMS)                                                       \
            for (size_t s = 0; s < SUMS; s++)                                                      \
                sum[s] += w[j + s] * (double)a[j + s];                                             \
        for (; j < count; j++)                                                                     \
            rest += w[j] * (double)a[j];                                                           \
        return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + \
               rest;                                                                               \
    }
DOT(float)
DOT(double)

static double score(const blv_linear_model *m, const blv_dataset_view *v, size_t row, size_t k) {
    const double *w = m->weights + k * m->columns;
    double sum = m->intercept ? m->intercept[k] : 0.0;
    if (v->dense)
        return sum + (v->precision == BLV_F32
                          ? dot_float(v->columns, w, (const float *)v->dense + row * v->stride)
                          : dot_double(v->columns, w, (const double *)v->dense + row * v->stride));
    for (size_t e = v->row_start[row]; e < v->row_start[row + 1]; e++)
        sum += w[v->column[e]] * blv_value_get(v->value, v->precision, e);
    return sum;
}

/* p: scores become probabilities. The largest score is taken off, so that nothing overflows. */
static void softmax(double *p, size_t count) {
    double largest = p[0], sum = 0.0;
    for (size_t k = 1; k < count; k++)
        largest = fmax(largest, p[k]);
    for (size_t k = 0; k < count; k++) {
        p[k] = exp(p[k] - largest);
        sum += p[k];
    }
    for (size_t k = 0; k < count; k++)
        p[k] /= sum;
}

blv_error blv_linear_answer(const blv_linear_model *given, const blv_dataset *dataset,
                            double *probability, blv_message *why) {
    blv_linear_model known, *model = &known;
    BLV_CHECK(blv_caller_struct(model, sizeof *model, given, "blv_linear_model", why));
    if (!given || !dataset || !probability || !model->weights || model->scores == 0)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_linear_answer: a NULL argument, or no scores");
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    if (v->columns != model->columns)
        return blv_explain(
            why, BLV_E_VALUE,
            "blv_linear_answer: the set has another number of columns than the model");
    const size_t classes = model->scores == 1 && !model->real ? 2 : model->scores;
    const size_t here = v->ranks ? v->held : v->rows;
    if (v->ranks) /* the others come from their ranks */
        memset(probability, 0, v->rows * classes * sizeof *probability);
    for (size_t i = 0; i < here; i++) {
        double *p = probability + (v->ranks ? v->held_row[i] : i) * classes;
        p[0] = 0.0; /* one score is that of the second class against this one */
        for (size_t k = 0; k < model->scores; k++)
            p[classes - model->scores + k] = score(model, v, i, k);
        if (!model->real)
            softmax(p, classes);
    }
    return !v->ranks || v->ranks->sum(v->ranks->context, v->rows * classes, probability)
               ? BLV_OK
               : blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

/* ---- How well a score tells positives from negatives ---- */

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
