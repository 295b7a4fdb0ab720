/* What the layers of a network do besides products, for some rows in the memory of a GPU; as
 * nn_activation.h and nn_scores.h on the host. A tangent is the derivative along v. */
#pragma once

#include "base/cuda/device.cuh"
extern "C" {
#include "base/random.h"
#include "nn/nn.h"
}

namespace layers {

constexpr unsigned THREADS = 256, WARPS = THREADS / 32;

template <class F> __global__ void each_of(size_t n, F f) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < n)
        f(i);
}

template <class F> void each(size_t n, F f) {
    gpu::launch(each_of<F>, dim3(gpu::blocks_for(n, THREADS)), dim3(THREADS), 0, n, f);
}

/* Which rows of the data: those of the list, or the ones from `first` on. */
struct row_numbers {
    size_t first;
    const size_t *list;
    __device__ size_t operator()(size_t i) const { return list ? list[i] : first + i; }
};

/* ---- Activations ---- */

template <class real> struct activated {
    real value, slope, curve;
};

template <class real> __device__ activated<real> softplus_of(real x) {
    const real far = exp(-fabs(x)), near = 1 / (1 + far), other = far * near;
    return {log1p(far) + (x > 0 ? x : real(0)), x > 0 ? near : other, near * other};
}

/* x P(x), where P is the normal distribution */
template <class real> __device__ activated<real> gelu_of(real x) {
    const real below = real(0.5) * erfc(fabs(x) * real(0.70710678118654752440));
    const real p = x > 0 ? 1 - below : below;
    const real density = exp(x * x * real(-0.5)) * real(0.39894228040143267794);
    return {x * p, x * density + p, (2 - x * x) * density};
}

/* An array and its tangent, which may be NULL. */
template <class real> struct pair {
    real *first, *second;
};

template <class real> struct relu {
    pair<real> at;
    __device__ void operator()(size_t i) const {
        if (!(at.first[i] <= 0)) /* NaN stays */
            return;
        at.first[i] = 0;
        if (at.second)
            at.second[i] = 0;
    }
};

template <class real> struct relu_back {
    const real *value;
    pair<real> delta;
    __device__ void operator()(size_t i) const {
        if (!(value[i] <= 0))
            return;
        delta.first[i] = 0;
        if (delta.second)
            delta.second[i] = 0;
    }
};

/* `in` becomes what the way back needs: the slope, and the second derivative times the tangent. */
template <class real> struct activate {
    blv_nn_activation activation;
    pair<real> in, out;
    __device__ void operator()(size_t i) const {
        const activated<real> a =
            activation == BLV_NN_GELU ? gelu_of(in.first[i]) : softplus_of(in.first[i]);
        out.first[i] = a.value;
        in.first[i] = a.slope;
        if (in.second) {
            out.second[i] = a.slope * in.second[i];
            in.second[i] *= a.curve;
        }
    }
};

template <class real> struct activate_back {
    pair<real> value, out, in; /* value: slope and curved */
    __device__ void operator()(size_t i) const {
        const real slope = value.first[i], delta = out.first[i];
        in.first[i] = slope * delta;
        if (in.second)
            in.second[i] = slope * out.second[i] + value.second[i] * delta;
    }
};

/* ---- Dropout: as draw_marks in nn_layers.c, four units at a time ---- */

__device__ inline void philox(uint32_t *c, uint32_t k0, uint32_t k1) {
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const uint64_t p0 = uint64_t(0xD2511F53u) * c[0], p1 = uint64_t(0xCD9E8D57u) * c[2];
        c[0] = uint32_t(p1 >> 32) ^ c[1] ^ k0;
        c[2] = uint32_t(p0 >> 32) ^ c[3] ^ k1;
        c[1] = uint32_t(p1);
        c[3] = uint32_t(p0);
    }
}

template <class real> struct drop {
    blv_stream stream;
    uint32_t number; /* of the layer */
    double share;
    size_t units;
    row_numbers row_at;
    pair<real> at;
    __device__ void operator()(size_t i) const {
        const size_t fours = (units + 3) / 4, place = i / fours, first = i % fours * 4;
        const size_t row = row_at(place);
        uint32_t word[4] = {uint32_t(first / 4), uint32_t(row),
                            stream.salt[0] ^ uint32_t(uint64_t(row) >> 32),
                            stream.salt[1] ^ number};
        philox(word, stream.key[0], stream.key[1]);
        const real factor = real(1.0 / (1.0 - share));
        for (size_t u = 0; u < 4 && first + u < units; u++) {
            const size_t to = place * units + first + u;
            const bool kept = double(word[u]) >= share * 0x1p32;
            at.first[to] = kept ? factor * at.first[to] : real(0);
            if (at.second)
                at.second[to] = kept ? factor * at.second[to] : real(0);
        }
    }
};

/* ---- Rows in and out ---- */

/* to[i,j] = row[j] */
template <class real> struct repeat_row {
    const real *row;
    size_t columns;
    real *to;
    __device__ void operator()(size_t i) const { to[i] = row[i % columns]; }
};

/* Rows of the data become rows next to each other, or the other way. */
template <class real> struct move_rows {
    const real *from;
    size_t from_step, columns;
    real *to;
    size_t to_step;
    bool from_data;
    row_numbers row_at;
    __device__ void operator()(size_t i) const {
        const size_t place = i / columns, j = i % columns, row = row_at(place);
        to[(from_data ? place : row) * to_step + j] =
            from[(from_data ? row : place) * from_step + j];
    }
};

/* ---- Scores become losses and their derivatives ---- */

template <class real> struct score_rows {
    size_t rows;
    int classes;
    real scale;
    const real *score, *tangent;
    real *delta, *delta_tangent;
    const int32_t *label;
    const real *weight;
    const double *chance;
    real *loss, *cross, *probability;
    int32_t *best;
    row_numbers row_at;
    double *losses; /* of each block */
};

template <class T> __device__ T sum_of_lanes(T value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

/* The lowest of the classes with the largest score. */
template <class real> __device__ int best_of(int classes, const real *score, int lane) {
    int best = 0;
    for (int k = lane; k < classes; k += 32)
        best = score[k] > score[best] ? k : best;
    for (int step = 16; step > 0; step /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, best, step);
        const bool better = score[other] > score[best] || (score[other] == score[best] && other < best);
        best = better ? other : best;
    }
    return __shfl_sync(0xffffffffu, best, 0);
}

/* The class is not certain: see row_by_chance in nn_scores.h. Returns weight times loss. */
template <class real>
__device__ double by_chance(const score_rows<real> &s, size_t i, size_t row, real largest, double all,
                            int lane) {
    const double *chance = s.chance + size_t(s.label[row]) * size_t(s.classes);
    const double weight = s.weight ? double(s.weight[row]) : 1.0;
    const real *score = s.score + i * size_t(s.classes);
    double stated = 0.0;
    for (int k = lane; k < s.classes; k += 32)
        stated += double(exp(score[k] - largest)) * chance[k];
    stated = sum_of_lanes(stated) + 1e-30;
    const double loss = log(all) - log(stated);
    if (lane == 0 && s.loss)
        s.loss[row] = real(loss);
    for (int k = lane; s.delta && k < s.classes; k += 32)
        s.delta[i * size_t(s.classes) + size_t(k)] =
            real(double(s.scale) * weight * double(exp(score[k] - largest)) *
                 (1.0 / all - chance[k] / stated));
    return weight * loss;
}

/* By one warp; returns weight times loss. */
template <class real> __device__ double score_row(const score_rows<real> &s, size_t i, int lane) {
    const size_t row = s.row_at(i), at = i * size_t(s.classes);
    const int K = s.classes, label = s.label[row];
    const real *score = s.score + at, *tangent = s.tangent ? s.tangent + at : nullptr;
    const int best = best_of(K, score, lane);
    const real largest = score[best], weight = s.weight ? s.weight[row] : real(1);
    real not_best = 0, not_label = 0;
    for (int k = lane; k < K; k += 32) {
        const real e = exp(score[k] - largest);
        not_best += k == best ? real(0) : e;
        not_label += k == label ? real(0) : e;
    }
    not_best = sum_of_lanes(not_best);
    not_label = sum_of_lanes(not_label);
    if (s.chance)
        return by_chance(s, i, row, largest, 1.0 + double(not_best), lane);
    const real inverse = 1 / (1 + not_best), miss = -not_label * inverse;
    const real loss = log1p(not_best) + (largest - score[label]);
    real mean = 0, cross = 0;
    for (int k = lane; tangent && k < K; k += 32) {
        const real p = exp(score[k] - largest) * inverse;
        mean += p * tangent[k];
        cross += (k == label ? miss : p) * tangent[k];
    }
    mean = sum_of_lanes(mean);
    cross = sum_of_lanes(cross);
    if (lane == 0) {
        if (s.loss)
            s.loss[row] = loss;
        if (s.probability)
            s.probability[row] = exp(score[label] - largest) * inverse;
        if (s.best)
            s.best[row] = best;
        if (s.cross)
            s.cross[row] = cross;
    }
    for (int k = lane; s.delta && k < K; k += 32) {
        const real p = exp(score[k] - largest) * inverse;
        s.delta[at + size_t(k)] = s.scale * weight * (k == label ? miss : p);
        if (s.delta_tangent)
            s.delta_tangent[at + size_t(k)] = s.scale * weight * (p * (tangent[k] - mean));
    }
    return double(weight) * double(loss);
}

template <class real>
__global__ void __launch_bounds__(THREADS) score_all(const __grid_constant__ score_rows<real> s) {
    __shared__ double of_warp[WARPS];
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
    const size_t i = blockIdx.x * size_t(WARPS) + size_t(warp);
    const double loss = i < s.rows ? score_row(s, i, lane) : 0.0;
    if (lane == 0)
        of_warp[warp] = loss;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    double sum = 0.0;
    for (unsigned w = 0; w < WARPS; w++)
        sum += of_warp[w];
    s.losses[blockIdx.x] = sum;
}

} // namespace layers
