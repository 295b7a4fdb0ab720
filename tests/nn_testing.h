/* What the tests of networks share: rows, networks that have every layer, passes as one call.
 * Include after cmocka.h. */
#ifndef BLV_TESTS_NN_TESTING_H
#define BLV_TESTS_NN_TESTING_H

#include "base/random.h"
#include "nn/nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows in both precisions, the f64 ones being the f32 ones exactly; labels and weights. */
typedef struct nn_sample {
    size_t rows, columns, classes, stride;
    double *a, *weight;
    float *a_f32, *weight_f32;
    int32_t *label;
} nn_sample;

static inline void *nn_memory(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    assert_non_null(memory);
    return memory;
}

static inline nn_sample nn_make_sample(size_t rows, size_t columns, size_t classes, uint64_t seed) {
    nn_sample s = {.rows = rows, .columns = columns, .classes = classes, .stride = columns + 3};
    blv_stream stream = blv_stream_make(seed, "sample");
    s.a = nn_memory(rows * s.stride, sizeof *s.a);
    s.a_f32 = nn_memory(rows * s.stride, sizeof *s.a_f32);
    s.weight = nn_memory(rows, sizeof *s.weight);
    s.weight_f32 = nn_memory(rows, sizeof *s.weight_f32);
    s.label = nn_memory(rows, sizeof *s.label);
    for (size_t i = 0; i < rows * s.stride; i++) {
        /* two rows of three are mostly zeros, in runs as images have them */
        const bool zero = i / s.stride % 3 > 0 && blv_random_uniform(&stream, i / 5) < 0.8;
        s.a_f32[i] = zero ? 0.0f : (float)blv_random_normal(&stream, i);
        s.a[i] = (double)s.a_f32[i];
    }
    for (size_t i = 0; i < rows; i++) {
        s.weight_f32[i] = (float)(0.1 + blv_random_uniform(&stream, (1u << 30) + i));
        s.weight[i] = (double)s.weight_f32[i];
        s.label[i] = (int32_t)blv_random_below(&stream, (1u << 29) + i, classes);
    }
    return s;
}

static inline void nn_free_sample(nn_sample *s) {
    free(s->a);
    free(s->a_f32);
    free(s->weight);
    free(s->weight_f32);
    free(s->label);
}

static inline blv_rows nn_rows(const nn_sample *s, blv_precision precision) {
    const bool single = precision == BLV_F32;
    return (blv_rows){.rows = s->rows,
                      .columns = s->columns,
                      .dense = single ? (const void *)s->a_f32 : (const void *)s->a,
                      .stride = s->stride,
                      .label = s->label,
                      .weight = single ? (const void *)s->weight_f32 : (const void *)s->weight,
                      .count = s->rows};
}

static inline double *nn_normals(size_t count, double scale, uint64_t seed) {
    double *numbers = nn_memory(count, sizeof *numbers);
    blv_stream stream = blv_stream_make(seed, "numbers");
    blv_random_normals(&stream, 0, count, numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (double)(float)(scale * numbers[i]);
    return numbers;
}

/* A start, and everything in it moved a little, so that no bias is 0 and no scale 1. */
static inline double *nn_params(const blv_nn *net, uint64_t seed) {
    double *params = nn_memory(blv_nn_dim(net), sizeof *params);
    double *noise = nn_normals(blv_nn_dim(net), 0.1, seed + 1);
    blv_nn_start(net, BLV_F64, seed, params);
    for (size_t i = 0; i < blv_nn_dim(net); i++)
        params[i] = (double)(float)(params[i] + noise[i]);
    free(noise);
    return params;
}

static inline blv_nn_work *nn_work(const blv_nn *net, blv_precision precision, size_t rows,
                                   size_t slice, int threads) {
    blv_nn_work *work = blv_nn_work_create(net, precision, rows, slice, threads);
    assert_non_null(work);
    return work;
}

static inline blv_nn *nn_text(const char *text, size_t inputs, size_t classes) {
    blv_nn *net;
    blv_message why = {0};
    if (blv_nn_from_text(&net, text, inputs, classes, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return net;
}

static inline blv_nn *nn_finish(blv_nn *net, int scores) {
    blv_message why = {0};
    if (blv_nn_finish(net, scores, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return net;
}

/* An image of 7 x 6 pixels and 3 channels through everything there is. */
static inline blv_nn *nn_everything(blv_nn_activation activation, bool planar) {
    blv_nn *net = blv_nn_begin((blv_nn_shape){7, 6, 3}, planar);
    assert_non_null(net);
    int node = blv_nn_convolution(net, "conv1", 0, 5, 3, 1, 1);
    node = blv_nn_norm(net, "norm1", node);
    node = blv_nn_activate(net, node, activation);
    const int around = node;
    node = blv_nn_convolution(net, "conv2", node, 5, 3, 1, 1);
    node = blv_nn_norm(net, "norm2", node);
    node = blv_nn_activate(net, blv_nn_add(net, node, around), activation);
    node = blv_nn_convolution(net, "conv3", node, 18, 2, 2, 0);
    const int half = blv_nn_activate(net, node, activation);
    node = blv_nn_convolution(net, "point", half, 18, 1, 1, 0);
    node = blv_nn_dropout(net, blv_nn_add(net, half, node), 0.25);
    const int window = blv_nn_convolution(net, "window", half, 18, 3, 1, 0);
    node = blv_nn_add(net, blv_nn_pool(net, node), window);
    node = blv_nn_linear(net, "fc1", node, 9);
    node = blv_nn_activate(net, node, activation);
    node = blv_nn_dropout(net, node, 0.4);
    return nn_finish(net, blv_nn_linear(net, "fc2", node, 4));
}

static inline double *statistics_of(const blv_nn *net) {
    double *numbers = nn_normals(blv_nn_statistics(net), 0.3, 55);
    for (size_t i = 0; i < blv_nn_statistics(net); i++)
        numbers[i] = i % 2 ? fabs(numbers[i]) + 0.5 : fabs(numbers[i]) + 0.2;
    return numbers;
}

#endif
