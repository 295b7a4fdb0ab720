/* The insides of a data set, for src/data only. Readers fill the owned arrays of a new set and call
 * blv_dataset_finish. */
#ifndef BLV_DATA_DATASET_PRIVATE_H
#define BLV_DATA_DATASET_PRIVATE_H

#include "base/message.h"
#include "bilevel/dataset.h"

#include <stdatomic.h>

struct blv_dataset {
    atomic_size_t holders;
    blv_dataset_view view; /* rows, columns, precision, stride, classes, format are set here; its
                              pointers are set from the arrays below by blv_dataset_refresh */
    /* owned, each NULL or from malloc; see the view */
    void *dense;
    size_t *row_start;
    uint32_t *column;
    void *value;
    size_t *column_start;
    uint32_t *row;
    void *column_value;
    int32_t *label, *true_label;
    double *target;
    char **class_names;   /* view.classes strings */
    char **feature_names; /* view.columns strings */
    char **history, **notes;
    size_t history_count, note_count;
    void *map; /* a mapped file; view.dense then points into it and dense is NULL */
    size_t map_bytes;
};

/* An empty set; NULL when memory is short. Destroy with blv_dataset_release in any state. */
blv_dataset *blv_dataset_new(void);
/* Points the view at the owned arrays. Call after any change to them. */
void blv_dataset_refresh(blv_dataset *dataset);
/* Checks what a reader made (sizes, labels in range, columns in range and ascending, finite values:
 * BLV_E_FORMAT otherwise) and refreshes the view. path: for messages. */
blv_error blv_dataset_finish(blv_dataset *dataset, const char *path, blv_message *why);
/* Adds a line, made as by printf. BLV_E_MEMORY when memory is short. */
blv_error blv_dataset_record(blv_dataset *dataset, const char *format, ...) BLV_PRINTF(2, 3);
blv_error blv_dataset_note(blv_dataset *dataset, const char *format, ...) BLV_PRINTF(2, 3);

/* Labels as texts, in order of the rows, become classes: label and class_names of the set. Classes
 * are in numerical order when all texts are numbers ("2" before "10"; "+1" and "1" are one class,
 * named by its first spelling), else in order of bytes. */
typedef struct blv_label_texts blv_label_texts; /* grows row by row; keeps distinct texts once */
blv_label_texts *blv_label_texts_new(size_t max_classes); /* NULL when memory is short */
void blv_label_texts_free(blv_label_texts *texts);        /* NULL is allowed */
/* BLV_E_MEMORY, or BLV_E_FORMAT when there are more distinct texts than max_classes. */
blv_error blv_label_texts_add(blv_label_texts *texts, const char *text, size_t length);
blv_error blv_label_texts_finish(blv_label_texts *texts, blv_dataset *dataset);
/* Labels as small whole numbers 0 .. classes-1, named by their numbers. */
blv_error blv_dataset_number_classes(blv_dataset *dataset, size_t classes);

#endif
