/* The inner loops of networks, for one precision and one instruction set. All are serial: a task of
 * a team calls them for the rows that are its own. Arrays hold float or double, by the table; a
 * `step` is the distance between rows, in elements. Rows of the network's own memory are padded to
 * whole cache lines, and what is in the padding is finite and means nothing. */
#pragma once

#include "nn/nn.h"

/* C = A B or C += A B; A(i,k) = a[i a_row + k a_depth], one of the two steps being 1. Whole vectors
 * of B are read: its rows are padded. C is written in whole vectors when `whole`. Each number of C
 * is a sum over k in order, in parts of some length: tiles and threads do not show. With a list,
 * which is room for depth numbers and a cache line, zeros of A are left out where there are many;
 * that does not show either. */
typedef struct nn_product {
    size_t rows, columns, depth;
    const void *a;
    size_t a_row, a_depth;
    const void *b;
    size_t b_depth;
    void *c;
    size_t c_row;
    bool add, whole;
    uint32_t *list; /* NULL: A is taken as full */
} nn_product;

/* Scores of some rows become losses and derivatives of these by the scores. */
typedef struct nn_scores {
    size_t rows, classes, step;
    double scale;
    const void *score, *tangent; /* NULL: no tangent */
    void *delta, *delta_tangent; /* scale weight (p - e), and its derivative; NULL: not needed */
    const int32_t *label; /* these four by row of the data; row[i] is the i-th row's number */
    const void *weight;   /* NULL: 1 */
    const double *chance; /* as in blv_nn_pass */
    bool wants_loss;      /* with chance; without, the loss costs little */
    void *loss, *cross, *probability;
    int32_t *best;
    size_t first; /* number of the first row, when row is NULL */
    const size_t *row;
    double sum; /* of weight times loss: a result */
} nn_scores;

/* The pixels of some rows, in elements from row to row and from pixel to pixel. */
typedef struct nn_pixels_of_rows {
    size_t rows, row_step, pixels, step, channels;
} nn_pixels_of_rows;

/* Terms of a sum for each channel: out[p,c] = shift[c] + sum_t factor_t[c] in_t[p,c]. */
enum { NN_TERMS_MAX = 4 };
typedef struct nn_channel_sum {
    nn_pixels_of_rows at; /* in all of in and out */
    size_t terms;
    const void *factor[NN_TERMS_MAX], *in[NN_TERMS_MAX];
    const void *shift; /* NULL: 0 */
    void *out;
    bool add; /* to what is in out */
} nn_channel_sum;

/* Of each channel over the pixels, in double: the mean, the sum of squared distances from it, and
 * with tangents the sum of these and of their products with distances. */
typedef struct nn_spread {
    nn_pixels_of_rows at;
    const void *x, *tangent; /* tangent may be NULL */
    double *mean, *squares, *tangents, *products;
} nn_spread;

/* What a norm sums over pixels, for each channel and in double; added to what is there.
 *   sums      += delta            products  += delta normal         normal = (x - mean) inverse
 *   sums_t    += delta_t          products_t += delta_t normal + delta normal_t
 *   normal_t = by_x_t x_t + by_x x + by_1 */
typedef struct nn_norm_sums {
    nn_pixels_of_rows at;
    const void *x, *x_tangent, *delta, *delta_tangent; /* tangents may be NULL */
    const double *mean, *inverse, *by_tangent, *by_value, *by_one;
    double *sums, *products, *sums_tangent, *products_tangent;
} nn_norm_sums;

/* Some cells of the windows of a convolution, as a matrix: a row for each pixel of its output, and
 * in it the cells one after the other with all channels each; cells outside of the image are 0. */
typedef struct nn_patches {
    size_t in_height, in_width, channels;
    size_t pixel_step, channel_step; /* of the image, in elements */
    size_t begin_y, end_y, width;    /* the cells: rows of the kernel, and their length */
    size_t stride, padding, out_width;
    size_t first, pixels; /* of the output */
    size_t step;          /* of the matrix */
} nn_patches;

typedef struct nn_loops {
    size_t real_size;
    void (*product)(const nn_product *product);
    /* to[j,i] = from[i,j] */
    void (*transpose)(size_t rows, size_t columns, const void *from, size_t from_step, void *to,
                      size_t to_step);
    /* c[i,j] += row[j] */
    void (*add_row)(size_t rows, size_t columns, const void *row, void *c, size_t step);
    /* sums[j] += sum_i c[i,j] */
    void (*column_sums)(size_t rows, size_t columns, const void *c, size_t step, void *sums);
    /* out += in */
    void (*add)(size_t count, const void *in, void *out);
    /* value = max(value, 0) */
    void (*relu)(size_t count, void *value, void *tangent);
    void (*relu_back)(size_t count, const void *value, void *delta, void *delta_tangent);
    /* out = activation of value; then value and tangent become what the way back needs: the slope,
     * and the second derivative times the tangent. Tangents may be NULL. */
    void (*activate)(blv_nn_activation activation, size_t count, void *value, void *tangent,
                     void *out, void *out_tangent);
    /* delta_in = slope delta_out, and its derivative slope delta_out_t + curved delta_out */
    void (*activate_back)(size_t count, const void *slope, const void *curved,
                          const void *delta_out, const void *delta_out_tangent, void *delta_in,
                          void *delta_in_tangent);
    /* value = kept ? factor value : 0 */
    void (*drop)(size_t count, const uint8_t *kept, double factor, void *value);
    void (*scores)(nn_scores *scores);
    void (*gather)(const nn_patches *patches, const void *image, void *matrix);
    /* The other way, adding; the channels of a pixel of the image lie next to each other. */
    void (*scatter)(const nn_patches *patches, const void *matrix, void *image);
    void (*channel_sum)(const nn_channel_sum *sum);
    void (*spread)(const nn_spread *spread);
    void (*norm_sums)(const nn_norm_sums *sums);
    /* The average of all pixels of each row, in rows `step` apart. */
    void (*pool)(const nn_pixels_of_rows *at, const void *in, size_t step, void *out);
    /* adds */
    void (*pool_back)(const nn_pixels_of_rows *at, const void *delta, size_t step, void *in);
} nn_loops;
