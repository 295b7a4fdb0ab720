/* Data sets as NPZ.
 *
 *   dense   X (rows, columns)
 *   sparse  data, indices, indptr, shape, format: as scipy.sparse.save_npz writes a CSR matrix
 *   y       targets; or classes: the whole numbers that they are named by, else 0, 1, ... with the
 *           names in class_names
 *   feature_names   where there are some
 *
 * Names are arrays of bytes (UTF-8), padded with zero bytes. */
#include "base/number_text.h"
#include "data/dataset_private.h"
#include "io/npz_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static blv_error add_values(blv_npz_writer *w, const char *name, size_t ndim, const size_t *shape,
                            const void *values, blv_precision precision, blv_message *why) {
    return precision == BLV_F32 ? blv_npz_add_f32(w, name, ndim, shape, values, why)
                                : blv_npz_add_f64(w, name, ndim, shape, values, why);
}

static blv_error add_dense(blv_npz_writer *w, const blv_dataset_view *v, blv_message *why) {
    size_t shape[2] = {v->rows, v->columns};
    if (v->stride == v->columns)
        return add_values(w, "X", 2, shape, v->dense, v->precision, why);
    void *compact = blv_dense_rows(v, v->columns, 0.0);
    if (!compact)
        return blv_explain_memory(why);
    blv_error error = add_values(w, "X", 2, shape, compact, v->precision, why);
    free(compact);
    return error;
}

static blv_error add_sparse(blv_npz_writer *w, const blv_dataset_view *v, blv_message *why) {
    size_t stored = v->row_start[v->rows], starts = v->rows + 1, two = 2;
    int64_t *whole = blv_data_alloc(stored > starts ? stored : starts, sizeof *whole);
    if (!whole)
        return blv_explain_memory(why);
    blv_error error = add_values(w, "data", 1, &stored, v->value, v->precision, why);
    for (size_t k = 0; k < stored; k++)
        whole[k] = v->column[k];
    if (!error)
        error = blv_npz_add_i64(w, "indices", 1, &stored, whole, why);
    for (size_t i = 0; i < starts; i++)
        whole[i] = (int64_t)v->row_start[i];
    if (!error)
        error = blv_npz_add_i64(w, "indptr", 1, &starts, whole, why);
    const int64_t shape[2] = {(int64_t)v->rows, (int64_t)v->columns};
    if (!error)
        error = blv_npz_add_i64(w, "shape", 1, &two, shape, why);
    if (!error)
        error = blv_npz_add_text(w, "format", "csr", why);
    free(whole);
    return error;
}

/* Whether all classes are named by whole numbers; value[c] becomes what class c stands for in y. */
static bool class_values(const blv_dataset_view *v, int64_t *value) {
    bool whole = true;
    for (size_t c = 0; whole && c < v->classes; c++) {
        double number = 0.5;
        whole = blv_number_parse(v->class_names[c], &number) == 0 && number == floor(number) &&
                fabs(number) <= 0x1p53;
        value[c] = whole ? (int64_t)number : 0;
    }
    for (size_t c = 0; !whole && c < v->classes; c++)
        value[c] = (int64_t)c;
    return whole;
}

static blv_error add_classes(blv_npz_writer *w, const blv_dataset_view *v, blv_message *why) {
    int64_t *value = blv_data_alloc(v->classes, sizeof *value);
    int64_t *y = blv_data_alloc(v->rows, sizeof *y);
    blv_error error = value && y ? BLV_OK : blv_explain_memory(why);
    if (!error) {
        bool named_by_value = class_values(v, value);
        for (size_t i = 0; i < v->rows; i++)
            y[i] = value[v->label[i]];
        error = blv_npz_add_i64(w, "y", 1, &v->rows, y, why);
        if (!error && !named_by_value)
            error = blv_npz_add_names(w, "class_names", v->class_names, v->classes, why);
    }
    free(value);
    free(y);
    return error;
}

blv_error blv_dataset_write_npz(const blv_dataset_view *view, const char *name, blv_write_fn write,
                                void *context, blv_message *why) {
    const blv_dataset_view *v = view;
    blv_npz_writer *w = NULL;
    BLV_CHECK(blv_npz_create_to(&w, name, write, context, why));
    blv_error error = v->dense ? add_dense(w, v, why) : add_sparse(w, v, why);
    if (!error && v->label)
        error = add_classes(w, v, why);
    else if (!error && v->target)
        error = blv_npz_add_f64(w, "y", 1, &v->rows, v->target, why);
    if (!error && v->feature_names)
        error = blv_npz_add_names(w, "feature_names", v->feature_names, v->columns, why);
    if (error) {
        blv_npz_discard(w);
        return error;
    }
    return blv_npz_commit(w, why);
}
