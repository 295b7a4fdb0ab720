/* The transposed copy of a sparse set: a counting sort of its entries by column. */
#include "data/dataset_private.h"

#include <stdlib.h>
#include <string.h>

/* Places every entry of the rows at next[its column], which moves on. Rows come in order, so they
 * ascend in each column. */
static void scatter(const blv_dataset_view *v, size_t *next, uint32_t *row, void *column_value) {
    for (size_t i = 0; i < blv_held_rows(v); i++) {
        for (size_t k = v->row_start[i]; k < v->row_start[i + 1]; k++) {
            size_t to = next[v->column[k]]++;
            row[to] = (uint32_t)i;
            blv_value_set(column_value, v->precision, to, blv_value_get(v->value, v->precision, k));
        }
    }
}

blv_error blv_dataset_transpose(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_transpose: dataset is NULL");
    const blv_dataset_view *v = &dataset->view;
    if (!v->row_start || v->column_start)
        return BLV_OK;
    size_t stored = v->row_start[blv_held_rows(v)], size = blv_value_size(v->precision);
    size_t *start = calloc(v->columns + 1, sizeof *start);
    size_t *next = blv_data_alloc(v->columns, sizeof *next);
    uint32_t *row = blv_data_alloc(stored, sizeof *row);
    void *column_value = blv_data_alloc(stored, size);
    if (start && next && row && column_value) {
        for (size_t k = 0; k < stored; k++)
            start[v->column[k] + 1]++;
        for (size_t j = 0; j < v->columns; j++)
            start[j + 1] += start[j];
        memcpy(next, start, v->columns * sizeof *next);
        scatter(v, next, row, column_value);
    }
    bool made = next != NULL;
    free(next);
    made = blv_dataset_put(dataset, BLV_PART_COLUMN_VALUE, column_value) && made;
    made = blv_dataset_put(dataset, BLV_PART_ROW, row) && made;
    made = blv_dataset_put(dataset, BLV_PART_COLUMN_START, start) && made;
    if (!made)
        blv_dataset_drop_transposed(dataset);
    return blv_need_memory(made, why);
}
