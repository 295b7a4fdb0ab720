#include "problems/cleaning.h"
#include "problems/auroc.h"
#include "problems/raw.h"

#include <math.h>
#include <stdlib.h>

static size_t real_size(blv_precision precision) {
    return precision == BLV_F32 ? sizeof(float) : sizeof(double);
}

static void *at_row(blv_precision precision, void *array, size_t row) {
    return (char *)array + row * real_size(precision);
}

static const void *const_at_row(blv_precision precision, const void *array, size_t row) {
    return (const char *)array + row * real_size(precision);
}

void cleaning_weights(const blv_element_loops *loops, blv_precision precision, const blv_rows *rows,
                      const void *x, void *weight) {
    if (!rows->index) {
        loops->sigmoid(rows->count, const_at_row(precision, x, rows->first),
                       at_row(precision, weight, rows->first));
        return;
    }
    for (size_t i = 0; i < rows->count; i++)
        loops->sigmoid(1, const_at_row(precision, x, rows->index[i]),
                       at_row(precision, weight, rows->index[i]));
}

void cleaning_slopes(const blv_element_loops *loops, blv_precision precision, const blv_rows *rows,
                     const void *x, const void *factor, blv_vec *out_vec) {
    double scale = 1.0 / (double)rows->count;
    void *out = raw_mut(out_vec);
    if (rows->count < rows->rows || rows->index)
        blv_vec_fill(out_vec, 0.0);
    if (!rows->index) {
        loops->sigmoid_slope(rows->count, scale, const_at_row(precision, x, rows->first),
                             const_at_row(precision, factor, rows->first),
                             at_row(precision, out, rows->first));
        return;
    }
    for (size_t i = 0; i < rows->count; i++) { /* a row may occur more than once */
        size_t row = rows->index[i];
        double w = 1.0 / (1.0 + exp(-element(x, precision, row)));
        double sum =
            element(out, precision, row) + scale * w * (1.0 - w) * element(factor, precision, row);
        set_element(out, precision, row, sum);
    }
}

const char *const cleaning_measures[] = {"val_loss",      "val_accuracy", "test_loss",
                                         "test_accuracy", "auroc_weight", "auroc_probability",
                                         "precision",     "recall",       NULL};

static int rank(const blv_dataset_view *train, blv_precision precision, const void *x,
                const void *probability, double *suspicion, bool *corrupt, double *values) {
    size_t n = train->rows, flagged = 0, found = 0, bad = 0;
    for (size_t i = 0; i < n; i++) {
        corrupt[i] = train->label[i] != train->true_label[i];
        suspicion[i] = -element(x, precision, i);
    }
    if (!auroc(n, suspicion, corrupt, &values[0]))
        return -1;
    for (size_t i = 0; i < n; i++) {
        double likely = element(probability, precision, i);
        suspicion[i] = -likely;
        flagged += likely < 0.5;
        found += likely < 0.5 && corrupt[i];
        bad += corrupt[i];
    }
    values[2] = flagged ? (double)found / (double)flagged : NAN;
    values[3] = bad ? (double)found / (double)bad : NAN;
    return auroc(n, suspicion, corrupt, &values[1]) ? 0 : -1;
}

int cleaning_measure(const blv_dataset_view *train, blv_precision precision, const void *x,
                     const void *probability, double *values) {
    values[0] = values[1] = values[2] = values[3] = NAN;
    if (!train->true_label)
        return 0;
    double *suspicion = calloc(train->rows, sizeof *suspicion);
    bool *corrupt = calloc(train->rows, sizeof *corrupt);
    int code = suspicion && corrupt
                   ? rank(train, precision, x, probability, suspicion, corrupt, values)
                   : -1;
    free(suspicion);
    free(corrupt);
    return code;
}
