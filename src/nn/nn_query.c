/* Looking at a network, and its start. */
#include "base/precision.h"
#include "base/random.h"
#include "nn/nn_private.h"

#include <math.h>

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
