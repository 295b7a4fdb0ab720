/* What the sweeps over dense and over sparse rows share: the room they work in and the rule for the
 * number of threads. */
#ifndef BLV_KERNELS_CPU_HOST_SWEEP_PRIVATE_H
#define BLV_KERNELS_CPU_HOST_SWEEP_PRIVATE_H

#include "kernels/cpu/host_sweep.h"
#include "kernels/cpu/kept_point.h"

typedef struct blv_dense_buffers blv_dense_buffers; /* of host_sweep.c */

struct blv_sweep_work {
    size_t classes, columns, real_size, max_rows; /* as asked for in blv_sweep_work_create */
    bool sparse;
    int threads;                   /* at least 1 */
    blv_instructions instructions; /* never BEST, and one that this processor has */
    size_t bytes;                  /* of everything that belongs to this work */
    blv_dense_buffers *dense;      /* NULL when sparse */
    void *sparse_buffer; /* sparse: blv_sparse_buffer_bytes() of it, aligned to 64 bytes */
    blv_kept_point kept;
};

/* Zeroed memory that begins on a cache line; its size is added to *total. NULL: memory is short. */
void *blv_sweep_memory(size_t bytes, size_t *total);

/* Threads that a sweep of this much work is worth: 1, or work->threads from about 50 microseconds
 * of work on one of them. Waking a sleeping thread costs almost as much. */
int blv_sweep_threads(const blv_sweep_work *work, double seconds);

/* cpu/sparse.c. The room is zero when it is handed over for the first time. */
size_t blv_sparse_buffer_bytes(size_t classes, size_t columns, size_t real_size, size_t max_rows,
                               int threads);
void blv_sparse_sweep(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work);

#endif
