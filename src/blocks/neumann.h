/* Neumann estimates of the hypergradient fx - J H^-1 fy, and the batches that they are made on.
 *
 *   r_0 = fy;   r_{q+1} = r_q - eta H_q r_q,  q = 0 .. Q-1
 *   sum:     v = eta (r_0 + ... + r_Q)
 *   random:  v = Q eta r_p with p uniform in 0 .. Q-1: in the mean the sum up to r_{Q-1}, for half
 *            of the products and with more noise
 *   hg = fx - J v
 *
 * fx and fy are taken on one batch of f; every H_q and J on a batch of g of its own. On whole sums
 * the sum is off by (I - eta H)^(Q+1) H^-1 fy: relatively at most (1 - mu eta)^(Q+1).
 *
 * An estimate is made at one point or at two. Two advance together, factor by factor, so that each
 * batch (and p) serves both points before the next one is drawn. */
#pragma once

#include "base/random.h"
#include "blocks/steps.h"
#include "core/point.h"

enum { BLV_POINTS_MAX = 2 };

typedef struct blv_samplers {
    blv_sampler *f, *g;
} blv_samplers;

/* In `open`: streams of batches of what the run's `batch` says. */
blv_error blv_samplers_open(blv_run *run, blv_samplers *batches);
/* For guards (blocks/guard.h): a batch where the streams have some, NULL where all are whole sums.
 */
const blv_batch *blv_samplers_noise(const blv_samplers *batches);

typedef enum blv_neumann_form { BLV_NEUMANN_SUM, BLV_NEUMANN_RANDOM } blv_neumann_form;

/* eta and Q are fields for parameter tables: NaN and -1 stand for auto. */
typedef struct blv_neumann {
    double eta;
    int64_t Q;
    double first_eta, factors; /* automatic or given: eta and Q at the start */
    blv_neumann_form form;
    bool watched;                 /* eta is automatic */
    blv_steps *steps;             /* whose constants they come from */
    double measured_at;           /* when those were estimated, as in blv_steps */
    blv_stream stream;            /* of p: the number of the iteration is its position */
    blv_vec *v;                   /* the run's "v": of the last estimate at the first point */
    blv_vec *sum[BLV_POINTS_MAX]; /* scratch, like the others */
    blv_vec *r[BLV_POINTS_MAX];
    double r_size[BLV_POINTS_MAX], first_size[BLV_POINTS_MAX]; /* |r|, |r_0| */
    blv_vec *hr, *jv;
} blv_neumann;

#define BLV_NEUMANN_Q_MAX 1e6

/* In `open`. points: at which an estimate is made at once. Opens the steps, too. */
blv_error blv_neumann_open(blv_run *run, blv_neumann *neumann, blv_neumann_form form, size_t points,
                           blv_steps *steps);
/* In `prepare`, after blv_steps_prepare: automatic eta is 1/L; automatic Q the smallest with
 * (1 - mu eta)^Q <= 0.05, at most 300, and at least 10 (5 for the random form), since mu and L
 * may come to be further apart. With the random form on whole sums an automatic x-step is divided
 * by the root of Q: without that bsa, ttsa and sustain stay at the noise of p there, while on
 * batches it costs more than it gains (tests/test_neumann_defaults.c, bench/bench_noise.c). */
void blv_neumann_prepare(blv_run *run, blv_neumann *neumann, const blv_samplers *batches);
/* hg[i] = the estimate at point i, all on the same batches. Automatic eta and Q follow the
 * constants where those were estimated again. Where L is seen to be larger than it was estimated,
 * an automatic eta becomes |r|/|Hr|, and comes back by 2% with each estimate. An automatic Q keeps
 * Q eta what it was, up to 300 factors. */
blv_flow blv_neumann_estimate(blv_run *run, blv_neumann *neumann, const blv_samplers *batches,
                              size_t points, const blv_point *at, blv_vec *const *hg);

/* For automatic eta and y-steps, which are both 1/L: the factor of the y-step that makes it eta. */
double blv_neumann_limit(const blv_neumann *neumann, const blv_steps *steps);
/* As blv_samplers_noise. The random form has noise on whole sums, too. */
const blv_batch *blv_neumann_noise(const blv_neumann *neumann, const blv_samplers *batches);
