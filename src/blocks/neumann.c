#include "blocks/neumann.h"
#include "core/run_private.h"
#include "core/sampler.h"
#include "core/workspace.h"

#include <float.h>
#include <math.h>

enum { FACTORS_MIN = 10, RANDOM_FACTORS_MIN = 5, FACTORS_MAX = 300 };
static const double allowed_bias = 0.05, recovery = 1.02;

blv_error blv_samplers_open(blv_run *run, blv_samplers *b) {
    BLV_CHECK(blv_state_sampler(run, "f batch", BLV_LEVEL_X, 0, &b->f));
    return blv_state_sampler(run, "g batch", BLV_LEVEL_Y, 0, &b->g);
}

static const blv_batch some = {0};

const blv_batch *blv_samplers_noise(const blv_samplers *b) {
    return blv_sampler_batch(b->f) > 0 || blv_sampler_batch(b->g) > 0 ? &some : NULL;
}

const blv_batch *blv_neumann_noise(const blv_neumann *n, const blv_samplers *b) {
    bool by_chance = n->form == BLV_NEUMANN_RANDOM && n->factors > 1.0;
    return by_chance ? &some : blv_samplers_noise(b);
}

static bool is_auto(const blv_neumann *n) {
    return n->watched || n->Q < 0;
}

blv_error blv_neumann_open(blv_run *run, blv_neumann *n, blv_neumann_form form, size_t points,
                           blv_steps *steps) {
    n->form = form;
    n->watched = isnan(n->eta);
    n->factors = (double)n->Q;
    n->steps = steps;
    steps->eager = form == BLV_NEUMANN_RANDOM;
    n->stream = blv_stream_make((uint64_t)run->options.seed, "neumann p");
    BLV_CHECK(blv_state_scalars(run, "neumann_eta", &n->eta, "neumann_first_eta", &n->first_eta,
                                "neumann_Q", &n->factors, NULL));
    BLV_CHECK(blv_state_hidden(run, "neumann measured at", &n->measured_at));
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &n->v));
    for (size_t i = 0; i < points; i++)
        BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &n->sum[i], &n->r[i], NULL));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &n->hr));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &n->jv));
    return blv_steps_open(run, steps, BLV_STEPS_XY, is_auto(n));
}

double blv_neumann_limit(const blv_neumann *n, const blv_steps *steps) {
    return n->watched && steps->guard_y.before ? n->eta / steps->y : INFINITY;
}

/* Series with eta <= 1/L do not grow. What is left at the level of rounding may be anything. */
static void watch_curvature(blv_neumann *n, double r_size, double first_size) {
    double hr_size = blv_vec_norm(n->hr);
    if (n->eta * hr_size > r_size && r_size > DBL_EPSILON * first_size)
        n->eta = r_size / hr_size;
}

/* A shorter eta takes more factors to the same bias; a hundredth is no reason for one more. */
static uint64_t factors_in_effect(const blv_neumann *n) {
    if (!n->watched || n->Q >= 0)
        return (uint64_t)n->factors;
    return (uint64_t)ceil(fmin(n->factors * n->first_eta / n->eta, FACTORS_MAX) - 0.01);
}

/* r_0 = fy and hg = fx */
static blv_flow first_term(blv_run *run, blv_neumann *n, const blv_batch *batch, size_t points,
                           const blv_point *at, blv_vec *const *hg) {
    for (size_t i = 0; i < points; i++) {
        BLV_TRY(blv_oracle_upper(run, batch, at[i].x, at[i].y, NULL, hg[i], n->r[i]));
        blv_vec_copy(n->sum[i], n->r[i]);
        n->r_size[i] = n->first_size[i] = blv_vec_norm(n->r[i]);
    }
    return BLV_GO;
}

/* r_{q+1} = r_q - eta H_q r_q */
static blv_flow next_term(blv_run *run, blv_neumann *n, const blv_batch *batch, size_t points,
                          const blv_point *at) {
    for (size_t i = 0; i < points; i++) {
        BLV_TRY(blv_oracle_hvp(run, batch, at[i].x, at[i].y, n->r[i], n->hr));
        if (n->watched)
            watch_curvature(n, n->r_size[i], n->first_size[i]);
        blv_vec_combine(n->r[i], 1.0, n->r[i], -n->eta, n->hr);
        n->r_size[i] = blv_vec_norm(n->r[i]);
        if (n->form == BLV_NEUMANN_SUM)
            blv_vec_axpy(n->sum[i], 1.0, n->r[i]);
    }
    return BLV_GO;
}

/* v = eta (r_0 + ... + r_Q) or Q eta r_p;  hg = fx - J v */
static blv_flow last_product(blv_run *run, blv_neumann *n, uint64_t Q, const blv_batch *batch,
                             size_t points, const blv_point *at, blv_vec *const *hg) {
    const bool random = n->form == BLV_NEUMANN_RANDOM;
    const double scale = random ? (double)Q * n->eta : n->eta;
    for (size_t i = 0; i < points; i++) {
        blv_vec *v = random ? n->r[i] : n->sum[i];
        blv_vec_scale(v, scale);
        BLV_TRY(blv_oracle_cross(run, batch, at[i].x, at[i].y, v, n->jv));
        blv_vec_axpy(hg[i], -1.0, n->jv);
    }
    blv_vec_swap(n->v, random ? n->r[0] : n->sum[0]);
    return BLV_GO;
}

/* The logarithm of what a factor leaves where g is flattest. */
static double log_left(const blv_neumann *n) {
    return log1p(-fmin(n->steps->constants.mu * n->eta, 1.0));
}

static void choose_series(blv_neumann *n) {
    n->measured_at = n->steps->measured_at;
    if (n->watched)
        n->eta = n->first_eta = blv_auto_inner_step(NAN, &n->steps->constants);
    double fewest = n->form == BLV_NEUMANN_SUM ? FACTORS_MIN : RANDOM_FACTORS_MIN;
    if (n->Q < 0)
        n->factors = fmin(fmax(ceil(log(allowed_bias) / log_left(n)), fewest), FACTORS_MAX);
}

void blv_neumann_prepare(blv_run *run, blv_neumann *n, const blv_samplers *batches) {
    n->first_eta = n->eta;
    if (!is_auto(n))
        return;
    choose_series(n);
    if (n->form == BLV_NEUMANN_RANDOM && n->steps->guard_x.before && !blv_samplers_noise(batches))
        n->steps->x /= sqrt(n->factors);
    blv_run_note(run, "Neumann: eta = %.4g, Q = %g, relative bias up to %.2g", n->eta, n->factors,
                 exp(log_left(n) * n->factors));
}

blv_flow blv_neumann_estimate(blv_run *run, blv_neumann *n, const blv_samplers *batches,
                              size_t points, const blv_point *at, blv_vec *const *hg) {
    if (is_auto(n) && n->measured_at != n->steps->measured_at)
        choose_series(n);
    if (n->watched)
        n->eta = fmin(n->eta * recovery, n->first_eta);
    const uint64_t Q = factors_in_effect(n);
    uint64_t p = Q;
    if (n->form == BLV_NEUMANN_RANDOM)
        p = blv_random_below(&n->stream, blv_run_iteration(run), Q);
    BLV_TRY(first_term(run, n, blv_sampler_next(batches->f), points, at, hg));
    for (uint64_t q = 0; q < p; q++)
        BLV_TRY(next_term(run, n, blv_sampler_next(batches->g), points, at));
    return last_product(run, n, Q, blv_sampler_next(batches->g), points, at, hg);
}
