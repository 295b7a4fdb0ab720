/* The table of loops of one precision and instruction set; see nn_loops.h. */
#include "kernels/cpu/lanes.h"
#include "nn/nn_activation.h"
#include "nn/nn_channels.h"
#include "nn/nn_scores.h"
#include "nn/nn_tile.h"

enum { TRANSPOSED_AT_ONCE = 16 };

static void transpose(size_t rows, size_t columns, const void *from_data, size_t from_step,
                      void *to_data, size_t to_step) {
    const real *from = from_data;
    real *to = to_data;
    for (size_t first = 0; first < rows; first += TRANSPOSED_AT_ONCE) {
        const size_t end = rows - first < TRANSPOSED_AT_ONCE ? rows : first + TRANSPOSED_AT_ONCE;
        for (size_t j = 0; j < columns; j++)
            for (size_t i = first; i < end; i++)
                to[j * to_step + i] = from[i * from_step + j];
    }
}

static void add_row(size_t rows, size_t columns, const void *row_data, void *c_data, size_t step) {
    const real *row = row_data;
    real *c = c_data;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            c[i * step + j] += row[j];
}

static void column_sums(size_t rows, size_t columns, const void *c_data, size_t step,
                        void *sums_data) {
    enum { AT_ONCE = 64 };
    const real *c = c_data;
    real *sums = sums_data;
    for (size_t first = 0; first < columns; first += AT_ONCE) {
        const size_t count = columns - first < AT_ONCE ? columns - first : AT_ONCE;
        double sum[AT_ONCE] = {0.0};
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < count; j++)
                sum[j] += (double)c[i * step + first + j];
        for (size_t j = 0; j < count; j++)
            sums[first + j] = (real)((double)sums[first + j] + sum[j]);
    }
}

static void add(size_t count, const void *in_data, void *out_data) {
    const real *in = in_data;
    real *out = out_data;
    for (size_t i = 0; i < count; i++)
        out[i] += in[i];
}

const nn_loops BLV_TABLE(blv_nn_loops) = {
    .real_size = sizeof(real),
    .product = product,
    .transpose = transpose,
    .add_row = add_row,
    .column_sums = column_sums,
    .add = add,
    .relu = relu,
    .relu_back = relu_back,
    .activate = activate,
    .activate_back = activate_back,
    .drop = drop,
    .scores = scores,
    .gather = gather,
    .scatter = scatter,
    .channel_sum = channel_sum,
    .spread = spread,
    .norm_sums = norm_sums,
    .pool = pool,
    .pool_back = pool_back,
};
