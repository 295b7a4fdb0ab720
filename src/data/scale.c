/* Scaling of features, in place: by column, by a number, by row.
 *
 * By column, x becomes (x - shift) / divisor:
 *
 *               shift      divisor
 *   standard    mean       sqrt(mean square of x - mean)
 *   unit        smallest   largest - smallest
 *
 * Sparse sets have shift 0, so that zeros stay zeros, and `unit` divides by the largest absolute
 * value. A divisor of 0, that of a constant column, is taken as 1. Sums are in double, whatever the
 * precision; the mean is corrected by the mean of what is left, and the same sum takes the rounding
 * out of the variance. All results are looked at before the first one is stored. */
#include "data/dataset_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Maps of the values: x -> (x - shift[j]) / divisor[j], or factor x ---- */

typedef struct map {
    bool by_row;           /* j is the row, else the column */
    const double *shift;   /* NULL: 0 */
    const double *divisor; /* NULL: the factor applies */
    double factor;
} map;

static inline double mapped(const map *m, double x, size_t j) {
    if (!m->divisor)
        return x * m->factor;
    return (m->shift ? x - m->shift[j] : x) / m->divisor[j];
}

static bool fits(double x, blv_precision precision) {
    return isfinite(precision == BLV_F32 ? (double)(float)x : x);
}

/* false where a result would not be finite. */
static bool map_fits(const blv_dataset_view *v, const map *m) {
    for (size_t i = 0; i < v->rows; i++) {
        size_t start = v->dense ? i * v->stride : v->row_start[i];
        size_t count = v->dense ? v->columns : v->row_start[i + 1] - start;
        const void *values = v->dense ? v->dense : v->value;
        for (size_t k = start; k < start + count; k++) {
            size_t column = v->dense ? k - start : v->column[k];
            double x = mapped(m, blv_value_get(values, v->precision, k), m->by_row ? i : column);
            if (!fits(x, v->precision))
                return false;
        }
    }
    return true;
}

static void map_values(blv_dataset *d, const map *m) {
    const blv_dataset_view *v = &d->view;
    void *values = d->dense ? d->dense : d->value;
    for (size_t i = 0; i < v->rows; i++) {
        size_t start = d->dense ? i * v->stride : v->row_start[i];
        size_t count = d->dense ? v->columns : v->row_start[i + 1] - start;
        for (size_t k = start; k < start + count; k++) {
            size_t column = d->dense ? k - start : v->column[k];
            double x = mapped(m, blv_value_get(values, v->precision, k), m->by_row ? i : column);
            blv_value_set(values, v->precision, k, x);
        }
    }
    for (size_t j = 0; d->column_start && j < v->columns; j++) {
        for (size_t k = v->column_start[j]; k < v->column_start[j + 1]; k++) {
            double x = blv_value_get(d->column_value, v->precision, k);
            blv_value_set(d->column_value, v->precision, k,
                          mapped(m, x, m->by_row ? v->row[k] : j));
        }
    }
}

/* ---- Statistics of columns ---- */

typedef struct column_numbers {
    double *mean, *low, *high; /* columns each; low and high also of the zeros of a sparse set */
    double *square;            /* sum of squares of x - mean, then the variance */
    double *left;              /* sum of x - mean: 0 but for rounding */
    size_t *stored;
} column_numbers;

static void free_numbers(column_numbers *n) {
    free(n->mean);
    free(n->low);
    free(n->high);
    free(n->square);
    free(n->left);
    free(n->stored);
}

static bool make_numbers(column_numbers *n, size_t columns) {
    n->mean = calloc(columns, sizeof(double));
    n->low = calloc(columns, sizeof(double));
    n->high = calloc(columns, sizeof(double));
    n->square = calloc(columns, sizeof(double));
    n->left = calloc(columns, sizeof(double));
    n->stored = calloc(columns, sizeof(size_t));
    return n->mean && n->low && n->high && n->square && n->left && n->stored;
}

static void add_value(column_numbers *n, size_t j, double x) {
    n->mean[j] += x;
    if (n->stored[j] == 0 || x < n->low[j])
        n->low[j] = x;
    if (n->stored[j] == 0 || x > n->high[j])
        n->high[j] = x;
    n->stored[j]++;
}

static void add_deviation(column_numbers *n, size_t j, double x) {
    double deviation = x - n->mean[j];
    n->left[j] += deviation;
    n->square[j] += deviation * deviation;
}

/* Hands every stored value to `add`, row by row. */
static void visit(const blv_dataset_view *v, column_numbers *n,
                  void (*add)(column_numbers *, size_t, double)) {
    for (size_t i = 0; i < v->rows; i++) {
        size_t start = v->dense ? i * v->stride : v->row_start[i];
        size_t count = v->dense ? v->columns : v->row_start[i + 1] - start;
        const void *values = v->dense ? v->dense : v->value;
        for (size_t k = start; k < start + count; k++)
            add(n, v->dense ? k - start : v->column[k], blv_value_get(values, v->precision, k));
    }
}

static void compute_numbers(const blv_dataset_view *v, column_numbers *n) {
    double rows = (double)v->rows;
    visit(v, n, add_value);
    for (size_t j = 0; j < v->columns; j++) {
        n->mean[j] /= rows;
        if (n->stored[j] < v->rows) {
            n->low[j] = fmin(n->low[j], 0.0);
            n->high[j] = fmax(n->high[j], 0.0);
        }
    }
    visit(v, n, add_deviation);
    for (size_t j = 0; j < v->columns; j++) {
        double zeros = rows - (double)n->stored[j];
        double left = n->left[j] - zeros * n->mean[j];
        double square = n->square[j] + zeros * n->mean[j] * n->mean[j];
        n->square[j] = fmax(0.0, (square - left * left / rows) / rows);
        n->mean[j] += left / rows;
    }
}

/* ---- Scaling by column ---- */

static const char *const scaling_word[] = {
    [BLV_SCALE_STANDARD] = "standardize", [BLV_SCALE_UNIT] = "scale to unit"};

static blv_error check_scale(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                             blv_message *why) {
    if (!datasets || count == 0)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_scale: there are no sets");
    if (scaling != BLV_SCALE_STANDARD && scaling != BLV_SCALE_UNIT)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_scale: unknown scaling");
    for (size_t s = 0; s < count; s++) {
        for (size_t t = 0; t < s; t++)
            if (datasets[s] == datasets[t])
                return blv_explain(why, BLV_E_ARGUMENT,
                                   "blv_dataset_scale: sets %zu and %zu are the same", t, s);
        if (!datasets[s])
            return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_scale: set %zu is NULL", s);
        const blv_dataset_view *v = &datasets[s]->view, *first = &datasets[0]->view;
        if (v->columns != first->columns || !v->dense != !first->dense)
            return blv_explain(why, BLV_E_VALUE,
                               "%s: set %zu is %s with %zu columns, the first is %s with %zu",
                               scaling_word[scaling], s, v->dense ? "dense" : "sparse", v->columns,
                               first->dense ? "dense" : "sparse", first->columns);
    }
    return BLV_OK;
}

/* Puts shift into n->mean and the divisor into n->square. Columns that are constant in the set (all
 * zero where a sparse one is scaled to unit) get 1; their number is returned. */
static size_t choose_divisors(const blv_dataset_view *v, blv_scaling scaling, column_numbers *n) {
    size_t constant = 0;
    for (size_t j = 0; j < v->columns; j++) {
        double low = n->low[j], high = n->high[j];
        bool same = low == high;
        if (scaling == BLV_SCALE_STANDARD) {
            n->mean[j] = same ? low : n->mean[j];
            n->square[j] = same ? 0.0 : sqrt(n->square[j]);
        } else {
            n->mean[j] = low;
            n->square[j] = v->dense ? high - low : fmax(fabs(low), fabs(high));
        }
        if (n->square[j] == 0.0) {
            n->square[j] = 1.0;
            constant++;
        }
    }
    return constant;
}

static blv_error check_numbers(const column_numbers *n, blv_dataset *const *datasets, size_t count,
                               const map *m, blv_scaling scaling, blv_message *why) {
    const blv_dataset_view *first = &datasets[0]->view;
    for (size_t j = 0; j < first->columns; j++)
        if (!isfinite(n->mean[j]) || !isfinite(n->square[j]))
            return blv_explain(why, BLV_E_VALUE, "%s: the values of column %zu are too large",
                               scaling_word[scaling], j);
    for (size_t s = 0; s < count; s++)
        if (!map_fits(&datasets[s]->view, m))
            return blv_explain(why, BLV_E_VALUE, "%s: a value of set %zu would not be finite",
                               scaling_word[scaling], s);
    return BLV_OK;
}

static blv_error record_all(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                            size_t constant, blv_message *why) {
    const blv_dataset_view *first = &datasets[0]->view;
    for (size_t s = 0; s < count; s++) {
        if (blv_dataset_record(datasets[s], "%s%s by %zu rows%s: %zu of %zu columns constant",
                               scaling_word[scaling], first->dense ? "" : " without shift",
                               first->rows, s == 0 ? "" : " of another set", constant,
                               first->columns) == BLV_OK)
            continue;
        while (s-- > 0)
            blv_dataset_unrecord(datasets[s]);
        return blv_data_no_memory(why);
    }
    return BLV_OK;
}

blv_error blv_dataset_scale(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                            blv_message *why) {
    blv_error error = check_scale(datasets, count, scaling, why);
    if (error)
        return error;
    const blv_dataset_view *first = &datasets[0]->view;
    column_numbers n = {0};
    if (!make_numbers(&n, first->columns)) {
        free_numbers(&n);
        return blv_data_no_memory(why);
    }
    compute_numbers(first, &n);
    size_t constant = choose_divisors(first, scaling, &n);
    map m = {.shift = first->dense ? n.mean : NULL, .divisor = n.square};
    error = check_numbers(&n, datasets, count, &m, scaling, why);
    for (size_t s = 0; !error && s < count; s++)
        error = blv_dataset_own_features(datasets[s], why);
    if (!error)
        error = record_all(datasets, count, scaling, constant, why);
    for (size_t s = 0; !error && s < count; s++)
        map_values(datasets[s], &m);
    free_numbers(&n);
    return error;
}

blv_error blv_dataset_scale_numbers(const blv_dataset *dataset, blv_scaling scaling, double *shift,
                                    double *divisor, blv_message *why) {
    blv_dataset *const sets[] = {(blv_dataset *)dataset}; /* looked at only */
    blv_error error = check_scale(sets, 1, scaling, why);
    if (error)
        return error;
    if (!shift || !divisor)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_scale_numbers: a NULL argument");
    const blv_dataset_view *v = &dataset->view;
    column_numbers n = {0};
    if (!make_numbers(&n, v->columns)) {
        free_numbers(&n);
        return blv_data_no_memory(why);
    }
    compute_numbers(v, &n);
    choose_divisors(v, scaling, &n);
    for (size_t j = 0; j < v->columns; j++) {
        shift[j] = v->dense ? n.mean[j] : 0.0;
        divisor[j] = n.square[j];
    }
    free_numbers(&n);
    return BLV_OK;
}

/* ---- By a number, and by row ---- */

static blv_error apply(blv_dataset *dataset, const map *m, const char *word, blv_message *why) {
    if (!map_fits(&dataset->view, m))
        return blv_explain(why, BLV_E_VALUE, "%s: a value would not be finite", word);
    blv_error error = blv_dataset_own_features(dataset, why);
    if (!error && blv_dataset_record(dataset, "%s", word) != BLV_OK)
        error = blv_data_no_memory(why);
    if (!error)
        map_values(dataset, m);
    return error;
}

blv_error blv_dataset_multiply(blv_dataset *dataset, double factor, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_multiply: dataset is NULL");
    if (!isfinite(factor))
        return blv_explain(why, BLV_E_VALUE, "multiply: factor %g; expected a finite number",
                           factor);
    char word[64];
    snprintf(word, sizeof word, "multiply by %.17g", factor);
    return apply(dataset, &(map){.factor = factor}, word, why);
}

/* Length of a row, from values divided by the largest, so that squares do not overflow. */
static double row_length(const blv_dataset_view *v, size_t i) {
    size_t start = v->dense ? i * v->stride : v->row_start[i];
    size_t end = v->dense ? start + v->columns : v->row_start[i + 1];
    const void *values = v->dense ? v->dense : v->value;
    double largest = 0.0, sum = 0.0;
    for (size_t k = start; k < end; k++)
        largest = fmax(largest, fabs(blv_value_get(values, v->precision, k)));
    if (largest == 0.0)
        return 0.0;
    for (size_t k = start; k < end; k++) {
        double x = blv_value_get(values, v->precision, k) / largest;
        sum += x * x;
    }
    return largest * sqrt(sum);
}

blv_error blv_dataset_unit_rows(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_unit_rows: dataset is NULL");
    const blv_dataset_view *v = &dataset->view;
    double *length = blv_data_alloc(v->rows, sizeof *length);
    if (!length)
        return blv_data_no_memory(why);
    for (size_t i = 0; i < v->rows; i++) {
        length[i] = row_length(v, i);
        if (length[i] == 0.0)
            length[i] = 1.0;
    }
    blv_error error = BLV_OK;
    for (size_t i = 0; !error && i < v->rows; i++)
        if (!isfinite(length[i]))
            error = blv_explain(why, BLV_E_VALUE, "unit rows: row %zu is too long", i);
    if (!error)
        error = apply(dataset, &(map){.by_row = true, .divisor = length}, "unit rows", why);
    free(length);
    return error;
}
