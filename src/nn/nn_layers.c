/* Layers without weights, for the rows of a block: forward with its tangent, backward with its
 * tangent. A tangent is the derivative along v, whatever it belongs to. */
#include "base/random.h"
#include "nn/nn_work.h"

#include <string.h>

/* ---- Activations and dropout ---- */

static void relu_forward(const nn_block *b, const nn_op *op) {
    const nn_pair value = values_at(b, op->out);
    loops_of(b)->relu(elements(b, op->out), value.first, value.second);
}

static void relu_backward(const nn_block *b, const nn_op *op) {
    const nn_pair delta = deltas_at(b, op->out);
    loops_of(b)->relu_back(elements(b, op->out), values_at(b, op->out).first, delta.first,
                           delta.second);
}

static void activate_forward(const nn_block *b, const nn_op *op) {
    const nn_pair in = values_at(b, op->in), out = values_at(b, op->out);
    loops_of(b)->activate(op->activation, elements(b, op->in), in.first, in.second, out.first,
                          out.second);
}

static void activate_backward(const nn_block *b, const nn_op *op) {
    const nn_pair value = values_at(b, op->in);
    const nn_pair in = deltas_at(b, op->in), out = deltas_at(b, op->out);
    loops_of(b)->activate_back(elements(b, op->in), value.first, out.second ? value.second : NULL,
                               out.first, out.second, in.first, in.second);
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

static uint8_t *marks_of(const nn_block *b, const nn_op *op, size_t i) {
    return buffers_of(b->slice->work, op)->marks + (b->first + i) * slot_of(b, op->out)->row_step;
}

/* Marks lie as the values do; pixels are padded, so those of images are drawn pixel by pixel. */
static void mark_row(const nn_block *b, const nn_op *op, size_t i) {
    const nn_slice *s = b->slice;
    const size_t step = slot_of(b, op->out)->step;
    const blv_nn_shape shape = shape_of(b, op->out);
    uint8_t *marks = marks_of(b, op, i);
    draw_marks(s->pass->drop_seed, op, nn_row_number(s, b->first + i),
               nn_pixels(shape) * shape.channels, marks);
    for (size_t pixel = nn_pixels(shape); step != shape.channels && pixel-- > 1;)
        memmove(marks + pixel * step, marks + pixel * shape.channels, shape.channels);
}

static void drop(const nn_block *b, const nn_op *op, nn_pair arrays) {
    const double factor = 1.0 / (1.0 - op->share);
    loops_of(b)->drop(elements(b, op->out), marks_of(b, op, 0), factor, arrays.first);
    if (arrays.second)
        loops_of(b)->drop(elements(b, op->out), marks_of(b, op, 0), factor, arrays.second);
}

static void dropout_forward(const nn_block *b, const nn_op *op) {
    if (!b->slice->pass->drop)
        return;
    for (size_t i = 0; i < b->rows; i++)
        mark_row(b, op, i);
    drop(b, op, values_at(b, op->out));
}

static void dropout_backward(const nn_block *b, const nn_op *op) {
    if (b->slice->pass->drop)
        drop(b, op, deltas_at(b, op->out));
}

/* ---- Sums and copies ---- */

static void copy_rows(const nn_block *b, size_t count, const char *from, char *to, bool add) {
    if (add)
        loops_of(b)->add(count, from, to);
    else
        memcpy(to, from, count * b->slice->work->real_size);
}

static void copy_pair(const nn_block *b, int node, nn_pair from, nn_pair to, bool add) {
    copy_rows(b, elements(b, node), from.first, to.first, add);
    if (from.second)
        copy_rows(b, elements(b, node), from.second, to.second, add);
}

static void add_forward(const nn_block *b, const nn_op *op) {
    const nn_pair out = values_at(b, op->out);
    if (!op->in_place)
        copy_pair(b, op->out, values_at(b, op->in), out, false);
    if (op->other != NN_NONE)
        copy_pair(b, op->out, values_at(b, op->other), out, true);
}

static void add_backward(const nn_block *b, const nn_op *op) {
    const nn_pair out = deltas_at(b, op->out);
    if (!op->in_place)
        copy_pair(b, op->out, out, deltas_at(b, op->in), op->adds);
    if (op->other != NN_NONE)
        copy_pair(b, op->out, out, deltas_at(b, op->other), op->adds_other);
}

/* ---- Pools ---- */

static void pool_forward(const nn_block *b, const nn_op *op) {
    const nn_pixels_of_rows at = pixels_at(b, op->in);
    const size_t step = slot_of(b, op->out)->row_step;
    const nn_pair in = values_at(b, op->in), out = values_at(b, op->out);
    loops_of(b)->pool(&at, in.first, step, out.first);
    if (in.second)
        loops_of(b)->pool(&at, in.second, step, out.second);
}

static void pool_rows_back(const nn_block *b, const nn_op *op, const char *out, char *in) {
    const nn_pixels_of_rows at = pixels_at(b, op->in);
    if (!op->adds)
        memset(in, 0, elements(b, op->in) * b->slice->work->real_size);
    loops_of(b)->pool_back(&at, out, slot_of(b, op->out)->row_step, in);
}

static void pool_backward(const nn_block *b, const nn_op *op) {
    const nn_pair in = deltas_at(b, op->in), out = deltas_at(b, op->out);
    pool_rows_back(b, op, out.first, in.first);
    if (in.second)
        pool_rows_back(b, op, out.second, in.second);
}

/* ---- All of them ---- */

typedef void (*layer_fn)(const nn_block *block, const nn_op *op);

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

void blv_nn_forward(const nn_block *b, const nn_op *op) {
    layers[op->kind].forward(b, op);
}

void blv_nn_backward(const nn_block *b, const nn_op *op) {
    layers[op->kind].backward(b, op);
}
