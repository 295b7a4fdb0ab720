/* VRBO: variance-reduced double loop.
 *
 *   z = (x, y);   w, u: estimates of the hypergradient and of gy at z
 *
 *   every q-th iteration, on a large batch S1:   u = gy(z;S1),  w = hg(z;S1)
 *   x_new = P_X(x - step_x w);   z_old = (x, y);   z = (x_new, y)
 *   for t = 0 .. m+1, on a small batch S2, the same at z and z_old:
 *       w += hg(z;S2) - hg(z_old;S2);   u += gy(z;S2) - gy(z_old;S2)
 *       z_old = z;   y -= step_y u, but for t = m+1;   z = (x_new, y)
 *
 * At t = 0 the two points differ in x alone: that is what keeps w and u estimates at the new x. The
 * step after t = m+1 would be thrown away: the y that counts is the one before it.
 *
 * J. Yang, K. Ji, Y. Liang, "Provably faster algorithms for bilevel optimization", NeurIPS 2021,
 * Algorithm 2; alpha is step_x, beta is step_y. Its hg averages Neumann products of single samples;
 * here each factor is the mean over a batch of its own (blocks/neumann.h): the same mean and less
 * noise. */
#include "blocks/neumann.h"
#include "blocks/param_rows.h"
#include "blocks/recursive.h"
#include "blocks/steps.h"
#include "core/sampler.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct vrbo {
    blv_steps steps;
    blv_neumann hg;
    int64_t period, inner, S1, S2;
    blv_samplers large, small;
    blv_recursive u, w;
    blv_old_point old; /* where u and w are estimates */
} vrbo;

enum { AUTO = -1 };
#define COUNT_MAX 9e15

/* S1 = auto: as many samples as the small batches have between two large ones. */
static size_t large_size(const vrbo *s, const blv_sampler *small) {
    if (s->S1 != AUTO)
        return (size_t)s->S1;
    size_t size = blv_sampler_batch(small);
    double samples = (double)size * (double)s->period * ((double)s->inner + 2.0);
    return size == 0 ? SIZE_MAX : (size_t)fmin(samples, COUNT_MAX);
}

static blv_error open_batches(blv_run *run, vrbo *s) {
    size_t small = s->S2 == AUTO ? 0 : (size_t)s->S2;
    BLV_CHECK(blv_state_sampler(run, "f batch", BLV_LEVEL_X, small, &s->small.f));
    BLV_CHECK(blv_state_sampler(run, "g batch", BLV_LEVEL_Y, small, &s->small.g));
    size_t large_f = large_size(s, s->small.f), large_g = large_size(s, s->small.g);
    BLV_CHECK(blv_state_sampler(run, "large f batch", BLV_LEVEL_X, large_f, &s->large.f));
    return blv_state_sampler(run, "large g batch", BLV_LEVEL_Y, large_g, &s->large.g);
}

static blv_error vrbo_open(blv_run *run, void *state) {
    vrbo *s = state;
    BLV_CHECK(open_batches(run, s));
    BLV_CHECK(blv_recursive_open(run, "u", BLV_LEVEL_Y, isnan(s->steps.y), &s->u));
    BLV_CHECK(blv_recursive_open(run, "w", BLV_LEVEL_X, isnan(s->steps.x), &s->w));
    BLV_CHECK(blv_old_point_open(run, &s->old));
    s->steps.guard_x.unclipped = true;
    return blv_neumann_open(run, &s->hg, BLV_NEUMANN_SUM, 2, &s->steps);
}

static blv_flow vrbo_prepare(blv_run *run, void *state) {
    vrbo *s = state;
    BLV_TRY(blv_steps_prepare(run, &s->steps, (double)s->inner + 1.0));
    blv_neumann_prepare(run, &s->hg, &s->large);
    return BLV_GO;
}

/* u = c gy(z;S) + (1-c)(u + gy(z;S) - gy(z_old;S)), w likewise, for c = 0 or 1; z becomes z_old. */
static blv_flow estimate(blv_run *run, vrbo *s, const blv_samplers *from, double c) {
    const blv_point at[] = {{blv_run_x(run), blv_run_y(run)}, {s->old.x, s->old.y}};
    const size_t points = c == 1.0 ? 1 : 2;
    blv_metrics *m = blv_run_metrics(run);

    const blv_batch *batch = blv_sampler_next(from->g);
    for (size_t i = 0; i < points; i++)
        BLV_TRY(blv_oracle_lower(run, batch, at[i].x, at[i].y, NULL, NULL, s->u.at[i]));
    BLV_TRY(blv_neumann_estimate(run, &s->hg, from, points, at, s->w.at));
    blv_recursive_update(&s->u, c);
    blv_recursive_update(&s->w, c);
    blv_old_point_keep(run, &s->old);
    return blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&m->gy_norm, s->u.estimate),
                                           BLV_NORM(&m->d_norm, s->w.estimate)));
}

static blv_flow vrbo_step(blv_run *run, void *state) {
    vrbo *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *noise = blv_samplers_noise(&s->small);

    if (blv_run_iteration(run) % (uint64_t)s->period == 0)
        BLV_TRY(estimate(run, s, &s->large, 1.0));
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.d = s->w.estimate}));
    m->step_x = blv_steps_x(&s->steps, 1.0, noise, s->w.estimate, m->d_norm);
    BLV_TRY(blv_move(run, x, m->step_x, s->w.estimate));
    blv_steps_loop_y(&s->steps, (double)s->inner + 1.0);
    for (int64_t t = 0; t <= s->inner; t++) {
        BLV_TRY(estimate(run, s, &s->small, 0.0));
        BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.gy = s->u.estimate}));
        double factor = fmin(1.0, blv_neumann_limit(&s->hg, &s->steps));
        m->step_y = blv_steps_y(&s->steps, factor, noise, s->u.estimate, m->gy_norm);
        BLV_TRY(blv_move(run, y, m->step_y, s->u.estimate));
    }
    return estimate(run, s, &s->small, 0.0);
}

#define FIELD(name) offsetof(vrbo, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x, "alpha: x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "beta: y-step; auto: 1/L"),
    {"period", BLV_INT, FIELD(period), "3", 1, COUNT_MAX, NULL,
     "q: iterations between estimates on large batches"},
    {"inner", BLV_INT, FIELD(inner), "20", 0, COUNT_MAX, NULL, "m: an iteration has m+1 y-steps"},
    {"S1", BLV_INT, FIELD(S1), "auto", 1, COUNT_MAX, "auto",
     "samples in a large batch; auto: S2 q (m+2), what the small ones use until the next"},
    {"S2", BLV_INT, FIELD(S2), "auto", 1, COUNT_MAX, "auto",
     "samples in a small batch; auto: the run's batch"},
    BLV_POSITIVE_AUTO("eta", hg.eta, "step of the Neumann series; auto: 1/L"),
    {"Q", BLV_INT, FIELD(hg.Q), "auto", 1, BLV_NEUMANN_Q_MAX, "auto",
     "factors of the Neumann series; auto: for a bias of 5%, 10 to 300"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_vrbo = {
    BLV_SIZED(blv_solver),
    .name = "vrbo",
    .summary = "double loop, differences on small batches and now and then a large one",
    .citation = "J. Yang, K. Ji, Y. Liang, NeurIPS 2021, Algorithm 2",
    .group = "variance-reduced",
    .hint = "lower step_x, step_y or eta",
    .bias = "the Neumann sum is cut off: (1 - mu eta)^Q of H^-1 fy is missing",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(vrbo),
    .params = params,
    .open = vrbo_open,
    .prepare = vrbo_prepare,
    .step = vrbo_step,
};
