/* What a network is made of, for the files of this folder.
 *
 * A node is what a layer gives; an op turns one or two nodes into another. Nodes share a slot of
 * memory where an op may write over what it reads: ReLU and dropout always do (a copy is put in
 * front of them where something else needs their input), a sum where it can. On the way back the
 * deltas share slots in the same way. Only layers with weights take the input itself, so every
 * other node depends on parameters: it has a tangent and a delta. */
#pragma once

#include "nn/nn.h"
#include "nn/nn_loops.h"

enum { NN_NONE = -1, NN_INPUT = 0 };
/* Layers that are asked for, and with copies in front of them. */
enum { NN_LAYERS_MAX = 128, NN_OPS_MAX = 2 * NN_LAYERS_MAX, NN_NODES_MAX = NN_OPS_MAX + 1 };
#define NN_NO_PLACE SIZE_MAX
#define NN_NORM_EPSILON 1e-5

typedef enum nn_kind {
    NN_LINEAR,      /* of a plain vector, with a bias */
    NN_CONVOLUTION, /* without */
    NN_NORM,
    NN_RELU,
    NN_ACTIVATION, /* an activation with a second derivative */
    NN_ADD,        /* without a second node: a copy */
    NN_POOL,       /* the average of all pixels */
    NN_DROPOUT
} nn_kind;

typedef struct nn_node {
    blv_nn_shape shape;
    int slot; /* none: the input */
    int consumers;
} nn_node;

typedef struct nn_slot {
    blv_nn_shape shape;
    bool kept; /* the way back reads it: a sum may not write over it */
} nn_slot;

typedef struct nn_op {
    nn_kind kind;
    int in, other, out; /* nodes; other: NN_NONE unless it is a sum of two */
    blv_nn_activation activation;
    size_t kernel, stride, padding; /* windows of a convolution, kernel x kernel pixels */
    double share;                   /* of dropout */
    size_t weight, bias;            /* places of parameters; a norm's scale and shift */
    size_t statistic;               /* a norm's place of its means; its variances follow */
    uint32_t number;                /* a dropout's */
    bool in_place;
    bool adds, adds_other; /* to the delta of its input: another op has been there before */
} nn_op;

struct blv_nn {
    nn_node nodes[NN_NODES_MAX];
    nn_slot slots[NN_OPS_MAX];
    nn_op ops[NN_OPS_MAX];
    blv_nn_part parts[2 * NN_LAYERS_MAX];
    size_t node_count, slot_count, op_count, part_count;
    size_t dim, layers, statistics, dropouts;
    int scores; /* the last node */
    bool planar;
};

static inline size_t nn_pixels(blv_nn_shape shape) {
    return shape.height * shape.width;
}

/* Inputs of one output of a linear layer or a convolution. */
static inline size_t nn_depth(const blv_nn *net, const nn_op *op) {
    return op->kernel * op->kernel * net->nodes[op->in].shape.channels;
}

/* The op that gives the scores. */
static inline const nn_op *nn_last_layer(const blv_nn *net) {
    size_t op = net->op_count;
    while (net->ops[op - 1].out != net->scores)
        op--;
    return &net->ops[op - 1];
}

static inline bool nn_has_weights(const nn_op *op) {
    return op->kind == NN_LINEAR || op->kind == NN_CONVOLUTION;
}
