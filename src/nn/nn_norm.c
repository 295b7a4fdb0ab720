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
#include "base/precision.h"
#include "nn/nn_work.h"

#include <math.h>
#include <string.h>

static size_t pixels_of(const blv_nn_work *w, const nn_op *op) {
    return nn_pixels(w->net->nodes[op->out].shape);
}

static size_t channels_of(const blv_nn_work *w, const nn_op *op) {
    return w->net->nodes[op->out].shape.channels;
}

static double real_at(const blv_nn_work *w, const void *array, size_t i) {
    return array ? blv_value_get(array, w->precision, i) : 0.0;
}

static void put_real(const blv_nn_work *w, void *array, size_t i, double value) {
    blv_value_set(array, w->precision, i, value);
}

static void add_real(const blv_nn_work *w, void *array, size_t i, double value) {
    put_real(w, array, i, real_at(w, array, i) + value);
}

/* The numbers of a channel by which values and tangents go forward. */
static void forward_numbers(const nn_slice *s, const nn_op *op, size_t c) {
    const blv_nn_work *w = s->work;
    const nn_op_buffers *room = buffers_of(w, op);
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
    put_real(w, room->coefficient[NN_C_SCALE], c, scale * r);
    put_real(w, room->coefficient[NN_C_SHIFT], c, shift - scale * r * m);
    put_real(w, room->coefficient[NN_C_TANGENT_BY_VALUE], c, scale_t * r + scale * by_value);
    put_real(w, room->coefficient[NN_C_TANGENT_SHIFT], c,
             shift_t - scale_t * r * m + scale * by_one);
}

/* Those by which deltas and their tangents go back. */
static void backward_numbers(const nn_slice *s, const nn_op *op, size_t c, double pixels) {
    const blv_nn_work *w = s->work;
    const nn_op_buffers *room = buffers_of(w, op);
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
    put_real(w, room->coefficient[NN_C_BACK_BY_VALUE], c, -e * r * P);
    put_real(w, room->coefficient[NN_C_BACK_SHIFT], c, e * (r * m * P - S));
    put_real(w, room->coefficient[NN_C_BACK_TANGENT_BY_DELTA], c, turn);
    put_real(w, room->coefficient[NN_C_BACK_TANGENT_BY_TANGENT], c, -e * r * P);
    put_real(w, room->coefficient[NN_C_BACK_TANGENT_BY_VALUE], c,
             -turn * r * P - e * r * P_t - e * P * by_value);
    put_real(w, room->coefficient[NN_C_BACK_TANGENT_SHIFT], c,
             turn * (r * m * P - S) + e * (r * m * P_t - S_t - P * by_one));
}

void blv_nn_norm_open(const nn_slice *s, const nn_op *op) {
    const nn_op_buffers *room = buffers_of(s->work, op);
    const size_t channels = channels_of(s->work, op);
    const double *mean = s->pass->statistics + op->statistic;
    for (size_t c = 0; c < channels; c++) {
        room->number[NN_D_MEAN][c] = mean[c];
        room->number[NN_D_INVERSE][c] = 1.0 / sqrt(mean[channels + c] + NN_NORM_EPSILON);
        room->number[NN_D_TANGENT_MEAN][c] = room->number[NN_D_TANGENT_PRODUCT][c] = 0.0;
        forward_numbers(s, op, c);
        backward_numbers(s, op, c, 1.0);
    }
}

/* ---- Sums ---- */

static double *partial_of(const nn_block *b, const nn_op *op, size_t which) {
    const blv_nn_work *w = b->slice->work;
    return buffers_of(w, op)->partial + (b->number * NN_PARTIALS + which) * channels_of(w, op);
}

void blv_nn_norm_sum_forward(const nn_block *b, const nn_op *op) {
    const nn_pair value = values_at(b, op->in);
    const nn_spread spread = {.at = pixels_at(b, op->in),
                              .x = value.first,
                              .tangent = value.second,
                              .mean = partial_of(b, op, 0),
                              .squares = partial_of(b, op, 1),
                              .tangents = partial_of(b, op, 2),
                              .products = partial_of(b, op, 3)};
    loops_of(b)->spread(&spread);
}

/* Pixels of the i-th block of a slice. */
static double pixels_of_block(const nn_slice *s, const nn_op *op, size_t i) {
    const blv_nn_work *w = s->work;
    const size_t left = s->count - i * w->block_rows;
    const size_t rows = left < w->block_rows ? left : w->block_rows;
    return (double)(rows * pixels_of(w, op));
}

/* Means and squares of blocks are put together pairwise (Chan, Golub, LeVeque 1983). Returns the
 * variance. */
static double join_blocks(const nn_slice *s, const nn_op *op, size_t c) {
    const nn_op_buffers *room = buffers_of(s->work, op);
    const size_t channels = channels_of(s->work, op);
    const double *part = room->partial + c;
    double pixels = 0.0, mean = 0.0, squares = 0.0, tangents = 0.0, products = 0.0;
    for (size_t i = 0; i < s->blocks; i++, part += NN_PARTIALS * channels) {
        const double more = pixels_of_block(s, op, i), off = part[0] - mean;
        pixels += more;
        mean += off * more / pixels;
        squares += part[channels] + off * off * more * (pixels - more) / pixels;
    }
    part = room->partial + c;
    for (size_t i = 0; s->tangent && i < s->blocks; i++, part += NN_PARTIALS * channels) {
        tangents += part[2 * channels];
        products += part[3 * channels] + (part[0] - mean) * part[2 * channels];
    }
    const double variance = squares / pixels, inverse = 1.0 / sqrt(variance + NN_NORM_EPSILON);
    room->number[NN_D_MEAN][c] = mean;
    room->number[NN_D_INVERSE][c] = inverse;
    room->number[NN_D_TANGENT_MEAN][c] = tangents / pixels;
    room->number[NN_D_TANGENT_PRODUCT][c] = inverse * products / pixels;
    return variance;
}

void blv_nn_norm_close_forward(const nn_slice *s, const nn_op *op) {
    const blv_nn_work *w = s->work;
    const size_t channels = channels_of(w, op), place = op->statistic;
    const double share = (double)s->count / (double)s->rows->count;
    for (size_t c = 0; c < channels; c++) {
        const double variance = join_blocks(s, op, c);
        forward_numbers(s, op, c);
        if (w->observed) {
            w->observed[place + c] += share * buffers_of(w, op)->number[NN_D_MEAN][c];
            w->observed[place + channels + c] += share * variance;
        }
    }
}

void blv_nn_norm_sum_backward(const nn_block *b, const nn_op *op) {
    double *const *number = buffers_of(b->slice->work, op)->number;
    const nn_pair value = values_at(b, op->in), delta = deltas_at(b, op->out);
    const nn_norm_sums sums = {.at = pixels_at(b, op->in),
                               .x = value.first,
                               .x_tangent = value.second,
                               .delta = delta.first,
                               .delta_tangent = delta.second,
                               .mean = number[NN_D_MEAN],
                               .inverse = number[NN_D_INVERSE],
                               .by_tangent = number[NN_D_MOVED_BY_TANGENT],
                               .by_value = number[NN_D_MOVED_BY_VALUE],
                               .by_one = number[NN_D_MOVED_BY_ONE],
                               .sums = partial_of(b, op, 0),
                               .products = partial_of(b, op, 1),
                               .sums_tangent = partial_of(b, op, 2),
                               .products_tangent = partial_of(b, op, 3)};
    memset(sums.sums, 0, NN_PARTIALS * sums.at.channels * sizeof *sums.sums);
    loops_of(b)->norm_sums(&sums);
}

void blv_nn_norm_close_backward(const nn_slice *s, const nn_op *op) {
    const blv_nn_work *w = s->work;
    const nn_op_buffers *room = buffers_of(w, op);
    const size_t channels = channels_of(w, op);
    const double pixels = (double)(s->count * pixels_of(w, op));
    for (size_t c = 0; c < channels; c++) {
        double total[NN_PARTIALS] = {0.0};
        for (size_t i = 0; i < s->blocks; i++)
            for (size_t k = 0; k < NN_PARTIALS; k++)
                total[k] += room->partial[(i * NN_PARTIALS + k) * channels + c];
        for (size_t k = 0; k < NN_PARTIALS; k++)
            room->number[NN_D_SUM + k][c] = total[k];
        if (s->own_statistics)
            backward_numbers(s, op, c, pixels);
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

void blv_nn_norm_forward(const nn_block *b, const nn_op *op) {
    void *const *of = buffers_of(b->slice->work, op)->coefficient;
    const nn_pair in = values_at(b, op->in), out = values_at(b, op->out);
    nn_channel_sum sum = {.at = pixels_at(b, op->in),
                          .terms = 1,
                          .factor = {of[NN_C_SCALE], of[NN_C_TANGENT_BY_VALUE]},
                          .in = {in.first, in.first},
                          .shift = of[NN_C_SHIFT],
                          .out = out.first};
    loops_of(b)->channel_sum(&sum);
    if (!in.second)
        return;
    sum.terms = 2;
    sum.in[0] = in.second;
    sum.shift = of[NN_C_TANGENT_SHIFT];
    sum.out = out.second;
    loops_of(b)->channel_sum(&sum);
}

void blv_nn_norm_backward(const nn_block *b, const nn_op *op) {
    void *const *of = buffers_of(b->slice->work, op)->coefficient;
    const nn_pair value = values_at(b, op->in);
    const nn_pair in = deltas_at(b, op->in), out = deltas_at(b, op->out);
    const bool own = b->slice->own_statistics;
    const nn_channel_sum sum = {.at = pixels_at(b, op->in),
                                .terms = own ? 2 : 1,
                                .factor = {of[NN_C_SCALE], of[NN_C_BACK_BY_VALUE]},
                                .in = {out.first, value.first},
                                .shift = own ? of[NN_C_BACK_SHIFT] : NULL,
                                .out = in.first,
                                .add = op->adds};
    loops_of(b)->channel_sum(&sum);
    if (!in.second)
        return;
    const nn_channel_sum second = {.at = sum.at,
                                   .terms = own ? 4 : 2,
                                   .factor = {of[NN_C_SCALE], of[NN_C_BACK_TANGENT_BY_DELTA],
                                              of[NN_C_BACK_TANGENT_BY_TANGENT],
                                              of[NN_C_BACK_TANGENT_BY_VALUE]},
                                   .in = {out.second, out.first, value.second, value.first},
                                   .shift = own ? of[NN_C_BACK_TANGENT_SHIFT] : NULL,
                                   .out = in.second,
                                   .add = op->adds};
    loops_of(b)->channel_sum(&second);
}
