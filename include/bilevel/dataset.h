/* Data sets: rows of features, dense or sparse, with classes or real targets.
 *
 * Read one from a file, access its arrays through the view, derive others from it. What was done to
 * a set is recorded in its history. */
#ifndef BILEVEL_DATASET_H
#define BILEVEL_DATASET_H

#include "bilevel/npz.h"
#include "bilevel/space.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_dataset blv_dataset;

/* ---- Reading ---- */

typedef enum blv_layout { BLV_LAYOUT_AUTO, BLV_LAYOUT_DENSE, BLV_LAYOUT_SPARSE } blv_layout;

typedef enum blv_missing {
    BLV_MISSING_IMPUTE, /* the median, or the most frequent level, and a column that says so */
    BLV_MISSING_ERROR,
    BLV_MISSING_DROP /* rows with a missing value are left out */
} blv_missing;

typedef enum blv_targets {
    BLV_TARGETS_AUTO, /* of texts: real where there are many different numbers; else classes */
    BLV_TARGETS_CLASSES,
    BLV_TARGETS_REAL
} blv_targets;

/* All fields but size may be 0, which means automatic. */
typedef struct blv_read_options {
    size_t size; /* sizeof(blv_read_options) */
    blv_precision precision;
    blv_layout layout;   /* AUTO: sparse when the format is and fewer than a quarter are non-zero */
    const char *label;   /* CSV: name or number (from 0) of the label column; "none"; NULL: the one
                            that is named label, class, target or y, else the last.
                            CIFAR-100: "coarse" or "fine" (the default) */
    const char *header;  /* CSV: "yes", "no"; NULL: yes when the first line has no number where the
                            second has one */
    const char *labels;  /* NPY, IDX: file that holds the labels; NULL: found by its usual name, or
                            array y of an NPZ */
    const char *truth;   /* CSV: name or number of a column with the labels as they should be, which
                            become true_label; NULL: none */
    bool real_targets;   /* take labels as real numbers, not as classes */
    size_t columns;      /* libsvm: at least this many features */
    size_t max_classes;  /* more distinct labels than this are rejected as classes; 0: 10000 */
    blv_targets targets; /* REAL: as real_targets */
    blv_missing missing; /* CSV: what becomes of empty fields, NA, N/A, NaN, null, ? */
    const char *kinds;   /* CSV: kinds of columns by name or number, such as
                            "age:number,zip:category,id:drop"; number, category, boolean, date or
                            drop. Without a colon in it: a file with a pair on each line */
    const char *recipe;  /* CSV: that of the rows of a training, blv_dataset_recipe: columns are
                            matched by name and encoded alike */
    uint64_t max_memory; /* bytes that the set, or one vector of its columns, may take; more is
                            rejected before it is taken. 0: half of what is free, and 1000 times
                            the file */
    const blv_ranks *ranks; /* each of these processes reads its share: blv_dataset_spread */
    const char *weight; /* CSV, ARFF: name or number of a column with the weights of rows, numbers
                           from 0 on; NULL: none */
} blv_read_options;

/* The format is detected from the content: libsvm, CSV or TSV, ARFF, NPY, NPZ, IDX, CIFAR-10 and
 * -100 binary, each also compressed with gzip or zstd. A pipe or terminal is read to its end into
 * memory first; it can be read once. options may be NULL. */
BLV_API blv_error blv_dataset_read(blv_dataset **dataset, const char *path,
                                   const blv_read_options *options, blv_message *why);
/* The file of labels that is read with an IDX file where none is named, to be freed; NULL: none. */
BLV_API char *blv_dataset_labels_beside(const char *path);
/* Whether count * size bytes more may be taken for what is computed on the set, under the limit
 * that it was read with: BLV_E_VALUE with "name: what would take 3.2 GiB, ..." otherwise. */
BLV_API blv_error blv_dataset_expect_memory(const blv_dataset *dataset, uint64_t count,
                                            uint64_t size, const char *name, const char *what,
                                            blv_message *why);
/* Sets are counted: every set that was made or retained must be released as often. Counting is safe
 * between threads. NULL is allowed. */
BLV_API blv_dataset *blv_dataset_retain(blv_dataset *dataset); /* returns dataset */
BLV_API void blv_dataset_release(blv_dataset *dataset);

/* ---- Access ---- */

typedef struct blv_dataset_view {
    size_t size; /* sizeof(blv_dataset_view) */
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
    const int32_t *true_label;        /* before corruption, or from the file; NULL: not known */
    const double *target;             /* real targets, NULL: none */
    const char *const *class_names;   /* classes strings */
    const char *const *feature_names; /* columns strings, NULL: the file had none */
    const char *format;               /* "libsvm", "csv", ... */
    bool mapped;                      /* the features are the file itself, in memory as needed */
    bool has_texts;                   /* blv_row_texts_open serves it */
    char separator;                   /* of the fields of a CSV file; 0: another format */

    /* A set that is spread over ranks: labels and targets are those of all rows, but only the rows
     * held_row[0 .. held-1], ascending, have their features here: dense and row_start have `held`
     * rows. */
    const blv_ranks *ranks; /* NULL: all rows are here */
    size_t held;
    const size_t *held_row;
    const double *weight; /* of each row in what is learned, from 0 on; NULL: 1 */
} blv_dataset_view;

/* Valid until the set is changed or destroyed. */
BLV_API const blv_dataset_view *blv_dataset_view_of(const blv_dataset *dataset);
/* What was done to the set, one line each, from reading on: i = 0, 1, ... until NULL. */
BLV_API const char *blv_dataset_history(const blv_dataset *dataset, size_t i);
/* Remarks of the reader ("qid ignored"), one line each, likewise. */
BLV_API const char *blv_dataset_notes(const blv_dataset *dataset, size_t i);
/* How the columns of a CSV file became features: kind, name, what fills missing values, whether
 * they are marked, and levels, one line for each column, with tabs between. Other rows are read by
 * it alike: the field `recipe` of blv_read_options. NULL for other formats. */
BLV_API const char *blv_dataset_recipe(const blv_dataset *dataset);
/* A number made from the shape, the values that are not zero with their places, labels, true
 * labels, targets and names, in their order. The same numbers have the same fingerprint dense or
 * sparse, f32 or f64; history, notes and format do not count. */
BLV_API uint64_t blv_dataset_fingerprint(const blv_dataset *dataset);
/* One number for several sets, in their order; NULL among them is allowed. */
BLV_API uint64_t blv_dataset_fingerprint_all(const blv_dataset *const *datasets, size_t count);

/* ---- From memory ---- */

/* Everything that the view describes is copied; its format becomes "memory". Classes without names
 * are named by their numbers. history: one line, or NULL. BLV_E_VALUE when the view is not sound:
 * no rows, a label out of range, columns that do not ascend, a value that is not finite. */
BLV_API blv_error blv_dataset_create(blv_dataset **dataset, const blv_dataset_view *view,
                                     const char *history, blv_message *why);
/* The same around the caller's features, which are not copied: dense rows without gaps between them
 * (stride is columns), or the three arrays of a sparse set. They must stay as they are until
 * `release` was called, once for each of these arrays; also for those that were taken when the call
 * fails. Changes of a set are made to a copy. */
BLV_API blv_error blv_dataset_borrow(blv_dataset **dataset, const blv_dataset_view *view,
                                     const char *history, void (*release)(void *context),
                                     void *context, blv_message *why);

/* ---- Deriving: each makes a new set and leaves its source as it is ---- */

/* Sets share the arrays that are the same in both: a set with other labels has the features of its
 * source, not a copy. History, notes, names and true labels are kept; the transposed copy is kept
 * by blv_dataset_copy only. */

/* A copy that shares all arrays: later changes to one of the two do not reach the other. */
BLV_API blv_error blv_dataset_copy(const blv_dataset *dataset, blv_dataset **copy,
                                   blv_message *why);
/* The same rows with other labels, class numbers 0 .. classes-1. */
BLV_API blv_error blv_dataset_relabel(const blv_dataset *dataset, const int32_t *label,
                                      blv_dataset **relabelled, blv_message *why);
/* The rows index[0 .. count-1], in that order; a row may come more than once. */
BLV_API blv_error blv_dataset_select(const blv_dataset *dataset, const size_t *index, size_t count,
                                     blv_dataset **selected, blv_message *why);
/* Parts of the given shares, or numbers of rows when they are 1 or more; every part is in random
 * order. Shares get round(their sum times rows) rows together, by the largest remainder.
 * Stratified: each class is split alike, within one row of its share of each part; a class of few
 * rows may be missing from a part. What is left over is dropped. On error none is made. */
BLV_API blv_error blv_dataset_split(const blv_dataset *dataset, const double *sizes, size_t parts,
                                    bool stratified, uint64_t seed, blv_dataset **part,
                                    blv_message *why);
/* The same split as row numbers: row, with room for as many numbers as the set has rows, gets those
 * of part 0 first, then those of part 1 and so on; count[p] is how many part p has. */
BLV_API blv_error blv_dataset_split_rows(const blv_dataset *dataset, const double *sizes,
                                         size_t parts, bool stratified, uint64_t seed, size_t *row,
                                         size_t *count, blv_message *why);
BLV_API blv_error blv_dataset_subsample(const blv_dataset *dataset, double size, bool stratified,
                                        uint64_t seed, blv_dataset **sample, blv_message *why);

/* The rows of both, one after the other. The sets must be aligned. */
BLV_API blv_error blv_dataset_join(const blv_dataset *first, const blv_dataset *second,
                                   blv_dataset **joined, blv_message *why);

/* ---- Sets that are used together ---- */

/* Gives train, validation and test sets what datasets[0] has: classes with the same numbers, the
 * same columns, layout and precision. Other sets may be NULL and are left out then. BLV_E_VALUE
 * where that is not possible: a class that the first set does not have, other numbers or names of
 * features, classes beside real targets. Only where one of the sets is from a libsvm file, which
 * does not tell its width, narrower sets get columns of zeros (names of columns are dropped then).
 * names: one for each set, such as its file, for messages; may be NULL. On error all sets are as
 * they were. */
BLV_API blv_error blv_dataset_align(blv_dataset *const *datasets, const char *const *names,
                                    size_t count, blv_message *why);
/* The same for one set and what a reference describes: its columns, feature_names, classes and
 * class_names, and where it has features their layout and precision. The set may have no labels. */
BLV_API blv_error blv_dataset_align_to(blv_dataset *dataset, const char *name,
                                       const blv_dataset_view *reference,
                                       const char *reference_name, blv_message *why);
/* Says a line, without a newline, for each thing that should be known before datasets[0] is learned
 * from: columns that are the same in every row, a column that tells the class of every row alone,
 * rows of another set that it has too, classes that another set does not have, columns and levels
 * that only another set has. The sets must be aligned. NULL: there is no such set; without the
 * first one, only what others were read with is said. names: one for each. */
BLV_API blv_error blv_dataset_warn(const blv_dataset *const *datasets, const char *const *names,
                                   size_t count, void (*say)(void *context, const char *line),
                                   void *context, blv_message *why);
/* "6 numbers, 8 categories; 3 with missing values; label 'income'", cut to the size. */
BLV_API blv_error blv_dataset_kinds(const blv_dataset *dataset, char *text, size_t size,
                                    blv_message *why);
/* BLV_E_FORMAT unless the rows have classes, and two different ones at least. */
BLV_API blv_error blv_dataset_expect_classes(const blv_dataset *dataset, const char *name,
                                             blv_message *why);

/* ---- Changing in place: on error the set is as it was ---- */

/* Arrays that another set shares are copied first; a mapped file is never written to. Every change
 * drops the transposed copy. Everybody who has retained the set sees the change. */

typedef enum blv_corruption {
    BLV_CORRUPT_UNIFORM,  /* exactly round(share rows) labels become another class, drawn alike */
    BLV_CORRUPT_PAIRWISE, /* ... become the next class (the last one the first) */
    BLV_CORRUPT_REDRAW    /* ... are drawn again from all classes: some stay as they were */
} blv_corruption;
/* Done once and for all: the labels stay as they are from then on, and true_label keeps those from
 * before the first corruption. */
BLV_API blv_error blv_dataset_corrupt(blv_dataset *dataset, blv_corruption kind, double share,
                                      uint64_t seed, blv_message *why);

/* After a set that was read from a table was split: what fills missing values, and which levels
 * there are, learned again from datasets[0] alone and applied to all of them, before any scaling.
 * Other sets may be NULL. Sets without a recipe stay as they are. */
BLV_API blv_error blv_dataset_relearn(blv_dataset *const *datasets, size_t count, blv_message *why);

/* Medians of the columns in which no value is missing, which reading leaves out, for the recipe of
 * the set: rows that are read by it later may lack some. Before any scaling. Several ranks learn
 * none. */
BLV_API blv_error blv_dataset_learn_fills(blv_dataset *dataset, blv_message *why);

/* *mixed: whether datasets[0] was read from a table that has columns of numbers, and categories or
 * missing values too. Such sets are made dense where they are sparse, so that numbers can be
 * centred, unless they are to stay sparse, fewer than a sixteenth of the values of the first are
 * not zero, or memory would not do. Other sets, which must be aligned, may be NULL. */
BLV_API blv_error blv_dataset_centre_table(blv_dataset *const *datasets, size_t count,
                                           bool stay_sparse, bool *mixed, blv_message *why);

/* x -> (x - shift) scale for each column, from one set (train) for it and others. A column that is
 * constant in the first set has scale 1; the history says how many there are. The sets must have
 * the same columns and all be dense or all sparse. */
typedef enum blv_scaling {
    BLV_SCALE_STANDARD, /* mean 0 and variance 1; sparse: variance only, zeros stay zeros */
    BLV_SCALE_UNIT      /* to [0, 1]; sparse: to [-1, 1] by the largest absolute value */
} blv_scaling;
BLV_API blv_error blv_dataset_scale(blv_dataset *const *datasets, size_t count, blv_scaling scaling,
                                    blv_message *why); /* statistics from datasets[0] */
/* What blv_dataset_scale takes from its first set: x becomes (x - shift) / divisor, columns numbers
 * each. shift is 0 for a sparse set, divisor 1 for a constant column. */
BLV_API blv_error blv_dataset_scale_numbers(const blv_dataset *dataset, blv_scaling scaling,
                                            double *shift, double *divisor, blv_message *why);
BLV_API blv_error blv_dataset_multiply(blv_dataset *dataset, double factor, blv_message *why);
/* Every row divided by its Euclidean length; rows of zeros stay. */
BLV_API blv_error blv_dataset_unit_rows(blv_dataset *dataset, blv_message *why);
/* One more column, the last, of ones. */
BLV_API blv_error blv_dataset_intercept(blv_dataset *dataset, blv_message *why);
/* Two classes from many: `name` against the rest (class 1, and class 0 named "rest"). */
BLV_API blv_error blv_dataset_one_against_rest(blv_dataset *dataset, const char *name,
                                               blv_message *why);
/* Makes the transposed copy of a sparse set; nothing to do for a dense one. */
BLV_API blv_error blv_dataset_transpose(blv_dataset *dataset, blv_message *why);
/* Keeps the features of some rows and drops the others: row i is on rank i % count from then on.
 * Every rank has the same set before. Nothing to do for a set that is spread already. Sets that are
 * derived from it are spread, too, and functions that look at features are called on all ranks.
 * Writing needs all rows (BLV_E_UNSUPPORTED) except as "source"; so do answers of models. */
BLV_API blv_error blv_dataset_spread(blv_dataset *dataset, const blv_ranks *ranks,
                                     blv_message *why);

/* ---- Rows as their file has them ---- */

/* Sets that were read from CSV, ARFF or libsvm files know where each row is in its file, also after
 * splitting, selecting, relabelling and scaling. The file must be as it was when it was read; what
 * came from a stream is kept. */
typedef struct blv_row_texts blv_row_texts;
/* *texts is NULL, without an error, where the set is from elsewhere. The set must outlive it. */
BLV_API blv_error blv_row_texts_open(blv_row_texts **texts, const blv_dataset *dataset,
                                     blv_message *why);
/* The text of a row without its line end, `length` bytes; no zero byte behind it. */
BLV_API const char *blv_row_texts_at(const blv_row_texts *texts, size_t row, size_t *length);
BLV_API void blv_row_texts_close(blv_row_texts *texts); /* NULL is allowed */

/* ---- Writing ---- */

/* format: "libsvm", "csv", "npz", or "source". Written to a temporary file
 * and renamed; a path that ends in .gz is compressed
 * (not npz). Numbers are the shortest that read back as the same.
 * libsvm: columns from 1, no zeros except the last column in the first row where the width would be
 * lost; classes by name where all names are numbers, else by number; 0 where there are none.
 * csv: a header, features, then the column "label" or "target"; tabs where the path ends in .tsv.
 * npz: X, or data, indices, indptr, shape and format as SciPy has them; y; where classes are not
 * named by whole numbers class_names; feature_names. Names in an NPZ are for other programs: they
 * are not read here. True labels and the history are not written.
 * source: the rows as their file has them, with its header, in the order of the set; labels that
 * were changed are put in place of those in the text. Only for sets that blv_row_texts_open serves.
 */
BLV_API blv_error blv_dataset_write(const blv_dataset *dataset, const char *path,
                                    const char *format, blv_message *why);
/* The same bytes to a function, front to back. name: stands for the path. */
BLV_API blv_error blv_dataset_write_to(const blv_dataset *dataset, const char *name,
                                       const char *format, blv_write_fn write, void *context,
                                       blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
