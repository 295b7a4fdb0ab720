/* Single loops with recursive (STORM) momentum: MRBO, SUSTAIN and MSTSA.
 *
 *   z_k = (x_k, y_k);   eta_k = dd/(m+k)^(1/3)
 *   alpha_k = c1 eta_{k-1}^2,  beta_k = c2 eta_{k-1}^2,  both at most 1, and 1 for k = 0
 *
 *   draw B_y, and B_x = {B_F, B_G, B_1 .. B_Q}
 *   u_k = gy(z_k;B_y) + (1 - beta_k)  (u_{k-1} - gy(z_{k-1};B_y))
 *   w_k = hg(z_k;B_x) + (1 - alpha_k) (w_{k-1} - hg(z_{k-1};B_x))
 *   x_{k+1} = P_X(x_k - step_x eta_k w_k);   y_{k+1} = y_k - step_y eta_k u_k
 *
 * with the same batches at both points; hg is a Neumann estimate (blocks/neumann.h).
 *
 *   mrbo     hg by the sum.       J. Yang, K. Ji, Y. Liang, "Provably faster algorithms for bilevel
 *            optimization", NeurIPS 2021, Algorithm 1; gamma is step_x, lambda is step_y
 *   sustain  hg by the randomized form.   P. Khanduri, S. Zeng, M. Hong, H.-T. Wai, Z. Wang,
 *            Z. Yang, "A near-optimal algorithm for stochastic bilevel optimization via double
 *            momentum", NeurIPS 2021
 *   mstsa    hg by the sum, beta_k = 1: plain SGD on y.   The same authors, "A momentum-assisted
 *            single-timescale stochastic approximation algorithm for bilevel optimization", 2021
 *
 * Every factor of hg is a mean over its batch, where the papers take one sample or average whole
 * products: the same mean, less noise. */
#include "blocks/neumann.h"
#include "blocks/param_rows.h"
#include "blocks/recursive.h"
#include "blocks/steps.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

#define NO_MOMENTUM ((double)INFINITY)

typedef struct storm {
    blv_steps steps;
    blv_neumann hg;
    double dd, m, c1, c2; /* NaN: auto */
    blv_samplers from;
    blv_recursive u, w;
    blv_old_point old;
} storm;

static blv_error open_storm(blv_run *run, storm *s, blv_neumann_form form) {
    BLV_CHECK(blv_samplers_open(run, &s->from));
    BLV_CHECK(blv_recursive_open(run, "u", BLV_LEVEL_Y, isnan(s->steps.y), &s->u));
    BLV_CHECK(blv_recursive_open(run, "w", BLV_LEVEL_X, isnan(s->steps.x), &s->w));
    BLV_CHECK(blv_old_point_open(run, &s->old));
    return blv_neumann_open(run, &s->hg, form, 2, &s->steps);
}

static blv_error mrbo_open(blv_run *run, void *state) {
    return open_storm(run, state, BLV_NEUMANN_SUM);
}

static blv_error sustain_open(blv_run *run, void *state) {
    return open_storm(run, state, BLV_NEUMANN_RANDOM);
}

static blv_error mstsa_open(blv_run *run, void *state) {
    storm *s = state;
    s->c2 = NO_MOMENTUM;
    return open_storm(run, s, BLV_NEUMANN_SUM);
}

static blv_flow storm_prepare(blv_run *run, void *state) {
    storm *s = state;
    BLV_TRY(blv_steps_prepare(run, &s->steps, 1.0));
    blv_neumann_prepare(run, &s->hg, &s->from);
    return BLV_GO;
}

typedef struct factors {
    double eta, alpha, beta;
} factors;

/* Automatic m and dd make eta_0 = 1: the automatic steps, or those given, are the first ones.
 *
 * Automatic c1 and c2 where all steps are automatic: on batches the recursion of w adds up how the
 * noise of hg changes from point to point, over 1/alpha iterations. So alpha stays 1 there until
 * eta has fallen to 0.7; beta_1 is 1/2. Else 0.3/dd^2. */
static factors factors_at(const storm *s, uint64_t k) {
    double m = isnan(s->m) ? blv_steps_hold(&s->steps) : s->m;
    double dd = isnan(s->dd) ? cbrt(m) : s->dd;
    double unit = s->steps.automatic && blv_samplers_noise(&s->from) ? cbrt(m) * cbrt(m) : 0.0;
    double c1 = isnan(s->c1) ? fmax(2.0 * unit, 0.3) / (dd * dd) : s->c1;
    double c2 = isnan(s->c2) ? fmax(0.5 * unit, 0.3) / (dd * dd) : s->c2;
    double before = k == 0 ? (double)INFINITY : dd / cbrt(m + (double)(k - 1));
    return (factors){dd / cbrt(m + (double)k), fmin(c1 * before * before, 1.0),
                     fmin(c2 * before * before, 1.0)};
}

static blv_flow storm_step(blv_run *run, void *state) {
    storm *s = state;
    uint64_t k = blv_run_iteration(run);
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    const blv_point at[] = {{x, y}, {s->old.x, s->old.y}};
    const factors now = factors_at(s, k);
    const size_t points = k == 0 ? 1 : 2, points_u = isinf(s->c2) ? 1 : points;

    const blv_batch *by = blv_sampler_next(s->from.g);
    for (size_t i = 0; i < points_u; i++)
        BLV_TRY(blv_oracle_lower(run, by, at[i].x, at[i].y, NULL, NULL, s->u.at[i]));
    BLV_TRY(blv_neumann_estimate(run, &s->hg, &s->from, points, at, s->w.at));
    blv_recursive_update(&s->u, now.beta);
    blv_recursive_update(&s->w, now.alpha);
    BLV_TRY(blv_steps_measure(run, &s->steps,
                              &(const blv_directions){.gy = s->u.estimate, .d = s->w.estimate}));

    blv_old_point_keep(run, &s->old);
    const blv_batch *noise_u = blv_samplers_noise(&s->from);
    const blv_batch *noise_w = blv_neumann_noise(&s->hg, &s->from);
    double factor_y = fmin(now.eta, blv_neumann_limit(&s->hg, &s->steps));
    m->step_y = blv_steps_y(&s->steps, factor_y, noise_u, s->u.estimate, m->gy_norm);
    m->step_x = blv_steps_x(&s->steps, now.eta, noise_w, s->w.estimate, m->d_norm);
    BLV_TRY(blv_move(run, y, m->step_y, s->u.estimate));
    return blv_move(run, x, m->step_x, s->w.estimate);
}

#define FIELD(name) offsetof(storm, name)

static const blv_param params[] = {
    {"c2", BLV_REAL, FIELD(c2), "auto", 0, DBL_MAX, "auto",
     "momentum in y: beta_{k+1} = c2 eta_k^2; auto: 0.3/dd^2, or 0.5 on batches"},
    {"c1", BLV_REAL, FIELD(c1), "auto", 0, DBL_MAX, "auto",
     "momentum in x: alpha_{k+1} = c1 eta_k^2; auto: 0.3/dd^2, or 2 on batches"},
    BLV_POSITIVE_AUTO(
        "m", m,
        "m of eta_k = dd/(m+k)^(1/3); auto: three times what x needs, or 1 when a step is given"),
    BLV_POSITIVE_AUTO("dd", dd, "dd of eta_k; auto: m^(1/3), so that eta_0 = 1"),
    BLV_POSITIVE_AUTO("step_x", steps.x, "x-step, times eta_k"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "y-step, times eta_k; auto: 1/L"),
    BLV_POSITIVE_AUTO("eta", hg.eta, "step of the Neumann series; auto: 1/L"),
    {"Q", BLV_INT, FIELD(hg.Q), "auto", 1, BLV_NEUMANN_Q_MAX, "auto",
     "factors of the Neumann series; auto: for a bias of 5%, 10 to 300"},
    BLV_LAST_PARAM,
};

#define COMMON_FIELDS                                                                              \
    .group = "variance-reduced", .hint = "lower step_x, step_y or eta",                            \
    .bias = "the Neumann sum is cut off: (1 - mu eta)^Q of H^-1 fy is missing",                    \
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,                  \
    .state_size = sizeof(storm), .prepare = storm_prepare, .step = storm_step

const blv_solver blv_solver_mrbo = {
    BLV_SIZED(blv_solver),
    .name = "mrbo",
    .summary = "single loop, recursive momentum on gy and on a Neumann hypergradient",
    .citation = "J. Yang, K. Ji, Y. Liang, NeurIPS 2021, Algorithm 1",
    .params = params,
    .open = mrbo_open,
    COMMON_FIELDS,
};

const blv_solver blv_solver_sustain = {
    BLV_SIZED(blv_solver),
    .name = "sustain",
    .summary = "single loop, double momentum with a randomized Neumann hypergradient",
    .citation = "P. Khanduri, S. Zeng, M. Hong, H.-T. Wai, Z. Wang, Z. Yang, NeurIPS 2021",
    .params = params,
    .open = sustain_open,
    COMMON_FIELDS,
};

const blv_solver blv_solver_mstsa = {
    BLV_SIZED(blv_solver),
    .name = "mstsa",
    .summary = "single loop, recursive momentum on the hypergradient, plain SGD on y",
    .citation = "P. Khanduri, S. Zeng, M. Hong, H.-T. Wai, Z. Wang, Z. Yang, 2021 (MSTSA)",
    .params = params + 1, /* no c2 */
    .open = mstsa_open,
    COMMON_FIELDS,
};
