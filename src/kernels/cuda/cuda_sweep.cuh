/* Sweeps over rows in the memory of a GPU: what their files share. */
#pragma once

#include "base/cuda/device.cuh"
extern "C" {
#include "kernels/kernel_table.h"
}

struct blv_sweep_work {
    size_t classes, columns, max_rows, real_size;
    bool sparse;
    /* Made when they are first needed: */
    void *scores;    /* of each row of the sweep, 2 classes numbers: W a and V a, then coefficients;
                        sparse: of each row of the data */
    void *partial;   /* sums of groups of rows */
    size_t groups;   /* that there is room for */
    double *losses;  /* of each group */
    float *kept;     /* probabilities of rows, then their W; NULL: nothing is kept */
    size_t kept_rows;
    const void *kept_of; /* data; NULL: not yet */
    uint32_t *times;     /* sparse: how often a row of the data is in the sweep */
};

/* A sweep as kernels get it. */
template <class real> struct sweep_task {
    size_t columns, stride;
    const real *x;
    const void *split; /* x as tensor cores read it; NULL: it is not there */
    const size_t *row_start; /* sparse */
    const uint32_t *column;
    const real *value;
    const int32_t *label;
    const double *target;
    const real *weight, *logit;
    size_t first, count, rows;
    const size_t *index;
    int classes;
    const real *w, *v; /* v: NULL unless something needs it */
    bool gradient, hessian, losses; /* losses: something needs them */
    double row_slope;
    real *row_loss, *row_cross, *row_probability;
    int32_t *row_class;

    __device__ size_t row_at(size_t i) const { return index ? index[i] : first + i; }
};

/* Sums of groups become the outputs; see cuda_finish.cu. */
template <class real> struct finish_task {
    size_t columns, groups;
    int classes;
    bool sparse; /* outputs are columns x classes */
    const real *partial;
    const real *w, *v, *ridge_column, *ridge_class;
    double scale, ridge;
    real *gradient, *hessian;
    const double *losses; /* NULL: no loss is asked for */
    size_t loss_groups;
    gpu::answer *to;
    unsigned long long number;
};

/* With what the sweep says of outputs, ridge and scale. */
template <class real> finish_task<real> finish_inputs(const blv_sweep *sweep, finish_task<real> f) {
    f.w = static_cast<const real *>(sweep->w);
    f.v = static_cast<const real *>(sweep->v);
    f.ridge_column = static_cast<const real *>(sweep->ridge_column);
    f.ridge_class = static_cast<const real *>(sweep->ridge_class);
    f.scale = sweep->scale;
    f.ridge = sweep->ridge;
    f.gradient = static_cast<real *>(sweep->gradient);
    f.hessian = sweep->v ? static_cast<real *>(sweep->hessian) : nullptr;
    return f;
}

/* out = scale sum of groups + ridge, and the loss; waits for it where it is asked for. */
template <class real> void finish_sweep(const blv_sweep *sweep, finish_task<real> task);

/* scale times the sum of the groups' losses, in their order; waits for it. */
double finish_losses(const double *losses, size_t groups, double scale);

/* One pass with tensor cores: float, rows that fit. False: not for this sweep. */
bool tensor_sweep(const sweep_task<float> &task, const blv_sweep *sweep, blv_sweep_work *work);
/* One pass for one score and few columns. False: not for this sweep. */
template <class real>
bool one_score_sweep(const sweep_task<real> &task, const blv_sweep *sweep, blv_sweep_work *work);
/* Any sweep: scores, coefficients and sums one after the other. */
template <class real>
void plain_sweep(const sweep_task<real> &task, const blv_sweep *sweep, blv_sweep_work *work);
template <class real>
void sparse_sweep(const sweep_task<real> &task, const blv_rows *rows, const blv_sweep *sweep,
                  blv_sweep_work *work);

/* Scores of the rows of a sweep, W a and V a, become coefficients; losses: of each ACTIVATED rows. */
enum { ACTIVATED = 128 };
template <class real> void activate_rows(const sweep_task<real> &task, real *scores, double *losses);

/* Room for the sums of so many groups; false when memory is short. */
bool make_groups(blv_sweep_work *work, size_t groups);

/* The list of a sweep where the GPU can read it. */
const size_t *index_there(const blv_rows *rows);

/* ---- What a row adds ---- */

template <class real> __device__ real sigmoid_of(real s) {
    return real(1) / (real(1) + exp(-s));
}

template <class real> __device__ real row_weight(const sweep_task<real> &a, size_t row) {
    return a.logit ? sigmoid_of(a.logit[row]) : a.weight ? a.weight[row] : real(1);
}

template <class real>
__device__ void put_row(const sweep_task<real> &a, size_t row, real value, real *out) {
    if (a.row_slope == 0.0) {
        out[row] = value;
        return;
    }
    const double s = 1.0 / (1.0 + exp(-double(a.logit[row])));
    const real slope = real(a.row_slope * s * (1.0 - s) * double(value));
    if (a.index)
        atomicAdd(out + row, slope); /* a row that comes twice adds the same number twice */
    else
        out[row] = slope;
}

template <class real>
__device__ void put_row_outputs(const sweep_task<real> &a, size_t row, real loss, real cross,
                                int best) {
    if (a.row_loss)
        put_row(a, row, loss, a.row_loss);
    if (a.row_cross)
        put_row(a, row, cross, a.row_cross);
    if (a.row_probability)
        a.row_probability[row] = exp(-loss);
    if (a.row_class)
        a.row_class[row] = best;
}

/* One score: logistic, with its label, or squares, with their target. Loss, and what the gradient and
 * H v are made with. */
template <class real>
__device__ real one_score(const sweep_task<real> &a, bool label, double target, real s, real t,
                          real *residual, real *second) {
    if (a.target) {
        *residual = real(double(s) - target);
        *second = t;
        return *residual * *residual / 2;
    }
    const real e = exp(-fabs(s)), larger = 1 / (1 + e), smaller = e * larger;
    *residual = label ? (s > 0 ? -smaller : -larger) : (s > 0 ? larger : smaller);
    *second = smaller * larger * t;
    const real sign = label ? s : -s;
    return a.losses ? log1p(e) + (sign > 0 ? real(0) : -sign) : real(0);
}

template <class real>
__device__ real one_score(const sweep_task<real> &a, size_t row, real s, real t, real *residual,
                          real *second) {
    return one_score(a, !a.target && a.label[row] != 0, a.target ? a.target[row] : 0.0, s, t,
                     residual, second);
}

/* s: scores of W, then of V, which become coefficients. Returns the loss. */
template <class real>
__device__ real activate_row(const sweep_task<real> &a, size_t row, real weight, real *s) {
    const int K = a.classes;
    real loss, cross = 0;
    int best = 0;
    if (K == 1) {
        real residual, second, t = a.v ? s[1] : real(0);
        best = s[0] > 0;
        loss = one_score(a, row, s[0], t, &residual, &second);
        cross = residual * t;
        s[0] = weight * residual;
        if (a.v)
            s[1] = weight * second;
    } else {
        const int label = a.label[row];
        real sum = 0, mean = 0;
        for (int k = 1; k < K; k++)
            best = s[k] > s[best] ? k : best;
        const real largest = s[best], own = s[label];
        for (int k = 0; k < K; k++)
            sum += s[k] = exp(s[k] - largest);
        loss = log(sum) - (own - largest);
        for (int k = 0; k < K; k++)
            s[k] /= sum;
        for (int k = 0; a.v && k < K; k++) {
            mean += s[k] * s[K + k];
            cross += (s[k] - real(k == label)) * s[K + k];
        }
        for (int k = 0; k < K; k++) {
            if (a.v)
                s[K + k] = weight * s[k] * (s[K + k] - mean);
            s[k] = weight * (s[k] - real(k == label));
        }
    }
    put_row_outputs(a, row, loss, cross, best);
    return weight * loss;
}
