/* Norms and pools: loops over pixels whose channels lie next to each other. */
#ifndef BLV_NN_CHANNELS_H
#define BLV_NN_CHANNELS_H

#include "kernels/cpu/lanes.h"
#include "nn/nn_loops.h"

ALWAYS_INLINE void channel_sum_of(const nn_channel_sum *s, const size_t terms) {
    const real *shift = s->shift;
    for (size_t p = 0; p < s->pixels; p++)
        for (size_t c = 0; c < s->step; c += LANES) {
            const size_t at = p * s->step + c;
            vec sum = shift ? load(shift + c) : all(0);
            for (size_t t = 0; t < terms; t++)
                sum = multiply_add(load((const real *)s->factor[t] + c),
                                   load((const real *)s->in[t] + at), sum);
            if (s->add)
                sum += load((const real *)s->out + at);
            store((real *)s->out + at, sum);
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

#define EACH_ELEMENT                                                                               \
    for (size_t i = 0; i < s->rows; i++)                                                           \
        for (size_t at = i * s->row_step; at < i * s->row_step + s->pixels * s->step;              \
             at += s->step)                                                                        \
            for (size_t c = 0; c < s->channels; c++)

static void spread(const nn_spread *s) {
    const real *x = s->x, *tangent = s->tangent;
    for (size_t c = 0; c < s->channels; c++)
        s->mean[c] = s->squares[c] = s->tangents[c] = s->products[c] = 0.0;
    EACH_ELEMENT {
        s->mean[c] += (double)x[at + c];
    }
    for (size_t c = 0; c < s->channels; c++)
        s->mean[c] /= (double)(s->rows * s->pixels);
    EACH_ELEMENT {
        const double off = (double)x[at + c] - s->mean[c];
        s->squares[c] += off * off;
    }
    if (!tangent)
        return;
    EACH_ELEMENT {
        const double t = (double)tangent[at + c];
        s->tangents[c] += t;
        s->products[c] += t * ((double)x[at + c] - s->mean[c]);
    }
}

static void norm_sums(const nn_norm_sums *s) {
    const real *x = s->x, *x_tangent = s->x_tangent, *delta = s->delta;
    const real *delta_tangent = s->delta_tangent;
    for (size_t p = 0; p < s->pixels; p++)
        for (size_t c = 0; c < s->channels; c++) {
            const size_t at = p * s->step + c;
            const double d = (double)delta[at];
            s->sums[c] += d;
            s->products[c] += d * (((double)x[at] - s->mean[c]) * s->inverse[c]);
        }
    for (size_t p = 0; delta_tangent && p < s->pixels; p++)
        for (size_t c = 0; c < s->channels; c++) {
            const size_t at = p * s->step + c;
            const double d = (double)delta_tangent[at], value = (double)x[at];
            const double normal = (value - s->mean[c]) * s->inverse[c];
            double moved = s->by_value[c] * value + s->by_one[c];
            if (x_tangent)
                moved += s->by_tangent[c] * (double)x_tangent[at];
            s->sums_tangent[c] += d;
            s->products_tangent[c] += d * normal + (double)delta[at] * moved;
        }
}

#define EACH_WINDOW                                                                                \
    for (size_t y = 0; y < w->out_height; y++)                                                     \
        for (size_t x = 0; x < w->out_width; x++)

/* Element of cell (i, j) of the window at (y, x), in the image that windows lie on. */
ALWAYS_INLINE size_t cell(const nn_windows *w, size_t y, size_t x, size_t i, size_t j) {
    return ((y * w->stride + i) * w->in_width + x * w->stride + j) * w->step;
}

static void pool(const nn_windows *w, const void *in_data, void *out_data) {
    const real *in = in_data, factor = (real)w->factor;
    real *out = out_data;
    EACH_WINDOW {
        real *to = out + (y * w->out_width + x) * w->step;
        for (size_t c = 0; c < w->channels; c++) {
            real sum = 0;
            for (size_t i = 0; i < w->size_y; i++)
                for (size_t j = 0; j < w->size_x; j++)
                    sum += in[cell(w, y, x, i, j) + c];
            to[c] = factor * sum;
        }
    }
}

static void pool_back(const nn_windows *w, const void *delta_data, void *in_data) {
    const real *delta = delta_data, factor = (real)w->factor;
    real *in = in_data;
    EACH_WINDOW {
        const real *from = delta + (y * w->out_width + x) * w->step;
        for (size_t i = 0; i < w->size_y; i++)
            for (size_t j = 0; j < w->size_x; j++)
                for (size_t c = 0; c < w->channels; c++)
                    in[cell(w, y, x, i, j) + c] += factor * from[c];
    }
}

static void find_best(const nn_windows *w, const void *in_data, uint8_t *best) {
    const real *in = in_data;
    EACH_WINDOW {
        uint8_t *to = best + (y * w->out_width + x) * w->step;
        for (size_t c = 0; c < w->channels; c++) {
            size_t found = 0;
            real largest = in[cell(w, y, x, 0, 0) + c];
            for (size_t at = 1; at < w->size_y * w->size_x; at++) {
                const real here = in[cell(w, y, x, at / w->size_x, at % w->size_x) + c];
                if (here > largest) {
                    largest = here;
                    found = at;
                }
            }
            to[c] = (uint8_t)found;
        }
    }
}

static void take_best(const nn_windows *w, const uint8_t *best, const void *in_data,
                      void *out_data) {
    const real *in = in_data;
    real *out = out_data;
    EACH_WINDOW {
        const size_t first = (y * w->out_width + x) * w->step;
        for (size_t c = 0; c < w->channels; c++) {
            const size_t at = best[first + c];
            out[first + c] = in[cell(w, y, x, at / w->size_x, at % w->size_x) + c];
        }
    }
}

static void take_best_back(const nn_windows *w, const uint8_t *best, const void *delta_data,
                           void *in_data) {
    const real *delta = delta_data;
    real *in = in_data;
    EACH_WINDOW {
        const size_t first = (y * w->out_width + x) * w->step;
        for (size_t c = 0; c < w->channels; c++) {
            const size_t at = best[first + c];
            in[cell(w, y, x, at / w->size_x, at % w->size_x) + c] += delta[first + c];
        }
    }
}

#endif
