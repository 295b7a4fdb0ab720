/* Memory of passes: one room, laid out by walking through the network twice, first to count. */
#include "nn/nn_work.h"
#include "base/aligned_memory.h"
#include "base/thread_pool.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,  /* bytes of a cache line */
    FAR = 1024, /* rows a multiple of this apart get into each other's way in a cache */
    SLICE_BYTES = 64 << 20,
    SLICE_MAX = 1024,
    BLOCK_MAX = 64,
    FILL_BYTES = 64 << 10,
    FILL_MIN = 8
};
static const double BLOCK_FLOPS = 4e6;

BLV_TABLES(nn_loops, blv_nn_loops);

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t whole_lines(size_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

size_t blv_nn_pitch(const blv_nn_work *w, size_t elements) {
    size_t bytes = whole_lines(elements * w->real_size);
    if (bytes % FAR == 0)
        bytes += LINE;
    return bytes / w->real_size;
}

/* The next part of the room; NULL as long as it is only counted. */
static void *take(blv_nn_work *w, size_t bytes) {
    char *at = w->memory ? w->memory + w->bytes : NULL;
    w->bytes += whole_lines(bytes);
    return at;
}

static double *take_doubles(blv_nn_work *w, size_t count) {
    return take(w, count * sizeof(double));
}

static char *take_reals(blv_nn_work *w, size_t count) {
    return take(w, count * w->real_size);
}

/* ---- Sizes ---- */

static void measure_slots(blv_nn_work *w) {
    for (size_t i = 0; i < w->net->slot_count; i++) {
        const blv_nn_shape shape = w->net->slots[i].shape;
        nn_slot_buffers *slot = &w->slots[i];
        slot->step = whole_lines(shape.channels * w->real_size) / w->real_size;
        slot->row_step = blv_nn_pitch(w, nn_pixels(shape) * slot->step);
        if (nn_pixels(shape) == 1)
            slot->step = slot->row_step;
    }
}

static double flops_of_a_row(const blv_nn *net) {
    double flops = 0.0;
    for (size_t i = 0; i < net->op_count; i++) {
        const nn_op *op = &net->ops[i];
        const blv_nn_shape out = net->nodes[op->out].shape;
        if (nn_has_weights(op))
            flops += 2.0 * (double)nn_depth(net, op) * (double)(nn_pixels(out) * out.channels);
    }
    return flops;
}

/* Of a slice, roughly: four arrays a slot, and the copy of the input. */
static size_t bytes_of_a_row(const blv_nn_work *w) {
    size_t elements = blv_nn_inputs(w->net);
    for (size_t i = 0; i < w->net->slot_count; i++)
        elements += 4 * w->slots[i].row_step;
    return elements * w->real_size;
}

static void choose_rows(blv_nn_work *w, size_t max_rows, size_t slice) {
    w->flops = flops_of_a_row(w->net);
    w->block_rows = 1;
    while (w->block_rows < BLOCK_MAX && 2.0 * (double)w->block_rows * w->flops <= BLOCK_FLOPS)
        w->block_rows *= 2;
    if (slice == 0)
        slice = larger(w->block_rows, smaller(SLICE_MAX, SLICE_BYTES / bytes_of_a_row(w)));
    w->slice = larger(1, smaller(slice, max_rows));
    w->max_blocks = (w->slice + w->block_rows - 1) / w->block_rows;
}

/* ---- The room ---- */

static void lay_out_slots(blv_nn_work *w) {
    for (size_t i = 0; i < w->net->slot_count; i++) {
        nn_slot_buffers *slot = &w->slots[i];
        const size_t reals = w->slice * slot->row_step;
        slot->value = take_reals(w, reals);
        slot->tangent = take_reals(w, reals);
        slot->delta = take_reals(w, reals);
        slot->delta_tangent = take_reals(w, reals);
    }
}

static void lay_out_weights(blv_nn_work *w, size_t number) {
    const nn_op *op = &w->net->ops[number];
    nn_op_buffers *room = &w->ops[number];
    const size_t outputs = w->net->nodes[op->out].shape.channels, depth = nn_depth(w->net, op);
    const size_t pitch = blv_nn_pitch(w, outputs);
    if (pitch != outputs) {
        room->padded_step = pitch;
        room->padded = take_reals(w, depth * pitch);
        room->padded_v = take_reals(w, depth * pitch);
    }
    if (op->in != NN_INPUT) {
        room->transposed_step = blv_nn_pitch(w, depth);
        room->transposed = take_reals(w, outputs * room->transposed_step);
        room->transposed_v = take_reals(w, outputs * room->transposed_step);
    }
    if (op->kind == NN_CONVOLUTION) {
        const size_t step = blv_nn_pitch(w, depth);
        room->fill =
            larger(FILL_MIN, smaller(NN_PIXELS_AT_ONCE, FILL_BYTES / (step * w->real_size)));
        w->scratch_bytes = larger(w->scratch_bytes, room->fill * step * w->real_size);
        const size_t row = blv_nn_pitch(w, depth / op->kernel); /* of the kernel */
        w->scratch_bytes = larger(w->scratch_bytes, NN_PIXELS_AT_ONCE * row * w->real_size);
    }
}

static void lay_out_norm(blv_nn_work *w, size_t number) {
    nn_op_buffers *room = &w->ops[number];
    const nn_node *node = &w->net->nodes[w->net->ops[number].out];
    for (size_t i = 0; i < NN_COEFFICIENTS; i++)
        room->coefficient[i] = take_reals(w, w->slots[node->slot].step);
    for (size_t i = 0; i < NN_DOUBLES; i++)
        room->number[i] = take_doubles(w, node->shape.channels);
    room->partial = take_doubles(w, w->max_blocks * NN_PARTIALS * node->shape.channels);
}

static void lay_out_ops(blv_nn_work *w) {
    for (size_t i = 0; i < w->net->op_count; i++) {
        const nn_op *op = &w->net->ops[i];
        const nn_slot_buffers *slot = &w->slots[w->net->nodes[op->out].slot];
        if (nn_has_weights(op))
            lay_out_weights(w, i);
        if (op->kind == NN_NORM)
            lay_out_norm(w, i);
        if (op->kind == NN_DROPOUT)
            w->ops[i].marks = take(w, w->slice * slot->row_step);
        if (op->kind == NN_LINEAR && op->in == NN_INPUT) {
            const size_t listed = larger(blv_nn_inputs(w->net), w->slice) * sizeof(uint32_t);
            w->input_step = blv_nn_pitch(w, blv_nn_inputs(w->net));
            w->scratch_bytes = larger(w->scratch_bytes, whole_lines(listed) + LINE);
        }
    }
}

static void lay_out(blv_nn_work *w) {
    w->bytes = 0;
    lay_out_slots(w);
    lay_out_ops(w);
    w->input = w->input_step ? take_reals(w, w->slice * w->input_step) : NULL;
    w->losses = take_doubles(w, w->max_blocks);
    w->scratch = take(w, (size_t)w->threads * w->scratch_bytes);
    w->prepare_count = blv_nn_list_pieces(w, NULL, false);
    w->prepare = take(w, w->prepare_count * sizeof *w->prepare);
    w->gather_count = blv_nn_list_pieces(w, NULL, true);
    w->gather = take(w, w->gather_count * sizeof *w->gather);
}

blv_nn_work *blv_nn_work_create(const blv_nn *net, blv_precision precision, size_t max_rows,
                                size_t slice, int threads) {
    blv_nn_work *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->net = net;
    w->precision = precision;
    blv_nn_work_instructions(w, BLV_INSTRUCTIONS_BEST);
    w->real_size = w->loops->real_size;
    w->threads = threads > 0 ? threads : blv_threads_processors();
    if (w->threads > BLV_TEAM_MAX)
        w->threads = BLV_TEAM_MAX;
    w->slots = calloc(net->slot_count, sizeof *w->slots);
    w->ops = calloc(net->op_count, sizeof *w->ops);
    if (w->slots && w->ops) {
        measure_slots(w);
        choose_rows(w, max_rows, slice);
        lay_out(w);
        w->memory = blv_room(w->bytes);
    }
    if (!w->memory) {
        blv_nn_work_destroy(w);
        return NULL;
    }
    memset(w->memory, 0, w->bytes);
    lay_out(w);
    blv_nn_list_pieces(w, w->prepare, false);
    blv_nn_list_pieces(w, w->gather, true);
    return w;
}

void blv_nn_work_destroy(blv_nn_work *w) {
    if (!w)
        return;
    free(w->slots);
    free(w->ops);
    free(w->memory);
    free(w);
}

void blv_nn_work_instructions(blv_nn_work *w, blv_instructions instructions) {
    w->loops = blv_nn_loops_tables[w->precision == BLV_F32][blv_usable_instructions(instructions)];
}
