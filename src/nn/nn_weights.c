/* Layers with weights: linear, and convolutions as products with gathered windows. A tangent is the
 * derivative along v. */
#include "nn/nn_block.h"

#include <string.h>

typedef struct matrix {
    const void *data;
    size_t step;
} matrix;

/* Weights as the right factor of a product: inputs x outputs, and transposed. */
static matrix weights(const nn_block *b, size_t number, bool of_v) {
    const nn_op_buffers *room = &b->slice->work->ops[number];
    const nn_op *op = op_at(b, number);
    if (room->padded)
        return (matrix){of_v ? room->padded_v : room->padded, room->padded_step};
    const void *vector = of_v ? b->slice->pass->v : b->slice->pass->params;
    return (matrix){parameters(b, vector, op->weight), shape_of(b, op->out).channels};
}

static matrix transposed_weights(const nn_block *b, size_t number, bool of_v) {
    const nn_op_buffers *room = &b->slice->work->ops[number];
    return (matrix){of_v ? room->transposed_v : room->transposed, room->transposed_step};
}

/* list: room where places of A that are not zero are listed; NULL: A is taken as full. */
static void multiply_listed(const nn_block *b, size_t rows, size_t columns, size_t depth,
                            matrix left, matrix right, void *out, size_t out_step, bool add,
                            char *list) {
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
                          .whole = true,
                          .list = (uint32_t *)(void *)list};
    b->slice->work->loops->product(&p);
}

static void multiply(const nn_block *b, size_t rows, size_t columns, size_t depth, matrix left,
                     matrix right, void *out, size_t out_step, bool add) {
    multiply_listed(b, rows, columns, depth, left, right, out, out_step, add, NULL);
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
    multiply_listed(b, b->rows, shape_of(b, op->out).channels, nn_depth(b->slice->work->net, op),
                    linear_input(b, op->in), weights(b, number, of_v), to, step, false,
                    op->in == NN_INPUT ? b->scratch : NULL); /* data may be mostly zeros */
}

void blv_nn_linear_forward(const nn_block *b, size_t number) {
    const nn_slice *s = b->slice;
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *out = slot_of(b, op->out);
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
    const nn_slot_buffers *in = slot_of(b, op->in);
    const matrix x_tangent = {rows_of(b, in, in->tangent), in->row_step};
    multiply(b, b->rows, outputs, nn_depth(s->work->net, op), x_tangent, weights(b, number, false),
             tangent, out->row_step, true);
}

void blv_nn_linear_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    if (op->in == NN_INPUT)
        return;
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const size_t outputs = shape_of(b, op->out).channels, depth = shape_of(b, op->in).channels;
    const matrix delta = {rows_of(b, out, out->delta), out->row_step};
    const matrix w = transposed_weights(b, number, false);
    multiply(b, b->rows, depth, outputs, delta, w, rows_of(b, in, in->delta), in->row_step,
             op->adds);
    if (!b->slice->delta_tangent)
        return;
    const matrix delta_tangent = {rows_of(b, out, out->delta_tangent), out->row_step};
    char *to = rows_of(b, in, in->delta_tangent);
    multiply(b, b->rows, depth, outputs, delta_tangent, w, to, in->row_step, op->adds);
    multiply(b, b->rows, depth, outputs, delta, transposed_weights(b, number, true), to,
             in->row_step, true);
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
    const nn_slot_buffers *out = slot_of(b, op->out);
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
        const nn_slot_buffers *in = slot_of(b, op->in);
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

void blv_nn_convolution_forward(const nn_block *b, size_t number) {
    for (size_t i = 0; i < b->rows; i++)
        convolve_row(b, number, i);
}

/* to (+)= delta W' + more V', through windows; the second only where more is not NULL */
static void convolve_row_back(const nn_block *b, size_t number, const char *delta, const char *more,
                              char *to) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = op_at(b, number);
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    const size_t outputs = shape_of(b, op->out).channels, depth = nn_depth(w->net, op);
    const size_t pixels = nn_pixels(shape_of(b, op->out)), fill = w->ops[number].fill;
    nn_patches p = blv_nn_patches(w, op);
    if (!op->adds)
        memset(to, 0, in->row_step * w->real_size);
    for (p.first = 0; p.first < pixels; p.first += fill) {
        const size_t at = p.first * out->step * w->real_size;
        p.pixels = pixels - p.first < fill ? pixels - p.first : fill;
        multiply(b, p.pixels, depth, outputs, (matrix){delta + at, out->step},
                 transposed_weights(b, number, false), b->scratch, p.step, false);
        if (more)
            multiply(b, p.pixels, depth, outputs, (matrix){more + at, out->step},
                     transposed_weights(b, number, true), b->scratch, p.step, true);
        w->loops->scatter(&p, b->scratch, to);
    }
}

void blv_nn_convolution_backward(const nn_block *b, size_t number) {
    const nn_op *op = op_at(b, number);
    if (op->in == NN_INPUT)
        return;
    const nn_slot_buffers *in = slot_of(b, op->in), *out = slot_of(b, op->out);
    for (size_t i = 0; i < b->rows; i++) {
        const char *delta = row_of(b, out, out->delta, i);
        convolve_row_back(b, number, delta, NULL, row_of(b, in, in->delta, i));
        if (b->slice->delta_tangent)
            convolve_row_back(b, number, row_of(b, out, out->delta_tangent, i), delta,
                              row_of(b, in, in->delta_tangent, i));
    }
}
