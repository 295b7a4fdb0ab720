/* Layers without weights, for the rows of a block: forward with its tangent, backward with its
 * tangent. A tangent is the derivative along v, whatever it belongs to. */
#include "base/random.h"
#include "nn/nn_block.h"

#include <string.h>

/* ---- Activations and dropout ---- */

static void relu_forward(const nn_block *b, size_t number) {
    const nn_slot_buffers *slot = slot_of(b, op_at(b, number)->out);
    b->slice->work->loops->relu(elements(b, slot), rows_of(b, slot, slot->value),
                                b->slice->tangent ? rows_of(b, slot, slot->tangent) : NULL);
}

static void relu_backward(const nn_block *b, size_t number) {
    const nn_slot_buffers *slot = slot_of(b, op_at(b, number)->out);
    b->slice->work->loops->relu_back(
        elements(b, slot), rows_of(b, slot, slot->value), rows_of(b, slot, slot->delta),
        b->slice->delta_tangent ? rows_of(b, slot, slot->delta_tangent) : NULL);
}

static void activate_forward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->tangent;
    b->slice->work->loops->activate(op->activation, elements(b, in), rows_of(b, in, in->value),
                                    tangent ? rows_of(b, in, in->tangent) : NULL,
                                    rows_of(b, out, out->value),
                                    tangent ? rows_of(b, out, out->tangent) : NULL);
}

static void activate_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->delta_tangent;
    b->slice->work->loops->activate_back(
        elements(b, in), rows_of(b, in, in->value), tangent ? rows_of(b, in, in->tangent) : NULL,
        rows_of(b, out, out->delta), tangent ? rows_of(b, out, out->delta_tangent) : NULL,
        rows_of(b, in, in->delta), tangent ? rows_of(b, in, in->delta_tangent) : NULL);
}

/* Which units of a row of the data are kept: four from each block of random words. */
static void draw_marks(uint64_t seed, const nn_op *op, size_t row, size_t units, uint8_t *kept) {
    const blv_stream stream = blv_stream_make(seed, "dropout");
    const double limit = op->share * 0x1p32;
    for (size_t first = 0; first < units; first += 4) {
        const uint32_t counter[4] = {(uint32_t)(first / 4), (uint32_t)row,
                                     stream.salt[0] ^ (uint32_t)((uint64_t)row >> 32),
                                     stream.salt[1] ^ op->number};
        uint32_t word[4];
        blv_philox(counter, stream.key, word);
        for (size_t i = 0; i < 4 && first + i < units; i++)
            kept[first + i] = (double)word[i] >= limit;
    }
}

/* Marks lie as the values do; pixels are padded, so those of images are drawn pixel by pixel. */
static void mark_row(const nn_block *b, size_t number, size_t i) {
    const nn_slice *s = b->slice;
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *slot = slot_of(b, op->out);
    const blv_nn_shape shape = shape_of(b, op->out);
    const size_t place = s->begin + b->first + i;
    const size_t row = s->rows->index ? s->rows->index[place] : s->rows->first + place;
    uint8_t *marks = s->work->ops[number].marks + (b->first + i) * slot->row_step;
    draw_marks(s->pass->drop_seed, op, row, nn_pixels(shape) * shape.channels, marks);
    for (size_t pixel = nn_pixels(shape); slot->step != shape.channels && pixel-- > 1;)
        memmove(marks + pixel * slot->step, marks + pixel * shape.channels, shape.channels);
}

static void drop(const nn_block *b, size_t number, char *array) {
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *slot = slot_of(b, op->out);
    const uint8_t *marks = b->slice->work->ops[number].marks + b->first * slot->row_step;
    b->slice->work->loops->drop(elements(b, slot), marks, 1.0 / (1.0 - op->share),
                                rows_of(b, slot, array));
}

static void dropout_forward(const nn_block *b, size_t number) {
    const nn_slot_buffers *slot = slot_of(b, op_at(b, number)->out);
    if (!b->slice->pass->drop)
        return;
    for (size_t i = 0; i < b->rows; i++)
        mark_row(b, number, i);
    drop(b, number, slot->value);
    if (b->slice->tangent)
        drop(b, number, slot->tangent);
}

static void dropout_backward(const nn_block *b, size_t number) {
    const nn_slot_buffers *slot = slot_of(b, op_at(b, number)->out);
    if (!b->slice->pass->drop)
        return;
    drop(b, number, slot->delta);
    if (b->slice->delta_tangent)
        drop(b, number, slot->delta_tangent);
}

/* ---- Sums and copies ---- */

static void copy_rows(const nn_block *b, const nn_slot_buffers *slot, char *from, char *to,
                      bool add) {
    const blv_nn_work *w = b->slice->work;
    if (add)
        w->loops->add(elements(b, slot), rows_of(b, slot, from), rows_of(b, slot, to));
    else
        memcpy(rows_of(b, slot, to), rows_of(b, slot, from), elements(b, slot) * w->real_size);
}

static void add_forward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->tangent;
    if (!op->in_place) {
        copy_rows(b, out, in->value, out->value, false);
        if (tangent)
            copy_rows(b, out, in->tangent, out->tangent, false);
    }
    if (op->other == NN_NONE)
        return;
    const nn_slot_buffers *other = slot_of(b, op->other);
    copy_rows(b, out, other->value, out->value, true);
    if (tangent)
        copy_rows(b, out, other->tangent, out->tangent, true);
}

static void add_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->delta_tangent;
    if (!op->in_place) {
        copy_rows(b, out, out->delta, in->delta, op->adds);
        if (tangent)
            copy_rows(b, out, out->delta_tangent, in->delta_tangent, op->adds);
    }
    if (op->other == NN_NONE)
        return;
    const nn_slot_buffers *other = slot_of(b, op->other);
    copy_rows(b, out, out->delta, other->delta, op->adds_other);
    if (tangent)
        copy_rows(b, out, out->delta_tangent, other->delta_tangent, op->adds_other);
}

/* ---- Pools ---- */

static nn_windows windows_at(const nn_block *b, const nn_op *op) {
    const blv_nn_shape out = shape_of(b, op->out);
    return (nn_windows){.in_width = shape_of(b, op->in).width,
                        .out_height = out.height,
                        .out_width = out.width,
                        .size_y = op->kernel_y,
                        .size_x = op->kernel_x,
                        .stride = op->stride,
                        .channels = out.channels,
                        .step = slot_of(b, op->out)->step,
                        .factor = 1.0 / (double)(op->kernel_y * op->kernel_x)};
}

static void pool_forward(const nn_block *b, size_t number) {
    const nn_loops *loops = b->slice->work->loops;
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const nn_windows windows = windows_at(b, op);
    const bool tangent = b->slice->tangent;
    for (size_t i = 0; i < b->rows; i++) {
        const char *value = row_of(b, in, in->value, i);
        if (op->pooling == BLV_NN_AVERAGE) {
            loops->pool(&windows, value, row_of(b, out, out->value, i));
            if (tangent)
                loops->pool(&windows, row_of(b, in, in->tangent, i),
                            row_of(b, out, out->tangent, i));
            continue;
        }
        uint8_t *best = b->slice->work->ops[number].marks + (b->first + i) * out->row_step;
        loops->find_best(&windows, value, best);
        loops->take_best(&windows, best, value, row_of(b, out, out->value, i));
        if (tangent)
            loops->take_best(&windows, best, row_of(b, in, in->tangent, i),
                             row_of(b, out, out->tangent, i));
    }
}

static void pool_row_back(const nn_block *b, size_t number, size_t i, char *from, char *to) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const nn_windows windows = windows_at(b, op);
    char *delta_in = row_of(b, in, to, i);
    if (!op->adds)
        memset(delta_in, 0, in->row_step * w->real_size);
    if (op->pooling == BLV_NN_AVERAGE)
        w->loops->pool_back(&windows, row_of(b, out, from, i), delta_in);
    else
        w->loops->take_best_back(&windows, w->ops[number].marks + (b->first + i) * out->row_step,
                                 row_of(b, out, from, i), delta_in);
}

static void pool_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    for (size_t i = 0; i < b->rows; i++) {
        pool_row_back(b, number, i, out->delta, in->delta);
        if (b->slice->delta_tangent)
            pool_row_back(b, number, i, out->delta_tangent, in->delta_tangent);
    }
}

/* ---- All of them ---- */

typedef void (*layer_fn)(const nn_block *block, size_t op);

static const struct {
    layer_fn forward, backward;
} layers[] = {
    [NN_LINEAR] = {blv_nn_linear_forward, blv_nn_linear_backward},
    [NN_CONVOLUTION] = {blv_nn_convolution_forward, blv_nn_convolution_backward},
    [NN_NORM] = {blv_nn_norm_forward, blv_nn_norm_backward},
    [NN_RELU] = {relu_forward, relu_backward},
    [NN_ACTIVATION] = {activate_forward, activate_backward},
    [NN_ADD] = {add_forward, add_backward},
    [NN_POOL] = {pool_forward, pool_backward},
    [NN_DROPOUT] = {dropout_forward, dropout_backward},
};

void blv_nn_forward(const nn_block *b, size_t op) {
    layers[op_at(b, op)->kind].forward(b, op);
}

void blv_nn_backward(const nn_block *b, size_t op) {
    layers[op_at(b, op)->kind].backward(b, op);
}
