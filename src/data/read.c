/* Reads a data set: detects the format, lets its reader fill the set, converts the features to the
 * wanted layout and precision. */
#include "base/caller_struct.h"
#include "data/reading.h"

#include <stdio.h>

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
    char labels[40];
    snprintf(labels, sizeof labels, "%zu classes", v->classes);
    bool added = blv_dataset_record(r->dataset, "read %s: %s, %zu rows, %zu features, %s", r->path,
                                    v->format, v->rows, v->columns,
                                    v->classes > 0 ? labels
                                    : v->target    ? "real targets"
                                                   : "no labels");
    return added ? BLV_OK : blv_explain_memory(r->why);
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
        error = blv_dataset_convert(r->dataset, r->options.layout, r->options.precision, r->shown,
                                    r->why);
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
    BLV_CHECK(blv_caller_struct(&r.options, sizeof r.options, options, "blv_read_options", why));
    if (r.options.max_classes == 0)
        r.options.max_classes = USUAL_MAX_CLASSES;
    if (r.options.precision != BLV_F32 && r.options.precision != BLV_F64)
        return blv_explain(why, BLV_E_VALUE, "the precision is neither f32 nor f64");
    BLV_CHECK(blv_input_open(&r.input, path, why));
    r.dataset = blv_dataset_new();
    blv_error error = r.dataset ? read_input(&r, format) : blv_explain_memory(why);
    blv_input_close(r.input);
    if (error) {
        blv_dataset_release(r.dataset);
        return error;
    }
    *dataset = r.dataset;
    return BLV_OK;
}
