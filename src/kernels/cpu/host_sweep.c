/* Drives the sweeps: picks the instruction set, cuts the rows into groups, shares the groups out
 * among threads and adds their sums up in order.
 *
 * The groups depend on the sizes of the sweep alone, each is summed by one thread, and the sums of
 * the groups are added in order and in double: results are bitwise identical for
 * any number of threads. */
#include "base/thread_pool.h"
#include "kernels/cpu/dense_task.h"
#include "kernels/cpu/host_sweep_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_GROUP_ROWS = 32, /* a power of two, as is the next */
    MOST_GROUP_ROWS = 1024,
    LEAST_GROUPS = 8, /* of a sweep that is worth more than one thread */
    MOST_GROUPS = 256,
    MOST_PART_BYTES = 32 << 20, /* of all groups, if they are more than LEAST_GROUPS */
    LEAST_BLOCK_ROWS = 16,      /* a whole number of vectors, whatever they are */
    ROWS_OF_A_STREAM = 1024,    /* fewer are taken in blocks, which fetch ahead */
    STREAM_BYTES = 512,         /* of a row: eight of the widest vectors */
    BLOCK_BYTES = 256 << 10,    /* a quarter of a usual L2, for this block and the next */
    CACHED_BYTES = 512 << 10,   /* data that are in L2 after the first sweep */
    FINISH_COLUMNS = 64,
};

BLV_TABLES(blv_dense_sweep_table, blv_dense_sweep);

/* One thread needs about this for a sweep, and two gain from this much on. */
static const double SECONDS_PER_FLOP_F32 = 1e-11, SECONDS_PER_BYTE = 3e-11;
static const double SECONDS_WORTH_THREADS = 50e-6;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Scores of a row for one matrix: all classes but the last, or the one of logistic rows. */
static size_t scores_of(size_t classes) {
    return classes > 1 ? classes - 1 : 1;
}

/* Rows of each group but the last. */
static size_t rows_of_a_group(size_t count, size_t limit) {
    const size_t wanted = count < 4096 ? LEAST_GROUPS : count < 16384 ? 16 : 32;
    size_t rows = (count + wanted - 1) / wanted;
    rows = smaller(larger(rows, LEAST_GROUP_ROWS), MOST_GROUP_ROWS);
    rows = larger(rows, (count + limit - 1) / limit);
    return (rows + LEAST_GROUP_ROWS - 1) / LEAST_GROUP_ROWS * LEAST_GROUP_ROWS;
}

void blv_sweep_work_instructions(blv_sweep_work *work, blv_instructions instructions) {
    work->instructions = blv_usable_instructions(instructions);
    work->kept.data = NULL; /* p may have other bits there */
}

void *blv_sweep_memory(size_t bytes) {
    bytes = blv_whole_lines(larger(bytes, 1));
    void *memory = aligned_alloc(64, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

/* Sets the sizes of what dense sweeps need; returns the bytes of all. */
static size_t measure(blv_sweep_work *w) {
    const size_t scores = scores_of(w->classes);
    w->part_bytes = 2 * scores * blv_whole_lines(w->columns * w->real_size);
    const size_t fit = MOST_PART_BYTES / larger(w->part_bytes, 1);
    w->most_groups = smaller(smaller(MOST_GROUPS, larger(LEAST_GROUPS, fit)),
                             w->max_rows / LEAST_GROUP_ROWS + 1);
    w->block_bytes =
        blv_whole_lines(blv_dense_sweep_tables[w->real_size == sizeof(float)][0]->block_bytes);
    w->score_bytes = 2 * scores * BLV_BLOCK_ROWS * w->real_size;
    w->own_bytes = w->block_bytes + w->score_bytes + w->part_bytes;
    return (1 + w->most_groups) * w->part_bytes + (size_t)w->threads * w->own_bytes +
           w->most_groups * sizeof *w->losses;
}

blv_sweep_work *blv_sweep_work_create(size_t classes, size_t columns, size_t real_size, bool sparse,
                                      size_t max_rows, int threads) {
    blv_sweep_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    *work = (blv_sweep_work){.classes = classes,
                             .columns = columns,
                             .real_size = real_size,
                             .max_rows = max_rows,
                             .sparse = sparse,
                             .threads = threads > 0 ? threads : blv_threads_processors()};
    blv_sweep_work_instructions(work, BLV_INSTRUCTIONS_BEST);
    work->room = blv_sweep_memory(sparse ? blv_sparse_room_bytes(work) : measure(work));
    if (!work->room) {
        free(work);
        return NULL;
    }
    work->parts = work->room + work->part_bytes;
    work->own = work->parts + work->most_groups * work->part_bytes;
    work->losses = (double *)(void *)(work->own + (size_t)work->threads * work->own_bytes);
    return work;
}

void blv_sweep_work_destroy(blv_sweep_work *work) {
    if (!work)
        return;
    free(work->room);
    free(work->kept.probability);
    free(work);
}

int blv_sweep_threads(const blv_sweep_work *work, double seconds) {
    return seconds < SECONDS_WORTH_THREADS ? 1 : work->threads;
}

static double seconds_of(const blv_rows *rows, const blv_sweep *sweep, size_t real_size) {
    const double entries = (double)rows->count * (double)rows->columns;
    const double size = (double)real_size;
    const double products = (sweep->v ? 4.0 : 2.0) * (double)sweep->classes;
    const double compute = 2.0 * entries * products * SECONDS_PER_FLOP_F32 * size / sizeof(float);
    const double memory = entries * size * SECONDS_PER_BYTE;
    return compute > memory ? compute : memory;
}

/* How many rows later a row will be asked for when it is fetched; 0: do not fetch. A block with few
 * columns takes less time than memory needs to answer, hence two of them when there are many. */
static size_t rows_ahead(const blv_dense_task *task, size_t row_bytes) {
    const blv_rows *rows = task->rows;
    if (rows->rows * row_bytes <= CACHED_BYTES)
        return 0;
    if (task->few_columns && rows->count > 4 * task->block_rows)
        return 2 * task->block_rows;
    return rows->next_count || rows->count > task->block_rows ? task->block_rows : 0;
}

/* Whether nothing is asked for but the gradient, of many rows without gaps. */
static bool is_stream(const blv_rows *rows, const blv_sweep *sweep) {
    return !rows->index && !rows->target && rows->stride == rows->columns &&
           rows->count >= ROWS_OF_A_STREAM && sweep->gradient && !sweep->hessian && !sweep->loss &&
           !sweep->row_loss && !sweep->row_cross && !sweep->row_probability && !sweep->row_class;
}

static void describe(blv_dense_task *task, const blv_rows *rows, const blv_sweep *sweep,
                     blv_sweep_work *work, const blv_dense_sweep_table *kernels) {
    const bool logistic = sweep->classes == 1;
    const size_t real_size = work->real_size, row_bytes = rows->columns * real_size;
    const blv_keeping keeping =
        logistic ? BLV_KEEP_NOTHING : blv_sweep_kept_plan(work, rows, sweep);
    const bool few = logistic && rows->columns <= kernels->most_in_registers;
    size_t block_rows = BLV_BLOCK_ROWS;
    while (block_rows > LEAST_BLOCK_ROWS && block_rows * row_bytes > BLOCK_BYTES)
        block_rows -= LEAST_BLOCK_ROWS;
    *task = (blv_dense_task){
        .rows = rows,
        .sweep = sweep,
        .logistic = logistic,
        .few_columns = few,
        .stream = logistic && row_bytes <= STREAM_BYTES && is_stream(rows, sweep),
        .second_order = sweep->v && (sweep->hessian || sweep->row_cross || sweep->rule),
        .block_rows = block_rows,
        .scores = scores_of(sweep->classes),
        .padded = (rows->columns + kernels->lanes - 1) & ~(kernels->lanes - 1),
        .packed = work->room,
        .parts = work->parts,
        .kept = keeping == BLV_KEEP_NOTHING ? NULL : work->kept.probability,
        .known = keeping == BLV_KEEP_READ,
    };
    task->rows_ahead = rows_ahead(task, row_bytes);
    task->first_score = task->known ? task->scores : 0;
    task->end_score = task->second_order ? 2 * task->scores : task->scores;
    task->first_sum = sweep->gradient ? 0 : task->scores;
    task->sums = (sweep->gradient ? task->scores : 0) + (sweep->hessian ? task->scores : 0);
    task->part_stride = 2 * task->scores * task->padded;
}

/* What the members of a team share. */
typedef struct shared_sweep {
    blv_dense_task task;
    const blv_dense_sweep_table *kernels;
    const blv_sweep_work *work;
    size_t group_rows;
} shared_sweep;

static void sweep_group(void *context, size_t group, int member) {
    const shared_sweep *shared = context;
    const blv_dense_task *task = &shared->task;
    const blv_sweep_work *work = shared->work;
    char *own = work->own + (size_t)member * work->own_bytes;
    const size_t begin = group * shared->group_rows;
    const size_t end = smaller(begin + shared->group_rows, task->rows->count);
    work->losses[group] = shared->kernels->sweep_rows(
        task, begin, end, (blv_dense_block *)own, own + work->block_bytes,
        own + work->block_bytes + work->score_bytes,
        work->parts + group * task->part_stride * work->real_size);
}

static void finish_columns(void *context, size_t slice, int member) {
    (void)member;
    const shared_sweep *shared = context;
    const size_t begin = slice * FINISH_COLUMNS;
    shared->kernels->finish(&shared->task, begin,
                            smaller(shared->task.rows->columns, begin + FINISH_COLUMNS));
}

static void dense_sweep(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work) {
    assert(rows->count <= work->max_rows && sweep->classes == work->classes &&
           rows->columns == work->columns);
    const double seconds = seconds_of(rows, sweep, work->real_size);
    const bool single = work->real_size == sizeof(float);
    shared_sweep shared; /* not cleared first: that takes as long as a few rows */
    blv_dense_task *task = &shared.task;
    shared.kernels = blv_dense_sweep_tables[single][work->instructions];
    shared.work = work;
    shared.group_rows = rows->count;
    describe(task, rows, sweep, work, shared.kernels);
    task->groups = rows->count > 0;
    if (seconds >= SECONDS_WORTH_THREADS) {
        shared.group_rows = rows_of_a_group(rows->count, work->most_groups);
        task->groups = (rows->count + shared.group_rows - 1) / shared.group_rows;
    }

    shared.kernels->pack(task);
    if (!task->groups) /* no rows: sums of nothing */
        memset(work->parts, 0, task->part_stride * work->real_size);
    const int team = blv_sweep_threads(work, seconds);
    const size_t slices = (rows->columns + FINISH_COLUMNS - 1) / FINISH_COLUMNS;
    blv_threads_run(team, task->groups, sweep_group, &shared);
    blv_threads_run(team, slices, finish_columns, &shared);
    double loss = 0.0;
    for (size_t g = 0; g < task->groups; g++)
        loss += work->losses[g];
    if (sweep->loss)
        *sweep->loss = sweep->scale * loss;
}

void blv_host_sweep(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work) {
    (rows->dense ? dense_sweep : blv_sparse_sweep)(rows, sweep, work);
}
