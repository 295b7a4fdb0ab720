/* Windows of a convolution as rows of a matrix, and back. */
#ifndef BLV_NN_PATCHES_H
#define BLV_NN_PATCHES_H

#include "kernels/lanes.h"
#include "nn/nn_loops.h"

#define NO_PIXEL SIZE_MAX

/* Where the cell (i, j) of the window of an output pixel lies in the image, or NO_PIXEL. */
ALWAYS_INLINE size_t pixel_of(const nn_patches *p, size_t pixel, size_t i, size_t j) {
    const size_t y = pixel / p->out_width * p->stride + i;
    const size_t x = pixel % p->out_width * p->stride + j;
    const bool inside = y >= p->padding && y - p->padding < p->in_height && x >= p->padding &&
                        x - p->padding < p->in_width;
    return inside ? (y - p->padding) * p->in_width + (x - p->padding) : NO_PIXEL;
}

#define EACH_CELL                                                                                  \
    for (size_t n = 0; n < p->pixels; n++)                                                         \
        for (size_t i = p->begin_y; i < p->end_y; i++)                                             \
            for (size_t j = p->begin_x; j < p->end_x; j++)

/* Number of the cell among those that are asked for. */
ALWAYS_INLINE size_t place_of(const nn_patches *p, size_t n, size_t i, size_t j) {
    const size_t cell = (i - p->begin_y) * (p->end_x - p->begin_x) + (j - p->begin_x);
    return n * p->step + cell * p->channels;
}

static void gather(const nn_patches *p, const void *image_data, void *matrix_data) {
    const real *image = image_data;
    real *matrix = matrix_data;
    EACH_CELL {
        real *to = matrix + place_of(p, n, i, j);
        const size_t pixel = pixel_of(p, p->first + n, i, j);
        if (pixel == NO_PIXEL) {
            for (size_t c = 0; c < p->channels; c++)
                to[c] = 0;
        } else if (p->channel_step == 1) {
            const real *from = image + pixel * p->pixel_step;
            for (size_t c = 0; c < p->channels; c++)
                to[c] = from[c];
        } else {
            const real *from = image + pixel * p->pixel_step;
            for (size_t c = 0; c < p->channels; c++)
                to[c] = from[c * p->channel_step];
        }
    }
}

static void scatter(const nn_patches *p, const void *matrix_data, void *image_data) {
    const real *matrix = matrix_data;
    real *image = image_data;
    EACH_CELL {
        const real *from = matrix + place_of(p, n, i, j);
        const size_t pixel = pixel_of(p, p->first + n, i, j);
        if (pixel == NO_PIXEL)
            continue;
        real *to = image + pixel * p->pixel_step;
        for (size_t c = 0; c < p->channels; c++)
            to[c] += from[c];
    }
}

#endif
