/* Layers with weights: linear, and convolutions as products with gathered windows. A tangent is the
 * derivative along v. */
#include "nn/nn_work.h"

#include <string.h>

/* Weights as the right factor of a product: inputs x outputs, with those of v as the tangent. */
static nn_matrix weights(const nn_block *b, const nn_op *op) {
    const nn_op_buffers *room = buffers_of(b->slice->work, op);
    const blv_nn_pass *pass = b->slice->pass;
    if (room->padded)
        return (nn_matrix){room->padded, room->padded_v, room->padded_step};
    return (nn_matrix){nn_at(b, pass->params, op->weight),
                       pass->v ? nn_at(b, pass->v, op->weight) : NULL,
                       shape_of(b, op->out).channels};
}

static nn_matrix transposed_weights(const nn_block *b, const nn_op *op) {
    const nn_op_buffers *room = buffers_of(b->slice->work, op);
    return (nn_matrix){room->transposed, room->transposed_v, room->transposed_step};
}

/* out = left right or out += left right; the rest of the product is there. */
static void multiply(const nn_block *b, nn_product *p, const char *left, const char *right,
                     char *out, bool add) {
    p->a = left;
    p->b = right;
    p->c = out;
    p->add = add;
    loops_of(b)->product(p);
}

/* ---- Linear ---- */

static void add_bias(const nn_block *b, const nn_op *op, const void *vector, char *to) {
    loops_of(b)->add_row(b->rows, shape_of(b, op->out).channels, nn_at(b, vector, op->bias), to,
                         slot_of(b, op->out)->row_step);
}

void blv_nn_linear_forward(const nn_block *b, const nn_op *op) {
    const nn_matrix x = nn_input_rows(b, op->in), w = weights(b, op);
    const nn_pair out = values_at(b, op->out);
    nn_product p = {.rows = b->rows,
                    .columns = shape_of(b, op->out).channels,
                    .depth = shape_of(b, op->in).channels,
                    .a_row = x.step,
                    .a_depth = 1,
                    .b_depth = w.step,
                    .c_row = slot_of(b, op->out)->row_step,
                    .whole = true};
    if (op->in == NN_INPUT) /* data may be mostly zeros */
        p.list = (uint32_t *)(void *)b->scratch;
    multiply(b, &p, x.data, w.data, out.first, false);
    add_bias(b, op, b->slice->pass->params, out.first);
    if (!out.second)
        return;
    multiply(b, &p, x.data, w.tangent, out.second, false);
    add_bias(b, op, b->slice->pass->v, out.second);
    if (x.tangent)
        multiply(b, &p, x.tangent, w.data, out.second, true);
}

void blv_nn_linear_backward(const nn_block *b, const nn_op *op) {
    if (op->in == NN_INPUT)
        return;
    const nn_matrix w = transposed_weights(b, op);
    const nn_pair in = deltas_at(b, op->in), out = deltas_at(b, op->out);
    nn_product p = {.rows = b->rows,
                    .columns = shape_of(b, op->in).channels,
                    .depth = shape_of(b, op->out).channels,
                    .a_row = slot_of(b, op->out)->row_step,
                    .a_depth = 1,
                    .b_depth = w.step,
                    .c_row = slot_of(b, op->in)->row_step,
                    .whole = true};
    multiply(b, &p, out.first, w.data, in.first, op->adds);
    if (!out.second)
        return;
    multiply(b, &p, out.second, w.data, in.second, op->adds);
    multiply(b, &p, out.first, w.tangent, in.second, true);
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
                        .end_y = op->kernel,
                        .width = op->kernel,
                        .stride = op->stride,
                        .padding = op->padding,
                        .out_width = out->shape.width,
                        .step = blv_nn_pitch(w, nn_depth(w->net, op))};
}

/* The windows of some pixels of an image as a matrix in the scratch, unless they lie so already;
 * *step becomes its step. */
static const char *windows_of(const nn_block *b, const nn_op *op, const nn_patches *p,
                              const char *image, size_t *step) {
    const bool pointwise = op->kernel == 1 && op->stride == 1 && op->in != NN_INPUT;
    *step = pointwise ? p->pixel_step : p->step;
    if (pointwise)
        return nn_at(b, image, p->first * p->pixel_step);
    loops_of(b)->gather(p, image, b->scratch);
    return b->scratch;
}

/* The next pixels: as many as are gathered at once, or all that are left. False: none are. */
static bool next_pixels(nn_patches *p, size_t pixels, size_t most) {
    p->first += p->pixels;
    p->pixels = pixels - p->first < most ? pixels - p->first : most;
    return p->pixels > 0;
}

/* x: an image and its tangent, NULL where it has none. */
static void convolve(const nn_block *b, const nn_op *op, nn_pair x, nn_pair to) {
    const blv_nn_work *work = b->slice->work;
    const nn_matrix w = weights(b, op);
    const size_t pixels = nn_pixels(shape_of(b, op->out)), step = slot_of(b, op->out)->step;
    nn_patches patches = blv_nn_patches(work, op);
    nn_product p = {.columns = shape_of(b, op->out).channels,
                    .depth = nn_depth(work->net, op),
                    .a_depth = 1,
                    .b_depth = w.step,
                    .c_row = step,
                    .whole = true};
    while (next_pixels(&patches, pixels, buffers_of(work, op)->fill)) {
        const size_t at = patches.first * step;
        p.rows = patches.pixels;
        const char *windows = windows_of(b, op, &patches, x.first, &p.a_row);
        multiply(b, &p, windows, w.data, nn_at(b, to.first, at), false);
        if (!to.second)
            continue;
        multiply(b, &p, windows, w.tangent, nn_at(b, to.second, at), false);
        if (x.second)
            multiply(b, &p, windows_of(b, op, &patches, x.second, &p.a_row), w.data,
                     nn_at(b, to.second, at), true);
    }
}

/* A row of a pair of arrays. */
static nn_pair row_of(const nn_block *b, nn_pair pair, int node, size_t i) {
    const size_t at = i * slot_of(b, node)->row_step;
    return (nn_pair){nn_at(b, pair.first, at), pair.second ? nn_at(b, pair.second, at) : NULL};
}

void blv_nn_convolution_forward(const nn_block *b, const nn_op *op) {
    for (size_t i = 0; i < b->rows; i++) {
        const nn_pair x = op->in == NN_INPUT
                              ? (nn_pair){(char *)nn_row_data(b->slice, b->first + i), NULL}
                              : row_of(b, values_at(b, op->in), op->in, i);
        convolve(b, op, x, row_of(b, values_at(b, op->out), op->out, i));
    }
}

/* to (+)= delta W' + more V', through windows; the second only where more is not NULL */
static void convolve_back(const nn_block *b, const nn_op *op, const char *delta, const char *more,
                          char *to) {
    const blv_nn_work *work = b->slice->work;
    const nn_matrix w = transposed_weights(b, op);
    const size_t pixels = nn_pixels(shape_of(b, op->out)), step = slot_of(b, op->out)->step;
    nn_patches patches = blv_nn_patches(work, op);
    nn_product p = {.columns = nn_depth(work->net, op),
                    .depth = shape_of(b, op->out).channels,
                    .a_row = step,
                    .a_depth = 1,
                    .b_depth = w.step,
                    .c_row = patches.step,
                    .whole = true};
    if (!op->adds)
        memset(to, 0, slot_of(b, op->in)->row_step * work->real_size);
    while (next_pixels(&patches, pixels, buffers_of(work, op)->fill)) {
        const size_t at = patches.first * step;
        p.rows = patches.pixels;
        multiply(b, &p, nn_at(b, delta, at), w.data, b->scratch, false);
        if (more)
            multiply(b, &p, nn_at(b, more, at), w.tangent, b->scratch, true);
        loops_of(b)->scatter(&patches, b->scratch, to);
    }
}

void blv_nn_convolution_backward(const nn_block *b, const nn_op *op) {
    for (size_t i = 0; op->in != NN_INPUT && i < b->rows; i++) {
        const nn_pair delta = row_of(b, deltas_at(b, op->out), op->out, i);
        const nn_pair to = row_of(b, deltas_at(b, op->in), op->in, i);
        convolve_back(b, op, delta.first, NULL, to.first);
        if (delta.second)
            convolve_back(b, op, delta.second, delta.first, to.second);
    }
}
