/* Every kind of layer for the rows of a block: forward with its tangent, backward with its tangent.
 * A tangent is the derivative along v, whatever it belongs to. */
#include "core/random.h"
#include "nn/nn_work.h"

#include <string.h>

/* ---- Where things are ---- */

static const nn_op *op_at(const nn_block *b, size_t number) {
    return &b->slice->work->net->ops[number];
}

static const nn_slot_room *slot_of(const nn_block *b, int node) {
    const blv_nn_work *w = b->slice->work;
    return &w->slots[w->net->nodes[node].slot];
}

static blv_nn_shape shape_of(const nn_block *b, int node) {
    return b->slice->work->net->nodes[node].shape;
}

/* The block's rows of one of a slot's arrays. */
static char *rows_of(const nn_block *b, const nn_slot_room *slot, char *array) {
    return array + b->first * slot->row_step * b->slice->work->real_size;
}

/* One row of the block. */
static char *row_of(const nn_block *b, const nn_slot_room *slot, char *array, size_t i) {
    return array + (b->first + i) * slot->row_step * b->slice->work->real_size;
}

static size_t elements(const nn_block *b, const nn_slot_room *slot) {
    return b->rows * slot->row_step;
}

static const char *parameters(const nn_block *b, const void *vector, size_t place) {
    return (const char *)vector + place * b->slice->work->real_size;
}

typedef struct matrix {
    const void *data;
    size_t step;
} matrix;

/* Weights as the right factor of a product: inputs x outputs, and turned. */
static matrix weights(const nn_block *b, size_t number, bool of_v) {
    const nn_op_room *room = &b->slice->work->ops[number];
    const nn_op *op = op_at(b, number);
    if (room->wide)
        return (matrix){of_v ? room->wide_v : room->wide, room->wide_step};
    const void *vector = of_v ? b->slice->pass->v : b->slice->pass->params;
    return (matrix){parameters(b, vector, op->weight), shape_of(b, op->out).channels};
}

static matrix turned_weights(const nn_block *b, size_t number, bool of_v) {
    const nn_op_room *room = &b->slice->work->ops[number];
    return (matrix){of_v ? room->turned_v : room->turned, room->turned_step};
}

/* Rows of the data may be mostly zeros. */
static void multiply_input(const nn_block *b, size_t number, matrix x, bool of_v, void *out,
                           size_t out_step) {
    const nn_op *op = op_at(b, number);
    const matrix right = weights(b, number, of_v);
    const nn_product p = {.rows = b->rows,
                          .columns = shape_of(b, op->out).channels,
                          .depth = nn_depth(b->slice->work->net, op),
                          .a = x.data,
                          .a_row = x.step,
                          .a_depth = 1,
                          .b = right.data,
                          .b_depth = right.step,
                          .c = out,
                          .c_row = out_step,
                          .whole = true,
                          .list = (uint32_t *)(void *)b->scratch};
    b->slice->work->loops->product(&p);
}

static void multiply(const nn_block *b, size_t rows, size_t columns, size_t depth, matrix left,
                     matrix right, void *out, size_t out_step, bool add) {
    const nn_product p = {.rows = rows,
                          .columns = columns,
                          .depth = depth,
                          .a = left.data,
                          .a_row = left.step,
                          .a_depth = 1,
                          .b = right.data,
                          .b_depth = right.step,
                          .c = out,
                          .c_row = out_step,
                          .add = add,
                          .whole = true};
    b->slice->work->loops->product(&p);
}

/* ---- Linear ---- */

void blv_nn_fetch(const nn_block *b) {
    const nn_slice *s = b->slice;
    const blv_nn_work *w = s->work;
    const size_t bytes = blv_nn_inputs(w->net) * w->real_size;
    if (s->input_in_place || !w->input)
        return;
    for (size_t i = b->first; i < b->first + b->rows; i++)
        memcpy(w->input + i * w->input_step * w->real_size, blv_nn_data_row(s, i), bytes);
}

/* Rows that go into a linear layer; input: of the data or their copies. */
static matrix linear_input(const nn_block *b, int node) {
    const blv_nn_work *w = b->slice->work;
    if (node != NN_INPUT)
        return (matrix){rows_of(b, slot_of(b, node), slot_of(b, node)->value),
                        slot_of(b, node)->row_step};
    if (b->slice->input_in_place)
        return (matrix){blv_nn_data_row(b->slice, b->first), b->slice->rows->stride};
    return (matrix){w->input + b->first * w->input_step * w->real_size, w->input_step};
}

static void linear_products(const nn_block *b, size_t number, bool of_v, char *to) {
    const nn_op *op = op_at(b, number);
    const size_t step = slot_of(b, op->out)->row_step;
    const matrix x = linear_input(b, op->in);
    if (op->in == NN_INPUT)
        multiply_input(b, number, x, of_v, to, step);
    else
        multiply(b, b->rows, shape_of(b, op->out).channels, nn_depth(b->slice->work->net, op), x,
                 weights(b, number, of_v), to, step, false);
}

static void linear_forward(const nn_block *b, size_t number) {
    const nn_slice *s = b->slice;
    const nn_op *op = op_at(b, number);
    const nn_slot_room *out = slot_of(b, op->out);
    const size_t outputs = shape_of(b, op->out).channels;
    char *value = rows_of(b, out, out->value), *tangent = rows_of(b, out, out->tangent);
    linear_products(b, number, false, value);
    s->work->loops->add_row(b->rows, outputs, parameters(b, s->pass->params, op->bias), value,
                            out->row_step);
    if (!s->tangent)
        return;
    linear_products(b, number, true, tangent);
    s->work->loops->add_row(b->rows, outputs, parameters(b, s->pass->v, op->bias), tangent,
                            out->row_step);
    if (op->in == NN_INPUT)
        return;
    const nn_slot_room *in = slot_of(b, op->in);
    const matrix x_tangent = {rows_of(b, in, in->tangent), in->row_step};
    multiply(b, b->rows, outputs, nn_depth(s->work->net, op), x_tangent, weights(b, number, false),
             tangent, out->row_step, true);
}

static void linear_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    if (op->in == NN_INPUT)
        return;
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const size_t outputs = shape_of(b, op->out).channels, depth = shape_of(b, op->in).channels;
    const matrix delta = {rows_of(b, out, out->delta), out->row_step};
    const matrix w = turned_weights(b, number, false);
    multiply(b, b->rows, depth, outputs, delta, w, rows_of(b, in, in->delta), in->row_step,
             op->adds);
    if (!b->slice->delta_tangent)
        return;
    const matrix delta_tangent = {rows_of(b, out, out->delta_tangent), out->row_step};
    char *to = rows_of(b, in, in->delta_tangent);
    multiply(b, b->rows, depth, outputs, delta_tangent, w, to, in->row_step, op->adds);
    multiply(b, b->rows, depth, outputs, delta, turned_weights(b, number, true), to, in->row_step,
             true);
}

/* ---- Convolution: windows gathered into rows of a matrix, some pixels at a time ---- */

nn_patches blv_nn_patches(const blv_nn_work *w, const nn_op *op) {
    const nn_node *in = &w->net->nodes[op->in], *out = &w->net->nodes[op->out];
    const bool input = op->in == NN_INPUT, planar = input && w->net->planar;
    const size_t step = input ? in->shape.channels : w->slots[in->slot].step;
    return (nn_patches){.in_height = in->shape.height,
                        .in_width = in->shape.width,
                        .channels = in->shape.channels,
                        .pixel_step = planar ? 1 : step,
                        .channel_step = planar ? nn_pixels(in->shape) : 1,
                        .end_y = op->kernel_y,
                        .end_x = op->kernel_x,
                        .stride = op->stride,
                        .padding = op->padding,
                        .out_width = out->shape.width,
                        .step = blv_nn_pitch(w, nn_depth(w->net, op))};
}

/* Pixels in the image are already the rows of the matrix. */
static bool is_pointwise(const nn_op *op) {
    return op->kernel_y == 1 && op->kernel_x == 1 && op->stride == 1 && op->padding == 0 &&
           op->in != NN_INPUT;
}

static const char *image_of(const nn_block *b, int node, size_t i) {
    if (node == NN_INPUT)
        return blv_nn_data_row(b->slice, b->first + i);
    return row_of(b, slot_of(b, node), slot_of(b, node)->value, i);
}

/* The windows of some pixels of an image as a matrix in `room`, unless they lie so already. */
static matrix windows_of(const nn_block *b, const nn_op *op, const nn_patches *p, const char *image,
                         char *room) {
    const blv_nn_work *w = b->slice->work;
    if (is_pointwise(op))
        return (matrix){image + p->first * p->pixel_step * w->real_size, p->pixel_step};
    w->loops->gather(p, image, room);
    return (matrix){room, p->step};
}

static void convolve_row(const nn_block *b, size_t number, size_t i) {
    const nn_slice *s = b->slice;
    const blv_nn_work *w = s->work;
    const nn_op *op = op_at(b, number);
    const nn_slot_room *out = slot_of(b, op->out);
    const size_t outputs = shape_of(b, op->out).channels, depth = nn_depth(w->net, op);
    const size_t pixels = nn_pixels(shape_of(b, op->out)), fill = w->ops[number].fill;
    char *value = row_of(b, out, out->value, i);
    char *tangent = s->tangent ? row_of(b, out, out->tangent, i) : NULL;
    nn_patches p = blv_nn_patches(w, op);
    for (p.first = 0; p.first < pixels; p.first += fill) {
        const size_t at = p.first * out->step * w->real_size;
        p.pixels = pixels - p.first < fill ? pixels - p.first : fill;
        const matrix x = windows_of(b, op, &p, image_of(b, op->in, i), b->scratch);
        multiply(b, p.pixels, outputs, depth, x, weights(b, number, false), value + at, out->step,
                 false);
        if (!tangent)
            continue;
        multiply(b, p.pixels, outputs, depth, x, weights(b, number, true), tangent + at, out->step,
                 false);
        if (op->in == NN_INPUT)
            continue;
        const nn_slot_room *in = slot_of(b, op->in);
        const matrix x_tangent = windows_of(b, op, &p, row_of(b, in, in->tangent, i), b->scratch);
        multiply(b, p.pixels, outputs, depth, x_tangent, weights(b, number, false), tangent + at,
                 out->step, true);
    }
    if (op->bias == NN_NO_PLACE)
        return;
    w->loops->add_row(pixels, outputs, parameters(b, s->pass->params, op->bias), value, out->step);
    if (tangent)
        w->loops->add_row(pixels, outputs, parameters(b, s->pass->v, op->bias), tangent, out->step);
}

static void convolution_forward(const nn_block *b, size_t number) {
    for (size_t i = 0; i < b->rows; i++)
        convolve_row(b, number, i);
}

/* to (+)= delta W' + more V', through windows; the second only where more is not NULL */
static void convolve_row_back(const nn_block *b, size_t number, const char *delta, const char *more,
                              char *to) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = op_at(b, number);
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const size_t outputs = shape_of(b, op->out).channels, depth = nn_depth(w->net, op);
    const size_t pixels = nn_pixels(shape_of(b, op->out)), fill = w->ops[number].fill;
    nn_patches p = blv_nn_patches(w, op);
    if (!op->adds)
        memset(to, 0, in->row_step * w->real_size);
    for (p.first = 0; p.first < pixels; p.first += fill) {
        const size_t at = p.first * out->step * w->real_size;
        p.pixels = pixels - p.first < fill ? pixels - p.first : fill;
        multiply(b, p.pixels, depth, outputs, (matrix){delta + at, out->step},
                 turned_weights(b, number, false), b->scratch, p.step, false);
        if (more)
            multiply(b, p.pixels, depth, outputs, (matrix){more + at, out->step},
                     turned_weights(b, number, true), b->scratch, p.step, true);
        w->loops->scatter(&p, b->scratch, to);
    }
}

static void convolution_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    if (op->in == NN_INPUT)
        return;
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    for (size_t i = 0; i < b->rows; i++) {
        const char *delta = row_of(b, out, out->delta, i);
        convolve_row_back(b, number, delta, NULL, row_of(b, in, in->delta, i));
        if (b->slice->delta_tangent)
            convolve_row_back(b, number, row_of(b, out, out->delta_tangent, i), delta,
                              row_of(b, in, in->delta_tangent, i));
    }
}

/* ---- Activations and dropout ---- */

static void relu_forward(const nn_block *b, size_t number) {
    const nn_slot_room *slot = slot_of(b, op_at(b, number)->out);
    b->slice->work->loops->relu(elements(b, slot), rows_of(b, slot, slot->value),
                                b->slice->tangent ? rows_of(b, slot, slot->tangent) : NULL);
}

static void relu_backward(const nn_block *b, size_t number) {
    const nn_slot_room *slot = slot_of(b, op_at(b, number)->out);
    b->slice->work->loops->relu_back(
        elements(b, slot), rows_of(b, slot, slot->value), rows_of(b, slot, slot->delta),
        b->slice->delta_tangent ? rows_of(b, slot, slot->delta_tangent) : NULL);
}

static void bend_forward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->tangent;
    b->slice->work->loops->bend(op->activation, elements(b, in), rows_of(b, in, in->value),
                                tangent ? rows_of(b, in, in->tangent) : NULL,
                                rows_of(b, out, out->value),
                                tangent ? rows_of(b, out, out->tangent) : NULL);
}

static void bend_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->delta_tangent;
    b->slice->work->loops->bend_back(
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
    const nn_slot_room *slot = slot_of(b, op->out);
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
    const nn_slot_room *slot = slot_of(b, op->out);
    const uint8_t *marks = b->slice->work->ops[number].marks + b->first * slot->row_step;
    b->slice->work->loops->drop(elements(b, slot), marks, 1.0 / (1.0 - op->share),
                                rows_of(b, slot, array));
}

static void dropout_forward(const nn_block *b, size_t number) {
    const nn_slot_room *slot = slot_of(b, op_at(b, number)->out);
    if (!b->slice->pass->drop)
        return;
    for (size_t i = 0; i < b->rows; i++)
        mark_row(b, number, i);
    drop(b, number, slot->value);
    if (b->slice->tangent)
        drop(b, number, slot->tangent);
}

static void dropout_backward(const nn_block *b, size_t number) {
    const nn_slot_room *slot = slot_of(b, op_at(b, number)->out);
    if (!b->slice->pass->drop)
        return;
    drop(b, number, slot->delta);
    if (b->slice->delta_tangent)
        drop(b, number, slot->delta_tangent);
}

/* ---- Sums and copies ---- */

static void copy_rows(const nn_block *b, const nn_slot_room *slot, char *from, char *to, bool add) {
    const blv_nn_work *w = b->slice->work;
    if (add)
        w->loops->add(elements(b, slot), rows_of(b, slot, from), rows_of(b, slot, to));
    else
        memcpy(rows_of(b, slot, to), rows_of(b, slot, from), elements(b, slot) * w->real_size);
}

static void add_forward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->tangent;
    if (!op->in_place) {
        copy_rows(b, out, in->value, out->value, false);
        if (tangent)
            copy_rows(b, out, in->tangent, out->tangent, false);
    }
    if (op->other == NN_NONE)
        return;
    const nn_slot_room *other = slot_of(b, op->other);
    copy_rows(b, out, other->value, out->value, true);
    if (tangent)
        copy_rows(b, out, other->tangent, out->tangent, true);
}

static void add_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const bool tangent = b->slice->delta_tangent;
    if (!op->in_place) {
        copy_rows(b, out, out->delta, in->delta, op->adds);
        if (tangent)
            copy_rows(b, out, out->delta_tangent, in->delta_tangent, op->adds);
    }
    if (op->other == NN_NONE)
        return;
    const nn_slot_room *other = slot_of(b, op->other);
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
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
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
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
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
    const nn_slot_room *in = slot_of(b, op->in), *out = slot_of(b, op->out);
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
    [NN_LINEAR] = {linear_forward, linear_backward},
    [NN_CONVOLUTION] = {convolution_forward, convolution_backward},
    [NN_NORM] = {blv_nn_norm_forward, blv_nn_norm_backward},
    [NN_RELU] = {relu_forward, relu_backward},
    [NN_BEND] = {bend_forward, bend_backward},
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
