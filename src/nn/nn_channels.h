/* Loops over pixels whose channels lie next to each other: norms and pools, and windows of a
 * convolution as rows of a matrix, and back. */
#pragma once

#include "kernels/cpu/lanes.h"
#include "nn/nn_loops.h"

/* For each pixel: where it begins. */
#define EACH_PIXEL(p, begin)                                                                       \
    for (size_t i = 0; i < (p)->rows; i++)                                                         \
        for (size_t begin = i * (p)->row_step, end = begin + (p)->pixels * (p)->step; begin < end; \
             begin += (p)->step)

ALWAYS_INLINE void channel_sum_of(const nn_channel_sum *s, const size_t terms) {
    const real *shift = s->shift;
    EACH_PIXEL(&s->at, pixel)
    for (size_t c = 0; c < s->at.step; c += LANES) {
        vec sum = shift ? load(shift + c) : all(0);
        for (size_t t = 0; t < terms; t++)
            sum = multiply_add(load((const real *)s->factor[t] + c),
                               load((const real *)s->in[t] + pixel + c), sum);
        if (s->add)
            sum += load((const real *)s->out + pixel + c);
        store((real *)s->out + pixel + c, sum);
    }
}

static void channel_sum(const nn_channel_sum *s) {
    switch (s->terms) {
    case 1:
        channel_sum_of(s, 1);
        break;
    case 2:
        channel_sum_of(s, 2);
        break;
    default:
        channel_sum_of(s, s->terms);
    }
}

#define EACH_ELEMENT(s)                                                                            \
    EACH_PIXEL(&(s)->at, pixel)                                                                    \
    for (size_t c = 0, at = pixel; c < (s)->at.channels; c++, at++)

static void spread(const nn_spread *s) {
    const real *x = s->x, *tangent = s->tangent;
    for (size_t c = 0; c < s->at.channels; c++)
        s->mean[c] = s->squares[c] = s->tangents[c] = s->products[c] = 0.0;
    EACH_ELEMENT(s) {
        s->mean[c] += (double)x[at];
    }
    for (size_t c = 0; c < s->at.channels; c++)
        s->mean[c] /= (double)(s->at.rows * s->at.pixels);
    EACH_ELEMENT(s) {
        const double off = (double)x[at] - s->mean[c];
        s->squares[c] += off * off;
    }
    if (!tangent)
        return;
    EACH_ELEMENT(s) {
        const double t = (double)tangent[at];
        s->tangents[c] += t;
        s->products[c] += t * ((double)x[at] - s->mean[c]);
    }
}

static void norm_sums(const nn_norm_sums *s) {
    const real *x = s->x, *x_tangent = s->x_tangent, *delta = s->delta;
    const real *delta_tangent = s->delta_tangent;
    EACH_ELEMENT(s) {
        const double d = (double)delta[at];
        s->sums[c] += d;
        s->products[c] += d * (((double)x[at] - s->mean[c]) * s->inverse[c]);
    }
    if (!delta_tangent)
        return;
    EACH_ELEMENT(s) {
        const double d = (double)delta_tangent[at], value = (double)x[at];
        const double normal = (value - s->mean[c]) * s->inverse[c];
        double moved = s->by_value[c] * value + s->by_one[c];
        if (x_tangent)
            moved += s->by_tangent[c] * (double)x_tangent[at];
        s->sums_tangent[c] += d;
        s->products_tangent[c] += d * normal + (double)delta[at] * moved;
    }
}

static void pool(const nn_pixels_of_rows *at, const void *in_data, size_t step, void *out_data) {
    const real factor = (real)(1.0 / (double)at->pixels);
    for (size_t i = 0; i < at->rows; i++) {
        const real *in = (const real *)in_data + i * at->row_step;
        real *out = (real *)out_data + i * step;
        for (size_t c = 0; c < at->channels; c++) {
            real sum = 0;
            for (size_t k = 0; k < at->pixels; k++)
                sum += in[k * at->step + c];
            out[c] = factor * sum;
        }
    }
}

static void pool_back(const nn_pixels_of_rows *at, const void *delta_data, size_t step,
                      void *in_data) {
    const real *delta = delta_data, factor = (real)(1.0 / (double)at->pixels);
    real *in = in_data;
    EACH_PIXEL(at, pixel)
    for (size_t c = 0; c < at->channels; c++)
        in[pixel + c] += factor * delta[i * step + c];
}

/* ---- Windows ---- */

/* The window of one pixel of the output: the corner in the padded image, and its row of the matrix.
 */
typedef struct window {
    size_t y, x, place;
} window;

ALWAYS_INLINE window window_of(const nn_patches *p, size_t n) {
    const size_t pixel = p->first + n;
    return (window){.y = pixel / p->out_width * p->stride,
                    .x = pixel % p->out_width * p->stride,
                    .place = n * p->step};
}

/* Where a row of cells lies in the image: those from `begin` on and before `end` are inside of it,
 * and `first` is the pixel of the first of them. */
typedef struct run {
    size_t begin, end, first;
} run;

ALWAYS_INLINE run run_of(const nn_patches *p, const window *w, size_t i) {
    const size_t y = w->y + i, right = p->in_width + p->padding;
    run r = {0, p->width, 0};
    if (y < p->padding || y - p->padding >= p->in_height)
        r.end = r.begin;
    if (w->x + r.begin < p->padding)
        r.begin = p->padding - w->x < r.end ? p->padding - w->x : r.end;
    if (w->x + r.end > right)
        r.end = w->x + r.begin < right ? right - w->x : r.begin;
    if (r.begin < r.end)
        r.first = (y - p->padding) * p->in_width + (w->x + r.begin - p->padding);
    return r;
}

/* Cells next to each other are pixels next to each other; where channels are not padded, that is
 * one stretch of numbers. */
ALWAYS_INLINE void gather_run(const nn_patches *p, const real *image, const run *r, real *to) {
    if (p->channel_step == 1 && p->pixel_step == p->channels) {
        const size_t count = (r->end - r->begin) * p->channels;
        const real *from = image + r->first * p->pixel_step;
        for (size_t c = 0; c < count; c++)
            to[c] = from[c];
        return;
    }
    for (size_t j = 0; j < r->end - r->begin; j++) {
        const real *from = image + (r->first + j) * p->pixel_step;
        for (size_t c = 0; c < p->channels; c++)
            to[j * p->channels + c] = from[c * p->channel_step];
    }
}

static void gather(const nn_patches *p, const void *image, void *matrix_data) {
    real *matrix = matrix_data;
    const size_t across = p->width * p->channels;
    for (size_t n = 0; n < p->pixels; n++) {
        const window w = window_of(p, n);
        real *to = matrix + w.place;
        for (size_t i = p->begin_y; i < p->end_y; i++, to += across) {
            const run r = run_of(p, &w, i);
            const size_t before = r.begin * p->channels, after = r.end * p->channels;
            for (size_t c = 0; c < before; c++)
                to[c] = 0;
            gather_run(p, image, &r, to + before);
            for (size_t c = after; c < across; c++)
                to[c] = 0;
        }
    }
}

static void scatter(const nn_patches *p, const void *matrix_data, void *image_data) {
    const real *matrix = matrix_data;
    real *image = image_data;
    const size_t across = p->width * p->channels;
    for (size_t n = 0; n < p->pixels; n++) {
        const window w = window_of(p, n);
        const real *from = matrix + w.place;
        for (size_t i = p->begin_y; i < p->end_y; i++, from += across) {
            const run r = run_of(p, &w, i);
            const real *cells = from + r.begin * p->channels;
            for (size_t j = 0; j < r.end - r.begin; j++) {
                real *to = image + (r.first + j) * p->pixel_step;
                for (size_t c = 0; c < p->channels; c++)
                    to[c] += cells[j * p->channels + c];
            }
        }
    }
}
