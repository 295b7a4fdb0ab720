/* The internals of a data set, for src/data only.
 *
 * Every array of a set is a part with a count of its holders. Sets that are derived from one
 * another share the parts that are the same; whoever changes one makes it its own first. Readers
 * put the arrays of a new set and call blv_dataset_finish. */
#pragma once

#include "base/memory_limit.h"
#include "base/message.h"
#include "base/precision.h"
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
    BLV_PART_WEIGHT,
    BLV_PART_CLASS_NAMES,
    BLV_PART_FEATURE_NAMES,
    BLV_PART_HISTORY,
    BLV_PART_NOTES,
    BLV_PART_RECIPE,
    BLV_PART_SOURCE,  /* of the rows (row_text.c) */
    BLV_PART_PLACE,   /* uint64_t of each row */
    BLV_PART_CONTENT, /* of a stream */
    BLV_PART_HELD_ROW,
    BLV_PARTS
} blv_part_name;

typedef struct blv_part {
    atomic_size_t holders;
    void *data;                  /* from malloc, a mapped file, or the caller's */
    size_t mapped_bytes;         /* 0: from malloc */
    void (*lent)(void *context); /* the caller's: ends the loan */
    void *context;
} blv_part;

struct blv_dataset {
    atomic_size_t holders;
    blv_dataset_view view; /* sizes are set here; its pointers follow the parts */
    blv_part *part[BLV_PARTS];
    size_t dense_offset; /* bytes from the beginning of the dense part to row 0 */
    blv_memory_limit limit;
};

/* ---- Memory: NULL when it is short or count * size does not fit; one byte at least ---- */

void *blv_data_alloc(size_t count, size_t size);
/* A copy of count elements. */
void *blv_data_copy(const void *source, size_t count, size_t size);
/* Copies of count strings in one block. */
char **blv_strings_copy(const char *const *strings, size_t count);

/* An array that grows. Zero-filled: empty; items are freed with free(). */
typedef struct blv_list {
    void *items;
    size_t count, capacity;
} blv_list;
/* Where the next items go, with room for that many; NULL when memory is short: the list is then as
 * it was. The caller counts what it has put there. */
void *blv_list_room(blv_list *list, size_t more, size_t item_size);
/* The items, without spare room; the list is empty then. */
void *blv_list_take(blv_list *list, size_t item_size);

/* ---- Sets ---- */

/* An empty set; NULL when memory is short. */
blv_dataset *blv_dataset_new(void);
/* A set that shares all parts of another but the transposed copy; NULL when memory is short. */
blv_dataset *blv_dataset_share(const blv_dataset *source);
/* Ends an operation that makes a set: where ok, *made is the set, else it is NULL and memory was
 * short. The set may be NULL. */
blv_error blv_dataset_deliver(blv_dataset **made, blv_dataset *dataset, bool ok, blv_message *why);
/* Ends an operation that changes a set: `changed` was made with blv_dataset_share. Where ok, the
 * dataset becomes what changed is, otherwise it stays as it was and memory was short. Releases
 * changed, which may be NULL. */
blv_error blv_dataset_commit(blv_dataset *dataset, blv_dataset *changed, bool ok, blv_message *why);

/* Each of these points the view at the new part. */

/* Takes ownership of data, from malloc. false when data is NULL or memory is short. Dense rows have
 * no gaps between them, here and in a map; the number of columns is set before. */
bool blv_dataset_put(blv_dataset *dataset, blv_part_name name, void *data);
/* Memory of the caller's, with what ends the loan. false when memory is short. */
bool blv_dataset_put_lent(blv_dataset *dataset, blv_part_name name, const void *data,
                          void (*lent)(void *context), void *context);
/* blv_dataset_put for the three arrays of a sparse set; on error some may be put. */
bool blv_dataset_put_sparse(blv_dataset *dataset, size_t *row_start, uint32_t *column, void *value);
/* Takes ownership of a mapped file in which the part begins at an offset, which must be 0 but for
 * dense rows. */
bool blv_dataset_put_map(blv_dataset *dataset, blv_part_name name, void *map, size_t bytes,
                         size_t offset);
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
/* Adds a line to the history or the notes, made as by printf. false when memory is short. */
bool blv_dataset_add_line(blv_dataset *dataset, blv_part_name name, const char *format, ...)
    BLV_PRINTF(3, 4);
#define blv_dataset_record(dataset, ...)                                                           \
    blv_dataset_add_line(dataset, BLV_PART_HISTORY, __VA_ARGS__)
/* The note on a set that ranks could not read by shares. */
#define BLV_NOTE_DEALT "one rank has read the whole file and dealt it out"
#define blv_dataset_note(dataset, ...) blv_dataset_add_line(dataset, BLV_PART_NOTES, __VA_ARGS__)

/* The rows index[0 .. count-1]; NULL when memory is short. */
blv_dataset *blv_dataset_pick(const blv_dataset *source, const size_t *index, size_t count);

/* Converts the features to a layout (AUTO: sparse stays sparse unless a quarter or more is stored)
 * and a precision. name: of the set, for messages. */
blv_error blv_dataset_convert(blv_dataset *dataset, blv_layout layout, blv_precision precision,
                              const char *name, blv_message *why);

/* Writes the rows as their file has them; see blv_dataset_write. */
blv_error blv_dataset_write_source(const blv_dataset *dataset, const char *name, blv_write_fn write,
                                   void *context, blv_message *why);

/* ---- Texts as classes ---- */

/* Distinct texts, each with a number in order of appearance. Zero-filled: empty. */
typedef struct blv_texts {
    blv_list items;
    int32_t *slots; /* a hash table: EMPTY or the number of a text */
    size_t slot_count;
} blv_texts;
void blv_texts_free(blv_texts *texts);
/* The number of the text, which is added where it is new; negative when memory is short. */
int32_t blv_texts_number(blv_texts *texts, const char *text, size_t length);
/* The text of a number. */
char *blv_texts_at(const blv_texts *texts, size_t number);
/* Whether two texts name the same class: they are equal, or the same number ("+1" and "1.0"). */
bool blv_same_class(const char *a, const char *b);
/* Puts class_names, label and, where truth has items, true_label from the numbers of the texts of
 * all rows, int32_t, which are taken. Classes are in numerical order when all texts are numbers
 * ("2" before "10"; "+1" and "1" are one class, named by its first spelling), else in order of
 * bytes. false when memory is short. The texts lose their order. */
bool blv_dataset_put_classes(blv_dataset *dataset, blv_texts *texts, blv_list *label,
                             blv_list *truth);
/* Gives each label and true label of class c the class to_class[c], and names those classes. */
bool blv_dataset_put_mapped(blv_dataset *dataset, const int32_t *to_class, const char *const *names,
                            size_t classes);
/* Names classes by their numbers: 0 .. classes-1. */
bool blv_dataset_number_classes(blv_dataset *dataset, size_t classes);

/* ---- Rows, dense or sparse ---- */

/* How many rows have their features here. */
static inline size_t blv_held_rows(const blv_dataset_view *v) {
    return v->ranks ? v->held : v->rows;
}
/* The number of the k-th of them. */
static inline size_t blv_held_row(const blv_dataset_view *v, size_t k) {
    return v->ranks ? v->held_row[k] : k;
}
/* BLV_E_UNSUPPORTED for a set that is spread. */
blv_error blv_dataset_expect_whole(const blv_dataset *dataset, const char *what, blv_message *why);
/* Puts which rows of a set are held, and who has the others; takes ownership of row. */
bool blv_dataset_put_held(blv_dataset *dataset, const blv_ranks *ranks, size_t *row, size_t count);

/* The stored values of a row: elements first .. end-1 of blv_stored_values. */
typedef struct blv_stored_row {
    size_t first, end;
    const uint32_t *column; /* of all elements of a sparse set; NULL: dense */
} blv_stored_row;

static inline const void *blv_stored_values(const blv_dataset_view *v) {
    return v->dense ? v->dense : v->value;
}

static inline blv_stored_row blv_row_at(const blv_dataset_view *v, size_t i) {
    if (v->dense)
        return (blv_stored_row){i * v->stride, i * v->stride + v->columns, NULL};
    return (blv_stored_row){v->row_start[i], v->row_start[i + 1], v->column};
}

/* Goes on with the values of a row that are not zero, each with its column; not from a hash of 0.
 */
uint64_t blv_hash_row(uint64_t hash, const blv_dataset_view *v, size_t i);

/* The column of element k of the row. */
static inline size_t blv_column_at(const blv_stored_row *row, size_t k) {
    return row->column ? row->column[k] : k - row->first;
}

/* Dense rows without gaps, in memory from malloc, NULL when it is short; columns beyond those of
 * the set hold `fill`. */
void *blv_dense_rows(const blv_dataset_view *v, size_t columns, double fill);
