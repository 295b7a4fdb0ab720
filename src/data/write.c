/* Writes data sets: libsvm, CSV, NPZ. */
#include "base/atomic_file.h"
#include "base/number_text.h"
#include "data/dataset_private.h"
#include "io/npz_private.h"
#include "io/text_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool names_are_numbers(const blv_dataset_view *v) {
    double number;
    for (size_t c = 0; c < v->classes; c++)
        if (blv_number_parse(v->class_names[c], &number) != 0)
            return false;
    return true;
}

/* ---- libsvm ---- */

static void put_count(blv_text_out *out, size_t count) {
    char text[32];
    int length = snprintf(text, sizeof text, "%zu", count);
    blv_text_out_put(out, text, (size_t)length);
}

/* A class by its name where all names are numbers, else by its number; 0 where there is nothing. */
static void put_libsvm_label(blv_text_out *out, const blv_dataset_view *v, size_t i, bool named) {
    if (v->target)
        blv_text_out_number(out, v->target[i], BLV_F64);
    else if (v->label && named)
        blv_text_out_string(out, v->class_names[v->label[i]]);
    else
        put_count(out, v->label ? (size_t)v->label[i] : 0);
}

static void put_entry(blv_text_out *out, const blv_dataset_view *v, size_t column, double value) {
    blv_text_out_put(out, " ", 1);
    put_count(out, column + 1);
    blv_text_out_put(out, ":", 1);
    blv_text_out_number(out, value, v->precision);
}

/* Whether some row has a value other than zero in the last column. */
static bool last_column_shows(const blv_dataset_view *v) {
    bool shows = false;
    for (size_t i = 0; !shows && i < v->rows; i++) {
        const blv_stored_row row = blv_row_at(v, i);
        shows = row.end > row.first && blv_column_at(&row, row.end - 1) == v->columns - 1 &&
                blv_value_get(blv_stored_values(v), v->precision, row.end - 1) != 0.0;
    }
    return shows;
}

/* Zeros are left out. The first row names the last column, so that the width is not lost. */
static void write_libsvm(blv_text_out *out, const blv_dataset_view *v) {
    bool named = names_are_numbers(v), width_known = last_column_shows(v);
    for (size_t i = 0; i < v->rows && !out->error; i++) {
        put_libsvm_label(out, v, i, named);
        const blv_stored_row row = blv_row_at(v, i);
        for (size_t k = row.first; k < row.end; k++) {
            double value = blv_value_get(blv_stored_values(v), v->precision, k);
            if (value != 0.0)
                put_entry(out, v, blv_column_at(&row, k), value);
        }
        if (i == 0 && !width_known)
            put_entry(out, v, v->columns - 1, 0.0);
        blv_text_out_put(out, "\n", 1);
    }
}

/* ---- CSV ---- */

static void put_header(blv_text_out *out, const blv_dataset_view *v, char separator) {
    for (size_t j = 0; j < v->columns; j++) {
        if (j > 0)
            blv_text_out_put(out, &separator, 1);
        if (v->feature_names) {
            blv_text_out_field(out, v->feature_names[j], separator);
        } else {
            blv_text_out_put(out, "x", 1);
            put_count(out, j);
        }
    }
    if (v->label || v->target) {
        blv_text_out_put(out, &separator, 1);
        blv_text_out_string(out, v->label ? "label" : "target");
    }
    blv_text_out_put(out, "\n", 1);
}

static void put_features(blv_text_out *out, const blv_dataset_view *v, size_t i, char separator) {
    const blv_stored_row row = blv_row_at(v, i);
    size_t next = row.first;
    for (size_t j = 0; j < v->columns; j++) {
        bool stored = next < row.end && blv_column_at(&row, next) == j;
        if (j > 0)
            blv_text_out_put(out, &separator, 1);
        blv_text_out_number(
            out, stored ? blv_value_get(blv_stored_values(v), v->precision, next++) : 0.0,
            v->precision);
    }
}

static void write_csv(blv_text_out *out, const blv_dataset_view *v, char separator) {
    put_header(out, v, separator);
    for (size_t i = 0; i < v->rows && !out->error; i++) {
        put_features(out, v, i, separator);
        if (v->label || v->target)
            blv_text_out_put(out, &separator, 1);
        if (v->label)
            blv_text_out_field(out, v->class_names[v->label[i]], separator);
        else if (v->target)
            blv_text_out_number(out, v->target[i], BLV_F64);
        blv_text_out_put(out, "\n", 1);
    }
}

/* ---- NPZ ----
 *
 *   dense   X (rows, columns)
 *   sparse  data, indices, indptr, shape, format: as scipy.sparse.save_npz writes a CSR matrix
 *   y       targets; or classes: the whole numbers that they are named by, else 0, 1, ... with the
 *           names in class_names
 *   feature_names   where there are some
 *
 * Names are arrays of bytes (UTF-8), padded with zero bytes. */

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

static blv_error write_npz(const blv_dataset_view *view, const char *name, blv_write_fn write,
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

/* ---- Any of them ---- */

static bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return length >= n && strcmp(text + length - n, end) == 0;
}

static blv_error write_text(const blv_dataset_view *v, const char *name, bool libsvm,
                            blv_write_fn write, void *context, blv_message *why) {
    blv_text_out *out = blv_text_out_open(name, write, context, why);
    BLV_CHECK(blv_need_memory(out, why));
    bool tabs = ends_in(name, ".tsv") || ends_in(name, ".tsv.gz");
    if (libsvm)
        write_libsvm(out, v);
    else
        write_csv(out, v, tabs ? '\t' : ',');
    return blv_text_out_close(out);
}

static blv_error check_format(const char *format, blv_message *why) {
    if (strcmp(format, "libsvm") == 0 || strcmp(format, "csv") == 0 || strcmp(format, "npz") == 0 ||
        strcmp(format, "source") == 0)
        return BLV_OK;
    return blv_explain(why, BLV_E_NAME,
                       "there is no format '%.50s'; expected libsvm, csv, npz or source", format);
}

blv_error blv_dataset_write_to(const blv_dataset *dataset, const char *name, const char *format,
                               blv_write_fn write, void *context, blv_message *why) {
    BLV_CHECK(blv_need_arguments(dataset && name && format && write, __func__, why));
    BLV_CHECK(check_format(format, why));
    if (strcmp(format, "source") == 0)
        return blv_dataset_write_source(dataset, name, write, context, why);
    BLV_CHECK(blv_dataset_expect_whole(dataset, "write", why));
    if (strcmp(format, "npz") == 0)
        return write_npz(&dataset->view, name, write, context, why);
    return write_text(&dataset->view, name, strcmp(format, "libsvm") == 0, write, context, why);
}

blv_error blv_dataset_write(const blv_dataset *dataset, const char *path, const char *format,
                            blv_message *why) {
    if (!dataset || !path || !*path || !format)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_dataset_write: dataset, path or format is missing");
    blv_atomic_file file;
    BLV_CHECK(check_format(format, why));
    BLV_CHECK(blv_atomic_file_open(&file, path, why));
    blv_error error =
        blv_dataset_write_to(dataset, path, format, blv_atomic_file_write, &file, why);
    if (!error)
        return blv_atomic_file_commit(&file, why);
    blv_atomic_file_discard(&file);
    return error;
}
