/* Windows of a convolution as rows of a matrix, and back. */
#pragma once

#include "kernels/cpu/lanes.h"
#include "nn/nn_loops.h"

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
