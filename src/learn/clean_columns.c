/* A ridge hides what only small differences of columns tell, such as the shape of animals beside
 * their size. Of standardized rows z with the covariance C these columns are D C^(-1/4) z, D so
 * that each has the variance 1: half way between the columns as they are and C^(-1/2) z, under
 * which a ridge treats all directions alike, those of rounding too. */
#include "learn/clean_columns.h"

#include "base/message.h"
#include "base/precision.h"
#include "base/rank_exchange.h"
#include "learn/row_sets.h"
#include "linsolve/dense_symmetric.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double least_spread = 1e-6; /* of the largest eigenvalue */

/* C (n x n): the mean products of the first n columns, whose means are 0. */
static bool covariance(const blv_dataset *set, size_t n, double *C) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    for (size_t i = 0; i < blv_rows_here(set); i++)
        for (size_t j = 0; j < n; j++) {
            const double z =
                blv_value_get(v->dense, v->precision, i * v->stride + j) / (double)v->rows;
            for (size_t k = 0; k <= j; k++)
                C[j * n + k] += z * blv_value_get(v->dense, v->precision, i * v->stride + k);
        }
    if (v->ranks && !v->ranks->sum(v->ranks->context, n * n, C))
        return false;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < j; k++)
            C[k * n + j] = C[j * n + k];
    return true;
}

/* map (n x n, 0 at first) of the covariance C, which is lost. rows: n^2 numbers. */
static void make_map(size_t n, double *C, double *rows, double *map) {
    double largest = 0.0;
    blv_dense_eigen(n, C, rows);
    for (size_t k = 0; k < n; k++)
        largest = fmax(largest, C[k * n + k]);
    for (size_t j = 0; j < n; j++) {
        double variance = 0.0;
        for (size_t k = 0; k < n; k++) {
            const double spread = fmax(C[k * n + k], fmax(least_spread * largest, DBL_MIN));
            const double shrunk = rows[k * n + j] / sqrt(sqrt(spread));
            variance += shrunk * shrunk * C[k * n + k];
            for (size_t i = 0; i < n; i++)
                map[j * n + i] += shrunk * rows[k * n + i];
        }
        const bool varies = variance > least_spread * sqrt(largest);
        for (size_t i = 0; i < n; i++)
            map[j * n + i] = varies ? map[j * n + i] / sqrt(variance) : 0.0;
    }
}

static blv_error change_rows(const blv_dataset *from, size_t n, const double *map, blv_dataset **to,
                             blv_message *why) {
    const blv_dataset_view *v = blv_dataset_view_of(from);
    blv_dataset_view view = *v;
    const size_t rows = blv_rows_here(from), size = blv_value_size(v->precision);
    void *numbers = malloc(rows * v->columns * size + 1);
    double *z = malloc((n + 1) * sizeof *z);
    blv_error error = numbers && z ? BLV_OK : blv_explain_memory(why);
    for (size_t i = 0; error == BLV_OK && i < rows; i++) {
        for (size_t j = 0; j < v->columns; j++)
            z[j] = blv_value_get(v->dense, v->precision, i * v->stride + j);
        for (size_t j = 0; j < n; j++) {
            double x = 0.0;
            for (size_t k = 0; k < n; k++)
                x += map[j * n + k] * z[k];
            x = fmin(fmax(x, -BLV_CLEAN_DEVIATIONS), BLV_CLEAN_DEVIATIONS);
            blv_value_set(numbers, v->precision, i * v->columns + j, x);
        }
        blv_value_set(numbers, v->precision, i * v->columns + n, z[n]);
    }
    view.dense = numbers;
    view.stride = v->columns;
    if (error == BLV_OK)
        error = blv_dataset_create(to, &view, NULL, why);
    free(numbers);
    free(z);
    return error;
}

blv_error blv_clean_separate_columns(const blv_dataset *const *from, blv_dataset **to, double *map,
                                     blv_message *why) {
    const size_t n = blv_dataset_view_of(from[0])->columns - 1;
    double *C = calloc(2 * n * n + 1, sizeof *C);
    blv_error error = C ? BLV_OK : blv_explain_memory(why);
    if (error == BLV_OK && !covariance(from[0], n, C))
        error = blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
    if (error == BLV_OK)
        make_map(n, C, C + n * n, map);
    for (size_t s = 0; error == BLV_OK && s < 3; s++)
        if (from[s])
            error = change_rows(from[s], n, map, &to[s], why);
    free(C);
    return error;
}
