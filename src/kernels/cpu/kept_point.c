/* What sweeps keep of a point for the next sweep at the same point: the probabilities of all rows.
 *
 * Products with the Hessian need p = softmax(X W), and solvers ask for many of them at one W. The
 * first sweep computes X W and leaves the p of every row here, the others read them: two products
 * over the data instead of three. They are the numbers that would be recomputed, so results are
 * bitwise identical. W is compared with a copy, bit by bit.
 *
 * Keeping costs writing p and copying W: 0.8% of Hv at 1,000 rows of 784, more where W is larger
 * next to the data. So a point is kept when it comes for the second time in a row, which a few
 * samples of W tell well enough. Where W is small it is kept at once by sweeps that ask for Hv
 * without the gradient: those come in series. */
#include "base/thread_pool.h"
#include "kernels/cpu/dense_task.h"
#include "kernels/cpu/host_sweep_private.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

/* W is small next to the data when these have at least so many times its entries. */
#define SMALL_SHARE ((size_t)16)
#define PIECE ((size_t)64 << 10)
static const double SECONDS_PER_BYTE = 1e-10; /* of one thread, for reading two and comparing */

static size_t weights_of(const blv_sweep_work *work) {
    return work->classes * work->columns;
}

bool blv_sweep_work_keep(blv_sweep_work *work, size_t rows) {
    assert(!work->kept.probability);
    const size_t whole = (rows + BLV_KEPT_ROWS - 1) / BLV_KEPT_ROWS * BLV_KEPT_ROWS;
    const size_t of_a_row = work->sparse ? work->classes + 1 : work->classes;
    const size_t bytes = blv_whole_lines(whole * of_a_row * work->real_size);
    char *room = blv_sweep_memory(bytes + weights_of(work) * work->real_size);
    if (!room)
        return false;
    work->kept.probability = room;
    work->kept.w = room + bytes;
    work->kept.rows = rows;
    return true;
}

/* A large W is compared and copied in pieces, by all threads. */
typedef struct pieces {
    char *to;
    const char *from;
    size_t bytes;
    atomic_bool differ;
} pieces;

static size_t piece_at(const pieces *p, size_t piece) {
    const size_t left = p->bytes - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

static void compare_piece(void *context, size_t piece, int member) {
    (void)member;
    pieces *p = context;
    const size_t begin = piece * PIECE;
    if (!atomic_load(&p->differ) && memcmp(p->to + begin, p->from + begin, piece_at(p, piece)) != 0)
        atomic_store(&p->differ, true);
}

static void copy_piece(void *context, size_t piece, int member) {
    (void)member;
    const pieces *p = context;
    memcpy(p->to + piece * PIECE, p->from + piece * PIECE, piece_at(p, piece));
}

static bool go_through(const blv_sweep_work *work, blv_threads_fn each, void *to, const void *from,
                       size_t bytes) {
    pieces p = {.to = to, .from = from, .bytes = bytes};
    const int team = blv_sweep_threads(work, (double)bytes * SECONDS_PER_BYTE);
    blv_threads_run(team, (bytes + PIECE - 1) / PIECE, each, &p);
    return !atomic_load(&p.differ);
}

static const void *data_of(const blv_rows *rows) {
    return rows->dense ? rows->dense : rows->value;
}

static bool begins_a_series(const blv_sweep *sweep) {
    return sweep->v && !sweep->gradient;
}

static bool is_small(const blv_sweep_work *work, const blv_rows *rows) {
    const size_t entries = rows->dense ? rows->rows * rows->columns : rows->row_start[rows->rows];
    return entries / SMALL_SHARE >= weights_of(work);
}

/* Whether W's samples are those of the last call; they are remembered for the next one. */
static bool seen_before(blv_sweep_work *work, const void *w) {
    const size_t weights = weights_of(work), size = work->real_size;
    char sample[sizeof work->kept.sample] = {0};
    for (size_t i = 0; i < BLV_KEPT_SAMPLES; i++)
        memcpy(sample + i * size, (const char *)w + weights * i / BLV_KEPT_SAMPLES * size, size);
    const bool seen = memcmp(sample, work->kept.sample, sizeof sample) == 0;
    memcpy(work->kept.sample, sample, sizeof sample);
    return seen;
}

blv_keeping blv_sweep_kept_plan(blv_sweep_work *work, const blv_rows *rows,
                                const blv_sweep *sweep) {
    blv_kept_point *kept = &work->kept;
    const bool all_rows = !rows->index && rows->first == 0 && rows->count == rows->rows;
    if (!sweep->keep || !kept->probability || !all_rows || rows->rows > kept->rows)
        return BLV_KEEP_NOTHING;
    const size_t bytes = weights_of(work) * work->real_size;
    if (kept->data == data_of(rows) && kept->label == rows->label &&
        go_through(work, compare_piece, kept->w, sweep->w, bytes)) {
        const bool more =
            sweep->loss || sweep->row_loss || sweep->row_probability || sweep->row_class;
        return more ? BLV_KEEP_NOTHING : BLV_KEEP_READ;
    }
    const bool at_once = begins_a_series(sweep) && is_small(work, rows);
    if (!at_once && !seen_before(work, sweep->w))
        return BLV_KEEP_NOTHING;
    go_through(work, copy_piece, kept->w, sweep->w, bytes);
    kept->data = data_of(rows);
    kept->label = rows->label;
    return BLV_KEEP_WRITE;
}
