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
#include "base/number_text.h"
#include "base/rank_exchange.h"
#include "data/dataset_private.h"

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

/* Maps all stored values to out, which may be the values themselves; NULL: none is stored. false
 * where a result is not finite. */
static bool map_values(const blv_dataset_view *v, const map *m, void *out) {
    const void *values = blv_stored_values(v);
    for (size_t i = 0; i < blv_held_rows(v); i++) {
        const blv_stored_row row = blv_row_at(v, i);
        for (size_t k = row.first; k < row.end; k++) {
            double x = mapped(m, blv_value_get(values, v->precision, k),
                              m->by_row ? i : blv_column_at(&row, k));
            if (!isfinite(v->precision == BLV_F32 ? (double)(float)x : x))
                return false;
            if (out)
                blv_value_set(out, v->precision, k, x);
        }
    }
    return true;
}

/* Maps the values of all sets, or of none where one of them cannot be. word: what is done; about:
 * what follows it in the history of the first set and of the others. */
static blv_error apply(blv_dataset *const *datasets, size_t count, const map *m, const char *word,
                       const char *about, const char *others_about, blv_message *why) {
    for (size_t s = 0; s < count; s++)
        BLV_CHECK(blv_ranks_agree(datasets[s]->view.ranks,
                                  map_values(&datasets[s]->view, m, NULL)
                                      ? BLV_OK
                                      : blv_explain(why, BLV_E_VALUE,
                                                    "%s: a value of set %zu would not be finite",
                                                    word, s),
                                  why));
    /* from here on only memory may be short, and not once the first value is stored */
    blv_dataset **recorded = calloc(count, sizeof(blv_dataset *));
    bool ok = recorded != NULL;
    for (size_t s = 0; ok && s < count; s++) {
        recorded[s] = blv_dataset_own_values(datasets[s]) ? blv_dataset_share(datasets[s]) : NULL;
        ok = recorded[s] &&
             blv_dataset_record(recorded[s], "%s%s", word, s == 0 ? about : others_about);
    }
    for (size_t s = 0; ok && s < count; s++) {
        blv_dataset *d = datasets[s];
        blv_dataset_drop_transposed(d);
        blv_dataset_put_shared(d, BLV_PART_HISTORY, recorded[s]->part[BLV_PART_HISTORY]);
        map_values(&d->view, m, (void *)blv_stored_values(&d->view)); /* its own */
    }
    for (size_t s = 0; recorded && s < count; s++)
        blv_dataset_release(recorded[s]);
    free(recorded);
    return blv_need_memory(ok, why);
}

/* ---- Statistics of columns ---- */

typedef struct column_numbers {
    double mean, low, high; /* low and high also of the zeros of a sparse set */
    double square;          /* sum of squares of x - mean, then the variance */
    double left;            /* sum of x - mean: 0 but for rounding */
    size_t stored;
} column_numbers;

static void add_numbers(column_numbers *n, const column_numbers *part) {
    n->mean += part->mean;
    if (part->stored > 0 && (n->stored == 0 || part->low < n->low))
        n->low = part->low;
    if (part->stored > 0 && (n->stored == 0 || part->high > n->high))
        n->high = part->high;
    n->stored += part->stored;
}

static void add_value(column_numbers *n, double x) {
    add_numbers(n, &(column_numbers){.mean = x, .low = x, .high = x, .stored = 1});
}

static void add_deviation(column_numbers *n, double x) {
    double deviation = x - n->mean;
    n->left += deviation;
    n->square += deviation * deviation;
}

/* Hands every stored value to `add`, row by row. */
static void visit(const blv_dataset_view *v, column_numbers *n,
                  void (*add)(column_numbers *, double)) {
    const void *values = blv_stored_values(v);
    for (size_t i = 0; i < blv_held_rows(v); i++) {
        const blv_stored_row row = blv_row_at(v, i);
        for (size_t k = row.first; k < row.end; k++)
            add(&n[blv_column_at(&row, k)], blv_value_get(values, v->precision, k));
    }
}

static void add_deviations(column_numbers *n, const column_numbers *part) {
    n->left += part->left;
    n->square += part->square;
}

/* Adds up the parts of all ranks, in their order: those of the values, or those of deviations. */
static bool share_numbers(const blv_dataset_view *v, column_numbers *n, bool deviations) {
    const blv_ranks *ranks = v->ranks;
    if (!blv_ranks_several(ranks))
        return true;
    void *all;
    if (!blv_ranks_gather(ranks, n, v->columns * sizeof *n, &all, NULL))
        return false;
    for (size_t j = 0; j < v->columns; j++) {
        column_numbers sum = {0};
        if (deviations) {
            sum = n[j];
            sum.left = sum.square = 0.0;
        }
        for (size_t r = 0; r < (size_t)ranks->count; r++)
            (deviations ? add_deviations
                        : add_numbers)(&sum, (const column_numbers *)all + r * v->columns + j);
        n[j] = sum;
    }
    free(all);
    return true;
}

static bool compute_numbers(const blv_dataset_view *v, column_numbers *n) {
    double rows = (double)v->rows;
    visit(v, n, add_value);
    if (!share_numbers(v, n, false))
        return false;
    for (size_t j = 0; j < v->columns; j++) {
        n[j].mean /= rows;
        if (n[j].stored < v->rows) {
            n[j].low = fmin(n[j].low, 0.0);
            n[j].high = fmax(n[j].high, 0.0);
        }
    }
    visit(v, n, add_deviation);
    if (!share_numbers(v, n, true))
        return false;
    for (size_t j = 0; j < v->columns; j++) {
        double zeros = rows - (double)n[j].stored;
        double left = n[j].left - zeros * n[j].mean;
        double square = n[j].square + zeros * n[j].mean * n[j].mean;
        n[j].square = fmax(0.0, (square - left * left / rows) / rows);
        n[j].mean += left / rows;
    }
    return true;
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

/* shift and divisor: room for the columns of the set. *constant: columns whose divisor is 1 since
 * it would be 0. */
static blv_error find_columns(const blv_dataset_view *v, blv_scaling scaling, double *shift,
                              double *divisor, size_t *constant, blv_message *why) {
    column_numbers *n = calloc(v->columns, sizeof *n);
    if (!n || !shift || !divisor) {
        free(n);
        return blv_explain_memory(why);
    }
    if (!compute_numbers(v, n)) {
        free(n);
        return blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
    }
    for (size_t j = 0; j < v->columns; j++) {
        double low = n[j].low, high = n[j].high;
        bool same = low == high;
        if (scaling == BLV_SCALE_STANDARD) {
            shift[j] = same ? low : n[j].mean;
            divisor[j] = same ? 0.0 : sqrt(n[j].square);
        } else {
            shift[j] = low;
            divisor[j] = v->dense ? high - low : fmax(fabs(low), fabs(high));
        }
        *constant += divisor[j] == 0.0;
        divisor[j] = divisor[j] == 0.0 ? 1.0 : divisor[j];
    }
    free(n);
    return BLV_OK;
}

static blv_error scale_by(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                          double *shift, double *divisor, blv_message *why) {
    const blv_dataset_view *first = &datasets[0]->view;
    const char *word = scaling_word[scaling], *kind = first->dense ? "" : " without shift";
    size_t constant = 0, n = first->columns;
    BLV_CHECK(find_columns(first, scaling, shift, divisor, &constant, why));
    for (size_t j = 0; j < n; j++)
        if (!isfinite(shift[j]) || !isfinite(divisor[j]))
            return blv_explain(why, BLV_E_VALUE, "%s: the values of column %zu are too large", word,
                               j);
    char about[2][160];
    for (int other = 0; other < 2; other++)
        snprintf(about[other], sizeof about[other], "%s by %zu rows%s: %zu of %zu columns constant",
                 kind, first->rows, other ? " of another set" : "", constant, n);
    const map m = {.shift = first->dense ? shift : NULL, .divisor = divisor};
    return apply(datasets, count, &m, word, about[0], about[1], why);
}

blv_error blv_dataset_scale(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                            blv_message *why) {
    BLV_CHECK(check_scale(datasets, count, scaling, why));
    double *shift = blv_data_alloc(datasets[0]->view.columns, sizeof *shift);
    double *divisor = blv_data_alloc(datasets[0]->view.columns, sizeof *divisor);
    blv_error error = scale_by(datasets, count, scaling, shift, divisor, why);
    free(shift);
    free(divisor);
    return error;
}

blv_error blv_dataset_scale_numbers(const blv_dataset *dataset, blv_scaling scaling, double *shift,
                                    double *divisor, blv_message *why) {
    blv_dataset *const sets[] = {(blv_dataset *)dataset}; /* looked at only */
    BLV_CHECK(check_scale(sets, 1, scaling, why));
    BLV_CHECK(blv_need_arguments(shift && divisor, __func__, why));
    const blv_dataset_view *v = &dataset->view;
    size_t constant = 0;
    BLV_CHECK(find_columns(v, scaling, shift, divisor, &constant, why));
    for (size_t j = 0; !v->dense && j < v->columns; j++)
        shift[j] = 0.0;
    return BLV_OK;
}

/* ---- By a number, and by row ---- */

blv_error blv_dataset_multiply(blv_dataset *dataset, double factor, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_multiply: dataset is NULL");
    if (!isfinite(factor))
        return blv_explain(why, BLV_E_VALUE, "multiply: factor %g; expected a finite number",
                           factor);
    char by[40];
    blv_number_format(factor, by, sizeof by);
    return apply(&dataset, 1, &(map){.factor = factor}, "multiply by ", by, "", why);
}

/* Length of a row, from values divided by the largest, so that squares do not overflow. */
static double row_length(const blv_dataset_view *v, size_t i) {
    const blv_stored_row row = blv_row_at(v, i);
    const void *values = blv_stored_values(v);
    double largest = 0.0, sum = 0.0;
    for (size_t k = row.first; k < row.end; k++) { /* no fmax: it crashes gcc 12 on aarch64 */
        const double size = fabs(blv_value_get(values, v->precision, k));
        if (size > largest)
            largest = size;
    }
    if (largest == 0.0)
        return 0.0;
    for (size_t k = row.first; k < row.end; k++) {
        double x = blv_value_get(values, v->precision, k) / largest;
        sum += x * x;
    }
    return largest * sqrt(sum);
}

blv_error blv_dataset_unit_rows(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_unit_rows: dataset is NULL");
    const blv_dataset_view *v = &dataset->view;
    const size_t held = blv_held_rows(v);
    double *length = blv_data_alloc(held, sizeof *length);
    BLV_CHECK(blv_need_memory(length, why));
    for (size_t i = 0; i < held; i++) {
        length[i] = row_length(v, i);
        if (length[i] == 0.0)
            length[i] = 1.0;
    }
    size_t i = 0;
    while (i < held && isfinite(length[i]))
        i++;
    blv_error error =
        blv_ranks_agree(v->ranks,
                        i < held ? blv_explain(why, BLV_E_VALUE, "unit rows: row %zu is too long",
                                               blv_held_row(v, i))
                                 : BLV_OK,
                        why);
    if (error == BLV_OK)
        error =
            apply(&dataset, 1, &(map){.by_row = true, .divisor = length}, "unit rows", "", "", why);
    free(length);
    return error;
}
