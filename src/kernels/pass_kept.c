#include "kernels/pass_kept.h"
#include "kernels/dense_pass.h"
#include "kernels/pass_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* W is small next to the data when these have at least so many times its entries. */
#define SMALL_SHARE ((size_t)16)
#define PIECE ((size_t)64 << 10)
static const double SECONDS_PER_BYTE = 1e-10; /* of one thread, for reading two and comparing */

static size_t weights_of(const blv_pass_work *work) {
    return work->classes * work->columns;
}

bool blv_pass_work_keep(blv_pass_work *work, size_t rows) {
    assert(!work->kept.probability);
    const size_t whole = (rows + BLV_KEPT_ROWS - 1) / BLV_KEPT_ROWS * BLV_KEPT_ROWS;
    const size_t of_a_row = work->sparse ? work->classes + 1 : work->classes;
    size_t bytes = 0;
    blv_kept kept = {.rows = rows};
    kept.probability = blv_pass_room(whole * of_a_row * work->real_size, &bytes);
    kept.w = blv_pass_room(weights_of(work) * work->real_size, &bytes);
    if (!kept.probability || !kept.w) {
        blv_kept_free(&kept);
        return false;
    }
    work->kept = kept;
    work->bytes += bytes;
    return true;
}

void blv_kept_free(blv_kept *kept) {
    free(kept->probability);
    free(kept->w);
}

/* A large W is compared and copied in pieces, by all threads. */
static int team_of(const blv_pass_work *work, size_t bytes) {
    return blv_pass_team(work, (double)bytes * SECONDS_PER_BYTE);
}

static size_t piece_at(size_t begin, size_t bytes) {
    return bytes - begin < PIECE ? bytes - begin : PIECE;
}

static bool same_bits(const blv_pass_work *work, const char *a, const char *b, size_t bytes) {
    const int team = team_of(work, bytes);
    bool same = true;
#pragma omp parallel for num_threads(team) if (team > 1) reduction(&& : same)
    for (size_t begin = 0; begin < bytes; begin += PIECE)
        same = same && memcmp(a + begin, b + begin, piece_at(begin, bytes)) == 0;
    return same;
}

static void copy(const blv_pass_work *work, char *to, const char *from, size_t bytes) {
    const int team = team_of(work, bytes);
#pragma omp parallel for num_threads(team) if (team > 1)
    for (size_t begin = 0; begin < bytes; begin += PIECE)
        memcpy(to + begin, from + begin, piece_at(begin, bytes));
}

static const void *data_of(const blv_rows *rows) {
    return rows->dense ? rows->dense : rows->value;
}

static bool begins_a_series(const blv_pass *pass) {
    return pass->v && !pass->gradient;
}

static bool is_small(const blv_pass_work *work, const blv_rows *rows) {
    const size_t entries = rows->dense ? rows->rows * rows->columns : rows->row_start[rows->rows];
    return entries / SMALL_SHARE >= weights_of(work);
}

/* Whether W's samples are those of the last call; they are remembered for the next one. */
static bool seen_before(blv_pass_work *work, const void *w) {
    const size_t weights = weights_of(work), size = work->real_size;
    char sample[sizeof work->kept.sample] = {0};
    for (size_t i = 0; i < BLV_KEPT_SAMPLES; i++)
        memcpy(sample + i * size, (const char *)w + weights * i / BLV_KEPT_SAMPLES * size, size);
    const bool seen = memcmp(sample, work->kept.sample, sizeof sample) == 0;
    memcpy(work->kept.sample, sample, sizeof sample);
    return seen;
}

blv_keeping blv_kept_plan(blv_pass_work *work, const blv_rows *rows, const blv_pass *pass) {
    blv_kept *kept = &work->kept;
    const bool all_rows = !rows->index && rows->first == 0 && rows->count == rows->rows;
    if (!pass->keep || !kept->probability || !all_rows || rows->rows > kept->rows)
        return BLV_KEEP_NOTHING;
    const size_t bytes = weights_of(work) * work->real_size;
    if (kept->data == data_of(rows) && kept->label == rows->label &&
        same_bits(work, kept->w, pass->w, bytes)) {
        const bool more = pass->loss || pass->row_loss || pass->row_probability || pass->row_class;
        return more ? BLV_KEEP_NOTHING : BLV_KEEP_READ;
    }
    const bool at_once = begins_a_series(pass) && is_small(work, rows);
    if (!at_once && !seen_before(work, pass->w))
        return BLV_KEEP_NOTHING;
    copy(work, kept->w, pass->w, bytes);
    kept->data = data_of(rows);
    kept->label = rows->label;
    return BLV_KEEP_WRITE;
}
