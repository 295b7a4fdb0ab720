/* What is done once for a slice and not for each block of it: weights laid out for the products,
 * and the sums over all rows that make the gradient. A piece of the gradient is summed by one
 * thread, over the rows in order. */
#include "nn/nn_work.h"

#include <string.h>

static const nn_slot_buffers *slot_of(const nn_slice *s, int node) {
    return &s->work->slots[s->work->net->nodes[node].slot];
}

static size_t outputs_of(const nn_slice *s, const nn_op *op) {
    return s->work->net->nodes[op->out].shape.channels;
}

static void pad(const nn_slice *s, const nn_piece *piece, const void *vector, char *to) {
    const blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[piece->op];
    const size_t outputs = outputs_of(s, op), step = w->ops[piece->op].padded_step * w->real_size;
    const char *from = (const char *)vector + (op->weight + piece->begin * outputs) * w->real_size;
    for (size_t i = piece->begin; i < piece->end; i++, from += outputs * w->real_size)
        memcpy(to + i * step, from, outputs * w->real_size);
}

static void transpose(const nn_slice *s, const nn_piece *piece, const void *vector, char *to) {
    const blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[piece->op];
    const size_t outputs = outputs_of(s, op), place = op->weight + piece->begin * outputs;
    w->loops->transpose(piece->end - piece->begin, outputs,
                        (const char *)vector + place * w->real_size, outputs,
                        to + piece->begin * w->real_size, w->ops[piece->op].transposed_step);
}

void blv_nn_prepare(const nn_slice *s, const nn_piece *piece) {
    const nn_op_buffers *room = &s->work->ops[piece->op];
    if (piece->what == NN_PAD) {
        pad(s, piece, s->pass->params, room->padded);
        if (s->tangent)
            pad(s, piece, s->pass->v, room->padded_v);
    } else if (s->delta) {
        transpose(s, piece, s->pass->params, room->transposed);
        if (s->delta_tangent)
            transpose(s, piece, s->pass->v, room->transposed_v);
    }
}

/* ---- The gradient ---- */

/* out += A' B over `depth` rows, the rows of A and B being a_step and b_step apart */
static void add_product(const nn_slice *s, const nn_op *op, size_t rows, size_t depth,
                        const void *a, size_t a_step, const void *b, size_t b_step, void *out,
                        size_t place, char *list) {
    const size_t outputs = outputs_of(s, op);
    const nn_product p = {.rows = rows,
                          .columns = outputs,
                          .depth = depth,
                          .a = a,
                          .a_row = 1,
                          .a_depth = a_step,
                          .b = b,
                          .b_depth = b_step,
                          .c = (char *)out + (op->weight + place * outputs) * s->work->real_size,
                          .c_row = outputs,
                          .add = true,
                          .list = (uint32_t *)(void *)list};
    s->work->loops->product(&p);
}

/* Inputs begin .. end of a linear layer; or, when the output of a convolution is one pixel, the
 * channels of an input pixel: rows of the slice are rows of the product. */
static void add_rows(const nn_slice *s, const nn_op *op, size_t rows, size_t offset, size_t place,
                     char *scratch) {
    const blv_nn_work *w = s->work;
    const nn_slot_buffers *out = slot_of(s, op->out);
    const size_t count = s->count, skip = offset * w->real_size;
    const char *x, *x_tangent = NULL;
    char *list = NULL; /* zeros are looked for in the data only */
    size_t step;
    if (op->in == NN_INPUT) {
        list = scratch;
        x = s->input_in_place ? blv_nn_data_row(s, 0) : w->input;
        step = s->input_in_place ? s->rows->stride : w->input_step;
    } else {
        x = slot_of(s, op->in)->value;
        x_tangent = slot_of(s, op->in)->tangent;
        step = slot_of(s, op->in)->row_step;
    }
    if (s->pass->gradient)
        add_product(s, op, rows, count, x + skip, step, out->delta, out->row_step,
                    s->pass->gradient, place, list);
    if (!s->delta_tangent)
        return;
    add_product(s, op, rows, count, x + skip, step, out->delta_tangent, out->row_step,
                s->pass->hessian, place, list);
    if (x_tangent)
        add_product(s, op, rows, count, x_tangent + skip, step, out->delta, out->row_step,
                    s->pass->hessian, place, NULL);
}

/* A row of a convolution's kernel. */
typedef struct kernel_row {
    const nn_op *op;
    nn_patches patches;
    size_t place; /* of its weights */
    char *scratch;
} kernel_row;

/* first += windows' delta and second += windows' other, over one image; outputs may be NULL */
static void add_image(const nn_slice *s, kernel_row *k, const char *image, const char *delta,
                      void *first, const char *other, void *second) {
    const blv_nn_work *w = s->work;
    const nn_slot_buffers *slot = slot_of(s, k->op->out);
    const size_t pixels = nn_pixels(w->net->nodes[k->op->out].shape);
    nn_patches *p = &k->patches;
    const size_t rows = (p->end_x - p->begin_x) * p->channels;
    for (p->first = 0; p->first < pixels; p->first += NN_PIXELS_AT_ONCE) {
        const size_t at = p->first * slot->step * w->real_size;
        p->pixels = pixels - p->first < NN_PIXELS_AT_ONCE ? pixels - p->first : NN_PIXELS_AT_ONCE;
        w->loops->gather(p, image, k->scratch);
        if (first)
            add_product(s, k->op, rows, p->pixels, k->scratch, p->step, delta + at, slot->step,
                        first, k->place, NULL);
        if (second)
            add_product(s, k->op, rows, p->pixels, k->scratch, p->step, other + at, slot->step,
                        second, k->place, NULL);
    }
}

static void add_images(const nn_slice *s, kernel_row *k) {
    const blv_nn_work *w = s->work;
    const nn_slot_buffers *out = slot_of(s, k->op->out);
    const bool inner = k->op->in != NN_INPUT;
    void *hessian = s->delta_tangent ? s->pass->hessian : NULL;
    for (size_t i = 0; i < s->count; i++) {
        const size_t at = i * out->row_step * w->real_size;
        const size_t from = inner ? i * slot_of(s, k->op->in)->row_step * w->real_size : 0;
        const char *image = inner ? slot_of(s, k->op->in)->value + from : blv_nn_data_row(s, i);
        add_image(s, k, image, out->delta + at, s->pass->gradient, out->delta_tangent + at,
                  hessian);
        if (inner && hessian)
            add_image(s, k, slot_of(s, k->op->in)->tangent + from, out->delta + at, hessian, NULL,
                      NULL);
    }
}

static void gather_kernel_row(const nn_slice *s, const nn_piece *piece, char *scratch) {
    const blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[piece->op];
    const blv_nn_shape in = w->net->nodes[op->in].shape, out = w->net->nodes[op->out].shape;
    const size_t y = piece->begin, across = op->kernel_x * in.channels;
    if (op->in != NN_INPUT && nn_pixels(out) == 1 && op->padding == 0) {
        for (size_t x = 0; x < op->kernel_x; x++)
            add_rows(s, op, in.channels, (y * in.width + x) * slot_of(s, op->in)->step,
                     y * across + x * in.channels, scratch);
        return;
    }
    kernel_row k = {
        .op = op, .patches = blv_nn_patches(w, op), .place = y * across, .scratch = scratch};
    k.patches.begin_y = y;
    k.patches.end_y = y + 1;
    k.patches.step = blv_nn_pitch(w, across);
    add_images(s, &k);
}

static void add_bias(const nn_slice *s, const nn_op *op, const char *delta, void *out) {
    const blv_nn_work *w = s->work;
    const nn_slot_buffers *slot = slot_of(s, op->out);
    const size_t pixels = nn_pixels(w->net->nodes[op->out].shape), outputs = outputs_of(s, op);
    char *sums = (char *)out + op->bias * w->real_size;
    if (pixels == 1) {
        w->loops->column_sums(s->count, outputs, delta, slot->row_step, sums);
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        w->loops->column_sums(pixels, outputs, delta + i * slot->row_step * w->real_size,
                              slot->step, sums);
}

void blv_nn_gather(const nn_slice *s, const nn_piece *piece, char *scratch) {
    const nn_op *op = &s->work->net->ops[piece->op];
    const nn_slot_buffers *out = slot_of(s, op->out);
    switch (piece->what) {
    case NN_ROWS:
        add_rows(s, op, piece->end - piece->begin, piece->begin, piece->begin, scratch);
        break;
    case NN_KERNEL_ROW:
        gather_kernel_row(s, piece, scratch);
        break;
    default:
        if (s->pass->gradient)
            add_bias(s, op, out->delta, s->pass->gradient);
        if (s->delta_tangent)
            add_bias(s, op, out->delta_tangent, s->pass->hessian);
    }
}

/* ---- The lists of pieces ---- */

enum { ELEMENTS_PREPARED = 16384, ELEMENTS_GATHERED = 8192, ROWS_OF_TILES = 8 };

static size_t rows_of_a_piece(size_t outputs, size_t elements) {
    const size_t rows = elements / outputs / ROWS_OF_TILES * ROWS_OF_TILES;
    return rows > ROWS_OF_TILES ? rows : ROWS_OF_TILES;
}

/* Cuts rows 0 .. count - 1 of an op's weights into pieces. list NULL: only counts them. */
static size_t cut(nn_piece *list, size_t used, nn_piece like, size_t count, size_t rows) {
    for (size_t begin = 0; begin < count; begin += rows, used++)
        if (list) {
            like.begin = begin;
            like.end = count - begin < rows ? count : begin + rows;
            list[used] = like;
        }
    return used;
}

/* The pieces of all layers with weights, before or after the rows go through. */
static size_t list_pieces(const blv_nn_work *w, nn_piece *list, bool gather) {
    size_t used = 0;
    for (size_t i = 0; i < w->net->op_count; i++) {
        const nn_op *op = &w->net->ops[i];
        if (!nn_has_weights(op))
            continue;
        const size_t depth = nn_depth(w->net, op);
        const size_t rows = rows_of_a_piece(w->net->nodes[op->out].shape.channels,
                                            gather ? ELEMENTS_GATHERED : ELEMENTS_PREPARED);
        nn_piece piece = {.op = (uint32_t)i, .what = NN_PAD};
        if (!gather && w->ops[i].padded_step)
            used = cut(list, used, piece, depth, rows);
        piece.what = NN_TRANSPOSE;
        if (!gather && op->in != NN_INPUT)
            used = cut(list, used, piece, depth, rows);
        piece.what = op->kind == NN_LINEAR ? NN_ROWS : NN_KERNEL_ROW;
        if (gather)
            used = op->kind == NN_LINEAR ? cut(list, used, piece, depth, rows)
                                         : cut(list, used, piece, op->kernel_y, 1);
        piece.what = NN_BIAS;
        if (gather && op->bias != NN_NO_PLACE)
            used = cut(list, used, piece, 1, 1);
    }
    return used;
}

size_t blv_nn_list_prepare(const blv_nn_work *w, nn_piece *list) {
    return list_pieces(w, list, false);
}

size_t blv_nn_list_gather(const blv_nn_work *w, nn_piece *list) {
    return list_pieces(w, list, true);
}
