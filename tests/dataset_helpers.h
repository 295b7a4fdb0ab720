/* Small data sets for tests, dense or sparse forms of the same numbers, and a slow way to look at
 * them. */
#ifndef DATASET_HELPERS_H
#define DATASET_HELPERS_H

#include "npz_helpers.h"

#include "bilevel/dataset.h"

#include <math.h>

typedef struct sample {
    size_t rows, columns, classes; /* classes 0: real targets */
    bool sparse;
    blv_precision precision;
    bool named; /* columns have names */
} sample;

/* The value at a place: about half are zero, column 1 is constant 2, column 2 is all zero, row 3 is
 * empty but for column 1. */
static inline double sample_value(size_t i, size_t j) {
    if (j == 1)
        return 2.0;
    uint64_t z = (i * 1000003u + j * 7919u + 17u) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 29) * 0xBF58476D1CE4E5B9u;
    z ^= z >> 32;
    if (j == 2 || i == 3 || z % 2 == 0)
        return 0.0;
    return (double)(float)((double)(z >> 40) / 1048576.0 - 6.0 + (double)j);
}

static inline int32_t sample_label(size_t i, size_t classes) {
    return (int32_t)((i * i + i / 3) % classes);
}

static inline blv_dataset *make_sample(const sample *s) {
    size_t stored = 0, size = s->precision == BLV_F32 ? sizeof(float) : sizeof(double);
    char *values = calloc(s->rows * s->columns, size);
    uint32_t *column = calloc(s->rows * s->columns, sizeof *column);
    size_t *start = calloc(s->rows + 1, sizeof *start);
    int32_t *label = calloc(s->rows, sizeof *label);
    double *target = calloc(s->rows, sizeof *target);
    char(*text)[48] = calloc(s->columns, sizeof *text);
    const char **names = calloc(s->columns, sizeof *names);
    for (size_t i = 0; i < s->rows; i++) {
        for (size_t j = 0; j < s->columns; j++) {
            double x = sample_value(i, j);
            if (s->sparse && x == 0.0)
                continue;
            if (s->precision == BLV_F32)
                ((float *)(void *)values)[stored] = (float)x;
            else
                ((double *)(void *)values)[stored] = x;
            column[stored++] = (uint32_t)j;
        }
        start[i + 1] = stored;
        label[i] = s->classes ? sample_label(i, s->classes) : 0;
        target[i] = sin((double)i);
    }
    for (size_t j = 0; j < s->columns; j++) {
        snprintf(text[j], sizeof text[j], "column \"%zu\", cm", j);
        names[j] = text[j];
    }
    blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                             .rows = s->rows,
                             .columns = s->columns,
                             .precision = s->precision,
                             .classes = s->classes,
                             .label = s->classes ? label : NULL,
                             .target = s->classes ? NULL : target,
                             .feature_names = s->named ? names : NULL};
    if (s->sparse) {
        view.row_start = start;
        view.column = column;
        view.value = values;
    } else {
        view.dense = values;
        view.stride = s->columns;
    }
    blv_dataset *d = NULL;
    blv_message why = {""};
    if (blv_dataset_create(&d, &view, "made for a test", &why) != BLV_OK)
        fail_msg("%s", why.text);
    free(values);
    free(column);
    free(start);
    free(label);
    free(target);
    free(text);
    free(names);
    return d;
}

/* The number at a place, found by looking through the row. */
static inline double value_at(const blv_dataset_view *v, size_t i, size_t j) {
    const void *values = v->dense ? v->dense : v->value;
    size_t at = i * v->stride + j;
    if (!v->dense) {
        at = v->row_start[i];
        while (at < v->row_start[i + 1] && v->column[at] != j)
            at++;
        if (at == v->row_start[i + 1])
            return 0.0;
    }
    return v->precision == BLV_F32 ? (double)((const float *)values)[at]
                                   : ((const double *)values)[at];
}

/* The same by the transposed copy. */
static inline double value_by_column(const blv_dataset_view *v, size_t i, size_t j) {
    for (size_t k = v->column_start[j]; k < v->column_start[j + 1]; k++)
        if (v->row[k] == i)
            return v->precision == BLV_F32 ? (double)((const float *)v->column_value)[k]
                                           : ((const double *)v->column_value)[k];
    return 0.0;
}

static inline void assert_same_features(const blv_dataset_view *a, const blv_dataset_view *b) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < a->columns; j++)
            if (value_at(a, i, j) != value_at(b, i, j))
                fail_msg("row %zu, column %zu: %.17g and %.17g", i, j, value_at(a, i, j),
                         value_at(b, i, j));
}

static inline void assert_transposed_agrees(const blv_dataset_view *v) {
    for (size_t i = 0; i < v->rows; i++)
        for (size_t j = 0; j < v->columns; j++)
            assert_true(value_by_column(v, i, j) == value_at(v, i, j));
}

/* The transposed copy, made anew, agrees; dense sets have none. */
static inline void assert_transposes(blv_dataset *d) {
    assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
    if (blv_dataset_view_of(d)->row_start)
        assert_transposed_agrees(blv_dataset_view_of(d));
}

static inline const char *last_history(const blv_dataset *d) {
    size_t i = 0;
    while (blv_dataset_history(d, i + 1))
        i++;
    return blv_dataset_history(d, i);
}

static inline void assert_says(const blv_message *why, const char *words) {
    if (!strstr(why->text, words))
        fail_msg("'%s' does not say '%s'", why->text, words);
}

/* All four forms of a set: dense and sparse, f64 and f32. */
static inline sample form(sample s, int number) {
    s.sparse = number & 1;
    s.precision = number & 2 ? BLV_F32 : BLV_F64;
    return s;
}
enum { FORMS = 4 };

#endif
