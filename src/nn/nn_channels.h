/* Norms and pools: loops over pixels whose channels lie next to each other. */
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
