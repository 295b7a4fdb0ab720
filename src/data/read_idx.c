/* IDX files, the format of MNIST: two zero bytes, a type, the number of dimensions, the dimensions,
 * the elements; everything big endian. The first dimension counts the rows.
 *
 * Labels are in a separate file: train-images-idx3-ubyte goes with train-labels-idx1-ubyte. */
#include "base/rank_exchange.h"
#include "data/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DIMS = 8, PIECE = 1 << 16 };

/* 0 for a type that does not exist. */
static size_t size_of_type(unsigned type) {
    static const unsigned char sizes[] = {
        [0x08] = 1 /* unsigned byte */, [0x09] = 1 /* signed byte */, [0x0b] = 2 /* short */,
        [0x0c] = 4 /* int */,           [0x0d] = 4 /* float */,       [0x0e] = 8 /* double */};
    return type < sizeof sizes ? sizes[type] : 0;
}

bool blv_is_idx(const unsigned char *bytes, size_t count) {
    return count >= 4 && bytes[0] == 0 && bytes[1] == 0 && size_of_type(bytes[2]) > 0 &&
           bytes[3] >= 1;
}

/* ---- Elements ---- */

static uint64_t big_endian(const unsigned char *p, size_t n) {
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

static double element(const unsigned char *p, unsigned type, size_t size) {
    uint64_t bits = big_endian(p, size);
    if (type == 0x0d) {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    if (type == 0x0e) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (type == 0x08)
        return (double)bits;
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return (double)(int64_t)(bits ^ sign) - (double)sign;
}

void blv_widen_bytes(const unsigned char *bytes, size_t count, blv_precision precision, void *out) {
    if (precision == BLV_F32) {
        float *values = out;
        for (size_t i = 0; i < count; i++)
            values[i] = (float)bytes[i];
    } else {
        double *values = out;
        for (size_t i = 0; i < count; i++)
            values[i] = (double)bytes[i];
    }
}

static void convert(const blv_idx *idx, const unsigned char *bytes, size_t count,
                    blv_precision precision, char *out) {
    if (idx->type == 0x08) {
        blv_widen_bytes(bytes, count, precision, out);
        return;
    }
    for (size_t i = 0; i < count; i++)
        blv_value_set(out, precision, i,
                      element(bytes + i * idx->item_size, idx->type, idx->item_size));
}

static blv_error reject(blv_input *input, uint64_t at, const char *problem, blv_message *why) {
    return blv_explain(why, BLV_E_FORMAT, "%s: byte %" PRIu64 ": %s",
                       blv_shown_path(blv_input_path(input)), at, problem);
}

/* Memory for all elements at once, where that is nothing unusual for a file of this size; else it
 * grows with the bytes that arrive: a compressed file may promise what it does not hold. */
blv_error blv_idx_read(const blv_idx *idx, blv_precision precision, void **values,
                       blv_message *why) {
    size_t size = blv_value_size(precision), count = (size_t)idx->count, got = 0;
    const size_t most = PIECE / idx->item_size;
    unsigned char piece[PIECE];
    blv_list out = {0};
    if (idx->count * idx->item_size <= blv_input_likely(idx->input)) {
        out.items = blv_data_alloc(count, size);
        out.capacity = count;
    }
    blv_error error = BLV_OK;
    do {
        size_t part = count - out.count < most ? count - out.count : most;
        char *to = blv_list_room(&out, part, size);
        error = to ? blv_input_read(idx->input, piece, part * idx->item_size, &got, why)
                   : blv_explain_memory(why);
        if (!error && got < part * idx->item_size)
            error = reject(idx->input, blv_input_position(idx->input),
                           "the file ends inside the elements", why);
        if (!error)
            convert(idx, piece, part, precision, to);
        out.count += part;
    } while (!error && out.count < count);
    if (!error)
        error = blv_input_read(idx->input, piece, 1, &got, why);
    if (!error && got > 0)
        error = reject(idx->input, blv_input_position(idx->input),
                       "expected the end of the file after the last element", why);
    if (error)
        free(out.items);
    else
        *values = blv_list_take(&out, size);
    return error;
}

/* ---- The header ---- */

blv_error blv_idx_parse(blv_idx *idx, blv_input *input, const unsigned char *bytes, size_t count,
                        blv_message *why) {
    *idx = (blv_idx){.input = input, .count = 1};
    if (!blv_is_idx(bytes, count))
        return reject(input, count < 4 ? count : 4, "expected the header of an IDX file", why);
    idx->type = bytes[2];
    idx->item_size = size_of_type(idx->type);
    idx->dims = bytes[3];
    if (idx->dims > MAX_DIMS)
        return reject(input, 4, "more than 8 dimensions", why);
    uint64_t header = 4 + 4 * idx->dims, most = blv_input_most(input), need = idx->item_size;
    if (count < header)
        return reject(input, count, "the file ends inside the dimensions", why);
    for (size_t d = 0; d < idx->dims; d++) {
        idx->shape[d] = big_endian(bytes + 4 + 4 * d, 4);
        if (idx->shape[d] > 0 && need > most / idx->shape[d])
            return reject(input, header, "the dimensions need more bytes than the file can hold",
                          why);
        need *= idx->shape[d];
        idx->count *= idx->shape[d];
    }
    if (blv_input_is_packed(input) || need == most - header)
        return BLV_OK;
    char problem[120];
    snprintf(problem, sizeof problem,
             "the dimensions need %" PRIu64 " bytes of elements, there are %" PRIu64, need,
             most - header);
    return reject(input, header, problem, why);
}

blv_error blv_idx_open(blv_idx *idx, blv_input *input, blv_message *why) {
    const unsigned char *bytes = NULL;
    unsigned char skipped[4 + 4 * MAX_DIMS];
    size_t count = 0;
    BLV_CHECK(blv_input_peek(input, &bytes, &count, why));
    BLV_CHECK(blv_idx_parse(idx, input, bytes, count, why));
    return blv_input_read(input, skipped, 4 + 4 * idx->dims, &count, why);
}

/* ---- The labels' file ---- */

static bool swap_word(char *name, const char *word, const char *other) {
    char *at = strstr(name, word);
    if (at)
        memcpy(at, other, strlen(word)); /* of the same length */
    return at != NULL;
}

/* The usual name of the labels that go with the images at path, or NULL; from malloc. */
static char *labels_path(const char *path) {
    size_t length = strlen(path);
    char *found = malloc(length + 4);
    if (!found)
        return NULL;
    memcpy(found, path, length + 1);
    char *name = strrchr(found, '/');
    name = name ? name + 1 : found;
    bool named = swap_word(name, "images", "labels");
    char *idx = strstr(name, "idx");
    if (idx && idx[3] >= '2' && idx[3] <= '9')
        idx[3] = '1';
    if (named && access(found, R_OK) == 0)
        return found;
    length = strlen(found);
    if (length > 3 && strcmp(found + length - 3, ".gz") == 0)
        found[length - 3] = '\0';
    else
        memcpy(found + length, ".gz", 4);
    if (named && access(found, R_OK) == 0)
        return found;
    free(found);
    return NULL;
}

char *blv_dataset_labels_beside(const char *path) {
    struct stat about;
    char *found = path ? labels_path(path) : NULL;
    blv_input *input = NULL;
    blv_idx idx;
    if (!found)
        return NULL;
    const bool is_idx = stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
                        blv_input_open(&input, path, NULL) == BLV_OK &&
                        blv_idx_open(&idx, input, NULL) == BLV_OK;
    blv_input_close(input);
    if (is_idx)
        return found;
    free(found);
    return NULL;
}

static blv_error take_labels(blv_reading *r) {
    if (r->options.labels)
        return blv_read_label_file(r, r->options.labels);
    char *path = labels_path(r->path);
    if (!path)
        return blv_need_memory(blv_dataset_note(r->dataset, "no file of labels found beside it"),
                               r->why);
    blv_error error = blv_read_label_file(r, path);
    free(path);
    return error;
}

static blv_error take_elements(blv_reading *r, const blv_idx *idx) {
    const blv_precision precision = r->dataset->view.precision;
    void *dense = NULL;
    BLV_CHECK(blv_reading_expect(r, idx->count, blv_value_size(precision), "its elements"));
    BLV_CHECK(blv_idx_read(idx, precision, &dense, r->why));
    return blv_need_memory(blv_dataset_put(r->dataset, BLV_PART_DENSE, dense), r->why);
}

/* Those of this rank. */
static blv_error take_rows(blv_reading *r, blv_idx *idx) {
    const size_t rows = r->dataset->view.rows, columns = r->dataset->view.columns;
    const size_t local = blv_share_rows(r, rows), row_size = columns * idx->item_size;
    const uint64_t first = blv_input_position(r->input) + r->rows_before * row_size;
    idx->count = local * columns;
    blv_error error = blv_input_take_bytes(r->input, first, first + local * row_size, r->why);
    if (!error)
        error = take_elements(r, idx);
    return blv_ranks_all(r->share, !error) ? blv_share_held(r, local, rows) : BLV_NOT_SHARED;
}

blv_error blv_read_idx(blv_reading *r) {
    blv_dataset *d = r->dataset;
    blv_idx idx;
    BLV_CHECK(blv_idx_open(&idx, r->input, r->why));
    if (idx.dims < 2)
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: one dimension, as of labels; expected 2 or more", r->shown);
    d->view.rows = (size_t)idx.shape[0];
    d->view.columns = 1;
    for (size_t i = 1; i < idx.dims; i++) /* no overflow unless there are no rows */
        d->view.columns *= (size_t)idx.shape[i];
    if (idx.count == 0 || d->view.columns > BLV_COLUMNS_MAX) {
        d->view.columns = 0;
        return blv_explain(r->why, BLV_E_FORMAT, "%s: %" PRIu64 " rows of %s elements", r->shown,
                           idx.shape[0], idx.count == 0 ? "no" : "too many");
    }
    d->view.precision = r->options.precision;
    BLV_CHECK(r->share ? take_rows(r, &idx) : take_elements(r, &idx));
    return take_labels(r);
}
