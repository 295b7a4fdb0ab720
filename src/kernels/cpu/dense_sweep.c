/* A sweep over dense rows in one precision and one instruction set: packing, the sweep over blocks
 * of rows and the final sum over the parts. See dense_task.h for the plan. */
#include "kernels/cpu/dense_activation.h"
#include "kernels/cpu/dense_stream.h"

/* Columns of a score at a time: weights of a tile of classes over this many stay in L1. */
#define SCORE_COLUMNS (4096 / sizeof(real))
/* Rows that are added up in one sum before it goes into a larger one: each sum of floats loses half
 * a digit for a hundred times the terms. */
#define ROWS_OF_A_SUM 1024
#define FINISH_COLUMNS 64

ALWAYS_INLINE size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* One class of a tile of n: its weights, minus those of the last class if there is one. */
static void pack_class(const blv_dense_task *task, size_t n, const real *w, const real *last,
                       real *to) {
    const size_t columns = task->rows->columns;
    for (size_t j = 0; j < columns; j += LANES, to += n * LANES) {
        const size_t lanes = smaller(columns - j, LANES);
        if (lanes == LANES) {
            vec v = load(w + j);
            if (last)
                v -= load(last + j);
            store(to, v);
            continue;
        }
        const first_lanes rest = first_lanes_of(lanes);
        vec v = load_first(w + j, rest);
        if (last)
            v -= load_first(last + j, rest);
        store(to, v);
    }
}

static void pack(const blv_dense_task *task) {
    if (task->few_columns)
        return;
    const blv_sweep *sweep = task->sweep;
    const size_t scores = task->scores, columns = task->rows->columns, end = task->end_score;
    const real *const matrix[2] = {sweep->w, sweep->v};
    real *to = task->packed;
    for (size_t k = task->first_score, n; k < end; k += n, to += n * task->padded) {
        n = tile_of(end - k, MOST_SCORES);
        for (size_t c = k; c < k + n; c++) {
            const real *m = matrix[c >= scores];
            pack_class(task, n, m + c % scores * columns,
                       task->logistic ? NULL : m + scores * columns, to + (c - k) * LANES);
        }
    }
}

static void score_rows(const blv_dense_task *task, const blv_dense_block *block, real *scores) {
    const size_t columns = task->rows->columns, padded = task->padded, end = task->end_score;
    for (size_t begin = 0; begin < columns; begin += SCORE_COLUMNS) {
        const size_t width = smaller(columns - begin, SCORE_COLUMNS), rest = width % LANES;
        score_job job = {.vectors = width / LANES,
                         .has_rest = rest != 0,
                         .add = begin != 0,
                         .rest = first_lanes_of(rest)};
        const real *packed = task->packed;
        for (size_t k = task->first_score, n; k < end; k += n, packed += n * padded) {
            n = tile_of(end - k, MOST_SCORES);
            job.weight = packed + begin * n;
            for (size_t i = 0; i < block->rows; i += 4) {
                for (size_t r = 0; r < 4; r++)
                    job.row[r] = block->row[i + r] + begin;
                job.score = scores + AT(k) + i;
                score_of[n](&job);
            }
        }
    }
}

static void sum_rows(const blv_dense_task *task, const blv_dense_block *block, const real *scores,
                     bool fresh, real *sums) {
    const size_t columns = task->rows->columns, padded = task->padded;
    const size_t end = task->first_sum + task->sums;
    sum_job job = {.row = block->row,
                   .ahead = task->rows_ahead ? block->ahead : block->row,
                   .rows = block->rows,
                   .sum_stride = padded,
                   .fresh = fresh};
    for (size_t j = 0; j < columns;) {
        const bool three = columns - j >= 3 * LANES;
        job.column = j;
        if (!three)
            job.rest = first_lanes_of(smaller(columns - j, LANES));
        for (size_t k = task->first_sum, n; k < end; k += n) {
            n = tile_of(end - k, MOST_SUMS);
            job.factor = scores + AT(k);
            job.sum = sums + k * padded + j;
            if (three)
                sum_of[n](&job);
            else
                sum_rest_of[n](&job);
            job.ahead = job.row;
        }
        job.ahead = task->rows_ahead ? block->ahead : block->row;
        j += three ? 3 * LANES : LANES;
    }
}

/* All three steps of a block of logistic rows with few columns. */
static void sweep_few_columns(const blv_dense_task *task, blv_dense_block *block, bool want_loss,
                              bool fresh, real *sums) {
    const size_t rest = task->rows->columns % LANES;
    const few_job job = {.block = block,
                         .fetch_ahead = task->rows_ahead != 0,
                         .want_loss = want_loss,
                         .want_sums = task->sums != 0,
                         .fresh = fresh,
                         .rest = first_lanes_of(rest ? rest : LANES),
                         .w = task->sweep->w,
                         .v = task->sweep->v,
                         .sum = sums,
                         .second_sum = sums + task->padded};
    (task->second_order ? few_both_of : few_of)[task->padded / LANES](&job);
}

/* `row` and those after it are rows i .. end - 1 of what is ahead of a block; returns end. */
ALWAYS_INLINE size_t put_ahead(const blv_rows *rows, size_t i, size_t end, size_t row,
                               blv_dense_block *block) {
    const real *at = (const real *)rows->dense + row * rows->stride, *weight = rows->weight;
    for (size_t k = i; k < end; k++, at += rows->stride)
        block->ahead[k] = at;
    for (size_t k = i; rows->label && k < end; k += 64 / sizeof *rows->label)
        FETCH(rows->label + row + (k - i));
    for (size_t k = i; weight && k < end; k += 64 / sizeof *weight)
        FETCH(weight + row + (k - i));
    return end;
}

/* What to fetch while a block is computed: rows that come later in the sweep; behind its end, those
 * of the next sweep; behind these nothing new. */
static void look_ahead(const blv_dense_task *task, size_t begin, size_t count,
                       blv_dense_block *block) {
    const blv_rows *rows = task->rows;
    const size_t place = begin + task->rows_ahead;
    const size_t here = place < rows->count ? smaller(count, rows->count - place) : 0;
    size_t i = 0;
    if (rows->index)
        for (; i < here; i++)
            put_ahead(rows, i, i + 1, rows->index[place + i], block);
    else
        i = put_ahead(rows, 0, here, rows->first + place, block);
    const size_t behind = place + i - rows->count;
    if (i < count && behind < rows->next_count)
        i = put_ahead(rows, i, smaller(count, i + rows->next_count - behind),
                      rows->next_first + behind, block);
    for (; i < count; i++)
        block->ahead[i] = block->row[0];
}

/* Rows are read in fours or in as many as a vector has lanes: missing ones are
 * replaced by the last one, without weight. */
static void open_block(const blv_dense_task *task, size_t begin, size_t end,
                       blv_dense_block *block) {
    const blv_rows *rows = task->rows;
    const real *data = rows->dense, *weight = rows->weight;
    const size_t count = end - begin, readable = (count + SUMMED - 1) / SUMMED * SUMMED;
    block->rows = count;
    block->squares = rows->target != NULL;
    if (rows->index) {
        for (size_t i = 0; i < count; i++) {
            const size_t row = rows->index[begin + i];
            block->place[i] = row;
            block->row[i] = data + row * rows->stride;
            block->label[i] = rows->label ? rows->label[row] : 0;
            block->weight[i] = weight ? weight[row] : R(1.0);
            block->target[i] = rows->target ? (real)rows->target[row] : R(0.0);
        }
    } else {
        const size_t first = rows->first + begin;
        const real *row = data + first * rows->stride;
        block->first = first;
        for (size_t i = 0; i < count; i++, row += rows->stride)
            block->row[i] = row;
        for (size_t i = 0; rows->label && i < count; i++)
            block->label[i] = rows->label[first + i];
        for (size_t i = 0; rows->target && i < count; i++)
            block->target[i] = (real)rows->target[first + i];
        for (size_t i = 0; i < count; i++)
            block->weight[i] = weight ? weight[first + i] : R(1.0);
    }
    for (size_t i = count; i < readable; i++) {
        block->row[i] = block->row[count - 1];
        block->weight[i] = R(0.0);
    }
    if (task->rows_ahead)
        look_ahead(task, begin, readable, block);
}

/* to[row] = from[i] of each row of a block. A list may name a row twice: two threads may then store
 * the same number, which must not be a race. */
static void put_rows(const blv_dense_task *task, const blv_dense_block *block, const real *from,
                     real *to) {
    if (!to)
        return;
    if (!task->rows->index) {
        memcpy(to + block->first, from, block->rows * sizeof *to);
        return;
    }
    for (size_t i = 0; i < block->rows; i++) {
        real value = from[i];
        __atomic_store(&to[block->place[i]], &value, __ATOMIC_RELAXED);
    }
}

/* What is asked for by row; returns the weighted loss of the block. */
static double close_block(const blv_dense_task *task, const blv_dense_block *block,
                          bool want_loss) {
    const blv_sweep *sweep = task->sweep;
    put_rows(task, block, block->loss, sweep->row_loss);
    put_rows(task, block, block->cross, sweep->row_cross);
    put_rows(task, block, block->probability, sweep->row_probability);
    for (size_t i = 0; sweep->row_class && i < block->rows; i++) {
        const size_t row = task->rows->index ? block->place[i] : block->first + i;
        __atomic_store_n(&sweep->row_class[row], (int32_t)block->best[i], __ATOMIC_RELAXED);
    }
    double loss[4] = {0.0};
    for (size_t i = 0; want_loss && i < block->rows; i++)
        loss[i % 4] += (double)block->weight[i] * (double)block->loss[i];
    return (loss[0] + loss[1]) + (loss[2] + loss[3]);
}

/* part = spare, or part += spare */
static void move_sums(const blv_dense_task *task, const real *spare, bool fresh, real *part) {
    const size_t begin = task->first_sum * task->padded, end = begin + task->sums * task->padded;
    for (size_t j = begin; j < end; j += LANES) {
        vec sum = load(spare + j);
        if (!fresh)
            sum += load(part + j);
        store(part + j, sum);
    }
}

/* What is kept of the rows from `begin` on, the first of a block; NULL: nothing. */
ALWAYS_INLINE real *kept_at(const blv_dense_task *task, size_t begin) {
    return task->kept ? (real *)task->kept + begin * (task->scores + 1) : NULL;
}

/* The end of those rows from `begin` to `end` that are whole steps of a stream with rows behind
 * them. */
static size_t stream_end(const blv_dense_task *task, size_t begin, size_t end) {
    const size_t readable = task->rows->rows - task->rows->first;
    const size_t stop = smaller(end, readable > STREAM_ROWS ? readable - STREAM_ROWS : 0);
    return task->stream && stop > begin ? stop - (stop - begin) % STREAM_ROWS : begin;
}

/* Rows begin .. end - 1 into `part`. */
static void sweep_stream(const blv_dense_task *task, size_t begin, size_t end, real *spare,
                         real *part) {
    const blv_rows *rows = task->rows;
    const size_t rest = rows->columns % LANES;
    for (size_t i = begin, count; i < end; i += count) {
        const size_t row = rows->first + i;
        count = smaller(end - i, ROWS_OF_A_SUM);
        const stream_job job = {.rest = first_lanes_of(rest ? rest : LANES),
                                .row = (const real *)rows->dense + row * rows->stride,
                                .w = task->sweep->w,
                                .weight = rows->weight ? (const real *)rows->weight + row : NULL,
                                .label = rows->label + row,
                                .stride = rows->stride,
                                .rows = count,
                                .sum = spare};
        stream_of[task->padded / LANES](&job);
        move_sums(task, spare, i == begin, part);
    }
}

/* Rows begin .. end - 1, block by block, by way of `spare` where it is not NULL. fresh_part: they
 * are the first that go to `part`. Returns their loss. */
static double sweep_blocks(const blv_dense_task *task, size_t begin, size_t end, bool fresh_part,
                           blv_dense_block *block, real *scores, real *spare, real *part) {
    const bool want_loss = task->sweep->loss || task->sweep->row_loss;
    real *sums = spare ? spare : part;
    real *tangents = task->second_order ? scores + AT(task->scores) : NULL;
    double loss = 0.0;
    size_t in_sum = 0;
    for (size_t i = begin; i < end; i += task->block_rows) {
        open_block(task, i, smaller(end, i + task->block_rows), block);
        if (task->few_columns) {
            sweep_few_columns(task, block, want_loss, in_sum == 0, sums);
        } else {
            score_rows(task, block, scores);
            if (task->sweep->rule)
                activate_by_rule(block, task->rows, task->sweep, task->scores, scores, tangents);
            else if (task->logistic)
                activate_logistic(block, want_loss, scores, tangents);
            else if (task->known)
                activate_known(block, task->scores, kept_at(task, i), scores, tangents);
            else
                activate_softmax(block, task->scores, want_loss, kept_at(task, i), scores,
                                 tangents);
            if (task->sums)
                sum_rows(task, block, scores, in_sum == 0, sums);
        }
        loss += close_block(task, block, want_loss);
        in_sum += block->rows;
        if (spare && (in_sum >= ROWS_OF_A_SUM || i + block->rows == end)) {
            move_sums(task, sums, fresh_part, part);
            fresh_part = false;
            in_sum = 0;
        }
    }
    return loss;
}

/* The sums of a stream are cut in the same places where a row does not fit in the registers of this
 * instruction set. */
static double sweep_rows(const blv_dense_task *task, size_t begin, size_t end,
                         blv_dense_block *block, void *scores, void *spare, void *part) {
    const size_t left = stream_end(task, begin, end);
    const bool two_levels = left > begin || end - begin > ROWS_OF_A_SUM;
    double loss = 0.0;
    if (left > begin && task->few_columns)
        sweep_stream(task, begin, left, spare, part);
    else if (left > begin)
        loss = sweep_blocks(task, begin, left, true, block, scores, spare, part);
    return loss + sweep_blocks(task, left, end, left == begin, block, scores,
                               two_levels ? spare : NULL, part);
}

/* out = scale total + multiplier of, for some columns of one class */
static void put_class(const blv_dense_task *task, size_t class, size_t begin, size_t count,
                      const double *restrict total, const real *restrict of, real *restrict out) {
    const blv_sweep *sweep = task->sweep;
    const double scale = sweep->scale;
    double ridge = sweep->ridge;
    const size_t at = class * task->rows->columns + begin;
    of += at;
    out += at;
    if (sweep->ridge_class)
        ridge += (double)((const real *)sweep->ridge_class)[class];
    if (sweep->ridge_column) {
        const real *restrict column = (const real *)sweep->ridge_column + begin;
        for (size_t j = 0; j < count; j++)
            out[j] = (real)(scale * total[j] + (ridge + (double)column[j]) * (double)of[j]);
    } else {
        for (size_t j = 0; j < count; j++)
            out[j] = (real)(scale * total[j] + ridge * (double)of[j]);
    }
}

static void finish_matrix(const blv_dense_task *task, size_t first, size_t begin, size_t count,
                          const real *of, real *out) {
    const size_t padded = task->padded;
    double total[FINISH_COLUMNS], others[FINISH_COLUMNS];
    if (!task->logistic)
        memset(others, 0, sizeof others);
    for (size_t k = 0; k < task->scores; k++) {
        const real *restrict part = (const real *)task->parts + (first + k) * padded + begin;
        for (size_t j = 0; j < count; j++)
            total[j] = (double)part[j];
        for (size_t g = 1; g < task->groups; g++) {
            part += task->part_stride;
            for (size_t j = 0; j < count; j++)
                total[j] += (double)part[j];
        }
        put_class(task, k, begin, count, total, of, out);
        for (size_t j = 0; !task->logistic && j < count; j++)
            others[j] -= total[j];
    }
    if (!task->logistic)
        put_class(task, task->scores, begin, count, others, of, out);
}

static void finish(const blv_dense_task *task, size_t begin, size_t end) {
    const blv_sweep *sweep = task->sweep;
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        const size_t count = smaller(end - j, FINISH_COLUMNS);
        if (sweep->gradient)
            finish_matrix(task, 0, j, count, sweep->w, sweep->gradient);
        if (sweep->hessian)
            finish_matrix(task, task->scores, j, count, sweep->v, sweep->hessian);
    }
}

const blv_dense_sweep_table BLV_TABLE(blv_dense_sweep) = {
    .lanes = LANES,
    .most_in_registers = MOST_VECTORS * LANES,
    .block_bytes = sizeof(blv_dense_block),
    .pack = pack,
    .sweep_rows = sweep_rows,
    .finish = finish,
};
