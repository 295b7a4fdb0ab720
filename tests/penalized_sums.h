/* Two finite sums with a penalty exp(x_j) for each of some weights, most of which are of no use:
 * least squares and logistic regression on rows that are drawn here. What is best for a useless
 * weight is at infinity, and on the way L, mu and the curvature of Phi change by decades. */
#pragma once

#include "bilevel/bilevel.h"

#include <math.h>
#include <stdlib.h>

#ifndef FEATURES
#define FEATURES 20
#endif

typedef struct rows {
    bool squares;
    size_t train, val;
    double *features, *target;
} rows;

/* ---- Data: seeded sums of uniform numbers ---- */

static inline double normal(unsigned long long *state) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum;
}

static inline void make_rows(rows *r) {
    unsigned long long state = 12345 + r->train;
    size_t all = r->train + r->val;
    double weights[FEATURES];
    r->features = malloc(all * FEATURES * sizeof(double));
    r->target = malloc(all * sizeof(double));
    if (!r->features || !r->target)
        exit(1);
    for (size_t j = 0; j < FEATURES; j++)
        weights[j] = j < FEATURES / 3 ? normal(&state) : 0.05 * normal(&state);
    for (size_t i = 0; i < all; i++) {
        double score = 0.0;
        for (size_t j = 0; j < FEATURES; j++)
            score += weights[j] * (r->features[i * FEATURES + j] = normal(&state));
        score += (r->squares ? 1.5 : 0.7) * normal(&state);
        r->target[i] = r->squares ? score : score > 0.0 ? 1.0 : -1.0;
    }
}

/* ---- The problem ---- */

/* Mean loss over the rows of a batch (NULL: all `count` from `first` on); with it, its gradient,
 * and the product of its Hessian with v. */
static inline double mean_loss(const rows *r, const blv_batch *batch, size_t first, size_t count,
                               const double *y, double *gradient, const double *v, double *hv) {
    double value = 0.0;
    count = batch ? batch->count : count;
    for (size_t k = 0; k < count; k++) {
        size_t row = first + (!batch ? k : batch->index ? batch->index[k] : batch->first + k);
        const double *a = r->features + row * FEATURES;
        double score = 0.0, along = 0.0;
        for (size_t j = 0; j < FEATURES; j++) {
            score += a[j] * y[j];
            along += v ? a[j] * v[j] : 0.0;
        }
        double slope = score - r->target[row], bend = 1.0;
        if (!r->squares) {
            double margin = r->target[row] * score, e = exp(-fabs(margin));
            double wrong = margin < 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
            value += log1p(e) + (margin < 0.0 ? -margin : 0.0);
            slope = -r->target[row] * wrong;
            bend = wrong * (1.0 - wrong);
        } else {
            value += 0.5 * slope * slope;
        }
        for (size_t j = 0; j < FEATURES; j++) {
            if (gradient)
                gradient[j] += slope * a[j] / (double)count;
            if (hv)
                hv[j] += bend * along * a[j] / (double)count;
        }
    }
    return value / (double)count;
}

static inline int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *f, blv_vec *fx, blv_vec *fy) {
    const rows *r = user;
    double gradient[FEATURES] = {0};
    (void)x;
    double value = mean_loss(r, batch, r->train, r->val, blv_vec_f64(y), gradient, NULL, NULL);
    if (f)
        *f = value;
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (fy)
        blv_vec_write(fy, gradient);
    return 0;
}

static inline double penalty(const blv_vec *x, size_t j) {
    return exp(blv_vec_f64(x)[j]);
}

static inline int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *g, blv_vec *gx, blv_vec *gy) {
    const rows *r = user;
    double of_y[FEATURES] = {0}, of_x[FEATURES];
    const double *at = blv_vec_f64(y);
    double value = mean_loss(r, batch, 0, r->train, at, of_y, NULL, NULL);
    for (size_t j = 0; j < FEATURES; j++) {
        of_x[j] = 0.5 * penalty(x, j) * at[j] * at[j];
        of_y[j] += penalty(x, j) * at[j];
        value += of_x[j];
    }
    if (g)
        *g = value;
    if (gx)
        blv_vec_write(gx, of_x);
    if (gy)
        blv_vec_write(gy, of_y);
    return 0;
}

static inline int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *hv) {
    const rows *r = user;
    double out[FEATURES] = {0};
    mean_loss(r, batch, 0, r->train, blv_vec_f64(y), NULL, blv_vec_f64(v), out);
    for (size_t j = 0; j < FEATURES; j++)
        out[j] += penalty(x, j) * blv_vec_f64(v)[j];
    blv_vec_write(hv, out);
    return 0;
}

static inline int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        const blv_vec *v, blv_vec *jv) {
    double out[FEATURES];
    (void)user, (void)batch;
    for (size_t j = 0; j < FEATURES; j++)
        out[j] = penalty(x, j) * blv_vec_f64(y)[j] * blv_vec_f64(v)[j];
    blv_vec_write(jv, out);
    return 0;
}

static inline blv_problem *penalized_sums(rows *r) {
    blv_problem *problem = NULL;
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .dim_x = FEATURES,
                                 .dim_y = FEATURES,
                                 .threads = 1,
                                 .user = r,
                                 .upper = upper,
                                 .upper_samples = r->val,
                                 .lower = lower,
                                 .lower_hvp = hvp,
                                 .lower_samples = r->train,
                                 .lower_cross = cross};
    make_rows(r);
    if (blv_problem_create(&problem, &def, NULL) != BLV_OK)
        exit(1);
    return problem;
}

static inline void free_sums(blv_problem *problem, rows *r) {
    blv_problem_destroy(problem);
    free(r->features);
    free(r->target);
}
