/* Building a network layer by layer, and looking at it. */
#include "nn/nn_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MAX = 4096, WINDOW_MAX = 256 };

struct blv_nn_builder {
    blv_nn *net;
    size_t node_room, op_room, part_room;
    blv_error error;
    blv_message why;
};

/* ---- Mistakes ---- */

static int fail(blv_nn_builder *b, blv_error error, const char *format, ...) BLV_PRINTF(3, 4);

static int fail(blv_nn_builder *b, blv_error error, const char *format, ...) {
    if (!b || b->error != BLV_OK)
        return NN_NONE;
    b->error = error;
    va_list args;
    va_start(args, format);
    vsnprintf(b->why.text, sizeof b->why.text, format, args);
    va_end(args);
    return NN_NONE;
}

static bool grow(blv_nn_builder *b, void **array, size_t *room, size_t count, size_t size) {
    if (count < *room)
        return true;
    const size_t wanted = 2 * count + 8;
    void *larger = realloc(*array, wanted * size);
    if (!larger) {
        fail(b, BLV_E_MEMORY, "network: out of memory");
        return false;
    }
    *array = larger;
    *room = wanted;
    return true;
}

static bool is_node(blv_nn_builder *b, int node) {
    if (!b || b->error != BLV_OK)
        return false;
    if (node >= 0 && (size_t)node < b->net->node_count)
        return true;
    fail(b, BLV_E_ARGUMENT, "network: there is no layer with the output %d", node);
    return false;
}

/* Layers without weights do not take the input itself. */
static bool is_inner(blv_nn_builder *b, int node) {
    if (is_node(b, node) && node == NN_INPUT)
        fail(b, BLV_E_UNSUPPORTED,
             "network: the first layer must be linear or a convolution; change the data instead");
    return b && b->error == BLV_OK;
}

/* ---- Nodes, ops and parts ---- */

static int add_node(blv_nn_builder *b, blv_nn_shape shape) {
    blv_nn *net = b->net;
    if (!grow(b, (void **)&net->nodes, &b->node_room, net->node_count, sizeof *net->nodes))
        return NN_NONE;
    net->nodes[net->node_count] = (nn_node){.shape = shape, .slot = NN_NONE};
    return (int)net->node_count++;
}

/* The op's output gets the shape. */
static int add_op(blv_nn_builder *b, nn_op op, blv_nn_shape shape) {
    blv_nn *net = b->net;
    op.out = add_node(b, shape);
    if (op.out == NN_NONE ||
        !grow(b, (void **)&net->ops, &b->op_room, net->op_count, sizeof *net->ops))
        return NN_NONE;
    net->ops[net->op_count++] = op;
    return op.out;
}

static nn_op plain_op(nn_kind kind, int from) {
    return (nn_op){.kind = kind,
                   .in = from,
                   .other = NN_NONE,
                   .weight = NN_NO_PLACE,
                   .bias = NN_NO_PLACE,
                   .kernel_y = 1,
                   .kernel_x = 1,
                   .stride = 1};
}

/* Returns the place of the part in the parameters. */
static size_t add_part(blv_nn_builder *b, const char *layer, const char *what, size_t ndim,
                       const size_t *shape) {
    blv_nn *net = b->net;
    if (!grow(b, (void **)&net->parts, &b->part_room, net->part_count, sizeof *net->parts))
        return NN_NO_PLACE;
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

blv_nn_builder *blv_nn_begin(blv_nn_shape input, bool planar) {
    blv_nn_builder *b = calloc(1, sizeof *b);
    blv_nn *net = calloc(1, sizeof *net);
    if (!b || !net) {
        free(b);
        free(net);
        return NULL;
    }
    b->net = net;
    net->planar = planar && nn_pixels(input) > 1;
    add_node(b, input);
    if (nn_pixels(input) * input.channels == 0)
        fail(b, BLV_E_ARGUMENT, "network: an input of no numbers");
    return b;
}

blv_nn_shape blv_nn_shape_of(const blv_nn_builder *b, int node) {
    const bool known = b && node >= 0 && (size_t)node < b->net->node_count;
    return known ? b->net->nodes[node].shape : (blv_nn_shape){0, 0, 0};
}

/* ---- Layers ---- */

int blv_nn_linear(blv_nn_builder *b, const char *name, int from, size_t outputs) {
    if (!is_node(b, from))
        return NN_NONE;
    if (outputs == 0)
        return fail(b, BLV_E_ARGUMENT, "layer %.30s: no outputs", name);
    const blv_nn_shape in = b->net->nodes[from].shape;
    const size_t shape[] = {in.height, in.width, in.channels, outputs};
    const bool image = nn_pixels(in) > 1;
    nn_op op = plain_op(image ? NN_CONVOLUTION : NN_LINEAR, from);
    op.kernel_y = in.height;
    op.kernel_x = in.width;
    op.weight = add_part(b, name, "weight", image ? 4 : 2, image ? shape : shape + 2);
    op.bias = add_part(b, name, "bias", 1, &outputs);
    b->net->layers++;
    return add_op(b, op, (blv_nn_shape){1, 1, outputs});
}

int blv_nn_convolution(blv_nn_builder *b, const char *name, int from, size_t channels,
                       size_t kernel, size_t stride, size_t padding, bool bias) {
    if (!is_node(b, from))
        return NN_NONE;
    const blv_nn_shape in = b->net->nodes[from].shape;
    const size_t height = in.height + 2 * padding, width = in.width + 2 * padding;
    if (channels == 0 || kernel == 0 || stride == 0 || padding >= kernel)
        return fail(b, BLV_E_ARGUMENT,
                    "layer %.30s: channels, kernel and stride must be positive, and the padding "
                    "smaller than the kernel",
                    name);
    if (kernel > height || kernel > width)
        return fail(b, BLV_E_ARGUMENT, "layer %.30s: a kernel of %zu pixels does not fit %zu x %zu",
                    name, kernel, height, width);
    const size_t shape[] = {kernel, kernel, in.channels, channels};
    nn_op op = plain_op(NN_CONVOLUTION, from);
    op.kernel_y = op.kernel_x = kernel;
    op.stride = stride;
    op.padding = padding;
    op.weight = add_part(b, name, "weight", 4, shape);
    if (bias)
        op.bias = add_part(b, name, "bias", 1, &channels);
    b->net->layers++;
    return add_op(
        b, op,
        (blv_nn_shape){(height - kernel) / stride + 1, (width - kernel) / stride + 1, channels});
}

int blv_nn_norm(blv_nn_builder *b, const char *name, int from) {
    if (!is_inner(b, from))
        return NN_NONE;
    blv_nn *net = b->net;
    const blv_nn_shape shape = net->nodes[from].shape;
    nn_op op = plain_op(NN_NORM, from);
    op.weight = add_part(b, name, "scale", 1, &shape.channels);
    op.bias = add_part(b, name, "shift", 1, &shape.channels);
    op.statistic = net->statistics;
    net->statistics += 2 * shape.channels;
    net->layers++;
    net->norms++;
    return add_op(b, op, shape);
}

int blv_nn_activate(blv_nn_builder *b, int from, blv_nn_activation activation) {
    if (!is_inner(b, from))
        return NN_NONE;
    nn_op op = plain_op(activation == BLV_NN_RELU ? NN_RELU : NN_ACTIVATION, from);
    op.activation = activation;
    return add_op(b, op, b->net->nodes[from].shape);
}

int blv_nn_add(blv_nn_builder *b, int from, int other) {
    if (!is_inner(b, from) || !is_inner(b, other))
        return NN_NONE;
    const blv_nn_shape p = b->net->nodes[from].shape, q = b->net->nodes[other].shape;
    if (p.height != q.height || p.width != q.width || p.channels != q.channels)
        return fail(b, BLV_E_ARGUMENT, "network: a sum of %zu x %zu x %zu and %zu x %zu x %zu",
                    p.height, p.width, p.channels, q.height, q.width, q.channels);
    nn_op op = plain_op(NN_ADD, from);
    op.other = other;
    return add_op(b, op, p);
}

static int add_pool(blv_nn_builder *b, int from, blv_nn_pooling pooling, size_t size_y,
                    size_t size_x, size_t stride) {
    const blv_nn_shape in = b->net->nodes[from].shape;
    if (size_y == 0 || size_x == 0 || stride == 0 || size_y > in.height || size_x > in.width)
        return fail(b, BLV_E_ARGUMENT,
                    "network: a pool of %zu x %zu pixels, stride %zu, of %zu x %zu", size_y, size_x,
                    stride, in.height, in.width);
    if (pooling == BLV_NN_MAX && size_y * size_x > WINDOW_MAX)
        return fail(b, BLV_E_UNSUPPORTED, "network: the largest of more than %d pixels",
                    WINDOW_MAX);
    nn_op op = plain_op(NN_POOL, from);
    op.pooling = pooling;
    op.kernel_y = size_y;
    op.kernel_x = size_x;
    op.stride = stride;
    return add_op(b, op,
                  (blv_nn_shape){(in.height - size_y) / stride + 1,
                                 (in.width - size_x) / stride + 1, in.channels});
}

int blv_nn_pool(blv_nn_builder *b, int from, blv_nn_pooling pooling, size_t size, size_t stride) {
    return is_inner(b, from) ? add_pool(b, from, pooling, size, size, stride) : NN_NONE;
}

int blv_nn_pool_all(blv_nn_builder *b, int from) {
    if (!is_inner(b, from))
        return NN_NONE;
    const blv_nn_shape in = b->net->nodes[from].shape;
    return add_pool(b, from, BLV_NN_AVERAGE, in.height, in.width, 1);
}

int blv_nn_dropout(blv_nn_builder *b, int from, double share) {
    if (!is_inner(b, from))
        return NN_NONE;
    if (!(share >= 0.0 && share < 1.0))
        return fail(b, BLV_E_VALUE, "network: dropout of %g, expected 0 <= share < 1", share);
    nn_op op = plain_op(NN_DROPOUT, from);
    op.share = share;
    op.number = (uint32_t)b->net->dropouts++;
    return add_op(b, op, b->net->nodes[from].shape);
}

/* ---- Finishing: slots, copies and who adds to a delta ---- */

static bool may_overwrite(const blv_nn *net, int node) {
    return node != NN_INPUT && net->nodes[node].consumers == 1 &&
           !net->slots[net->nodes[node].slot].kept;
}

static int new_slot(blv_nn *net, const nn_node *node) {
    net->slots[net->slot_count] = (nn_slot){.shape = node->shape};
    return (int)net->slot_count++;
}

/* Puts a copy of the op's input in front of it. */
static bool copy_input(blv_nn_builder *b, nn_op *op) {
    blv_nn *net = b->net;
    const nn_node in = net->nodes[op->in];
    const int copy = add_node(b, in.shape);
    if (copy == NN_NONE)
        return false;
    nn_op before = plain_op(NN_ADD, op->in);
    before.out = copy;
    net->nodes[copy].slot = new_slot(net, &in);
    net->nodes[copy].consumers = 1;
    net->ops[net->op_count++] = before;
    op->in = copy;
    return true;
}

static bool place_op(blv_nn_builder *b, nn_op op) {
    blv_nn *net = b->net;
    const bool writes_over =
        op.kind == NN_RELU || op.kind == NN_DROPOUT || op.kind == NN_ACTIVATION;
    /* dropout after ReLU: a delta that it lets through is where the value is still what it was */
    const bool after_relu = op.kind == NN_DROPOUT && net->nodes[op.in].consumers == 1;
    if (writes_over && !after_relu && !may_overwrite(net, op.in) && !copy_input(b, &op))
        return false;
    op.in_place = op.kind == NN_RELU || op.kind == NN_DROPOUT;
    if (op.kind == NN_ADD && op.other != NN_NONE && !may_overwrite(net, op.in)) {
        const int in = op.in;
        op.in = op.other;
        op.other = in;
    }
    if (op.kind == NN_ADD && op.other != NN_NONE)
        op.in_place = op.in != op.other && may_overwrite(net, op.in);
    nn_node *out = &net->nodes[op.out];
    out->slot = op.in_place ? net->nodes[op.in].slot : new_slot(net, out);
    if (op.kind == NN_RELU)
        net->slots[out->slot].kept = true;
    net->ops[net->op_count++] = op;
    return true;
}

static void count_consumers(blv_nn *net) {
    for (size_t i = 0; i < net->op_count; i++) {
        net->nodes[net->ops[i].in].consumers++;
        if (net->ops[i].other != NN_NONE)
            net->nodes[net->ops[i].other].consumers++;
    }
}

/* Ops again, each with copies in front where needed: at most one each. */
static bool place_ops(blv_nn_builder *b) {
    blv_nn *net = b->net;
    const size_t count = net->op_count;
    nn_op *planned = net->ops;
    net->ops = calloc(2 * count + 1, sizeof *net->ops);
    net->slots = calloc(2 * count + 1, sizeof *net->slots);
    net->op_count = 0;
    bool done = net->ops && net->slots;
    for (size_t i = 0; done && i < count; i++)
        done = place_op(b, planned[i]);
    free(planned);
    return done;
}

static bool mark_adders(blv_nn *net) {
    bool *written = calloc(net->node_count + 1, sizeof *written);
    if (!written)
        return false;
    for (size_t i = net->op_count; i-- > 0;) {
        nn_op *op = &net->ops[i];
        op->adds = written[op->in];
        written[op->in] = true;
        if (op->other != NN_NONE) {
            op->adds_other = written[op->other];
            written[op->other] = true;
        }
    }
    free(written);
    return true;
}

static void check_ends(blv_nn_builder *b, int from) {
    const blv_nn *net = b->net;
    const blv_nn_shape shape = net->nodes[from].shape;
    if (nn_pixels(shape) > 1 || shape.channels < 2 || shape.channels > CLASSES_MAX)
        fail(b, BLV_E_ARGUMENT, "network: the scores are %zu x %zu x %zu, expected 1 x 1 x 2 to %d",
             shape.height, shape.width, shape.channels, CLASSES_MAX);
    if (from == NN_INPUT)
        fail(b, BLV_E_ARGUMENT, "network: there is no layer");
    for (size_t i = 0; i < net->node_count; i++)
        if ((net->nodes[i].consumers == 0) != ((int)i == from))
            fail(b, BLV_E_ARGUMENT, "network: output %zu is %s", i,
                 (int)i == from ? "used after the scores" : "not used");
}

blv_error blv_nn_finish(blv_nn_builder *b, int from, blv_nn **net, blv_message *why) {
    *net = NULL;
    if (!b) {
        if (why)
            snprintf(why->text, sizeof why->text, "network: out of memory");
        return BLV_E_MEMORY;
    }
    if (is_node(b, from)) {
        b->net->scores = from;
        count_consumers(b->net);
        check_ends(b, from);
    }
    if (b->error == BLV_OK && (!place_ops(b) || !mark_adders(b->net)))
        fail(b, BLV_E_MEMORY, "network: out of memory");
    const blv_error error = b->error;
    if (error != BLV_OK && why)
        *why = b->why;
    if (error == BLV_OK)
        *net = b->net;
    else
        blv_nn_destroy(b->net);
    free(b);
    return error;
}

void blv_nn_destroy(blv_nn *net) {
    if (!net)
        return;
    free(net->nodes);
    free(net->slots);
    free(net->ops);
    free(net->parts);
    free(net);
}
