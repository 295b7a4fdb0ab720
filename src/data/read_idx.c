/* IDX files, the format of MNIST: two zero bytes, a type, the number of dimensions, the dimensions,
 * the elements; everything big endian. The first dimension counts the rows.
 *
 * Labels are in a separate file: train-images-idx3-ubyte goes with train-labels-idx1-ubyte. */
#include "data/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DIMS = 8, PIECE = 1 << 16 };

size_t blv_idx_item_size(unsigned type) {
    switch (type) {
    case 0x08: /* unsigned byte */
    case 0x09: /* signed byte */
        return 1;
    case 0x0b: /* short */
        return 2;
    case 0x0c: /* int */
    case 0x0d: /* float */
        return 4;
    case 0x0e: /* double */
        return 8;
    default:
        return 0;
    }
}

bool blv_is_idx(const unsigned char *bytes, size_t count) {
    return count >= 4 && bytes[0] == 0 && bytes[1] == 0 && blv_idx_item_size(bytes[2]) > 0 &&
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

static blv_error reject(const blv_idx *idx, blv_message *why, const char *problem) {
    return blv_explain(why, BLV_E_FORMAT, "%s: byte %" PRIu64 ": %s",
                       blv_shown_path(blv_input_path(idx->input)), blv_input_position(idx->input),
                       problem);
}

/* Memory for all elements at once, where that is nothing unusual for a file of this size; else it
 * grows with the bytes that arrive: a compressed file may promise what it does not hold. */
blv_error blv_idx_read(const blv_idx *idx, blv_precision precision, void **values,
                       blv_message *why) {
    size_t size = blv_value_size(precision), count = (size_t)idx->count, capacity = 0;
    char *out = NULL;
    unsigned char piece[PIECE];
    const size_t most = PIECE / idx->item_size;
    if (idx->count * idx->item_size <= blv_input_likely(idx->input)) {
        out = blv_data_alloc(count, size);
        capacity = out ? count : 0;
    }
    blv_error error = BLV_OK;
    for (size_t done = 0; !error && (done < count || !out);) {
        size_t part = count - done < most ? count - done : most, got = 0;
        char *more = blv_grown(out, &capacity, done + part, size);
        if (!more) {
            error = blv_explain_memory(why);
            break;
        }
        out = more;
        error = blv_input_read(idx->input, piece, part * idx->item_size, &got, why);
        if (!error && got < part * idx->item_size)
            error = reject(idx, why, "the file ends inside the elements");
        if (!error)
            convert(idx, piece, part, precision, out + done * size);
        done += part;
    }
    size_t got = 0;
    if (!error)
        error = blv_input_read(idx->input, piece, 1, &got, why);
    if (!error && got > 0)
        error = reject(idx, why, "expected the end of the file after the last element");
    if (error) {
        free(out);
        return error;
    }
    *values = blv_trimmed(out, count, size);
    return BLV_OK;
}

/* ---- The header ---- */

blv_error blv_idx_open(blv_idx *idx, blv_input *input, blv_message *why) {
    unsigned char head[4 + 4 * MAX_DIMS];
    size_t got = 0;
    *idx = (blv_idx){.input = input, .count = 1};
    BLV_CHECK(blv_input_read(input, head, 4, &got, why));
    if (!blv_is_idx(head, got))
        return reject(idx, why, "expected the header of an IDX file");
    if (head[3] > MAX_DIMS)
        return reject(idx, why, "more than 8 dimensions");
    idx->type = head[2];
    idx->item_size = blv_idx_item_size(idx->type);
    idx->dims = head[3];
    BLV_CHECK(blv_input_read(input, head + 4, 4 * idx->dims, &got, why));
    if (got < 4 * idx->dims)
        return reject(idx, why, "the file ends inside the dimensions");

    uint64_t header = 4 + 4 * idx->dims, most = blv_input_most(input), bytes = idx->item_size;
    for (size_t d = 0; d < idx->dims; d++) {
        idx->shape[d] = big_endian(head + 4 + 4 * d, 4);
        if (idx->shape[d] > 0 && bytes > most / idx->shape[d])
            return reject(idx, why, "the dimensions need more bytes than the file can hold");
        bytes *= idx->shape[d];
        idx->count *= idx->shape[d];
    }
    if (!blv_input_is_gzip(input) && bytes != most - header) {
        char problem[120];
        snprintf(problem, sizeof problem,
                 "the dimensions need %" PRIu64 " bytes of elements, there are %" PRIu64, bytes,
                 most - header);
        return reject(idx, why, problem);
    }
    return BLV_OK;
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

static blv_error take_labels(blv_reading *r) {
    if (r->options.labels)
        return blv_read_label_file(r, r->options.labels);
    char *path = labels_path(r->path);
    blv_error error;
    if (path)
        error = blv_read_label_file(r, path);
    else if (!blv_dataset_note(r->dataset, "no file of labels found beside it"))
        error = blv_explain_memory(r->why);
    else
        error = BLV_OK;
    free(path);
    return error;
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
    void *dense = NULL;
    blv_error error = blv_idx_read(&idx, d->view.precision, &dense, r->why);
    if (!error && !blv_dataset_put(d, BLV_PART_DENSE, dense))
        error = blv_explain_memory(r->why);
    return error ? error : take_labels(r);
}
