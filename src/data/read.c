/* Reads a data set: tells the format, lets its reader fill the set, brings the features to the
 * wanted layout and precision. */
#include "base/caller_struct.h"
#include "data/reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Layout: features are in double here ---- */

static blv_error make_dense(blv_reading *r) {
    blv_dataset *d = r->dataset;
    size_t rows = d->view.rows, columns = d->view.columns;
    if (columns > 0 && rows > PTRDIFF_MAX / sizeof(double) / columns)
        return blv_explain(r->why, BLV_E_MEMORY, "%s: %zu rows of %zu columns do not fit dense",
                           r->shown, rows, columns);
    double *dense = calloc(rows * columns > 0 ? rows * columns : 1, sizeof *dense);
    if (!dense)
        return blv_data_no_memory(r->why);
    const double *value = d->value;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = d->row_start[i]; k < d->row_start[i + 1]; k++)
            dense[i * columns + d->column[k]] = value[k];
    free(d->row_start);
    free(d->column);
    free(d->value);
    d->row_start = NULL;
    d->column = NULL;
    d->value = NULL;
    d->dense = dense;
    return BLV_OK;
}

static blv_error make_sparse(blv_reading *r) {
    blv_dataset *d = r->dataset;
    const blv_precision precision = d->view.precision;
    const size_t rows = d->view.rows, columns = d->view.columns, size = blv_value_size(precision);
    size_t stored = 0;
    for (size_t i = 0; i < rows * columns; i++)
        stored += blv_value_get(d->dense, precision, i) != 0.0;
    d->row_start = blv_data_alloc(rows + 1, sizeof *d->row_start);
    d->column = blv_data_alloc(stored, sizeof *d->column);
    d->value = blv_data_alloc(stored, size);
    if (!d->row_start || !d->column || !d->value)
        return blv_data_no_memory(r->why);
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) {
        d->row_start[i] = n;
        for (size_t k = 0; k < columns; k++) {
            double x = blv_value_get(d->dense, precision, i * columns + k);
            if (x != 0.0) {
                d->column[n] = (uint32_t)k;
                blv_value_set(d->value, precision, n++, x);
            }
        }
    }
    d->row_start[rows] = n;
    free(d->dense);
    d->dense = NULL;
    return BLV_OK;
}

static blv_error set_layout(blv_reading *r) {
    blv_dataset *d = r->dataset;
    if (!d->row_start)
        return d->dense && r->options.layout == BLV_LAYOUT_SPARSE ? make_sparse(r) : BLV_OK;
    double stored = (double)d->row_start[d->view.rows];
    bool many = 4.0 * stored >= (double)d->view.rows * (double)d->view.columns;
    bool dense =
        r->options.layout == BLV_LAYOUT_DENSE || (r->options.layout == BLV_LAYOUT_AUTO && many);
    return dense ? make_dense(r) : BLV_OK;
}

/* ---- Precision ---- */

/* Narrows in place, front to back. */
static blv_error narrow(blv_reading *r, void **values, size_t count) {
    unsigned char *bytes = *values;
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, bytes + i * sizeof wide, sizeof wide);
        float value = (float)wide;
        if (!isfinite(value) && isfinite(wide))
            return blv_explain(r->why, BLV_E_FORMAT,
                               "%s: the value %g does not fit into single precision", r->shown,
                               wide);
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
    *values = blv_trimmed(*values, count, sizeof(float));
    return BLV_OK;
}

static blv_error set_precision(blv_reading *r) {
    blv_dataset *d = r->dataset;
    if (d->view.precision == r->options.precision)
        return BLV_OK;
    d->view.precision = r->options.precision;
    return d->dense ? narrow(r, &d->dense, d->view.rows * d->view.columns)
                    : narrow(r, &d->value, d->row_start[d->view.rows]);
}

/* ---- Reading ---- */

static const char *const format_names[] = {
    [BLV_FORMAT_NONE] = "",           [BLV_FORMAT_LIBSVM] = "libsvm",     [BLV_FORMAT_CSV] = "csv",
    [BLV_FORMAT_NPY] = "npy",         [BLV_FORMAT_NPZ] = "npz",           [BLV_FORMAT_IDX] = "idx",
    [BLV_FORMAT_CIFAR10] = "cifar10", [BLV_FORMAT_CIFAR100] = "cifar100",
};

static blv_error dispatch(blv_reading *r, blv_format format) {
    bool own_labels =
        format != BLV_FORMAT_NPY && format != BLV_FORMAT_NPZ && format != BLV_FORMAT_IDX;
    if (own_labels && r->options.labels)
        return blv_explain(r->why, BLV_E_VALUE,
                           "%s: a file of labels is given, but %s files hold their own", r->shown,
                           format_names[format]);
    switch (format) {
    case BLV_FORMAT_LIBSVM:
        return blv_read_libsvm(r);
    case BLV_FORMAT_CSV:
        return blv_read_csv(r);
    case BLV_FORMAT_NPY:
    case BLV_FORMAT_NPZ:
        return blv_read_npz(r);
    case BLV_FORMAT_IDX:
        return blv_read_idx(r);
    case BLV_FORMAT_CIFAR10:
    case BLV_FORMAT_CIFAR100:
        return blv_read_cifar(r, format == BLV_FORMAT_CIFAR100);
    case BLV_FORMAT_NONE:
        break;
    }
    return blv_explain(r->why, BLV_E_FORMAT, "%s: format unknown", r->shown);
}

static blv_error record(blv_reading *r) {
    const blv_dataset_view *v = &r->dataset->view;
    blv_error error;
    if (v->classes > 0)
        error = blv_dataset_record(r->dataset, "read %s: %s, %zu rows, %zu features, %zu classes",
                                   r->path, v->format, v->rows, v->columns, v->classes);
    else
        error = blv_dataset_record(r->dataset, "read %s: %s, %zu rows, %zu features, %s", r->path,
                                   v->format, v->rows, v->columns,
                                   v->target ? "real targets" : "no labels");
    return error ? blv_data_no_memory(r->why) : BLV_OK;
}

static blv_error read_input(blv_reading *r, blv_format format) {
    blv_error error = BLV_OK;
    if (format == BLV_FORMAT_NONE)
        error = blv_detect_format(r->input, &format, r->why);
    if (error)
        return error;
    r->dataset->view.format = format_names[format];
    error = dispatch(r, format);
    if (!error)
        error = set_layout(r);
    if (!error)
        error = set_precision(r);
    if (!error)
        error = blv_dataset_finish(r->dataset, r->path, r->why);
    return error ? error : record(r);
}

blv_error blv_dataset_read(blv_dataset **dataset, const char *path, const blv_read_options *options,
                           blv_message *why) {
    return blv_dataset_read_as(dataset, BLV_FORMAT_NONE, path, options, why);
}

blv_error blv_dataset_read_as(blv_dataset **dataset, blv_format format, const char *path,
                              const blv_read_options *options, blv_message *why) {
    enum { USUAL_MAX_CLASSES = 10000 };
    if (dataset)
        *dataset = NULL;
    if (!dataset || !path)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_read: a required argument is NULL");
    blv_reading r = {.path = path, .shown = blv_shown_path(path), .why = why};
    blv_error error = BLV_OK;
    if (options)
        error = blv_caller_struct(&r.options, sizeof r.options, options, "blv_read_options", why);
    if (error)
        return error;
    if (r.options.max_classes == 0)
        r.options.max_classes = USUAL_MAX_CLASSES;
    if (r.options.precision != BLV_F32 && r.options.precision != BLV_F64)
        return blv_explain(why, BLV_E_VALUE, "the precision is neither f32 nor f64");
    error = blv_input_open(&r.input, path, why);
    if (error)
        return error;
    r.dataset = blv_dataset_new();
    error = r.dataset ? read_input(&r, format) : blv_data_no_memory(why);
    blv_input_close(r.input);
    if (error) {
        blv_dataset_release(r.dataset);
        return error;
    }
    *dataset = r.dataset;
    return BLV_OK;
}
