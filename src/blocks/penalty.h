/* The penalized function of first-order solvers:
 *
 *   f(x,y) + lambda (g(x,y) - g(x,z))      y near its minimizer, z near that of g(x, .)
 *
 * with v = lambda (z - y) in the place of H^-1 fy. No second derivative is asked for. */
#pragma once

#include "blocks/accelerated.h"
#include "blocks/guard.h"

typedef struct blv_penalty {
    blv_sampler *f_batches, *g_batches;
    blv_vec *fy, *gy, *gy_z; /* scratch */
    blv_vec *gx_y, *gx_z;
} blv_penalty;

blv_error blv_penalty_open(blv_run *run, blv_penalty *penalty);

/* Batches of f and g; NULL: the whole sums. */
typedef struct blv_batches {
    const blv_batch *f, *g;
} blv_batches;

/* Valid until the next draw. */
blv_batches blv_penalty_draw(blv_penalty *penalty);

/* out = fy(x,y) + lambda gy(x,y): one gradient of each function. */
blv_flow blv_penalty_gradient(blv_run *run, blv_penalty *penalty, blv_batches batches,
                              double lambda, const blv_vec *x, const blv_vec *y, blv_vec *out);

typedef struct blv_penalty_look {
    double G_norm;
    double r_norm;          /* |fy(x,y) + lambda gy(x,y)|; the vector is left in penalty->fy */
    double gy_norm;         /* |gy(x,z)|; the vector is left in penalty->gy_z */
    double value;           /* f + lambda (g(y) - g(z)), when asked for, else NaN */
    double noise;           /* rounding in value */
    const blv_batch *batch; /* one of those it was computed on; NULL: whole sums */
} blv_penalty_look;

/* G = fx(x,y) + lambda (gx(x,y) - gx(x,z)): one gradient of f, two of g, each of which gives its x-
 * and its y-part. The two points of g see the same batch. gy(x,y) is left in penalty->gy. guard: of
 * a step of x along G, NULL: none. */
blv_flow blv_penalty_direction(blv_run *run, blv_penalty *penalty, blv_batches batches,
                               double lambda, const blv_vec *x, const blv_vec *y, const blv_vec *z,
                               bool with_value, blv_vec *G, blv_guard *guard,
                               blv_penalty_look *look);

/* gy_norm and r_norm of the metrics. */
void blv_penalty_report(blv_metrics *metrics, const blv_penalty_look *look);
