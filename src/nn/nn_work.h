/* Memory of passes over a network, and what the steps of a pass share. */
#pragma once

#include "nn/nn_private.h"

/* Rows of a slice, each `row_step` elements: pixels with `step` elements for their channels. */
typedef struct nn_slot_buffers {
    size_t row_step, step;
    char *value, *tangent, *delta, *delta_tangent; /* the last three only of what has them */
} nn_slot_buffers;

/* Numbers of a norm, one for each channel. Coefficients in the precision of the pass:
 *   value_out = scale value + shift,  tangent_out = scale tangent + tangent_value value + ...
 * and so on; see nn_norm.c. */
enum {
    NN_C_SCALE,
    NN_C_SHIFT,
    NN_C_TANGENT_BY_VALUE,
    NN_C_TANGENT_SHIFT,
    NN_C_BACK_BY_VALUE,
    NN_C_BACK_SHIFT,
    NN_C_BACK_TANGENT_BY_DELTA,
    NN_C_BACK_TANGENT_BY_TANGENT,
    NN_C_BACK_TANGENT_BY_VALUE,
    NN_C_BACK_TANGENT_SHIFT,
    NN_COEFFICIENTS
};
enum {
    NN_D_MEAN,
    NN_D_INVERSE,      /* 1 / sqrt(variance + epsilon) */
    NN_D_TANGENT_MEAN, /* of the tangent, and of normal times tangent */
    NN_D_TANGENT_PRODUCT,
    NN_D_MOVED_BY_TANGENT, /* the tangent of what is normal, by tangent, value and 1 */
    NN_D_MOVED_BY_VALUE,
    NN_D_MOVED_BY_ONE,
    NN_D_SUM, /* of deltas; see nn_norm_sums */
    NN_D_PRODUCT,
    NN_D_SUM_TANGENT,
    NN_D_PRODUCT_TANGENT,
    NN_DOUBLES
};
enum { NN_PARTIALS = 4 };         /* sums of a block */
enum { NN_PIXELS_AT_ONCE = 128 }; /* that are gathered for a product, at most */

typedef struct nn_op_buffers {
    /* Weights in padded rows, and transposed; NULL: the parameters themselves serve, or not needed.
     */
    char *padded, *padded_v, *transposed, *transposed_v;
    size_t padded_step, transposed_step;
    uint8_t *marks; /* of dropout and of the largest of windows, with the steps of its output */
    void *coefficient[NN_COEFFICIENTS];
    double *number[NN_DOUBLES];
    double *partial; /* NN_PARTIALS x channels of each block */
    size_t fill;     /* pixels that a convolution gathers at once */
} nn_op_buffers;

/* A piece of work that any thread may do: preparing weights, or a part of the gradient. */
typedef struct nn_piece {
    uint32_t op;
    enum { NN_PAD, NN_TRANSPOSE, NN_ROWS, NN_KERNEL_ROW, NN_BIAS } what;
    size_t begin, end; /* rows of the weights, or of the kernel */
} nn_piece;

struct blv_nn_work {
    const blv_nn *net;
    const nn_loops *loops;
    blv_precision precision;
    size_t real_size, line; /* line: elements of a cache line */
    int threads;
    size_t slice, block_rows, max_blocks;
    nn_slot_buffers *slots;
    nn_op_buffers *ops;
    nn_piece *prepare, *gather; /* before and after the rows go through */
    size_t prepare_count, gather_count;
    char *input; /* copies of rows, where they cannot be used where they are */
    size_t input_step;
    double *losses;   /* of each block */
    double *observed; /* statistics so far, for blv_nn_observe */
    char *scratch;    /* of each thread */
    size_t scratch_bytes;
    double flops; /* of one row, forward */
    char *memory; /* of all the above */
    size_t bytes;
};

/* ---- A pass ---- */

/* Some rows of the pass, on their way through the network. */
typedef struct nn_slice {
    blv_nn_work *work;
    const blv_rows *rows;
    const blv_nn_pass *pass;
    size_t begin, count; /* among the rows of the pass */
    size_t blocks;
    bool tangent, delta, delta_tangent; /* what is computed */
    bool own_statistics;                /* of these rows */
    bool input_in_place;                /* rows of the data are used where they are */
} nn_slice;

/* The rows that one task takes. */
typedef struct nn_block {
    const nn_slice *slice;
    size_t number, first, rows; /* first: in the slice */
    char *scratch;
} nn_block;

/* ---- Where things are ---- */

/* Number, in the data, of the i-th row of a slice; and the row. */
static inline size_t nn_row_number(const nn_slice *s, size_t i) {
    const size_t place = s->begin + i;
    return s->rows->index ? s->rows->index[place] : s->rows->first + place;
}

static inline const char *nn_row_data(const nn_slice *s, size_t i) {
    return (const char *)s->rows->dense +
           nn_row_number(s, i) * s->rows->stride * s->work->real_size;
}

static inline nn_op_buffers *buffers_of(const blv_nn_work *w, const nn_op *op) {
    return &w->ops[op - w->net->ops];
}

static inline const nn_loops *loops_of(const nn_block *b) {
    return b->slice->work->loops;
}

static inline blv_nn_shape shape_of(const nn_block *b, int node) {
    return b->slice->work->net->nodes[node].shape;
}

static inline const nn_slot_buffers *slot_of(const nn_block *b, int node) {
    const blv_nn_work *w = b->slice->work;
    return &w->slots[w->net->nodes[node].slot];
}

/* `elements` from the beginning of an array. */
static inline char *nn_at(const nn_block *b, const void *array, size_t elements) {
    return (char *)array + elements * b->slice->work->real_size;
}

/* Of all rows of the block. */
static inline size_t elements(const nn_block *b, int node) {
    return b->rows * slot_of(b, node)->row_step;
}

/* An array and its tangent, from the block's first row on; NULL: the tangent is not computed. */
typedef struct nn_pair {
    char *first, *second;
} nn_pair;

static inline nn_pair values_at(const nn_block *b, int node) {
    const nn_slot_buffers *slot = slot_of(b, node);
    const size_t at = b->first * slot->row_step;
    return (nn_pair){nn_at(b, slot->value, at),
                     b->slice->tangent ? nn_at(b, slot->tangent, at) : NULL};
}

static inline nn_pair deltas_at(const nn_block *b, int node) {
    const nn_slot_buffers *slot = slot_of(b, node);
    const size_t at = b->first * slot->row_step;
    return (nn_pair){nn_at(b, slot->delta, at),
                     b->slice->delta_tangent ? nn_at(b, slot->delta_tangent, at) : NULL};
}

static inline nn_pixels_of_rows pixels_at(const nn_block *b, int node) {
    const nn_slot_buffers *slot = slot_of(b, node);
    const blv_nn_shape shape = shape_of(b, node);
    return (nn_pixels_of_rows){b->rows, slot->row_step, nn_pixels(shape), slot->step,
                               shape.channels};
}

/* Rows of a matrix, `step` elements apart, and those of its tangent; NULL: it has none. */
typedef struct nn_matrix {
    const char *data, *tangent;
    size_t step;
} nn_matrix;

/* What a layer takes, one row of the block in a row; input: rows of the data or their copies. */
static inline nn_matrix nn_input_rows(const nn_block *b, int node) {
    const nn_slice *s = b->slice;
    if (node != NN_INPUT) {
        const nn_pair x = values_at(b, node);
        return (nn_matrix){x.first, x.second, slot_of(b, node)->row_step};
    }
    if (s->input_in_place)
        return (nn_matrix){nn_row_data(s, b->first), NULL, s->rows->stride};
    return (nn_matrix){nn_at(b, s->work->input, b->first * s->work->input_step), NULL,
                       s->work->input_step};
}

size_t blv_nn_pitch(const blv_nn_work *work, size_t elements); /* a good distance of rows */
/* The windows of a convolution: all cells, no pixels yet. */
nn_patches blv_nn_patches(const blv_nn_work *work, const nn_op *op);

/* ---- Layers, for the rows of a block ---- */

void blv_nn_forward(const nn_block *block, const nn_op *op);
void blv_nn_backward(const nn_block *block, const nn_op *op);
/* Those with weights, and norms; the others are in nn_layers.c. */
void blv_nn_linear_forward(const nn_block *block, const nn_op *op);
void blv_nn_linear_backward(const nn_block *block, const nn_op *op);
void blv_nn_convolution_forward(const nn_block *block, const nn_op *op);
void blv_nn_convolution_backward(const nn_block *block, const nn_op *op);
void blv_nn_norm_forward(const nn_block *block, const nn_op *op);
void blv_nn_norm_backward(const nn_block *block, const nn_op *op);

/* Norms: sums over a block, then numbers from the sums of all blocks. */
void blv_nn_norm_open(const nn_slice *slice, const nn_op *op); /* with given statistics */
void blv_nn_norm_sum_forward(const nn_block *block, const nn_op *op);
void blv_nn_norm_close_forward(const nn_slice *slice, const nn_op *op);
void blv_nn_norm_sum_backward(const nn_block *block, const nn_op *op);
void blv_nn_norm_close_backward(const nn_slice *slice, const nn_op *op);

/* ---- Pieces ---- */

/* The pieces of all layers with weights, before (gather: after) the rows go through. Returns their
 * number; list NULL: only that. */
size_t blv_nn_list_pieces(const blv_nn_work *work, nn_piece *list, bool gather);
void blv_nn_prepare(const nn_slice *slice, const nn_piece *piece);
/* whole: all rows of a slice. */
void blv_nn_gather(const nn_block *whole, const nn_piece *piece);
