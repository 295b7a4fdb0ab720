/* What the sources that derive, change and write data sets share. */
#ifndef BLV_DATA_DATASET_OPS_H
#define BLV_DATA_DATASET_OPS_H

#include "data/dataset_private.h"

/* ---- Elements in either precision ---- */

static inline size_t blv_value_size(blv_precision precision) {
    return precision == BLV_F32 ? sizeof(float) : sizeof(double);
}

static inline double blv_value_get(const void *values, blv_precision precision, size_t i) {
    return precision == BLV_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static inline void blv_value_set(void *values, blv_precision precision, size_t i, double value) {
    if (precision == BLV_F32)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}

/* ---- Rows, dense or sparse ---- */

/* The stored values of a row: elements first .. end-1 of blv_stored_values. */
typedef struct blv_stored_row {
    size_t first, end;
    const uint32_t *column; /* of all elements of a sparse set; NULL: dense */
} blv_stored_row;

static inline const void *blv_stored_values(const blv_dataset_view *v) {
    return v->dense ? v->dense : v->value;
}

static inline blv_stored_row blv_row_at(const blv_dataset_view *v, size_t i) {
    if (v->dense)
        return (blv_stored_row){i * v->stride, i * v->stride + v->columns, NULL};
    return (blv_stored_row){v->row_start[i], v->row_start[i + 1], v->column};
}

/* The column of element k of the row. */
static inline size_t blv_column_at(const blv_stored_row *row, size_t k) {
    return row->column ? row->column[k] : k - row->first;
}

/* Copies dense rows without gaps; columns beyond those of the set hold `fill`. */
void blv_dense_copy(const blv_dataset_view *v, size_t columns, double fill, void *to);
/* The same to memory from malloc, NULL when it is short. */
void *blv_dense_rows(const blv_dataset_view *v, size_t columns, double fill);

/* ---- Memory: NULL when it is short or count * size does not fit; one byte at least ---- */

void *blv_data_alloc(size_t count, size_t size);
/* A copy of count elements. */
void *blv_data_copy(const void *source, size_t count, size_t size);
/* Copies of count strings in one block. */
char **blv_strings_copy(const char *const *strings, size_t count);

/* ---- Whole sets ---- */

/* The rows index[0 .. count-1]; NULL when memory is short. */
blv_dataset *blv_dataset_pick(const blv_dataset *source, const size_t *index, size_t count);

/* Converts the features to a layout (AUTO: sparse stays sparse unless a quarter or more is stored)
 * and a precision. name: of the set, for messages. */
blv_error blv_dataset_convert(blv_dataset *dataset, blv_layout layout, blv_precision precision,
                              const char *name, blv_message *why);

#endif
