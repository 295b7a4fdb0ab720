/* What the readers of data sets share. */
#pragma once

#include "data/dataset_private.h"
#include "io/input.h"
#include "io/npz_private.h"

/* Columns and indices that a file may name. */
#define BLV_COLUMNS_MAX ((uint64_t)1 << 31)

typedef enum blv_format {
    BLV_FORMAT_NONE,
    BLV_FORMAT_LIBSVM,
    BLV_FORMAT_CSV,
    BLV_FORMAT_ARFF,
    BLV_FORMAT_NPY,
    BLV_FORMAT_NPZ,
    BLV_FORMAT_IDX,
    BLV_FORMAT_CIFAR10,
    BLV_FORMAT_CIFAR100
} blv_format;

/* One call of blv_dataset_read. */
typedef struct blv_reading {
    const char *path;
    const char *shown;        /* the path, as it goes into messages */
    blv_read_options options; /* max_classes is set */
    blv_format format;
    blv_input *input;
    blv_dataset *dataset;
    blv_message *why;

    /* labels, row by row: numbers of texts, or real targets */
    blv_texts classes;
    blv_list label, truth; /* of int32_t */
    blv_list target;       /* of double */
    blv_list weight;       /* of double */
    bool numbered;         /* the labels are numbers of classes, as the format has them */
    bool comma_labels;     /* they may have a decimal comma */
    bool many_labels;      /* they are taken as real targets for their number alone */

    /* rows that ranks share: each reads a part of the file (row_share.c) */
    const blv_ranks *share; /* NULL: this process reads all of it */
    size_t rows_before;     /* those of the ranks before */

    /* rows in the text of the file (row_text.c) */
    blv_list place; /* of uint64_t */
    bool no_places; /* they cannot be kept */
    uint64_t header_bytes;
    char delimiter;       /* of CSV */
    int64_t label_column; /* of CSV and ARFF */
    char *zero_label;     /* of ARFF: that of a sparse row without one; from malloc */
} blv_reading;

/* Memory for count items that the file brings: an error where it may not take that much. */
blv_error blv_reading_expect(const blv_reading *r, uint64_t count, uint64_t size, const char *what);

/* ---- Formats ---- */

/* Detects the format from the first bytes. Nothing is read past them. */
blv_error blv_detect_format(blv_input *input, blv_format *format, blv_message *why);

/* Each fills the set with shape, precision and features, and adds the labels of all rows. Features
 * in double become those of the wanted precision and layout afterwards. */
blv_error blv_read_libsvm(blv_reading *r);
blv_error blv_read_csv(blv_reading *r); /* ARFF too, as a table */
blv_error blv_read_arff(blv_reading *r);
blv_error blv_read_npz(blv_reading *r);
blv_error blv_read_idx(blv_reading *r);
blv_error blv_read_cifar(blv_reading *r);

/* As blv_dataset_read, of a known format; BLV_FORMAT_NONE: detected from the content. */
blv_error blv_dataset_read_as(blv_dataset **dataset, blv_format format, const char *path,
                              const blv_read_options *options, blv_message *why);

/* ---- Rows that ranks share ---- */

/* What a reader returns, on all ranks, where one of them cannot read its part as it is: then one
 * reads the whole file, and what is wrong is found as one process finds it. */
#define BLV_NOT_SHARED BLV_E_STOPPED

/* How many of so many rows, one after the other, this rank reads; those before are rows_before. */
size_t blv_share_rows(blv_reading *r, size_t rows);
/* The rows of this rank have been read, and their labels were added: the labels become those of all
 * rows, and so do their places in the file; *rows their number. */
blv_error blv_share_labels(blv_reading *r, size_t local, size_t *rows);
/* A set that rank 0 has read, dealt out to all ranks; *dataset is NULL on the others at first, and
 * on all that fail. */
blv_error blv_dataset_deal(blv_dataset **dataset, const blv_ranks *ranks, blv_message *why);
/* Says which of the rows are here, once the set has their features. */
blv_error blv_share_held(blv_reading *r, size_t local, size_t rows);

/* ---- Where rows are in their file: row_text.c ---- */

/* The next row begins at this byte of the content and has so many, with its line end. */
blv_error blv_add_place(blv_reading *r, uint64_t offset, size_t length);
/* Puts the places that were added, where each row has one. */
blv_error blv_put_places(blv_reading *r);

/* ---- Labels ---- */

/* Adds the label of the next row as text. list: &r->label or &r->truth. shown, line: the file and
 * where in it, for messages. */
blv_error blv_add_label_text(blv_reading *r, blv_list *list, const char *text, size_t length,
                             const char *shown, size_t line);
blv_error blv_add_target(blv_reading *r, double target);
/* A number with a decimal comma, or none, and at most 63 characters. */
bool blv_comma_number(const char *text, size_t length, double *value);
/* Whether a label is a number. */
bool blv_label_number(const blv_reading *r, const char *text, double *value);
/* Adds labels as numbers: classes, which have to be whole, or real targets when the options say so.
 * source: the file and array they are from, for messages. */
blv_error blv_add_label_numbers(blv_reading *r, const double *labels, size_t count,
                                const char *source);
/* Adds the labels of all rows from a separate file: IDX, NPY, NPZ (array y), or text, one a line.
 */
blv_error blv_read_label_file(blv_reading *r, const char *path);
/* Puts the labels that were added, if any. */
blv_error blv_put_labels(blv_reading *r);

/* ---- IDX ---- */

/* The header of an IDX file. */
typedef struct blv_idx {
    blv_input *input;
    unsigned type;
    size_t item_size, dims;
    uint64_t shape[8];
    uint64_t count; /* product of the shape */
} blv_idx;
bool blv_is_idx(const unsigned char *bytes, size_t count);
/* Reads the header from the first bytes of the input. */
blv_error blv_idx_parse(blv_idx *idx, blv_input *input, const unsigned char *bytes, size_t count,
                        blv_message *why);
/* Opens the input, which is at its beginning, as IDX. */
blv_error blv_idx_open(blv_idx *idx, blv_input *input, blv_message *why);
/* Reads idx->count elements to *values, from malloc, in the given precision. */
blv_error blv_idx_read(const blv_idx *idx, blv_precision precision, void **values,
                       blv_message *why);
/* Whole bytes 0..255 as numbers. */
void blv_widen_bytes(const unsigned char *bytes, size_t count, blv_precision precision, void *out);

/* ---- NPZ ---- */

/* The labels among an archive's arrays, or NULL. */
const char *blv_npz_label_name(const blv_npz *npz);
/* As blv_npz_open, but gzip is allowed; *held is freed after closing. */
blv_error blv_npz_open_input(blv_npz **npz, unsigned char **held, blv_input *input,
                             blv_message *why);
/* Adds an array of labels, one for each row. */
blv_error blv_add_npz_labels(blv_reading *r, blv_npz *npz, const char *name);

/* ---- Messages ---- */

/* A piece of the file in quotes, shortened. */
typedef struct blv_shown_text {
    char text[48];
} blv_shown_text;
blv_shown_text blv_show(const char *text, size_t length);
