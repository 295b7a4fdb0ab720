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

static blv_error add_values(blv_npz_writer *w, const char *name, size_t ndim, const size_t *shape,
                            const void *values, blv_precision precision, blv_message *why) {
    return precision == BLV_F32 ? blv_npz_add_f32(w, name, ndim, shape, values, why)
                                : blv_npz_add_f64(w, name, ndim, shape, values, why);
}

static blv_error add_dense(blv_npz_writer *w, const blv_dataset_view *v, blv_message *why) {
    size_t shape[2] = {v->rows, v->columns};
    void *compact = v->stride == v->columns ? NULL : blv_dense_rows(v, v->columns, 0.0);
    if (!compact && v->stride != v->columns)
        return blv_explain_memory(why);
    blv_error error = add_values(w, "X", 2, shape, compact ? compact : v->dense, v->precision, why);
    free(compact);
    return error;
}

static blv_error add_sparse(blv_npz_writer *w, const blv_dataset_view *v, int64_t *room,
                            blv_message *why) {
    const size_t stored = v->row_start[v->rows], starts = v->rows + 1, two = 2;
    const int64_t shape[2] = {(int64_t)v->rows, (int64_t)v->columns};
    BLV_CHECK(add_values(w, "data", 1, &stored, v->value, v->precision, why));
    for (size_t k = 0; k < stored; k++)
        room[k] = v->column[k];
    BLV_CHECK(blv_npz_add_i64(w, "indices", 1, &stored, room, why));
    for (size_t i = 0; i < starts; i++)
        room[i] = (int64_t)v->row_start[i];
    BLV_CHECK(blv_npz_add_i64(w, "indptr", 1, &starts, room, why));
    BLV_CHECK(blv_npz_add_i64(w, "shape", 1, &two, shape, why));
    return blv_npz_add_text(w, "format", "csr", why);
}

/* Whether all classes are named by whole numbers; value[c] becomes what class c stands for in y. */
static bool class_values(const blv_dataset_view *v, int64_t *value) {
    bool whole = true;
    for (size_t c = 0; whole && c < v->classes; c++) {
        double number = 0.5;
        whole = blv_number_parse(v->class_names[c], &number) == 0 && number == floor(number) &&
                fabs(number) < 0x1p53;
        value[c] = whole ? (int64_t)number : 0;
    }
    for (size_t c = 0; !whole && c < v->classes; c++)
        value[c] = (int64_t)c;
    return whole;
}

static blv_error add_classes(blv_npz_writer *w, const blv_dataset_view *v, int64_t *y,
                             int64_t *value, blv_message *why) {
    bool named_by_value = class_values(v, value);
    for (size_t i = 0; i < v->rows; i++)
        y[i] = value[v->label[i]];
    BLV_CHECK(blv_npz_add_i64(w, "y", 1, &v->rows, y, why));
    return named_by_value ? BLV_OK
                          : blv_npz_add_names(w, "class_names", v->class_names, v->classes, why);
}

/* room: for whole numbers, as many as there are rows and one more, and as many as are stored;
 * value: as many as there are classes */
static blv_error add_arrays(blv_npz_writer *w, const blv_dataset_view *v, int64_t *room,
                            int64_t *value, blv_message *why) {
    BLV_CHECK(blv_need_memory(room && value, why));
    BLV_CHECK(v->dense ? add_dense(w, v, why) : add_sparse(w, v, room, why));
    if (v->label)
        BLV_CHECK(add_classes(w, v, room, value, why));
    else if (v->target)
        BLV_CHECK(blv_npz_add_f64(w, "y", 1, &v->rows, v->target, why));
    return v->feature_names
               ? blv_npz_add_names(w, "feature_names", v->feature_names, v->columns, why)
               : BLV_OK;
}

blv_error blv_dataset_write_npz(const blv_dataset_view *view, const char *name, blv_write_fn write,
                                void *context, blv_message *why) {
    const size_t starts = view->rows + 1, stored = view->dense ? 0 : view->row_start[view->rows];
    blv_npz_writer *w = NULL;
    BLV_CHECK(blv_npz_create_to(&w, name, write, context, why));
    int64_t *room = blv_data_alloc(stored > starts ? stored : starts, sizeof *room);
    int64_t *value = blv_data_alloc(view->classes, sizeof *value);
    blv_error error = add_arrays(w, view, room, value, why);
    free(room);
    free(value);
    if (!error)
        return blv_npz_commit(w, why);
    blv_npz_discard(w);
    return error;
}
