/* RAHGD: restarted accelerated hypergradient descent.
 *
 *   y = AGD on g(w, .), from the last y
 *   v = K products of CG on H(w,y) v = fy(w,y), from the last v
 *   d = fx(w,y) - J(w,y) v
 *   x+ = P_X(w - d/L);   w = x+ + (1 - theta) (x+ - x);   S += |x+ - x|^2;   k += 1
 *   restart with w = x when k S >= B^2
 *
 * H. Yang, L. Luo, C. J. Li, M. I. Jordan, "Accelerating inexact hypergradient descent for bilevel
 * optimization", 2023. As in accf2ba, the theory has 4 times the Lipschitz constant for L,
 * theta = 4 (eps rho)^(1/4)/sqrt(L) and B = sqrt(eps/rho); x is the last iterate; and on auto
 * (ours) L is found by backtracking, and an epoch ends when the momentum points uphill, or after
 * each step on batches. One batch of f and one of g serve the whole iteration. */
#include "blocks/adjoint.h"
#include "blocks/constants.h"
#include "blocks/inner.h"
#include "blocks/momentum.h"
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct rahgd {
    double theta, B;
    int64_t linear;
    blv_inner inner;
    blv_momentum outer;
    blv_hypergradient_terms at;
    blv_linear_work *cg;
    blv_vec *v;
    blv_constants_work *work;
    double d_norm; /* of the last step */
} rahgd;

static blv_error rahgd_open(blv_run *run, void *state) {
    rahgd *s = state;
    bool estimate = isnan(s->inner.L) || isnan(s->inner.mu) || isnan(s->outer.L);
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(blv_run_linear_work(run, BLV_CG_VECTORS, &s->cg));
    BLV_CHECK(blv_inner_open(run, &s->inner, true));
    BLV_CHECK(blv_momentum_open(run, blv_run_x(run), &s->outer));
    BLV_CHECK(blv_state_scalar(run, "last_d_norm", &s->d_norm));
    return estimate ? blv_constants_open(run, &s->work) : BLV_OK;
}

static blv_flow rahgd_prepare(blv_run *run, void *state) {
    rahgd *s = state;
    blv_constants c;
    if (!s->work)
        return BLV_GO;
    BLV_TRY(blv_constants_estimate(run, s->work, &c));
    blv_inner_set(&s->inner, c.L, c.mu);
    blv_momentum_set(&s->outer, &c);
    return BLV_GO;
}

/* CG halves the error in about sqrt(kappa)/3 products. */
static size_t products(const blv_run *run, const rahgd *s) {
    double kappa = s->inner.L / s->inner.mu, most = fmin(500.0, 10.0 * blv_effort(run));
    return s->linear > 0 ? (size_t)s->linear : (size_t)fmin(10.0 + 4.0 * sqrt(kappa), most);
}

static blv_flow rahgd_step(blv_run *run, void *state) {
    rahgd *s = state;
    blv_momentum *o = &s->outer;
    blv_vec *y = blv_run_y(run), *d = s->at.fx;
    blv_metrics *m = blv_run_metrics(run);
    blv_momentum_move move;
    bool again;
    const blv_batch *bf = blv_sampler_next(s->at.f_batches);
    const blv_batch *bg = blv_sampler_next(s->at.g_batches);
    const blv_batch *either = bg ? bg : bf;

    blv_momentum_begins(o);
    blv_lower_level g = {run, bg, o->w};
    BLV_TRY(blv_inner_solve(run, &s->inner, blv_lower_gradient, &g, 0.0, y));
    m->gy_norm = blv_vec_norm(s->inner.agd.gradient);
    m->step_y = 1.0 / s->inner.L;
    BLV_TRY(blv_oracle_upper(run, bf, o->w, y, NULL, s->at.fx, s->at.fy));
    BLV_TRY(blv_adjoint_cg(run, s->cg, bg, o->w, y, s->at.fy, s->v, products(run, s), &m->r_norm));
    BLV_TRY(blv_oracle_cross(run, bg, o->w, y, s->v, s->at.jv));
    blv_vec_combine(d, 1.0, s->at.fx, -1.0, s->at.jv);
    m->d_norm = s->d_norm;
    BLV_TRY(blv_momentum_check(run, o, d, either, &again));
    if (again)
        return BLV_GO;
    BLV_TRY(blv_momentum_step(run, o, d, either, 1.0 - s->theta, &move));
    m->step_x = move.step;
    s->d_norm = m->d_norm = move.mapping;
    if (isnan(s->B) ? move.uphill || either : o->k * o->S >= s->B * s->B)
        blv_momentum_restart(o);
    return BLV_GO;
}

#define FIELD(name) offsetof(rahgd, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("L", outer.L, "the x-step is 1/L; auto: estimated, raised by backtracking"),
    {"theta", BLV_REAL, FIELD(theta), "0.1", 0, 1, NULL, "the momentum is 1 - theta"},
    BLV_POSITIVE_AUTO("B", B,
                      "an epoch ends when k S >= B^2; auto: when the momentum points uphill"),
    BLV_POSITIVE_AUTO(
        "Lg", inner.L,
        "largest curvature of g in y; auto: estimated, and raised when the inner steps meet more"),
    BLV_POSITIVE_AUTO("mu", inner.mu, "smallest curvature of g in y; auto: estimated"),
    BLV_COUNT_AUTO("inner", inner.steps,
                   "inner steps of y; auto: until |gy| has fallen by a factor, at most 1000, 40 on "
                   "large sums"),
    {"linear", BLV_INT, FIELD(linear), "auto", 2, 9e15, "auto",
     "K: products with H in an iteration; auto: by Lg/mu, at most 500, 10 on large sums"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_rahgd = {
    BLV_SIZED(blv_solver),
    .name = "rahgd",
    .summary = "accelerated inner steps, conjugate gradients, accelerated x-steps with restarts",
    .citation = "H. Yang, L. Luo, C. J. Li, M. I. Jordan, 2023",
    .group = "double-loop",
    .hint = "raise L or Lg",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(rahgd),
    .params = params,
    .open = rahgd_open,
    .prepare = rahgd_prepare,
    .step = rahgd_step,
};
