/* SGD steps on y, then one x-step along a Neumann hypergradient: stocBiO, BSA and TTSA.
 *
 *   T_in times:  y -= step_y (t+1)^-e_y gy(x,y;B)
 *   x = P_X(x - step_x (t+1)^-e_x hg(x,y;B_x))
 *
 * hg is a Neumann estimate (blocks/neumann.h), each factor on a batch of its own.
 *
 *   stocbio  hg by the sum, e = 0.   K. Ji, J. Yang, Y. Liang, "Bilevel optimization: convergence
 *            analysis and enhanced design", ICML 2021
 *   bsa      hg by the randomized form, e_y = e_x = 1/2.   S. Ghadimi, M. Wang, "Approximation
 *            methods for bilevel programming", 2018
 *   ttsa     as bsa with T_in = 1, e_y = 2/5, e_x = 3/5.   M. Hong, H.-T. Wai, Z. Wang, Z. Yang, "A
 *            two-timescale stochastic algorithm framework for bilevel optimization: complexity
 *            analysis and application to actor-critic", SIAM J. Optim. 2023
 *
 * Automatic steps decay as (1 + t/hold)^-e, with the hold of blocks/steps.h: with (t+1)^-e they
 * would shrink before anything has converged. */
#include "blocks/neumann.h"
#include "blocks/param_rows.h"
#include "blocks/schedule.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct neumann_sgd {
    blv_steps steps;
    blv_neumann hg;
    int64_t inner;
    double decay_x, decay_y;
    blv_samplers from;
    blv_vec *gy, *d, *d_mean;
    double largest_gy; /* of those that the inner loops began with */
} neumann_sgd;

static double given_or(double given, double otherwise) {
    return isnan(given) ? otherwise : given;
}

static blv_error open_as(blv_run *run, neumann_sgd *s, blv_neumann_form form, double decay_y,
                         double decay_x) {
    s->decay_y = given_or(s->decay_y, decay_y);
    s->decay_x = given_or(s->decay_x, decay_x);
    BLV_CHECK(blv_samplers_open(run, &s->from));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->gy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->d));
    BLV_CHECK(blv_state_vec(run, "d mean", BLV_LEVEL_X, &s->d_mean));
    BLV_CHECK(blv_state_scalar(run, "largest_gy", &s->largest_gy));
    s->steps.guard_x.unclipped = true;
    return blv_neumann_open(run, &s->hg, form, 1, &s->steps);
}

static blv_error stocbio_open(blv_run *run, void *state) {
    return open_as(run, state, BLV_NEUMANN_SUM, 0.0, 0.0);
}

static blv_error bsa_open(blv_run *run, void *state) {
    return open_as(run, state, BLV_NEUMANN_RANDOM, 0.5, 0.5);
}

static blv_error ttsa_open(blv_run *run, void *state) {
    neumann_sgd *s = state;
    s->inner = 1;
    return open_as(run, s, BLV_NEUMANN_RANDOM, 0.4, 0.6);
}

static blv_flow neumann_sgd_prepare(blv_run *run, void *state) {
    neumann_sgd *s = state;
    BLV_TRY(blv_steps_prepare(run, &s->steps, (double)s->inner));
    blv_neumann_prepare(run, &s->hg, &s->from);
    return BLV_GO;
}

/* On batches no guard watches the y-steps. Where L has grown with x, the steps of an inner loop go
 * astray: automatic ones are halved when they have led to a gradient of twice the size of any that
 * a loop began with. */
static void watch_growth(neumann_sgd *s, int64_t i, const blv_batch *batch, double gy_norm) {
    if (i == 0)
        s->largest_gy = fmax(s->largest_gy, gy_norm);
    else if (batch && s->steps.guard_y.before && gy_norm > 2.0 * s->largest_gy)
        s->steps.y *= 0.5;
}

/* A randomized estimate may be short by chance: what is reported is the norm of a running mean over
 * about a hundred of them. */
static double reported_norm(neumann_sgd *s, uint64_t t, double d_norm) {
    if (s->hg.form == BLV_NEUMANN_SUM)
        return d_norm;
    double weight = fmax(1.0 / ((double)t + 1.0), 0.01);
    blv_vec_combine(s->d_mean, 1.0 - weight, s->d_mean, weight, s->d);
    return blv_vec_norm(s->d_mean);
}

static blv_flow neumann_sgd_step(blv_run *run, void *state) {
    neumann_sgd *s = state;
    uint64_t t = blv_run_iteration(run);
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    const double limit_y = blv_neumann_limit(&s->hg, &s->steps);
    const double hold = blv_steps_hold(&s->steps);
    const double decay_y = fmin(blv_decay_after(hold, t, s->decay_y), limit_y);
    const double decay_x = blv_decay_after(hold, t, s->decay_x);

    blv_steps_loop_y(&s->steps, INFINITY); /* x moves by chance: never compare across its moves */
    for (int64_t i = 0; i < s->inner; i++) {
        const blv_batch *batch = blv_sampler_next(s->from.g);
        BLV_TRY(blv_oracle_lower(run, batch, x, y, NULL, NULL, s->gy));
        BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.gy = s->gy}));
        watch_growth(s, i, batch, m->gy_norm);
        m->step_y = blv_steps_y(&s->steps, decay_y, batch, s->gy, m->gy_norm);
        BLV_TRY(blv_move(run, y, m->step_y, s->gy));
    }
    const blv_point here = {x, y};
    BLV_TRY(blv_neumann_estimate(run, &s->hg, &s->from, 1, &here, &s->d));
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.d = s->d}));
    const blv_batch *noise = blv_neumann_noise(&s->hg, &s->from);
    m->step_x = blv_steps_x(&s->steps, decay_x, noise, s->d, m->d_norm);
    m->d_norm = reported_norm(s, t, m->d_norm);
    return blv_move(run, x, m->step_x, s->d);
}

#define FIELD(name) offsetof(neumann_sgd, name)

static const blv_param params[] = {
    BLV_COUNT("inner", inner, "10", "T_in: y-steps in an iteration"),
    BLV_POSITIVE_AUTO("step_x", steps.x, "first x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "first y-step; auto: 1/L"),
    {"decay_x", BLV_REAL, FIELD(decay_x), "auto", 0, 1, "auto",
     "exponent e_x of (t+1)^-e_x; auto: the published one"},
    {"decay_y", BLV_REAL, FIELD(decay_y), "auto", 0, 1, "auto",
     "exponent e_y of (t+1)^-e_y; auto: the published one"},
    BLV_POSITIVE_AUTO("eta", hg.eta, "step of the Neumann series; auto: 1/L"),
    {"Q", BLV_INT, FIELD(hg.Q), "auto", 1, BLV_NEUMANN_Q_MAX, "auto",
     "factors of the Neumann series; auto: for a bias of 5%, 10 to 300"},
    BLV_LAST_PARAM,
};

#define COMMON_FIELDS                                                                              \
    .hint = "lower step_x, step_y or eta",                                                         \
    .bias = "the Neumann sum is cut off: (1 - mu eta)^Q of H^-1 fy is missing",                    \
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,                  \
    .state_size = sizeof(neumann_sgd), .prepare = neumann_sgd_prepare, .step = neumann_sgd_step

const blv_solver blv_solver_stocbio = {
    BLV_SIZED(blv_solver),
    .name = "stocbio",
    .summary = "inner SGD steps, then a Neumann hypergradient",
    .citation = "K. Ji, J. Yang, Y. Liang, ICML 2021 (stocBiO)",
    .group = "double-loop",
    .params = params,
    .open = stocbio_open,
    COMMON_FIELDS,
};

const blv_solver blv_solver_bsa = {
    BLV_SIZED(blv_solver),
    .name = "bsa",
    .summary = "inner SGD steps, then a randomized Neumann hypergradient, decaying steps",
    .citation = "S. Ghadimi, M. Wang, 2018 (BSA)",
    .group = "double-loop",
    .params = params,
    .open = bsa_open,
    COMMON_FIELDS,
};

const blv_solver blv_solver_ttsa = {
    BLV_SIZED(blv_solver),
    .name = "ttsa",
    .summary =
        "one step in y, one in x along a randomized Neumann hypergradient, on two time scales",
    .citation = "M. Hong, H.-T. Wai, Z. Wang, Z. Yang, SIAM J. Optim. 2023 (TTSA)",
    .group = "single-loop",
    .params = params + 1, /* no inner */
    .open = ttsa_open,
    COMMON_FIELDS,
};
