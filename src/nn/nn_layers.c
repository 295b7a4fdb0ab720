/* Layers without weights, for the rows of a block: forward with its tangent, backward with its
 * tangent. A tangent is the derivative along v, whatever it belongs to. */
#include "base/random.h"
#include "nn/nn_block.h"

#include <string.h>

/* ---- Activations and dropout ---- */

static void relu_forward(const nn_block *b, size_t number) {
    const int out = op_at(b, number)->out;
    const nn_pair value = values_at(b, out);
    b->slice->work->loops->relu(elements(b, out), value.first, value.second);
}

static void relu_backward(const nn_block *b, size_t number) {
    const int out = op_at(b, number)->out;
    const nn_pair delta = deltas_at(b, out);
    b->slice->work->loops->relu_back(elements(b, out), values_at(b, out).first, delta.first,
                                     delta.second);
}

static void activate_forward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_pair in = values_at(b, op->in), out = values_at(b, op->out);
    b->slice->work->loops->activate(op->activation, elements(b, op->in), in.first, in.second,
                                    out.first, out.second);
}

static void activate_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_pair value = values_at(b, op->in);
    const nn_pair in = deltas_at(b, op->in), out = deltas_at(b, op->out);
    b->slice->work->loops->activate_back(elements(b, op->in), value.first,
                                         out.second ? value.second : NULL, out.first, out.second,
                                         in.first, in.second);
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

static void drop(const nn_block *b, size_t number, nn_pair arrays) {
    const nn_op *op = op_at(b, number);
    const nn_loops *loops = b->slice->work->loops;
    const double factor = 1.0 / (1.0 - op->share);
    const uint8_t *marks =
        b->slice->work->ops[number].marks + b->first * slot_of(b, op->out)->row_step;
    loops->drop(elements(b, op->out), marks, factor, arrays.first);
    if (arrays.second)
        loops->drop(elements(b, op->out), marks, factor, arrays.second);
}

static void dropout_forward(const nn_block *b, size_t number) {
    if (!b->slice->pass->drop)
        return;
    for (size_t i = 0; i < b->rows; i++)
        mark_row(b, number, i);
    drop(b, number, values_at(b, op_at(b, number)->out));
}

static void dropout_backward(const nn_block *b, size_t number) {
    if (b->slice->pass->drop)
        drop(b, number, deltas_at(b, op_at(b, number)->out));
}

/* ---- Sums and copies ---- */

static void copy_rows(const nn_block *b, size_t count, const char *from, char *to, bool add) {
    const blv_nn_work *w = b->slice->work;
    if (add)
        w->loops->add(count, from, to);
    else
        memcpy(to, from, count * w->real_size);
}

static void copy_pair(const nn_block *b, int node, nn_pair from, nn_pair to, bool add) {
    copy_rows(b, elements(b, node), from.first, to.first, add);
    if (from.second)
        copy_rows(b, elements(b, node), from.second, to.second, add);
}

static void add_forward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_pair out = values_at(b, op->out);
    if (!op->in_place)
        copy_pair(b, op->out, values_at(b, op->in), out, false);
    if (op->other != NN_NONE)
        copy_pair(b, op->out, values_at(b, op->other), out, true);
}

static void add_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_pair out = deltas_at(b, op->out);
    if (!op->in_place)
        copy_pair(b, op->out, out, deltas_at(b, op->in), op->adds);
    if (op->other != NN_NONE)
        copy_pair(b, op->out, out, deltas_at(b, op->other), op->adds_other);
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

/* Where the largest of each window of a row is. */
static uint8_t *best_of(const nn_block *b, size_t number, size_t i) {
    return b->slice->work->ops[number].marks +
           (b->first + i) * slot_of(b, op_at(b, number)->out)->row_step;
}

/* What is pooled of a row, forward, and the way back. */
static void pool_row(const nn_block *b, size_t number, size_t i, const char *in, char *out) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = op_at(b, number);
    const nn_windows windows = windows_at(b, op);
    if (op->pooling == BLV_NN_AVERAGE)
        w->loops->pool(&windows, in, out);
    else
        w->loops->take_best(&windows, best_of(b, number, i), in, out);
}

static void pool_row_back(const nn_block *b, size_t number, size_t i, const char *out, char *in) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = op_at(b, number);
    const nn_windows windows = windows_at(b, op);
    if (!op->adds)
        memset(in, 0, slot_of(b, op->in)->row_step * w->real_size);
    if (op->pooling == BLV_NN_AVERAGE)
        w->loops->pool_back(&windows, out, in);
    else
        w->loops->take_best_back(&windows, best_of(b, number, i), out, in);
}

static void pool_forward(const nn_block *b, size_t number) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = op_at(b, number);
    const nn_pair in = values_at(b, op->in), out = values_at(b, op->out);
    const nn_windows windows = windows_at(b, op);
    for (size_t i = 0; i < b->rows; i++) {
        const size_t from = i * slot_of(b, op->in)->row_step * w->real_size;
        const size_t to = i * slot_of(b, op->out)->row_step * w->real_size;
        if (op->pooling == BLV_NN_MAX)
            w->loops->find_best(&windows, in.first + from, best_of(b, number, i));
        pool_row(b, number, i, in.first + from, out.first + to);
        if (in.second)
            pool_row(b, number, i, in.second + from, out.second + to);
    }
}

static void pool_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const size_t real = b->slice->work->real_size;
    const nn_pair in = deltas_at(b, op->in), out = deltas_at(b, op->out);
    for (size_t i = 0; i < b->rows; i++) {
        const size_t to = i * slot_of(b, op->in)->row_step * real;
        const size_t from = i * slot_of(b, op->out)->row_step * real;
        pool_row_back(b, number, i, out.first + from, in.first + to);
        if (in.second)
            pool_row_back(b, number, i, out.second + from, in.second + to);
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
