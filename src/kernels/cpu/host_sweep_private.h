/* What the sweeps over dense and over sparse rows share: the room they work in, the probabilities
 * that they keep, and the rule for the number of threads. */
#pragma once

#include "kernels/cpu/host_sweep.h"

enum { BLV_KEPT_SAMPLES = 64 };

/* See kept_point.c. */
typedef struct blv_kept_point {
    void *probability; /* NULL: there is no room */
    size_t rows;       /* that there is room for */
    char *w;           /* a copy, behind the probabilities */
    const void *data;  /* of the rows; NULL: nothing is kept yet */
    const int32_t *label;
    char sample[BLV_KEPT_SAMPLES * sizeof(double)]; /* reals of the last W that was not there */
} blv_kept_point;

typedef enum blv_keeping {
    BLV_KEEP_NOTHING, /* compute p, and leave what is kept alone */
    BLV_KEEP_WRITE,   /* compute p, and write it down for all rows */
    BLV_KEEP_READ     /* p is there */
} blv_keeping;

struct blv_sweep_work {
    size_t classes, columns, real_size, max_rows; /* as asked for in blv_sweep_work_create */
    bool sparse;
    int threads;                   /* at least 1 */
    blv_instructions instructions; /* never BEST, and one that this processor has */
    char *
        room; /* aligned to a cache line; dense: packed weights, then these; sparse: see sparse.c */
    char *parts, *own; /* sums of each group; of each thread: block, scores and spare sums */
    double *losses;    /* of each group */
    size_t part_bytes, own_bytes, block_bytes, score_bytes, most_groups;
    blv_kept_point kept;
};

static inline size_t blv_whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Zeroed memory that begins on a cache line. NULL: memory is short. */
void *blv_sweep_memory(size_t bytes);

/* Threads that a sweep of this much work is worth: 1, or work->threads from about 50 microseconds
 * of work on one of them. Waking a sleeping thread costs almost as much. */
int blv_sweep_threads(const blv_sweep_work *work, double seconds);

/* What a softmax sweep has to do with work's kept probabilities. With WRITE, W is copied here. */
blv_keeping blv_sweep_kept_plan(blv_sweep_work *work, const blv_rows *rows, const blv_sweep *sweep);

/* cpu/sparse.c. The room is zero when it is handed over for the first time. */
size_t blv_sparse_room_bytes(const blv_sweep_work *work);
void blv_sparse_sweep(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work);
