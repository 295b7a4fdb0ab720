/* Reads a data set: detects the format, lets its reader fill the set, converts the features to the
 * wanted layout and precision. */
#include "base/message.h"
#include "base/rank_exchange.h"
#include "data/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name;
    blv_error (*read)(blv_reading *r);
    bool own_labels; /* rather than in a separate file */
} formats[] = {
    [BLV_FORMAT_LIBSVM] = {"libsvm", blv_read_libsvm, true},
    [BLV_FORMAT_CSV] = {"csv", blv_read_csv, true},
    [BLV_FORMAT_ARFF] = {"arff", blv_read_arff, true},
    [BLV_FORMAT_NPY] = {"npy", blv_read_npz, false},
    [BLV_FORMAT_NPZ] = {"npz", blv_read_npz, false},
    [BLV_FORMAT_IDX] = {"idx", blv_read_idx, false},
    [BLV_FORMAT_CIFAR10] = {"cifar10", blv_read_cifar, true},
    [BLV_FORMAT_CIFAR100] = {"cifar100", blv_read_cifar, true},
};

blv_shown_text blv_show(const char *text, size_t length) {
    enum { MOST = 32 };
    blv_shown_text shown = {"nothing"};
    char copy[MOST];
    size_t n = length < MOST ? length : MOST;
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    if (n > 0)
        snprintf(shown.text, sizeof shown.text, "'%.*s%s'", (int)n, copy, length > n ? "..." : "");
    return shown;
}

blv_error blv_reading_expect(const blv_reading *r, uint64_t count, uint64_t size,
                             const char *what) {
    return blv_expect_memory(&r->dataset->limit, count, size, r->shown, what, r->why);
}

static blv_error record(blv_reading *r) {
    const blv_dataset_view *v = &r->dataset->view;
    char labels[40];
    snprintf(labels, sizeof labels, "%zu classes", v->classes);
    return blv_need_memory(blv_dataset_record(r->dataset, "read %s: %s, %zu rows, %zu features, %s",
                                              r->path, v->format, v->rows, v->columns,
                                              v->classes > 0 ? labels
                                              : v->target    ? "real targets"
                                                             : "no labels"),
                           r->why);
}

/* A plain file can be read from any line or row on. */
static bool has_parts(const blv_reading *r) {
    return blv_input_is_file(r->input) && !r->options.weight && r->format != BLV_FORMAT_ARFF;
}

/* Rows, labels and places, in the layout of the file. */
static blv_error take_set(blv_reading *r) {
    if (r->format == BLV_FORMAT_NONE)
        BLV_CHECK(blv_detect_format(r->input, &r->format, r->why));
    if (r->share && !has_parts(r))
        return BLV_NOT_SHARED;
    blv_dataset *d = r->dataset;
    d->view.format = formats[r->format].name;
    if (formats[r->format].own_labels && r->options.labels)
        return blv_explain(r->why, BLV_E_VALUE,
                           "%s: a file of labels is given, but %s files hold their own", r->shown,
                           d->view.format);
    if (r->options.weight && r->format != BLV_FORMAT_CSV && r->format != BLV_FORMAT_ARFF)
        return blv_explain(r->why, BLV_E_VALUE,
                           "%s: weights are a column of a CSV or ARFF file, and this is %s",
                           r->shown, d->view.format);
    BLV_CHECK(formats[r->format].read(r));
    if (r->weight.count > 0 &&
        !blv_dataset_put(d, BLV_PART_WEIGHT, blv_list_take(&r->weight, sizeof(double))))
        return blv_explain_memory(r->why);
    BLV_CHECK(blv_reading_expect(r, d->view.columns, sizeof(double), "a number for each column"));
    BLV_CHECK(blv_put_labels(r));
    return blv_put_places(r);
}

static blv_error read_input(blv_reading *r) {
    blv_dataset *d = r->dataset;
    BLV_CHECK(blv_ranks_agree(r->share, take_set(r), r->why));
    BLV_CHECK(blv_dataset_convert(d, r->options.layout, r->options.precision, r->shown, r->why));
    BLV_CHECK(blv_dataset_finish(d, r->path, r->why));
    return record(r);
}

/* The file and an empty set. */
static blv_error open_set(blv_reading *r) {
    BLV_CHECK(blv_input_open(&r->input, r->path, r->why));
    r->dataset = blv_dataset_new();
    BLV_CHECK(blv_need_memory(r->dataset, r->why));
    r->dataset->limit =
        (blv_memory_limit){.most = r->options.max_memory, .file_bytes = blv_input_size(r->input)};
    blv_input_limit(r->input, &r->dataset->limit);
    return BLV_OK;
}

static blv_error read_set(blv_reading *r, blv_dataset **dataset) {
    blv_error error = blv_ranks_agree(r->share, open_set(r), r->why);
    if (!error)
        error = read_input(r);
    blv_input_close(r->input);
    blv_texts_free(&r->classes);
    free(r->label.items);
    free(r->truth.items);
    free(r->target.items);
    free(r->place.items);
    free(r->weight.items);
    free(r->zero_label);
    if (error)
        blv_dataset_release(r->dataset);
    else
        *dataset = r->dataset;
    return error;
}

/* One rank reads the file and deals its rows out. */
static blv_error read_and_deal(blv_reading *whole, blv_dataset **dataset) {
    const blv_ranks *ranks = whole->options.ranks;
    blv_error error = ranks->rank == 0 ? read_set(whole, dataset) : BLV_OK;
    BLV_CHECK(blv_ranks_agree(ranks, error, whole->why));
    BLV_CHECK(blv_dataset_deal(dataset, ranks, whole->why));
    if (!ranks->broadcast(ranks->context, 0, &whole->format, sizeof whole->format))
        return blv_explain(whole->why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
    (*dataset)->view.format = formats[whole->format].name;
    return blv_need_memory(blv_dataset_note(*dataset, BLV_NOTE_DEALT), whole->why);
}

/* Each rank a part of the file where that can be, else one of them the whole. The file is opened on
 * all of them first, and has to be the same. */
static blv_error read_shared(const blv_reading *asked, blv_dataset **dataset) {
    const blv_ranks *ranks = asked->options.ranks;
    blv_reading part = *asked, whole = *asked;
    blv_input *input = NULL;
    blv_error error = blv_input_open(&input, asked->path, asked->why);
    uint64_t size = input ? blv_input_size(input) : 0, first = size;
    blv_input_close(input);
    BLV_CHECK(blv_ranks_agree(ranks, error, asked->why));
    if (!ranks->broadcast(ranks->context, 0, &first, sizeof first) || first != size)
        error =
            blv_explain(asked->why, BLV_E_FILE, "%s: %" PRIu64 " bytes, and %" PRIu64 " on rank 0",
                        asked->shown, size, first);
    BLV_CHECK(blv_ranks_agree(ranks, error, asked->why));
    part.share = ranks;
    error = read_set(&part, dataset);
    error = blv_ranks_agree(ranks, error == BLV_NOT_SHARED ? read_and_deal(&whole, dataset) : error,
                            asked->why);
    if (error != BLV_OK) {
        blv_dataset_release(*dataset);
        *dataset = NULL;
    }
    return error;
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
    BLV_CHECK(blv_need_arguments(dataset && path, "blv_dataset_read", why));
    blv_reading r = {.path = path, .shown = blv_shown_path(path), .format = format, .why = why};
    BLV_CHECK(blv_caller_struct(&r.options, sizeof r.options, options, "blv_read_options", why));
    if (r.options.max_classes == 0)
        r.options.max_classes = USUAL_MAX_CLASSES;
    if (r.options.targets == BLV_TARGETS_REAL)
        r.options.real_targets = true;
    if (r.options.precision != BLV_F32 && r.options.precision != BLV_F64)
        return blv_explain(why, BLV_E_VALUE, "the precision is neither f32 nor f64");
    if (blv_ranks_several(r.options.ranks))
        return read_shared(&r, dataset);
    return read_set(&r, dataset);
}
