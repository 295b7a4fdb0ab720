/* Where the rows of a block are, for the files that have the layers. */
#ifndef BLV_NN_BLOCK_H
#define BLV_NN_BLOCK_H

#include "nn/nn_work.h"

static inline const nn_op *op_at(const nn_block *b, size_t number) {
    return &b->slice->work->net->ops[number];
}

static inline const nn_slot_buffers *slot_of(const nn_block *b, int node) {
    const blv_nn_work *w = b->slice->work;
    return &w->slots[w->net->nodes[node].slot];
}

static inline blv_nn_shape shape_of(const nn_block *b, int node) {
    return b->slice->work->net->nodes[node].shape;
}

/* The block's rows of one of a slot's arrays. */
static inline char *rows_of(const nn_block *b, const nn_slot_buffers *slot, char *array) {
    return array + b->first * slot->row_step * b->slice->work->real_size;
}

/* An array and its tangent, from the block's first row on; NULL: the tangent is not computed. */
typedef struct nn_pair {
    char *first, *second;
} nn_pair;

static inline nn_pair values_at(const nn_block *b, int node) {
    const nn_slot_buffers *slot = slot_of(b, node);
    return (nn_pair){rows_of(b, slot, slot->value),
                     b->slice->tangent ? rows_of(b, slot, slot->tangent) : NULL};
}

static inline nn_pair deltas_at(const nn_block *b, int node) {
    const nn_slot_buffers *slot = slot_of(b, node);
    return (nn_pair){rows_of(b, slot, slot->delta),
                     b->slice->delta_tangent ? rows_of(b, slot, slot->delta_tangent) : NULL};
}

/* One row of the block. */
static inline char *row_of(const nn_block *b, const nn_slot_buffers *slot, char *array, size_t i) {
    return array + (b->first + i) * slot->row_step * b->slice->work->real_size;
}

/* Of all rows of the block. */
static inline size_t elements(const nn_block *b, int node) {
    return b->rows * slot_of(b, node)->row_step;
}

static inline const char *parameters(const nn_block *b, const void *vector, size_t place) {
    return (const char *)vector + place * b->slice->work->real_size;
}

/* Layers with weights; the others are in nn_layers.c. */
void blv_nn_linear_forward(const nn_block *block, size_t op);
void blv_nn_linear_backward(const nn_block *block, size_t op);
void blv_nn_convolution_forward(const nn_block *block, size_t op);
void blv_nn_convolution_backward(const nn_block *block, size_t op);

#endif
