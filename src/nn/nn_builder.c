/* Building a network layer by layer, looking at it, and its start. */
#include "base/message.h"
#include "base/precision.h"
#include "base/random.h"
#include "nn/nn_private.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 4096 };

static int add_node(blv_nn *net, blv_nn_shape shape) {
    assert(net->node_count < NN_NODES_MAX && nn_pixels(shape) * shape.channels > 0);
    net->nodes[net->node_count] = (nn_node){.shape = shape, .slot = NN_NONE};
    return (int)net->node_count++;
}

blv_nn *blv_nn_begin(blv_nn_shape input, bool planar) {
    blv_nn *net = calloc(1, sizeof *net);
    if (!net)
        return NULL;
    net->planar = planar && nn_pixels(input) > 1;
    add_node(net, input);
    return net;
}

void blv_nn_destroy(blv_nn *net) {
    free(net);
}

blv_nn_shape blv_nn_shape_of(const blv_nn *net, int node) {
    return net->nodes[node].shape;
}

/* ---- Layers ---- */

/* The op's output gets the shape. Layers without weights do not take the input itself. */
static int add_op(blv_nn *net, nn_op op, blv_nn_shape shape) {
    assert(net->op_count < NN_LAYERS_MAX && (op.in != NN_INPUT || nn_has_weights(&op)));
    op.out = add_node(net, shape);
    net->ops[net->op_count++] = op;
    return op.out;
}

static nn_op plain_op(nn_kind kind, int from) {
    return (nn_op){.kind = kind, .in = from, .other = NN_NONE, .kernel = 1, .stride = 1};
}

/* Returns the place of the part in the parameters. */
static size_t add_part(blv_nn *net, const char *layer, const char *what, size_t ndim,
                       const size_t *shape) {
    blv_nn_part *part = &net->parts[net->part_count++];
    *part = (blv_nn_part){.offset = net->dim, .count = 1, .ndim = ndim, .layer = net->layers};
    snprintf(part->name, sizeof part->name, "%.30s.%s", layer, what);
    for (size_t i = 0; i < ndim; i++) {
        part->shape[i] = shape[i];
        part->count *= shape[i];
    }
    net->dim += part->count;
    return part->offset;
}

int blv_nn_linear(blv_nn *net, const char *name, int from, size_t outputs) {
    const blv_nn_shape in = net->nodes[from].shape;
    assert(nn_pixels(in) == 1);
    nn_op op = plain_op(NN_LINEAR, from);
    op.weight = add_part(net, name, "weight", 2, (const size_t[]){in.channels, outputs});
    op.bias = add_part(net, name, "bias", 1, &outputs);
    net->layers++;
    return add_op(net, op, (blv_nn_shape){1, 1, outputs});
}

int blv_nn_convolution(blv_nn *net, const char *name, int from, size_t channels, size_t kernel,
                       size_t stride, size_t padding) {
    const blv_nn_shape in = net->nodes[from].shape;
    const size_t height = in.height + 2 * padding, width = in.width + 2 * padding;
    assert(stride > 0 && padding < kernel && kernel <= height && kernel <= width);
    const size_t shape[] = {kernel, kernel, in.channels, channels};
    nn_op op = plain_op(NN_CONVOLUTION, from);
    op.kernel = kernel;
    op.stride = stride;
    op.padding = padding;
    op.weight = add_part(net, name, "weight", 4, shape);
    net->layers++;
    return add_op(
        net, op,
        (blv_nn_shape){(height - kernel) / stride + 1, (width - kernel) / stride + 1, channels});
}

int blv_nn_norm(blv_nn *net, const char *name, int from) {
    const blv_nn_shape shape = net->nodes[from].shape;
    nn_op op = plain_op(NN_NORM, from);
    op.weight = add_part(net, name, "scale", 1, &shape.channels);
    op.bias = add_part(net, name, "shift", 1, &shape.channels);
    op.statistic = net->statistics;
    net->statistics += 2 * shape.channels;
    net->layers++;
    return add_op(net, op, shape);
}

int blv_nn_activate(blv_nn *net, int from, blv_nn_activation activation) {
    nn_op op = plain_op(activation == BLV_NN_RELU ? NN_RELU : NN_ACTIVATION, from);
    op.activation = activation;
    return add_op(net, op, net->nodes[from].shape);
}

int blv_nn_add(blv_nn *net, int from, int other) {
    const blv_nn_shape *shape = &net->nodes[from].shape;
    assert(memcmp(shape, &net->nodes[other].shape, sizeof *shape) == 0);
    nn_op op = plain_op(NN_ADD, from);
    op.other = other;
    return add_op(net, op, *shape);
}

int blv_nn_pool(blv_nn *net, int from) {
    return add_op(net, plain_op(NN_POOL, from),
                  (blv_nn_shape){1, 1, net->nodes[from].shape.channels});
}

int blv_nn_dropout(blv_nn *net, int from, double share) {
    assert(share >= 0.0 && share < 1.0);
    nn_op op = plain_op(NN_DROPOUT, from);
    op.share = share;
    op.number = (uint32_t)net->dropouts++;
    return add_op(net, op, net->nodes[from].shape);
}

/* ---- Finishing: slots, copies and who adds to a delta ---- */

static bool may_overwrite(const blv_nn *net, int node) {
    return node != NN_INPUT && net->nodes[node].consumers == 1 &&
           !net->slots[net->nodes[node].slot].kept;
}

static int new_slot(blv_nn *net, blv_nn_shape shape) {
    net->slots[net->slot_count] = (nn_slot){.shape = shape};
    return (int)net->slot_count++;
}

/* Puts a copy of the op's input in front of it. */
static void copy_input(blv_nn *net, nn_op *op) {
    const blv_nn_shape shape = net->nodes[op->in].shape;
    nn_op before = plain_op(NN_ADD, op->in);
    op->in = before.out = add_node(net, shape);
    net->nodes[before.out].slot = new_slot(net, shape);
    net->nodes[before.out].consumers = 1;
    net->ops[net->op_count++] = before;
}

static void place_op(blv_nn *net, nn_op op) {
    const bool writes_over =
        op.kind == NN_RELU || op.kind == NN_DROPOUT || op.kind == NN_ACTIVATION;
    /* dropout after ReLU: a delta that it lets through is where the value is still what it was */
    const bool after_relu = op.kind == NN_DROPOUT && net->nodes[op.in].consumers == 1;
    if (writes_over && !after_relu && !may_overwrite(net, op.in))
        copy_input(net, &op);
    op.in_place = op.kind == NN_RELU || op.kind == NN_DROPOUT;
    if (op.kind == NN_ADD && !may_overwrite(net, op.in)) {
        const int in = op.in;
        op.in = op.other;
        op.other = in;
    }
    if (op.kind == NN_ADD)
        op.in_place = op.in != op.other && may_overwrite(net, op.in);
    nn_node *out = &net->nodes[op.out];
    out->slot = op.in_place ? net->nodes[op.in].slot : new_slot(net, out->shape);
    if (op.kind == NN_RELU)
        net->slots[out->slot].kept = true;
    net->ops[net->op_count++] = op;
}

static void count_consumers(blv_nn *net) {
    for (size_t i = 0; i < net->op_count; i++) {
        net->nodes[net->ops[i].in].consumers++;
        if (net->ops[i].other != NN_NONE)
            net->nodes[net->ops[i].other].consumers++;
    }
}

/* Ops again, each with copies in front where needed: at most one each. */
static void place_ops(blv_nn *net) {
    nn_op planned[NN_LAYERS_MAX];
    const size_t count = net->op_count;
    memcpy(planned, net->ops, count * sizeof *planned);
    net->op_count = 0;
    for (size_t i = 0; i < count; i++)
        place_op(net, planned[i]);
}

static void mark_adders(blv_nn *net) {
    bool written[NN_NODES_MAX] = {false};
    for (size_t i = net->op_count; i-- > 0;) {
        nn_op *op = &net->ops[i];
        op->adds = written[op->in];
        written[op->in] = true;
        if (op->other != NN_NONE) {
            op->adds_other = written[op->other];
            written[op->other] = true;
        }
    }
}

blv_error blv_nn_finish(blv_nn *net, int from, blv_message *why) {
    const blv_nn_shape shape = net->nodes[from].shape;
    if (nn_pixels(shape) > 1 || shape.channels < 2 || shape.channels > CLASSES_MAX)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "network: the scores are %zu x %zu x %zu, expected 1 x 1 x 2 to %d",
                           shape.height, shape.width, shape.channels, CLASSES_MAX);
    net->scores = from;
    count_consumers(net);
    for (size_t i = 0; i < net->node_count; i++) /* all are used, but for the scores */
        assert((net->nodes[i].consumers == 0) == ((int)i == from));
    place_ops(net);
    mark_adders(net);
    return BLV_OK;
}

/* ---- Looking ---- */

size_t blv_nn_inputs(const blv_nn *net) {
    const blv_nn_shape shape = net->nodes[NN_INPUT].shape;
    return nn_pixels(shape) * shape.channels;
}

size_t blv_nn_classes(const blv_nn *net) {
    return net->nodes[net->scores].shape.channels;
}

size_t blv_nn_dim(const blv_nn *net) {
    return net->dim;
}

size_t blv_nn_features(const blv_nn *net) {
    const blv_nn_shape shape = net->nodes[nn_last_layer(net)->in].shape;
    return nn_pixels(shape) * shape.channels;
}

size_t blv_nn_parts(const blv_nn *net) {
    return net->part_count;
}

const blv_nn_part *blv_nn_part_at(const blv_nn *net, size_t i) {
    return &net->parts[i];
}

size_t blv_nn_layers(const blv_nn *net) {
    return net->layers;
}

size_t blv_nn_statistics(const blv_nn *net) {
    return net->statistics;
}

void blv_nn_start(const blv_nn *net, blv_precision precision, uint64_t seed, void *params) {
    const blv_stream stream = blv_stream_make(seed, "network");
    for (size_t i = 0; i < net->dim; i++)
        blv_value_set(params, precision, i, 0.0);
    for (size_t i = 0; i < net->op_count; i++) {
        const nn_op *op = &net->ops[i];
        const size_t depth = nn_depth(net, op), outputs = net->nodes[op->out].shape.channels;
        const double size = sqrt((op->out == net->scores ? 1.0 : 2.0) / (double)depth);
        if (nn_has_weights(op))
            for (size_t k = 0; k < depth * outputs; k++)
                blv_value_set(params, precision, op->weight + k,
                              size * blv_random_normal(&stream, op->weight + k));
        else if (op->kind == NN_NORM)
            for (size_t k = 0; k < outputs; k++)
                blv_value_set(params, precision, op->weight + k, 1.0);
    }
}
