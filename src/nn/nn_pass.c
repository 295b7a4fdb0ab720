/* Drives a pass: slices of rows one after the other, blocks of a slice shared out among threads,
 * then pieces of the gradient likewise. */
#include "base/device_library.h"
#include "base/thread_pool.h"
#include "nn/nn_work.h"

#include <assert.h>
#include <string.h>

/* One thread needs about this, and two gain from this much on. */
static const double SECONDS_PER_FLOP_F32 = 1.2e-11, SECONDS_WORTH_THREADS = 30e-6;

/* ---- Stages: what each block does between two sums over all blocks ---- */

/* Ops forward_begin .. forward_end - 1, then the losses, then ops backward_begin - 1 down to
 * backward_end; at the end sums of a norm. */
typedef struct stage {
    const nn_slice *slice;
    size_t forward_begin, forward_end;
    bool losses;
    size_t backward_begin, backward_end;
    size_t forward_sums, backward_sums; /* numbers of norms, or NN_NO_PLACE */
} stage;

static void take_losses(const nn_block *b) {
    const nn_slice *s = b->slice;
    const blv_nn_work *w = s->work;
    const blv_rows *rows = s->rows;
    const int node = w->net->scores;
    const nn_pair value = values_at(b, node), delta = deltas_at(b, node);
    const size_t place = s->begin + b->first;
    nn_scores scores = {.rows = b->rows,
                        .classes = blv_nn_classes(w->net),
                        .step = slot_of(b, node)->row_step,
                        .scale = s->pass->scale,
                        .score = value.first,
                        .tangent = value.second,
                        .delta = s->delta ? delta.first : NULL,
                        .delta_tangent = delta.second,
                        .label = rows->label,
                        .weight = rows->weight,
                        .chance = s->pass->chance,
                        .wants_loss = s->pass->loss || s->pass->row_loss,
                        .loss = s->pass->row_loss,
                        .cross = s->pass->row_cross,
                        .probability = s->pass->row_probability,
                        .best = s->pass->row_class,
                        .first = rows->first + place,
                        .row = rows->index ? rows->index + place : NULL};
    w->loops->scores(&scores);
    w->losses[b->number] = scores.sum;
}

/* What a node gives for the rows of a block goes to `out`, by row of the data. */
static void hand_out(const nn_block *b, int node, char *out) {
    const nn_matrix rows = nn_input_rows(b, node);
    const size_t width = shape_of(b, node).channels;
    for (size_t i = 0; out && i < b->rows; i++)
        memcpy(nn_at(b, out, nn_row_number(b->slice, b->first + i) * width),
               nn_at(b, rows.data, i * rows.step), width * b->slice->work->real_size);
}

/* Puts rows of the data where a first layer that is linear finds them. */
static void fetch(const nn_block *b) {
    const nn_slice *s = b->slice;
    const blv_nn_work *w = s->work;
    const size_t bytes = blv_nn_inputs(w->net) * w->real_size;
    for (size_t i = b->first; !s->input_in_place && w->input && i < b->first + b->rows; i++)
        memcpy(nn_at(b, w->input, i * w->input_step), nn_row_data(s, i), bytes);
}

static void run_stage(void *context, size_t task, int member) {
    const stage *st = context;
    const nn_slice *s = st->slice;
    const blv_nn_work *w = s->work;
    const nn_op *ops = w->net->ops;
    const size_t first = task * w->block_rows, left = s->count - first;
    const nn_block block = {.slice = s,
                            .number = task,
                            .first = first,
                            .rows = left < w->block_rows ? left : w->block_rows,
                            .scratch = w->scratch + (size_t)member * w->scratch_bytes};
    if (st->forward_begin == 0 && st->forward_end > 0)
        fetch(&block);
    for (size_t op = st->forward_begin; op < st->forward_end; op++)
        blv_nn_forward(&block, &ops[op]);
    if (st->forward_sums != NN_NO_PLACE)
        blv_nn_norm_sum_forward(&block, &ops[st->forward_sums]);
    if (st->losses) {
        take_losses(&block);
        hand_out(&block, w->net->scores, s->pass->row_scores);
        hand_out(&block, nn_last_layer(w->net)->in, s->pass->row_features);
    }
    for (size_t op = st->backward_begin; op-- > st->backward_end;) {
        if (ops[op].kind == NN_NORM && !s->own_statistics)
            blv_nn_norm_sum_backward(&block, &ops[op]);
        blv_nn_backward(&block, &ops[op]);
    }
    if (st->backward_sums != NN_NO_PLACE)
        blv_nn_norm_sum_backward(&block, &ops[st->backward_sums]);
}

/* The next norm from an op on that needs sums over all rows; the number of ops: there is none. */
static size_t next_stop(const nn_slice *s, size_t op) {
    const blv_nn *net = s->work->net;
    while (op < net->op_count && !(s->own_statistics && net->ops[op].kind == NN_NORM))
        op++;
    return op;
}

/* The last such norm before op `below`, or NN_NO_PLACE. */
static size_t stop_before(const nn_slice *s, size_t below) {
    while (below-- > 0)
        if (next_stop(s, below) == below)
            return below;
    return NN_NO_PLACE;
}

static void run(stage *st, int team) {
    blv_threads_run(team, st->slice->blocks, run_stage, st);
}

/* A stage ends wherever a norm needs sums over all rows: one stage, where statistics are given. */
static void through(const nn_slice *s, int team) {
    const blv_nn *net = s->work->net;
    stage st = {.slice = s, .forward_sums = NN_NO_PLACE, .backward_sums = NN_NO_PLACE};
    while ((st.forward_end = next_stop(s, st.forward_begin ? st.forward_begin + 1 : 0)) <
           net->op_count) {
        st.forward_sums = st.forward_end;
        run(&st, team);
        blv_nn_norm_close_forward(s, &net->ops[st.forward_end]);
        st.forward_begin = st.forward_end;
    }
    st.forward_sums = NN_NO_PLACE;
    st.losses = true;
    if (s->delta) {
        st.backward_begin = net->op_count;
        st.backward_sums = stop_before(s, net->op_count);
        st.backward_end = st.backward_sums + 1; /* 0: there is none */
    }
    run(&st, team);
    for (size_t norm; (norm = st.backward_sums) != NN_NO_PLACE;) {
        blv_nn_norm_close_backward(s, &net->ops[norm]);
        const size_t before = stop_before(s, norm);
        st = (stage){.slice = s,
                     .backward_begin = norm + 1,
                     .backward_end = before + 1,
                     .forward_sums = NN_NO_PLACE,
                     .backward_sums = before};
        run(&st, team);
    }
    for (size_t op = 0; s->delta && !s->own_statistics && op < net->op_count; op++)
        if (net->ops[op].kind == NN_NORM)
            blv_nn_norm_close_backward(s, &net->ops[op]);
}

/* ---- Slices ---- */

static void prepare_piece(void *context, size_t task, int member) {
    (void)member;
    const nn_slice *s = context;
    blv_nn_prepare(s, &s->work->prepare[task]);
}

static void gather_piece(void *context, size_t task, int member) {
    const nn_slice *s = context;
    const blv_nn_work *w = s->work;
    const nn_block whole = {
        .slice = s, .rows = s->count, .scratch = w->scratch + (size_t)member * w->scratch_bytes};
    blv_nn_gather(&whole, &w->gather[task]);
}

/* Threads for `rows` rows; all of a pass in either precision counts alike. */
static int team_for(const nn_slice *s, size_t rows) {
    const blv_nn_work *w = s->work;
    const double times = (s->tangent ? 2.0 : 1.0) * (s->delta ? 3.0 : 1.0);
    const double size = (double)w->real_size / sizeof(float);
    const double seconds = times * w->flops * (double)rows * SECONDS_PER_FLOP_F32 * size;
    return seconds < SECONDS_WORTH_THREADS ? 1 : w->threads;
}

static void run_slice(nn_slice *s, double *loss) {
    const blv_nn_work *w = s->work;
    const int team = team_for(s, s->count);
    s->blocks = (s->count + w->block_rows - 1) / w->block_rows;
    through(s, team);
    if (s->delta)
        blv_threads_run(team, w->gather_count, gather_piece, s);
    for (size_t i = 0; i < s->blocks; i++)
        *loss += w->losses[i];
}

static bool lies_well(const blv_nn_work *w, const blv_rows *rows) {
    return !rows->index && rows->stride * w->real_size % 1024 != 0;
}

void blv_nn_run(blv_nn_work *w, const blv_rows *rows, const blv_nn_pass *pass) {
    assert(rows->dense && rows->label && rows->columns == blv_nn_inputs(w->net));
    nn_slice s = {.work = w,
                  .rows = rows,
                  .pass = pass,
                  .tangent = pass->v && (pass->hessian || pass->row_cross),
                  .delta = pass->gradient || (pass->v && pass->hessian),
                  .delta_tangent = pass->v && pass->hessian,
                  .own_statistics = w->net->statistics > 0 && !pass->statistics,
                  .input_in_place = lies_well(w, rows)};
    double loss = 0.0;
    blv_threads_run(team_for(&s, w->block_rows), w->prepare_count, prepare_piece, &s);
    for (size_t op = 0; pass->statistics && op < w->net->op_count; op++)
        if (w->net->ops[op].kind == NN_NORM)
            blv_nn_norm_open(&s, &w->net->ops[op]);
    for (s.begin = 0; s.begin < rows->count; s.begin += s.count) {
        const size_t left = rows->count - s.begin;
        s.count = left < w->slice ? left : w->slice;
        run_slice(&s, &loss);
    }
    if (pass->loss)
        *pass->loss = pass->scale * loss;
}

void blv_nn_observe(blv_nn_work *w, const blv_rows *rows, const void *params, double *statistics) {
    const blv_nn_pass pass = {.params = params, .scale = 1.0};
    for (size_t i = 0; i < w->net->statistics; i++)
        statistics[i] = 0.0;
    w->observed = statistics;
    blv_nn_run(w, rows, &pass);
    w->observed = NULL;
}

const blv_nn_kernels *blv_nn_kernels_for(blv_memory_kind memory) {
    static const blv_nn_kernels host = {.work_create = blv_nn_work_create,
                                        .work_destroy = blv_nn_work_destroy,
                                        .run = blv_nn_run,
                                        .observe = blv_nn_observe};
    if (memory == BLV_MEMORY_HOST)
        return &host;
    const blv_device_tables *device = memory == BLV_MEMORY_CUDA ? blv_device_library(NULL) : NULL;
    return device ? device->networks : NULL;
}
