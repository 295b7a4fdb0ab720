/* Norms: y = scale n + shift with n = r (x - m), for each channel, and all derivatives of it.
 *
 * Given statistics: m and r = 1/sqrt(variance + epsilon) are constants. Own statistics: those of
 * all pixels of a slice, N of them. A dot is a derivative along v, bars are means over the N
 * pixels, d is the delta of y. With own statistics
 *
 *   r. = -r^2 q,   n. = r (x. - p) - n r q          where p = bar x.,  q = bar(n x.)
 *   delta x  = r scale (d - S - n P)                where S = bar d,   P = bar(d n)
 *   delta x. = (r. scale + r scale.) (d - S - n P) + r scale (d. - S. - n. P - n P.)
 *                                                   where S. = bar d., P. = bar(d. n + d n.)
 *
 * and with given ones the same with p = q = S = P = S. = P. = 0. All of it is linear in x, x., d
 * and d.: the numbers of a channel are worked out once, in double, and applied to every pixel. The
 * gradient is N P by scale and N S by shift, with these sums taken in either case. */
#include "nn/nn_work.h"

#include <math.h>
#include <string.h>

static size_t channels_of(const blv_nn_work *w, size_t op) {
    return w->net->nodes[w->net->ops[op].out].shape.channels;
}

static double real_at(const blv_nn_work *w, const void *array, size_t i) {
    if (!array)
        return 0.0;
    return w->precision == BLV_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void add_real(const blv_nn_work *w, void *array, size_t i, double value) {
    if (w->precision == BLV_F32)
        ((float *)array)[i] = (float)((double)((float *)array)[i] + value);
    else
        ((double *)array)[i] += value;
}

static void set_coefficient(const blv_nn_work *w, nn_op_buffers *room, int which, size_t c,
                            double value) {
    if (w->precision == BLV_F32)
        ((float *)room->coefficient[which])[c] = (float)value;
    else
        ((double *)room->coefficient[which])[c] = value;
}

/* The numbers of a channel by which values and tangents go forward. */
static void forward_numbers(const nn_slice *s, size_t number, size_t c) {
    blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[number];
    nn_op_buffers *room = &w->ops[number];
    const double scale = real_at(w, s->pass->params, op->weight + c);
    const double shift = real_at(w, s->pass->params, op->bias + c);
    const double scale_t = real_at(w, s->pass->v, op->weight + c);
    const double shift_t = real_at(w, s->pass->v, op->bias + c);
    const double m = room->number[NN_D_MEAN][c], r = room->number[NN_D_INVERSE][c];
    const double p = room->number[NN_D_TANGENT_MEAN][c], q = room->number[NN_D_TANGENT_PRODUCT][c];
    const double by_value = -r * r * q, by_one = r * r * q * m - r * p;
    room->number[NN_D_MOVED_BY_TANGENT][c] = r;
    room->number[NN_D_MOVED_BY_VALUE][c] = by_value;
    room->number[NN_D_MOVED_BY_ONE][c] = by_one;
    set_coefficient(w, room, NN_C_SCALE, c, scale * r);
    set_coefficient(w, room, NN_C_SHIFT, c, shift - scale * r * m);
    set_coefficient(w, room, NN_C_TANGENT_BY_VALUE, c, scale_t * r + scale * by_value);
    set_coefficient(w, room, NN_C_TANGENT_SHIFT, c, shift_t - scale_t * r * m + scale * by_one);
}

/* Those by which deltas and their tangents go back. */
static void backward_numbers(const nn_slice *s, size_t number, size_t c, double pixels) {
    blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[number];
    nn_op_buffers *room = &w->ops[number];
    const double scale = real_at(w, s->pass->params, op->weight + c);
    const double scale_t = real_at(w, s->pass->v, op->weight + c);
    const double m = room->number[NN_D_MEAN][c], r = room->number[NN_D_INVERSE][c];
    const double q = room->number[NN_D_TANGENT_PRODUCT][c];
    const double by_value = room->number[NN_D_MOVED_BY_VALUE][c];
    const double by_one = room->number[NN_D_MOVED_BY_ONE][c];
    const double once = s->own_statistics ? 1.0 / pixels : 0.0;
    const double S = once * room->number[NN_D_SUM][c], P = once * room->number[NN_D_PRODUCT][c];
    const double S_t = once * room->number[NN_D_SUM_TANGENT][c];
    const double P_t = once * room->number[NN_D_PRODUCT_TANGENT][c];
    const double e = r * scale, turn = -r * r * q * scale + r * scale_t;
    set_coefficient(w, room, NN_C_BACK_BY_VALUE, c, -e * r * P);
    set_coefficient(w, room, NN_C_BACK_SHIFT, c, e * (r * m * P - S));
    set_coefficient(w, room, NN_C_BACK_TANGENT_BY_DELTA, c, turn);
    set_coefficient(w, room, NN_C_BACK_TANGENT_BY_TANGENT, c, -e * r * P);
    set_coefficient(w, room, NN_C_BACK_TANGENT_BY_VALUE, c,
                    -turn * r * P - e * r * P_t - e * P * by_value);
    set_coefficient(w, room, NN_C_BACK_TANGENT_SHIFT, c,
                    turn * (r * m * P - S) + e * (r * m * P_t - S_t - P * by_one));
}

void blv_nn_norm_open(const nn_slice *s, size_t number) {
    nn_op_buffers *room = &s->work->ops[number];
    const size_t channels = channels_of(s->work, number);
    const double *mean = s->pass->statistics + s->work->net->ops[number].statistic;
    for (size_t c = 0; c < channels; c++) {
        room->number[NN_D_MEAN][c] = mean[c];
        room->number[NN_D_INVERSE][c] = 1.0 / sqrt(mean[channels + c] + NN_NORM_EPSILON);
        room->number[NN_D_TANGENT_MEAN][c] = room->number[NN_D_TANGENT_PRODUCT][c] = 0.0;
        forward_numbers(s, number, c);
        backward_numbers(s, number, c, 1.0);
    }
}

/* ---- Sums ---- */

typedef struct norm_rows {
    const nn_slot_buffers *in, *out;
    const char *value, *tangent, *delta, *delta_tangent; /* tangents: NULL when not computed */
    char *out_value, *out_tangent, *in_delta, *in_delta_tangent;
} norm_rows;

static char *rows_from(const nn_block *b, const nn_slot_buffers *slot, char *array) {
    return array + b->first * slot->row_step * b->slice->work->real_size;
}

static norm_rows rows_of(const nn_block *b, size_t number) {
    const blv_nn_work *w = b->slice->work;
    const nn_op *op = &w->net->ops[number];
    const nn_slot_buffers *in = &w->slots[w->net->nodes[op->in].slot];
    const nn_slot_buffers *out = &w->slots[w->net->nodes[op->out].slot];
    const bool tangent = b->slice->tangent, back = b->slice->delta_tangent;
    return (norm_rows){
        .in = in,
        .out = out,
        .value = rows_from(b, in, in->value),
        .tangent = tangent ? rows_from(b, in, in->tangent) : NULL,
        .delta = rows_from(b, out, out->delta),
        .delta_tangent = back ? rows_from(b, out, out->delta_tangent) : NULL,
        .out_value = rows_from(b, out, out->value),
        .out_tangent = tangent ? rows_from(b, out, out->tangent) : NULL,
        .in_delta = rows_from(b, in, in->delta),
        .in_delta_tangent = back ? rows_from(b, in, in->delta_tangent) : NULL,
    };
}

static double *partial_of(const nn_block *b, size_t number, size_t which) {
    const size_t channels = channels_of(b->slice->work, number);
    return b->slice->work->ops[number].partial + (b->number * NN_PARTIALS + which) * channels;
}

void blv_nn_norm_sum_forward(const nn_block *b, size_t number) {
    const blv_nn_work *w = b->slice->work;
    const norm_rows rows = rows_of(b, number);
    const nn_spread spread = {.rows = b->rows,
                              .row_step = rows.in->row_step,
                              .pixels = nn_pixels(w->net->nodes[w->net->ops[number].out].shape),
                              .channels = channels_of(w, number),
                              .step = rows.in->step,
                              .x = rows.value,
                              .tangent = rows.tangent,
                              .mean = partial_of(b, number, 0),
                              .squares = partial_of(b, number, 1),
                              .tangents = partial_of(b, number, 2),
                              .products = partial_of(b, number, 3)};
    w->loops->spread(&spread);
}

/* Pixels of the i-th block of a slice. */
static double pixels_of_block(const nn_slice *s, size_t number, size_t i) {
    const blv_nn_work *w = s->work;
    const size_t left = s->count - i * w->block_rows;
    const size_t rows = left < w->block_rows ? left : w->block_rows;
    return (double)(rows * nn_pixels(w->net->nodes[w->net->ops[number].out].shape));
}

/* Means and squares of blocks are put together pairwise (Chan, Golub, LeVeque 1983). */
static void join_blocks(const nn_slice *s, size_t number, size_t c, double *variance) {
    const nn_op_buffers *room = &s->work->ops[number];
    const size_t channels = channels_of(s->work, number);
    const double *part = room->partial + c;
    double pixels = 0.0, mean = 0.0, squares = 0.0, tangents = 0.0, products = 0.0;
    for (size_t i = 0; i < s->blocks; i++, part += NN_PARTIALS * channels) {
        const double more = pixels_of_block(s, number, i), off = part[0] - mean;
        pixels += more;
        mean += off * more / pixels;
        squares += part[channels] + off * off * more * (pixels - more) / pixels;
    }
    part = room->partial + c;
    for (size_t i = 0; s->tangent && i < s->blocks; i++, part += NN_PARTIALS * channels) {
        tangents += part[2 * channels];
        products += part[3 * channels] + (part[0] - mean) * part[2 * channels];
    }
    *variance = squares / pixels;
    const double inverse = 1.0 / sqrt(*variance + NN_NORM_EPSILON);
    room->number[NN_D_MEAN][c] = mean;
    room->number[NN_D_INVERSE][c] = inverse;
    room->number[NN_D_TANGENT_MEAN][c] = tangents / pixels;
    room->number[NN_D_TANGENT_PRODUCT][c] = inverse * products / pixels;
}

void blv_nn_norm_close_forward(const nn_slice *s, size_t number) {
    blv_nn_work *w = s->work;
    const size_t channels = channels_of(w, number), place = w->net->ops[number].statistic;
    const double share = (double)s->count / (double)s->rows->count;
    for (size_t c = 0; c < channels; c++) {
        double variance;
        join_blocks(s, number, c, &variance);
        forward_numbers(s, number, c);
        if (w->observed) {
            w->observed[place + c] += share * w->ops[number].number[NN_D_MEAN][c];
            w->observed[place + channels + c] += share * variance;
        }
    }
}

void blv_nn_norm_sum_backward(const nn_block *b, size_t number) {
    const blv_nn_work *w = b->slice->work;
    const nn_op_buffers *room = &w->ops[number];
    const norm_rows rows = rows_of(b, number);
    const size_t bytes = rows.in->row_step * w->real_size;
    nn_norm_sums sums = {.pixels = nn_pixels(w->net->nodes[w->net->ops[number].out].shape),
                         .channels = channels_of(w, number),
                         .step = rows.in->step,
                         .mean = room->number[NN_D_MEAN],
                         .inverse = room->number[NN_D_INVERSE],
                         .by_tangent = room->number[NN_D_MOVED_BY_TANGENT],
                         .by_value = room->number[NN_D_MOVED_BY_VALUE],
                         .by_one = room->number[NN_D_MOVED_BY_ONE],
                         .sums = partial_of(b, number, 0),
                         .products = partial_of(b, number, 1),
                         .sums_tangent = partial_of(b, number, 2),
                         .products_tangent = partial_of(b, number, 3)};
    memset(sums.sums, 0, NN_PARTIALS * sums.channels * sizeof *sums.sums);
    for (size_t i = 0; i < b->rows; i++) {
        sums.x = rows.value + i * bytes;
        sums.delta = rows.delta + i * bytes;
        sums.x_tangent = rows.tangent ? rows.tangent + i * bytes : NULL;
        sums.delta_tangent = rows.delta_tangent ? rows.delta_tangent + i * bytes : NULL;
        w->loops->norm_sums(&sums);
    }
}

void blv_nn_norm_close_backward(const nn_slice *s, size_t number) {
    blv_nn_work *w = s->work;
    const nn_op *op = &w->net->ops[number];
    const nn_op_buffers *room = &w->ops[number];
    const size_t channels = channels_of(w, number);
    const double pixels =
        (double)(s->count * nn_pixels(w->net->nodes[w->net->ops[number].out].shape));
    for (size_t c = 0; c < channels; c++) {
        double total[NN_PARTIALS] = {0.0};
        for (size_t i = 0; i < s->blocks; i++)
            for (size_t k = 0; k < NN_PARTIALS; k++)
                total[k] += room->partial[(i * NN_PARTIALS + k) * channels + c];
        for (size_t k = 0; k < NN_PARTIALS; k++)
            room->number[NN_D_SUM + k][c] = total[k];
        if (s->own_statistics)
            backward_numbers(s, number, c, pixels);
        if (s->pass->gradient) {
            add_real(w, s->pass->gradient, op->bias + c, total[0]);
            add_real(w, s->pass->gradient, op->weight + c, total[1]);
        }
        if (s->delta_tangent) {
            add_real(w, s->pass->hessian, op->bias + c, total[2]);
            add_real(w, s->pass->hessian, op->weight + c, total[3]);
        }
    }
}

/* ---- Every pixel ---- */

void blv_nn_norm_forward(const nn_block *b, size_t number) {
    const blv_nn_work *w = b->slice->work;
    const nn_op_buffers *room = &w->ops[number];
    const norm_rows rows = rows_of(b, number);
    const size_t bytes = rows.in->row_step * w->real_size;
    const size_t pixels = nn_pixels(w->net->nodes[w->net->ops[number].out].shape);
    for (size_t i = 0; i < b->rows; i++) {
        nn_channel_sum sum = {.pixels = pixels,
                              .step = rows.in->step,
                              .terms = 1,
                              .factor = {room->coefficient[NN_C_SCALE]},
                              .in = {rows.value + i * bytes},
                              .shift = room->coefficient[NN_C_SHIFT],
                              .out = rows.out_value + i * bytes};
        w->loops->channel_sum(&sum);
        if (!rows.tangent)
            continue;
        sum.terms = 2;
        sum.in[0] = rows.tangent + i * bytes;
        sum.factor[1] = room->coefficient[NN_C_TANGENT_BY_VALUE];
        sum.in[1] = rows.value + i * bytes;
        sum.shift = room->coefficient[NN_C_TANGENT_SHIFT];
        sum.out = rows.out_tangent + i * bytes;
        w->loops->channel_sum(&sum);
    }
}

void blv_nn_norm_backward(const nn_block *b, size_t number) {
    const blv_nn_work *w = b->slice->work;
    const nn_op_buffers *room = &w->ops[number];
    const norm_rows rows = rows_of(b, number);
    const size_t bytes = rows.in->row_step * w->real_size;
    const bool own = b->slice->own_statistics;
    for (size_t i = 0; i < b->rows; i++) {
        nn_channel_sum sum = {
            .pixels = nn_pixels(w->net->nodes[w->net->ops[number].out].shape),
            .step = rows.in->step,
            .terms = own ? 2 : 1,
            .factor = {room->coefficient[NN_C_SCALE], room->coefficient[NN_C_BACK_BY_VALUE]},
            .in = {rows.delta + i * bytes, rows.value + i * bytes},
            .shift = own ? room->coefficient[NN_C_BACK_SHIFT] : NULL,
            .out = rows.in_delta + i * bytes,
            .add = w->net->ops[number].adds};
        w->loops->channel_sum(&sum);
        if (!rows.delta_tangent)
            continue;
        sum.terms = own ? 4 : 2;
        sum.in[0] = rows.delta_tangent + i * bytes;
        sum.factor[1] = room->coefficient[NN_C_BACK_TANGENT_BY_DELTA];
        sum.in[1] = rows.delta + i * bytes;
        sum.factor[2] = room->coefficient[NN_C_BACK_TANGENT_BY_TANGENT];
        sum.in[2] = rows.tangent + i * bytes;
        sum.factor[3] = room->coefficient[NN_C_BACK_TANGENT_BY_VALUE];
        sum.in[3] = rows.value + i * bytes;
        sum.shift = own ? room->coefficient[NN_C_BACK_TANGENT_SHIFT] : NULL;
        sum.out = rows.in_delta_tangent + i * bytes;
        w->loops->channel_sum(&sum);
    }
}
