/* The internals of a data set, for src/data only.
 *
 * Every array of a set is a part with a count of its holders. Sets that are derived from one
 * another share the parts that are the same; whoever changes one makes it its own first. Readers
 * put the arrays of a new set and call blv_dataset_finish. */
#ifndef BLV_DATA_DATASET_PRIVATE_H
#define BLV_DATA_DATASET_PRIVATE_H

#include "base/message.h"
#include "bilevel/dataset.h"

#include <stdatomic.h>

/* The arrays of the view; history and notes are lines, each with a zero byte at its end, and one
 * zero byte more. Names are one block: pointers, then the strings that they point to. */
typedef enum blv_part_name {
    BLV_PART_DENSE,
    BLV_PART_ROW_START,
    BLV_PART_COLUMN,
    BLV_PART_VALUE,
    BLV_PART_COLUMN_START,
    BLV_PART_ROW,
    BLV_PART_COLUMN_VALUE,
    BLV_PART_LABEL,
    BLV_PART_TRUE_LABEL,
    BLV_PART_TARGET,
    BLV_PART_CLASS_NAMES,
    BLV_PART_FEATURE_NAMES,
    BLV_PART_HISTORY,
    BLV_PART_NOTES,
    BLV_PARTS
} blv_part_name;

typedef struct blv_part {
    atomic_size_t holders;
    void *data;          /* from malloc, or a mapped file */
    size_t mapped_bytes; /* 0: from malloc */
} blv_part;

struct blv_dataset {
    atomic_size_t holders;
    blv_dataset_view view; /* sizes are set here; its pointers follow the parts */
    blv_part *part[BLV_PARTS];
    size_t dense_offset; /* bytes from the beginning of the dense part to row 0 */
};

/* An empty set; NULL when memory is short. */
blv_dataset *blv_dataset_new(void);
/* A set that shares all parts of another; NULL when memory is short. */
blv_dataset *blv_dataset_share(const blv_dataset *source);
/* For an operation that changes a set: `changed` was made with blv_dataset_share, ok says whether
 * all of its changes succeeded. The dataset then becomes what changed is, otherwise it stays as it
 * was and memory was short. Releases changed, which may be NULL. */
blv_error blv_dataset_commit(blv_dataset *dataset, blv_dataset *changed, bool ok, blv_message *why);

/* Each of these points the view at the new part. */

/* Takes ownership of data, from malloc. false when data is NULL or memory is short. Dense rows have
 * no gaps between them, here and in a map; the number of columns is set before. */
bool blv_dataset_put(blv_dataset *dataset, blv_part_name name, void *data);
/* The same for the three arrays of a sparse set; on error some may be put. */
bool blv_dataset_put_sparse(blv_dataset *dataset, size_t *row_start, uint32_t *column, void *value);
/* Takes ownership of a mapped file in which the dense rows begin at an offset. */
bool blv_dataset_put_map(blv_dataset *dataset, void *map, size_t bytes, size_t offset);
void blv_dataset_put_shared(blv_dataset *dataset, blv_part_name name, blv_part *part);
void blv_dataset_drop(blv_dataset *dataset, blv_part_name name);
void blv_dataset_drop_transposed(blv_dataset *dataset);
/* The part, copied first where another set holds it too. NULL when memory is short. */
void *blv_dataset_own(blv_dataset *dataset, blv_part_name name, size_t bytes);
/* The values of the features (dense, or those that a sparse set stores), likewise. */
void *blv_dataset_own_values(blv_dataset *dataset);

/* Checks what a reader made (sizes, labels in range, columns in range and ascending, finite values:
 * BLV_E_FORMAT otherwise). path: for messages. */
blv_error blv_dataset_finish(blv_dataset *dataset, const char *path, blv_message *why);
/* Adds a line, made as by printf. false when memory is short. */
bool blv_dataset_record(blv_dataset *dataset, const char *format, ...) BLV_PRINTF(2, 3);
bool blv_dataset_note(blv_dataset *dataset, const char *format, ...) BLV_PRINTF(2, 3);

/* Labels as texts, in order of the rows, become classes: label and class_names of the set. Classes
 * are in numerical order when all texts are numbers ("2" before "10"; "+1" and "1" are one class,
 * named by its first spelling), else in order of bytes. */
typedef struct blv_label_texts blv_label_texts; /* grows row by row; keeps distinct texts once */
blv_label_texts *blv_label_texts_new(size_t max_classes); /* NULL when memory is short */
void blv_label_texts_free(blv_label_texts *texts);        /* NULL is allowed */
/* BLV_E_MEMORY, or BLV_E_FORMAT when there are more distinct texts than max_classes. */
blv_error blv_label_texts_add(blv_label_texts *texts, const char *text, size_t length);
/* The first labels are those of the rows; others that follow become true labels. false when memory
 * is short. */
bool blv_label_texts_finish(blv_label_texts *texts, blv_dataset *dataset);
/* Labels as small whole numbers 0 .. classes-1, named by their numbers. */
bool blv_dataset_number_classes(blv_dataset *dataset, size_t classes);

#endif
