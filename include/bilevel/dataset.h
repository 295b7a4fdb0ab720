/* Data sets: rows of features, dense or sparse, with classes or real targets.
 *
 * Read one from a file, look at it through its view, derive others from it. What was done to a set
 * is recorded in its history. */
#ifndef BILEVEL_DATASET_H
#define BILEVEL_DATASET_H

#include "bilevel/space.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_dataset blv_dataset;

/* ---- Reading ---- */

typedef enum blv_layout { BLV_LAYOUT_AUTO, BLV_LAYOUT_DENSE, BLV_LAYOUT_SPARSE } blv_layout;

/* Zero-filled means: automatic. */
typedef struct blv_read_options {
    blv_precision precision;
    blv_layout layout;  /* AUTO: sparse when the format is and fewer than a quarter are non-zero */
    const char *label;  /* CSV: name or number (from 0) of the label column; "none"; NULL: last.
                           CIFAR-100: "coarse" or "fine" (the default) */
    const char *header; /* CSV: "yes", "no"; NULL: yes when the first line has no number where the
                           second has one */
    const char *labels; /* NPY, IDX: file that holds the labels; NULL: found by its usual name, or
                           array y of an NPZ */
    bool real_targets;  /* take labels as real numbers, not as classes */
    size_t columns;     /* libsvm: at least this many features */
    size_t max_classes; /* more distinct labels than this are refused as classes; 0: 10000 */
} blv_read_options;

/* The format is told from the content: libsvm, CSV or TSV, NPY, NPZ, IDX, CIFAR-10 and -100 binary,
 * each also compressed with gzip. options may be NULL. */
BLV_API blv_error blv_dataset_read(blv_dataset **dataset, const char *path,
                                   const blv_read_options *options, blv_message *why);
BLV_API void blv_dataset_destroy(blv_dataset *dataset); /* NULL is allowed */

/* ---- Looking ---- */

typedef struct blv_dataset_view {
    size_t rows, columns;
    blv_precision precision;

    const void *dense; /* row i begins at element i * stride; NULL when sparse */
    size_t stride;

    const size_t *row_start; /* rows + 1 numbers */
    const uint32_t *column;  /* ascending in each row */
    const void *value;
    const size_t *column_start; /* the transposed copy; NULL until blv_dataset_transpose */
    const uint32_t *row;
    const void *column_value;

    size_t classes;                   /* 0: real targets or none */
    const int32_t *label;             /* 0 .. classes-1, NULL: no classes */
    const int32_t *true_label;        /* before corruption; NULL: never corrupted */
    const double *target;             /* real targets, NULL: none */
    const char *const *class_names;   /* classes strings */
    const char *const *feature_names; /* columns strings, NULL: the file had none */
    const char *format;               /* "libsvm", "csv", ... */
    bool mapped;                      /* the features are the file itself, in memory as needed */
} blv_dataset_view;

/* Valid until the set is changed or destroyed. */
BLV_API const blv_dataset_view *blv_dataset_view_of(const blv_dataset *dataset);
/* What was done to the set, one line each, from reading on: i = 0, 1, ... until NULL. */
BLV_API const char *blv_dataset_history(const blv_dataset *dataset, size_t i);
/* Remarks of the reader ("qid ignored"), one line each, likewise. */
BLV_API const char *blv_dataset_notes(const blv_dataset *dataset, size_t i);
/* A number made from all values, labels and names: equal sets have equal fingerprints. */
BLV_API uint64_t blv_dataset_fingerprint(const blv_dataset *dataset);

/* ---- From memory ---- */

/* Everything that the view describes is copied. history: one line, or NULL. */
BLV_API blv_error blv_dataset_create(blv_dataset **dataset, const blv_dataset_view *view,
                                     const char *history, blv_message *why);

/* ---- Deriving: each returns a new set and leaves its source as it is ---- */

/* The rows index[0 .. count-1], in that order. */
BLV_API blv_error blv_dataset_select(const blv_dataset *dataset, const size_t *index, size_t count,
                                     blv_dataset **selected, blv_message *why);
/* Parts of the given shares, or numbers of rows when they are 1 or more; every part is in random
 * order. Stratified: each class is split alike. What is left over is dropped. On error none is
 * made. */
BLV_API blv_error blv_dataset_split(const blv_dataset *dataset, const double *sizes, size_t parts,
                                    bool stratified, uint64_t seed, blv_dataset **part,
                                    blv_message *why);
BLV_API blv_error blv_dataset_subsample(const blv_dataset *dataset, double size, bool stratified,
                                        uint64_t seed, blv_dataset **sample, blv_message *why);

/* ---- Changing in place ---- */

typedef enum blv_corruption {
    BLV_CORRUPT_UNIFORM,  /* exactly round(share rows) labels become another class, drawn alike */
    BLV_CORRUPT_PAIRWISE, /* ... become the next class (the last one the first) */
    BLV_CORRUPT_REDRAW    /* ... are drawn anew from all classes: some stay as they were */
} blv_corruption;
BLV_API blv_error blv_dataset_corrupt(blv_dataset *dataset, blv_corruption kind, double share,
                                      uint64_t seed, blv_message *why);

/* x -> (x - shift) scale for each column, from one set (train) for it and others. */
typedef enum blv_scaling {
    BLV_SCALE_STANDARD, /* mean 0 and variance 1; sparse: variance only, zeros stay zeros */
    BLV_SCALE_UNIT      /* to [0, 1]; sparse: to [-1, 1] by the largest absolute value */
} blv_scaling;
BLV_API blv_error blv_dataset_scale(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                                    blv_message *why); /* statistics from datasets[0] */
BLV_API blv_error blv_dataset_multiply(blv_dataset *dataset, double factor, blv_message *why);
BLV_API blv_error blv_dataset_unit_rows(blv_dataset *dataset, blv_message *why);
BLV_API blv_error blv_dataset_intercept(blv_dataset *dataset, blv_message *why);
/* Two classes from many: `name` against the rest (class 1 and class 0). */
BLV_API blv_error blv_dataset_one_against_rest(blv_dataset *dataset, const char *name,
                                               blv_message *why);
/* Gives the set the columns and the class numbers of another; a class that the other does not have
 * is an error. Both may get wider. */
BLV_API blv_error blv_dataset_match(blv_dataset *dataset, blv_dataset *reference, blv_message *why);
/* Makes the transposed copy of a sparse set; nothing to do for a dense one. */
BLV_API blv_error blv_dataset_transpose(blv_dataset *dataset, blv_message *why);

/* ---- Writing ---- */

/* format: "libsvm", "csv", "npz". Written aside and renamed; a path that ends in .gz is compressed
 * (not npz). */
BLV_API blv_error blv_dataset_write(const blv_dataset *dataset, const char *path,
                                    const char *format, blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
