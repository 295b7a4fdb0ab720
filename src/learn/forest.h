/* Trees that tell classes apart (Breiman, 2001): each is grown on rows that are drawn with
 * replacement, each of its nodes splits one of a few columns drawn for it. No tree is kept: the
 * rows that are asked about go down together with those that are learned from.
 *
 * Only the order of the numbers in a column matters: they are put into at most 64 bins. */
#pragma once

#include "base/arena.h"
#include "base/random.h"
#include "bilevel/dataset.h"

typedef struct blv_forest_rows {
    blv_arena arena;
    size_t rows, columns, classes;
    uint8_t *code; /* columns x rows: the bin of each number */
    int32_t *label;
    double *weight; /* how much a row counts that is learned from */
    double *number; /* room for a column */
} blv_forest_rows;

/* The rows of dense sets, one set after another; NULL: none. Their last column, which is 1, is left
 * out. The codes are 0 so far. */
blv_error blv_forest_take(blv_forest_rows *rows, const blv_dataset *const *sets, size_t count,
                          blv_message *why);
/* The codes of one column. Bins are those of the numbers of all sets but the last. */
void blv_forest_code(blv_forest_rows *rows, const blv_dataset *const *sets, size_t count,
                     size_t column);
void blv_forest_release(blv_forest_rows *rows);

/* Room for one tree at a time. */
typedef struct blv_tree_room {
    const blv_forest_rows *of;
    uint32_t *learned, *asked, *column;
    double *weight;            /* of each row: as often as it was drawn, times its own */
    double *part, *all, *left; /* bins x classes, classes, classes: sums of weights */
    uint32_t *part_rows;       /* bins */
    uint64_t *part_classes;    /* bins; what is of bins is 0 between the columns of a node */
    blv_stream stream;
    uint64_t drawn;                /* numbers so far */
    double share, *first, *second; /* what answers are multiplied by and added to */
    size_t first_rows;
    /* Asked now and then whether to stop, where not NULL: then the answers are not to be used. */
    bool (*stop)(void *context, int member);
    void *stop_context;
    int member;
} blv_tree_room;

bool blv_tree_room_open(blv_tree_room *room, blv_arena *arena, const blv_forest_rows *rows);

typedef struct blv_tree_task {
    const uint32_t *learned, *asked; /* rows */
    size_t learned_count, asked_count;
    uint64_t seed, number; /* of this tree */
    double share;
    /* rows x classes: shares of the classes at the leaf of each row that is asked about, times
     * share, are added; of rows from first_rows on to the second */
    double *first, *second;
    size_t first_rows;
} blv_tree_task;

void blv_tree_answer(blv_tree_room *room, const blv_tree_task *task);
