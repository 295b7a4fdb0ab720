/* Files for the tests of the readers, and short ways to read them. */
#ifndef READER_HELPERS_H
#define READER_HELPERS_H

#include "npz_helpers.h"

#include "bilevel/dataset.h"

#include <stdbool.h>

/* The bytes as one gzip member. */
static inline size_t gzip_bytes(const void *data, size_t n, unsigned char *out, size_t room) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = data;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = z.total_out;
    deflateEnd(&z);
    return made;
}

static inline const char *put_gzip(const char *name, const void *data, size_t n) {
    size_t room = n + 1024;
    unsigned char *packed = malloc(room);
    assert_non_null(packed);
    const char *path = put_file(name, packed, gzip_bytes(data, n, packed, room));
    free(packed);
    return path;
}

static inline const char *put_text(const char *name, const char *text) {
    return put_file(name, text, strlen(text));
}

#define OPTIONS(...)                                                                               \
    &(const blv_read_options) {                                                                    \
        .size = sizeof(blv_read_options), __VA_ARGS__                                              \
    }

/* Reads a file that is sound. */
static inline blv_dataset *read_set(const char *path, const blv_read_options *options) {
    blv_dataset *set;
    blv_message why = {""};
    if (blv_dataset_read(&set, path, options, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return set;
}

static inline blv_dataset *read_text(const char *text, const blv_read_options *options) {
    return read_set(put_text("text", text), options);
}

/* Whether a note of the reader has that part. */
static inline bool has_note(const blv_dataset *set, const char *part) {
    const char *note;
    for (size_t i = 0; (note = blv_dataset_notes(set, i)); i++)
        if (strstr(note, part))
            return true;
    return false;
}

/* Element (i, j), dense or sparse. */
static inline double at(const blv_dataset *set, size_t i, size_t j) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    bool f32 = v->precision == BLV_F32;
    assert_true(i < v->rows && j < v->columns);
    if (v->dense) {
        size_t k = i * v->stride + j;
        return f32 ? (double)((const float *)v->dense)[k] : ((const double *)v->dense)[k];
    }
    for (size_t k = v->row_start[i]; k < v->row_start[i + 1]; k++)
        if (v->column[k] == j)
            return f32 ? (double)((const float *)v->value)[k] : ((const double *)v->value)[k];
    return 0.0;
}

/* The name of the class of row i. */
static inline const char *class_of(const blv_dataset *set, size_t i) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_non_null(v->label);
    return v->class_names[v->label[i]];
}

/* rows * columns values in order of the rows. */
static inline void check_values(const blv_dataset *set, size_t rows, size_t columns,
                                const double *values) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_int_equal(v->rows, rows);
    assert_int_equal(v->columns, columns);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            if (at(set, i, j) != values[i * columns + j])
                fail_msg("(%zu, %zu) is %.17g, not %.17g", i, j, at(set, i, j),
                         values[i * columns + j]);
}

/* The classes of all rows, separated by blanks. */
static inline void check_classes(const blv_dataset *set, const char *expected) {
    char found[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < blv_dataset_view_of(set)->rows && n < sizeof found; i++)
        n += (size_t)snprintf(found + n, sizeof found - n, "%s%s", i ? " " : "", class_of(set, i));
    assert_string_equal(found, expected);
}

#endif
