/* Networks: losses on rows of data, their gradients and second-order products.
 *
 * A network turns a row of features into one score for each class; the loss of a row is softmax
 * cross-entropy. Its parameters are one flat vector. For row i with loss l_i(w), over the rows of a
 * pass, what of these is asked for:
 *
 *   loss       = scale sum_i weight_i l_i(w)
 *   gradient  += scale sum_i weight_i l_i'(w)
 *   hessian   += scale sum_i weight_i l_i''(w) v
 *   row_loss[i] = l_i(w)      row_cross[i] = <l_i'(w), v>, both without weight and scale
 *
 * Gradients by reverse mode, products by the derivative of reverse mode along v: exact to rounding,
 * four matrix products where a gradient takes two. Nothing here knows of problems or solvers.
 *
 * Rows are taken in slices, blocks of a slice are tasks of a team, and the sums over a slice are
 * made by whoever takes a tile of the gradient: each number is summed by one thread in one order,
 * so the number of threads does not show in the bits. */
#pragma once

#include "base/instructions.h"
#include "bilevel/space.h"
#include "bilevel/status.h"
#include "kernels/row_sweep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct blv_nn blv_nn; /* never changes once it is made: threads may share it */

/* ---- From a text ---- */

/* mlp:784-128-10[,act=relu|softplus|gelu][,dropout=0.2]
 * resnet18:16[,act=...][,image=CHANNELSxHEIGHTxWIDTH]
 *
 * The sizes of an mlp begin with `inputs` and end with `classes`, which may be written as `in` and
 * `out`. An image has its channels one after the other; without image=, it is square, with 3
 * channels where that fits, else with 1. BLV_E_VALUE with the position where the text is wrong. */
blv_error blv_nn_from_text(blv_nn **net, const char *text, size_t inputs, size_t classes,
                           blv_message *why);
void blv_nn_destroy(blv_nn *net); /* NULL is allowed */

/* ---- Layer by layer ---- */

/* What a layer takes and gives; a plain vector is 1 x 1 x its size. Inside a network the channels
 * of a pixel lie next to each other. */
typedef struct blv_nn_shape {
    size_t height, width, channels;
} blv_nn_shape;

typedef enum blv_nn_activation { BLV_NN_RELU, BLV_NN_SOFTPLUS, BLV_NN_GELU } blv_nn_activation;

/* planar: in a row of data, all pixels of a channel come before the next channel. Every layer
 * function returns its output, to be handed to the next; input is 0. Names are copied. Layers that
 * do not fit each other are mistakes of the caller. NULL when memory is short. */
blv_nn *blv_nn_begin(blv_nn_shape input, bool planar);
blv_nn_shape blv_nn_shape_of(const blv_nn *net, int node);
int blv_nn_linear(blv_nn *net, const char *name, int from, size_t outputs);
int blv_nn_convolution(blv_nn *net, const char *name, int from, size_t channels, size_t kernel,
                       size_t stride, size_t padding);
/* scale (x - mean) / sqrt(variance + 1e-5) + shift for each channel; see blv_nn_pass.statistics. */
int blv_nn_norm(blv_nn *net, const char *name, int from);
int blv_nn_activate(blv_nn *net, int from, blv_nn_activation activation);
int blv_nn_add(blv_nn *net, int from, int other);
int blv_nn_pool(blv_nn *net, int from); /* the average of all pixels */
/* Each number is set to 0 with this probability, else divided by 1 - share. */
int blv_nn_dropout(blv_nn *net, int from, double share);
/* The scores of the classes are `from`: 2 to 4096 of them, or BLV_E_ARGUMENT. */
blv_error blv_nn_finish(blv_nn *net, int from, blv_message *why);

/* ---- Looking ---- */

enum { BLV_NN_NAME_SIZE = 48 };

/* A piece of the parameter vector: "fc1.weight". Weights are inputs x outputs (convolution: kernel
 * row x kernel column x inputs x outputs), the last number running fastest. */
typedef struct blv_nn_part {
    char name[BLV_NN_NAME_SIZE];
    size_t offset, count;
    size_t ndim, shape[4];
    size_t layer; /* parts of one layer have the same number, 0 .. layers - 1 */
} blv_nn_part;

size_t blv_nn_inputs(const blv_nn *net);
size_t blv_nn_classes(const blv_nn *net);
size_t blv_nn_dim(const blv_nn *net); /* of the parameter vector */
/* Numbers that the layer of the scores takes: the features that the network has made of a row. */
size_t blv_nn_features(const blv_nn *net);
size_t blv_nn_parts(const blv_nn *net);
const blv_nn_part *blv_nn_part_at(const blv_nn *net, size_t i);
size_t blv_nn_layers(const blv_nn *net);     /* that have parameters */
size_t blv_nn_statistics(const blv_nn *net); /* numbers that norms need: mean, variance */

/* A start: weights are normal with variance 2 / inputs of a unit (1 / inputs for the scores), from
 * the seed; scales 1, all else 0. params holds float or double. */
void blv_nn_start(const blv_nn *net, blv_precision precision, uint64_t seed, void *params);

/* ---- Passes ---- */

/* `real` is float or double, by the precision of the work. */
typedef struct blv_nn_pass {
    const void *params;
    const void *v; /* NULL: no second-order output is asked for */
    double scale;
    /* Means and variances of all norms, blv_nn_statistics numbers; then the loss is a mean of
     * losses of single rows. NULL: those of the rows of each slice. */
    const double *statistics;
    /* Dropout, by a mask that seed, layer, number of the row in the data and unit determine. */
    bool drop;
    uint64_t drop_seed;
    /* classes x classes: [l * classes + k] of label l where the true class is k; then
     * l_i = -log sum_k p_k chance[label_i,k], without second-order output. NULL: labels are right.
     */
    const double *chance;

    double *loss;   /* NULL: not needed, here and below */
    void *gradient; /* these two are added to what is there */
    void *hessian;
    void *row_loss; /* by row of the data, whatever the pass, here and below */
    void *row_cross;
    void *row_probability; /* of the given label */
    int32_t *row_class;    /* the class with the largest score; ties: the lowest */
    void *row_scores;      /* classes numbers for each row of the data */
    void *row_features;    /* blv_nn_features numbers for each row of the data */
} blv_nn_pass;

/* Memory of passes, one at a time; a pass allocates nothing. */
typedef struct blv_nn_work blv_nn_work;
/* max_rows: of a pass. slice: rows that go through the network together, 0: chosen here. threads 0:
 * all processors. NULL when memory is short. */
blv_nn_work *blv_nn_work_create(const blv_nn *net, blv_precision precision, size_t max_rows,
                                size_t slice, int threads);
void blv_nn_work_destroy(blv_nn_work *work);
/* For tests and benchmarks: another instruction set than the best one. */
void blv_nn_work_instructions(blv_nn_work *work, blv_instructions instructions);

/* rows: dense, with labels 0 .. classes - 1 and, if set, weights. */
void blv_nn_run(blv_nn_work *work, const blv_rows *rows, const blv_nn_pass *pass);

/* Means and variances that the norms see on these rows with these parameters: the averages over
 * slices. */
void blv_nn_observe(blv_nn_work *work, const blv_rows *rows, const void *params,
                    double *statistics);

/* ---- In another kind of memory ---- */

/* What problems call, for one kind of memory: parameters, rows and outputs are there, statistics
 * and the loss in host memory. The functions above are those of host memory. */
typedef struct blv_nn_kernels {
    /* Whether this network can be there; NULL: any. */
    blv_error (*fits)(const blv_nn *net, blv_message *why);
    blv_nn_work *(*work_create)(const blv_nn *net, blv_precision precision, size_t max_rows,
                                size_t slice, int threads);
    void (*work_destroy)(blv_nn_work *work);
    void (*run)(blv_nn_work *work, const blv_rows *rows, const blv_nn_pass *pass);
    void (*observe)(blv_nn_work *work, const blv_rows *rows, const void *params,
                    double *statistics);
} blv_nn_kernels;

/* NULL: networks are not there in this kind of memory. */
const blv_nn_kernels *blv_nn_kernels_for(blv_memory_kind memory);
