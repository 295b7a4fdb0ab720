/* Sweeps over sparse rows, with W and V of columns x classes.
 *
 * A sweep is two sweeps with the residuals of all its rows between them:
 *
 *   rows      scores X W (and X V), losses, row outputs; residuals into the room
 *   columns   X'R by the transposed copy, each column of the result summed in registers, joined
 *             with its ridge term and written once; or, where the sweep has but a part of the rows
 *             or there is no transposed copy, ridge terms first and then R scattered row by row
 *
 * The residuals (rows x classes) stay in cache. The results (columns x classes) do not, and are the
 * larger part of the memory traffic: hence a way that touches them once.
 *
 * Bits do not depend on the threads. Losses are summed over blocks of ROWS_AT_ONCE rows, and the
 * blocks in order. A column is summed by one thread, in the order of the rows. */
#include "base/thread_pool.h"
#include "kernels/cpu/host_sweep_private.h"
#include "kernels/cpu/sparse_loops.h"

#define ROWS_AT_ONCE ((size_t)16)
#define COLUMN_CHUNKS ((size_t)128)
/* What a column costs by itself, in entries. */
#define COLUMN_COST ((size_t)3)

BLV_TABLES(blv_sparse_loops, blv_sparse_loops);

static size_t row_blocks(size_t rows) {
    return (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
}

static size_t residual_bytes(const blv_sweep_work *work) {
    return blv_whole_lines(work->max_rows * work->classes * work->real_size);
}

/* The room: residuals, curvatures, and the loss of each block of rows. */
size_t blv_sparse_room_bytes(const blv_sweep_work *work) {
    return 2 * residual_bytes(work) + row_blocks(work->max_rows) * sizeof(double);
}

/* Entries of the sweep; of an index list an estimate, for adding them up would cost as much as part
 * of the work. */
static size_t entries_of(const blv_rows *rows) {
    if (!rows->index)
        return rows->row_start[rows->first + rows->count] - rows->row_start[rows->first];
    return rows->row_start[rows->rows] / (rows->rows ? rows->rows : 1) * rows->count;
}

/* On one thread, from measurements; the limits of memory are well above the numbers here. */
static double seconds_of(const blv_rows *rows, const blv_sweep *sweep, size_t real_size,
                         int products) {
    const double bytes = (double)(sweep->classes * real_size);
    const double entries = (double)entries_of(rows), outputs = (double)products;
    return (1.0 + outputs) * entries * (0.8e-9 + 0.015e-9 * bytes) +
           outputs * (double)rows->columns * (1e-9 + 0.07e-9 * bytes) + (double)rows->count * 30e-9;
}

/* Where chunk c of `chunks` begins: all cost about the same, by columns and, where the transposed
 * copy tells, by entries. `share` of the entries are in the sweep. */
static size_t chunk_start(const blv_rows *rows, size_t c, size_t chunks, double share) {
    const size_t columns = rows->columns;
    if (c == chunks)
        return columns;
    if (!rows->column_start)
        return (size_t)((double)columns * (double)c / (double)chunks);
    const double own = (double)COLUMN_COST;
    const double all = share * (double)rows->column_start[columns] + own * (double)columns;
    const double wanted = all * (double)c / (double)chunks;
    size_t low = 0, high = columns;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (share * (double)rows->column_start[middle] + own * (double)middle < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What the members of a team share. */
typedef struct shared_sweep {
    const blv_sparse_args *args;
    const blv_sparse_loops *loops;
    const blv_sparse_product *product;
    double *block_loss;
    bool by_columns;
    size_t chunks; /* of each product */
    double share;  /* of the rows that are in the sweep */
} shared_sweep;

static void sweep_row_block(void *context, size_t block, int member) {
    (void)member;
    const shared_sweep *s = context;
    const size_t begin = block * ROWS_AT_ONCE, left = s->args->rows->count - begin;
    s->block_loss[block] =
        s->loops->rows(s->args, begin, begin + (left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE));
}

static void sweep_columns(void *context, size_t task, int member) {
    (void)member;
    const shared_sweep *s = context;
    const blv_rows *rows = s->args->rows;
    const size_t c = task % s->chunks;
    const size_t begin = chunk_start(rows, c, s->chunks, s->share);
    const size_t end = chunk_start(rows, c + 1, s->chunks, s->share);
    (s->by_columns ? s->loops->columns : s->loops->scatter)(s->args, &s->product[task / s->chunks],
                                                            begin, end);
}

void blv_sparse_sweep(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work) {
    const bool logistic = sweep->classes == 1, single = work->real_size == sizeof(float);
    const size_t real_size = work->real_size;
    const size_t residuals = residual_bytes(work);
    char *room = work->room;
    double *block_loss = (double *)(void *)(room + 2 * residuals);
    const blv_keeping keeping =
        logistic ? BLV_KEEP_NOTHING : blv_sweep_kept_plan(work, rows, sweep);
    const blv_sparse_args args = {
        .rows = rows,
        .sweep = sweep,
        .logistic = logistic,
        .second_order = sweep->v && (sweep->hessian || sweep->row_cross || sweep->rule),
        .residual = room,
        .curvature = room + residuals,
        .stride = sweep->classes,
        .kept = keeping == BLV_KEEP_NOTHING ? NULL : work->kept.probability,
        .known = keeping == BLV_KEEP_READ,
    };
    blv_sparse_product product[2];
    size_t products = 0;
    if (sweep->gradient)
        product[products++] = (blv_sparse_product){args.residual, sweep->w, sweep->gradient};
    if (sweep->hessian)
        product[products++] = (blv_sparse_product){args.curvature, sweep->v, sweep->hessian};

    const bool by_columns =
        rows->column_start && !rows->index && rows->first == 0 && rows->count == rows->rows;
    const int team = blv_sweep_threads(work, seconds_of(rows, sweep, real_size, (int)products));
    const size_t blocks = row_blocks(rows->count);
    shared_sweep shared = {.args = &args,
                           .loops = blv_sparse_loops_tables[single][work->instructions],
                           .product = product,
                           .block_loss = block_loss,
                           .by_columns = by_columns,
                           .chunks = by_columns ? COLUMN_CHUNKS : (size_t)team,
                           .share = rows->rows ? (double)rows->count / (double)rows->rows : 0.0};
    blv_threads_run(team, blocks, sweep_row_block, &shared);
    blv_threads_run(team, products * shared.chunks, sweep_columns, &shared);
    if (sweep->loss) {
        double loss = 0.0;
        for (size_t b = 0; b < blocks; b++)
            loss += block_loss[b];
        *sweep->loss = sweep->scale * loss;
    }
}
