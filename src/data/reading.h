/* What the readers of data sets share. */
#ifndef BLV_DATA_READING_H
#define BLV_DATA_READING_H

#include "data/dataset_ops.h"
#include "io/input.h"
#include "io/npz_private.h"

/* Columns and indices that a file may name. */
#define BLV_COLUMNS_MAX ((uint64_t)1 << 31)

/* One call of blv_dataset_read. */
typedef struct blv_reading {
    const char *path;
    const char *shown;        /* the path, as it goes into messages */
    blv_read_options options; /* max_classes is set */
    blv_input *input;
    blv_dataset *dataset;
    blv_message *why;
} blv_reading;

/* ---- Formats ---- */

typedef enum blv_format {
    BLV_FORMAT_NONE,
    BLV_FORMAT_LIBSVM,
    BLV_FORMAT_CSV,
    BLV_FORMAT_NPY,
    BLV_FORMAT_NPZ,
    BLV_FORMAT_IDX,
    BLV_FORMAT_CIFAR10,
    BLV_FORMAT_CIFAR100
} blv_format;

/* Detects the format from the first bytes. Nothing is read past them. */
blv_error blv_detect_format(blv_input *input, blv_format *format, blv_message *why);

/* Each fills the set: shape, precision, features, labels. Features in double become those of the
 * wanted precision and layout afterwards. */
blv_error blv_read_libsvm(blv_reading *r);
blv_error blv_read_csv(blv_reading *r);
blv_error blv_read_npz(blv_reading *r);
blv_error blv_read_idx(blv_reading *r);
blv_error blv_read_cifar(blv_reading *r, bool hundred);

/* As blv_dataset_read, of a known format; BLV_FORMAT_NONE: detected from the content. */
blv_error blv_dataset_read_as(blv_dataset **dataset, blv_format format, const char *path,
                              const blv_read_options *options, blv_message *why);

/* ---- Labels ---- */

/* Labels as numbers, one for each row: classes when whole, or real targets when the options say so.
 * source: the file and array they are from, for messages. */
blv_error blv_take_number_labels(blv_reading *r, const double *labels, const char *source);
/* One label as text, in order of the rows. line: where in the file it is, for messages. */
blv_error blv_add_label_text(blv_reading *r, blv_label_texts *texts, const char *text,
                             size_t length, size_t line);
/* Puts the labels of all rows: classes where there are texts, else real targets where there are
 * some, whose ownership is taken. false when memory is short. */
bool blv_put_labels(blv_reading *r, blv_label_texts *texts, double **target);
/* Labels of all rows from a separate file: IDX, NPY, NPZ (array y), or text, one a line. */
blv_error blv_read_label_file(blv_reading *r, const char *path);

/* The header of an IDX file and its elements, one after the other. */
typedef struct blv_idx {
    blv_input *input;
    unsigned type;
    size_t item_size, dims;
    uint64_t shape[8];
    uint64_t count; /* product of the shape */
} blv_idx;
/* 0 for a type that does not exist. */
size_t blv_idx_item_size(unsigned type);
bool blv_is_idx(const unsigned char *bytes, size_t count);
blv_error blv_idx_open(blv_idx *idx, blv_input *input, blv_message *why);
/* Reads idx->count elements to *values, from malloc, in the given precision. */
blv_error blv_idx_read(const blv_idx *idx, blv_precision precision, void **values,
                       blv_message *why);
/* Whole bytes 0..255 as numbers. */
void blv_widen_bytes(const unsigned char *bytes, size_t count, blv_precision precision, void *out);

/* The labels among an archive's arrays, or NULL. */
const char *blv_npz_label_name(const blv_npz *npz);
/* As blv_npz_open, but gzip is allowed; *held is freed after closing. */
blv_error blv_npz_open_input(blv_npz **npz, unsigned char **held, blv_input *input,
                             blv_message *why);
/* Reads an array of labels, one for each row. */
blv_error blv_take_npz_labels(blv_reading *r, blv_npz *npz, const char *name);

/* ---- Small help ---- */

/* The array with room for `wanted` items, at least doubled when it is short of it; NULL when memory
 * is short: the array is then as it was. */
void *blv_grown(void *array, size_t *capacity, size_t wanted, size_t item_size);
/* Gives back what is too much. */
void *blv_trimmed(void *array, size_t count, size_t item_size);

/* A piece of the file in quotes, shortened, for messages. */
typedef struct blv_shown_text {
    char text[48];
} blv_shown_text;
blv_shown_text blv_show(const char *text, size_t length);

#endif
