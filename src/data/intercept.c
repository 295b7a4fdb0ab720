/* One more column, of ones. */
#include "data/dataset_ops.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a sparse set, each with a 1 in one more column. */
static bool append_ones(blv_dataset *to, const blv_dataset_view *v) {
    size_t size = blv_value_size(v->precision), stored = v->row_start[v->rows] + v->rows;
    size_t *start = blv_data_alloc(v->rows + 1, sizeof *start);
    uint32_t *column = blv_data_alloc(stored, sizeof *column);
    char *value = blv_data_alloc(stored, size);
    if (start)
        start[0] = 0;
    for (size_t i = 0; start && column && value && i < v->rows; i++) {
        size_t from = v->row_start[i], count = v->row_start[i + 1] - from, at = from + i;
        if (count > 0) {
            memcpy(column + at, v->column + from, count * sizeof *column);
            memcpy(value + at * size, (const char *)v->value + from * size, count * size);
        }
        column[at + count] = (uint32_t)v->columns;
        blv_value_set(value, v->precision, at + count, 1.0);
        start[i + 1] = at + count + 1;
    }
    return blv_dataset_put_sparse(to, start, column, value);
}

static bool append_name(blv_dataset *to, const blv_dataset_view *v, const char *name) {
    if (!v->feature_names)
        return true;
    const char **longer = blv_data_alloc(v->columns + 1, sizeof *longer);
    if (!longer)
        return false;
    memcpy(longer, v->feature_names, v->columns * sizeof *longer);
    longer[v->columns] = name;
    char **names = blv_strings_copy(longer, v->columns + 1);
    free(longer);
    return blv_dataset_put(to, BLV_PART_FEATURE_NAMES, names);
}

blv_error blv_dataset_intercept(blv_dataset *dataset, blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_intercept: dataset is NULL");
    const blv_dataset_view *v = &dataset->view;
    if (v->columns == UINT32_MAX)
        return blv_explain(why, BLV_E_VALUE, "intercept: there is no room for one more column");
    blv_dataset *wider = blv_dataset_share(dataset);
    if (!wider)
        return blv_explain_memory(why);
    blv_dataset_drop_transposed(wider);
    wider->view.columns = v->columns + 1;
    bool ok = v->dense
                  ? blv_dataset_put(wider, BLV_PART_DENSE, blv_dense_rows(v, v->columns + 1, 1.0))
                  : append_ones(wider, v);
    ok = ok && append_name(wider, v, "intercept") &&
         blv_dataset_record(wider, "intercept: column %zu of ones", v->columns);
    return blv_dataset_commit(dataset, wider, ok, why);
}
