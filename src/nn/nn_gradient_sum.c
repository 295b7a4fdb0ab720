/* What is done once for a slice and not for each block of it: weights laid out for the products,
 * and the sums over all rows that make the gradient. A piece of the gradient is summed by one
 * thread, over the rows in order. */
#include "nn/nn_work.h"

#include <string.h>

/* Rows begin .. end - 1 of an op's weights, of one vector, into padded rows or transposed. */
static void lay_out(const nn_slice *s, const nn_piece *piece, const void *vector, char *to) {
    const blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[piece->op];
    const nn_op_buffers *room = &w->ops[piece->op];
    const size_t outputs = w->net->nodes[op->out].shape.channels, bytes = outputs * w->real_size;
    const char *from = (const char *)vector + op->weight * w->real_size + piece->begin * bytes;
    if (piece->what == NN_TRANSPOSE)
        w->loops->transpose(piece->end - piece->begin, outputs, from, outputs,
                            to + piece->begin * w->real_size, room->transposed_step);
    else
        for (size_t i = piece->begin; i < piece->end; i++, from += bytes)
            memcpy(to + i * room->padded_step * w->real_size, from, bytes);
}

void blv_nn_prepare(const nn_slice *s, const nn_piece *piece) {
    const nn_op_buffers *room = &s->work->ops[piece->op];
    const bool transpose = piece->what == NN_TRANSPOSE;
    if (!transpose || s->delta)
        lay_out(s, piece, s->pass->params, transpose ? room->transposed : room->padded);
    if (transpose ? s->delta_tangent : s->tangent)
        lay_out(s, piece, s->pass->v, transpose ? room->transposed_v : room->padded_v);
}

/* ---- The gradient ---- */

/* out += A' B over `depth` rows, the rows of A and B being a_step and b_step apart; place: of the
 * first row of weights that the `rows` columns of A belong to. */
static void add_product(const nn_block *b, const nn_op *op, size_t rows, size_t depth,
                        const char *a, size_t a_step, const char *delta, size_t delta_step,
                        void *out, size_t place, char *list) {
    const size_t outputs = shape_of(b, op->out).channels;
    const nn_product p = {.rows = rows,
                          .columns = outputs,
                          .depth = depth,
                          .a = a,
                          .a_row = 1,
                          .a_depth = a_step,
                          .b = delta,
                          .b_depth = delta_step,
                          .c = nn_at(b, out, op->weight + place * outputs),
                          .c_row = outputs,
                          .add = true,
                          .list = (uint32_t *)(void *)list};
    loops_of(b)->product(&p);
}

/* Inputs begin .. end of a linear layer; or, when the output of a convolution is one pixel, the
 * channels of an input pixel: rows of the slice are rows of the product. */
static void add_rows(const nn_block *b, const nn_op *op, size_t rows, size_t offset, size_t place) {
    const blv_nn_pass *pass = b->slice->pass;
    const nn_matrix x = nn_input_rows(b, op->in);
    const nn_pair delta = deltas_at(b, op->out);
    const size_t step = slot_of(b, op->out)->row_step;
    char *list = op->in == NN_INPUT ? b->scratch : NULL; /* zeros are looked for in data only */
    const char *data = nn_at(b, x.data, offset);
    if (pass->gradient)
        add_product(b, op, rows, b->rows, data, x.step, delta.first, step, pass->gradient, place,
                    list);
    if (!delta.second)
        return;
    add_product(b, op, rows, b->rows, data, x.step, delta.second, step, pass->hessian, place, list);
    if (x.tangent)
        add_product(b, op, rows, b->rows, nn_at(b, x.tangent, offset), x.step, delta.first, step,
                    pass->hessian, place, NULL);
}

/* first += windows' delta and second += windows' other, over one image and a row of the kernel;
 * outputs may be NULL */
static void add_image(const nn_block *b, const nn_op *op, nn_patches p, const char *image,
                      const char *delta, void *first, const char *other, void *second) {
    const size_t pixels = nn_pixels(shape_of(b, op->out)), step = slot_of(b, op->out)->step;
    const size_t rows = p.width * p.channels, place = p.begin_y * rows;
    for (p.first = 0; p.first < pixels; p.first += NN_PIXELS_AT_ONCE) {
        const size_t at = p.first * step;
        p.pixels = pixels - p.first < NN_PIXELS_AT_ONCE ? pixels - p.first : NN_PIXELS_AT_ONCE;
        loops_of(b)->gather(&p, image, b->scratch);
        if (first)
            add_product(b, op, rows, p.pixels, b->scratch, p.step, nn_at(b, delta, at), step, first,
                        place, NULL);
        if (second)
            add_product(b, op, rows, p.pixels, b->scratch, p.step, nn_at(b, other, at), step,
                        second, place, NULL);
    }
}

static void gather_kernel_row(const nn_block *b, const nn_op *op, size_t y) {
    const blv_nn_pass *pass = b->slice->pass;
    const size_t channels = shape_of(b, op->in).channels, across = op->kernel * channels;
    const bool inner = op->in != NN_INPUT;
    if (inner && nn_pixels(shape_of(b, op->out)) == 1 && op->padding == 0) {
        const size_t row = y * shape_of(b, op->in).width;
        for (size_t x = 0; x < op->kernel; x++)
            add_rows(b, op, channels, (row + x) * slot_of(b, op->in)->step,
                     y * across + x * channels);
        return;
    }
    nn_patches p = blv_nn_patches(b->slice->work, op);
    p.begin_y = y;
    p.end_y = y + 1;
    p.step = blv_nn_pitch(b->slice->work, across);
    const nn_pair delta = deltas_at(b, op->out);
    for (size_t i = 0; i < b->rows; i++) {
        const size_t at = i * slot_of(b, op->out)->row_step;
        const size_t from = inner ? i * slot_of(b, op->in)->row_step : 0;
        const char *d = nn_at(b, delta.first, at);
        const char *t = delta.second ? nn_at(b, delta.second, at) : NULL;
        add_image(b, op, p,
                  inner ? nn_at(b, values_at(b, op->in).first, from) : nn_row_data(b->slice, i), d,
                  pass->gradient, t, t ? pass->hessian : NULL);
        if (inner && t)
            add_image(b, op, p, nn_at(b, values_at(b, op->in).second, from), d, pass->hessian, NULL,
                      NULL);
    }
}

static void add_bias(const nn_block *b, const nn_op *op, const char *delta, void *out) {
    loops_of(b)->column_sums(b->rows, shape_of(b, op->out).channels, delta,
                             slot_of(b, op->out)->row_step, nn_at(b, out, op->bias));
}

void blv_nn_gather(const nn_block *b, const nn_piece *piece) {
    const nn_op *op = &b->slice->work->net->ops[piece->op];
    const nn_pair delta = deltas_at(b, op->out);
    switch (piece->what) {
    case NN_ROWS:
        add_rows(b, op, piece->end - piece->begin, piece->begin, piece->begin);
        break;
    case NN_KERNEL_ROW:
        gather_kernel_row(b, op, piece->begin);
        break;
    default:
        if (b->slice->pass->gradient)
            add_bias(b, op, delta.first, b->slice->pass->gradient);
        if (delta.second)
            add_bias(b, op, delta.second, b->slice->pass->hessian);
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

size_t blv_nn_list_pieces(const blv_nn_work *w, nn_piece *list, bool gather) {
    size_t used = 0;
    for (size_t i = 0; i < w->net->op_count; i++) {
        const nn_op *op = &w->net->ops[i];
        if (!nn_has_weights(op))
            continue;
        const bool linear = op->kind == NN_LINEAR;
        const size_t depth = nn_depth(w->net, op);
        const size_t rows = rows_of_a_piece(w->net->nodes[op->out].shape.channels,
                                            gather ? ELEMENTS_GATHERED : ELEMENTS_PREPARED);
        nn_piece piece = {.op = (uint32_t)i, .what = NN_PAD};
        if (!gather && w->ops[i].padded_step)
            used = cut(list, used, piece, depth, rows);
        piece.what = NN_TRANSPOSE;
        if (!gather && op->in != NN_INPUT)
            used = cut(list, used, piece, depth, rows);
        piece.what = linear ? NN_ROWS : NN_KERNEL_ROW;
        if (gather)
            used = cut(list, used, piece, linear ? depth : op->kernel, linear ? rows : 1);
        piece.what = NN_BIAS;
        if (gather && linear)
            used = cut(list, used, piece, 1, 1);
    }
    return used;
}
