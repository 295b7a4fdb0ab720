/* BOME: bilevel optimization made easy, by a dynamic barrier.
 *
 *   z = T_in gradient steps on g(x, .), from y
 *   q = g(x,y) - g(x,z):   grad q = (gx(x,y) - gx(x,z), gy(x,y)),  z being held
 *   lambda = max(0, (phi - <grad f, grad q>)/|grad q|^2),   phi = eta |grad q|^2
 *   x = P_X(x - step_x (fx + lambda qx));   y = y - step_y (fy + lambda qy)
 *
 * M. Ye, B. Liu, S. Wright, P. Stone, Q. Liu, "BOME! Bilevel optimization made easy: a simple
 * first-order approach", NeurIPS 2022; the paper has one step for x and y. One batch of f and one
 * of g serve the whole iteration.
 *
 * lambda grows as y comes near y*(x), until y jumps about it by step_y |fy|: the bias of the result
 * is of order step_y. And since z starts at y, too few inner steps make gx(x,y) - gx(x,z) too small
 * for good. So on auto (ours) z starts at the last z, and its steps are accelerated and continue
 * until |gy(x,z)| is a fiftieth of |gy(x,y)|. The other steps are those of a fixed penalty
 * of p = 30 L_f/mu: step_y = 1/(L_f + p L), step_x = 1/(10 L_x), see pbgd, and eta = p/2, so that y
 * follows at half the speed of gradient steps on g. The products of the barrier then weigh x
 * against y by step_x/step_y: they add what has the same unit. */
#include "blocks/constants.h"
#include "blocks/inner.h"
#include "blocks/param_rows.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct bome {
    double eta, step_x, step_y;
    blv_inner inner;
    blv_penalty at;
    blv_constants_work *work;
    blv_vec *z, *d;
    bool x_auto, y_auto;
    double L_f, lambda;
    double penalty; /* whose steps the automatic ones are */
    double unit;    /* of moves of x */
} bome;

static const double auto_penalty = 30.0;

static blv_error bome_open(blv_run *run, void *state) {
    bome *s = state;
    s->x_auto = isnan(s->step_x);
    s->y_auto = isnan(s->step_y);
    if (isnan(s->eta))
        s->eta = s->y_auto ? NAN : 0.5;
    bool inner_auto = isnan(s->inner.L) || (s->inner.steps < 0 && isnan(s->inner.mu));
    bool estimate = isnan(s->step_x) || s->y_auto || inner_auto;
    BLV_CHECK(blv_state_iterate(run, "z", BLV_LEVEL_Y, &s->z));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->d));
    BLV_CHECK(blv_penalty_open(run, &s->at));
    BLV_CHECK(blv_inner_open(run, &s->inner, s->inner.steps < 0));
    BLV_CHECK(blv_state_scalars(run, "lambda", &s->lambda, "L_f", &s->L_f, "auto_step_x",
                                &s->step_x, "auto_step_y", &s->step_y, NULL));
    BLV_CHECK(
        blv_state_hiddens(run, "eta", &s->eta, "penalty", &s->penalty, "unit", &s->unit, NULL));
    return estimate ? blv_constants_open(run, &s->work) : BLV_OK;
}

static blv_flow bome_prepare(blv_run *run, void *state) {
    bome *s = state;
    blv_vec_copy(s->z, blv_run_y(run));
    if (!s->work)
        return BLV_GO;
    blv_constants c;
    s->penalty = NAN;
    BLV_TRY(blv_constants_penalized(run, s->work, &s->at, &s->penalty, auto_penalty, true, &c));
    s->unit = blv_move_unit(&c);
    if (isnan(s->eta))
        s->eta = 0.5 * s->penalty;
    blv_inner_set(&s->inner, c.L, c.mu);
    s->L_f = c.L_f;
    if (isnan(s->step_x))
        s->step_x = 0.1 / fmax(c.L_x, c.L_phi);
    return BLV_GO;
}

static blv_flow bome_step(blv_run *run, void *state) {
    bome *s = state;
    blv_penalty *p = &s->at;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    blv_batches b = blv_penalty_draw(p);

    blv_lower_level g = {run, b.g, x};
    BLV_TRY(blv_oracle_upper(run, b.f, x, y, NULL, s->d, p->fy));
    BLV_TRY(blv_oracle_lower(run, b.g, x, y, NULL, p->gx_y, p->gy));
    if (s->inner.steps > 0)
        blv_vec_copy(s->z, y);
    BLV_TRY(
        blv_inner_solve(run, &s->inner, blv_lower_gradient, &g, 0.02 * blv_vec_norm(p->gy), s->z));
    if (s->y_auto)
        s->step_y = 1.0 / (s->L_f + s->penalty * s->inner.L);
    BLV_TRY(blv_oracle_lower(run, b.g, x, s->z, NULL, p->gx_z, p->gy_z));
    blv_vec_combine(p->gx_y, 1.0, p->gx_y, -1.0, p->gx_z);
    double fx_gx, fy_gy, gx_gx, gy_gy, x_norm;
    BLV_TRY(blv_run_reduce(
        run, BLV_SCALARS(BLV_NORM(&m->gy_norm, p->gy_z), BLV_DOT(&fx_gx, s->d, p->gx_y),
                         BLV_DOT(&fy_gy, p->fy, p->gy), BLV_DOT(&gx_gx, p->gx_y, p->gx_y),
                         BLV_DOT(&gy_gy, p->gy, p->gy))));
    double of_x = s->x_auto && s->y_auto ? s->step_x / s->step_y : 1.0;
    double product = of_x * fx_gx + fy_gy, square = of_x * gx_gx + gy_gy;
    s->lambda = square > 0.0 ? fmax(0.0, (s->eta * square - product) / square) : 0.0;
    blv_vec_combine(s->d, 1.0, s->d, s->lambda, p->gx_y);
    blv_vec_combine(p->fy, 1.0, p->fy, s->lambda, p->gy); /* jumps about: no r_norm to stop by */
    BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&m->d_norm, s->d), BLV_NORM(&x_norm, x))));
    m->step_y = s->step_y;
    m->step_x = s->step_x;
    if (s->x_auto) /* no guard against turns: lambda makes d turn as a matter of course */
        m->step_x = fmin(s->step_x, 0.5 * (s->unit + x_norm) / m->d_norm);
    BLV_TRY(blv_move(run, y, s->step_y, p->fy));
    return blv_move(run, x, m->step_x, s->d);
}

#define FIELD(name) offsetof(bome, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("eta", eta,
                      "weight of the barrier: phi = eta |grad q|^2; auto: 15 L_f/mu, and 0.5 where "
                      "step_y is given"),
    BLV_POSITIVE_AUTO("step_x", step_x, "x-step"),
    BLV_POSITIVE_AUTO("step_y", step_y, "y-step; the bias of the result is of its order"),
    BLV_POSITIVE_AUTO(
        "Lg", inner.L,
        "the inner step is 1/Lg; auto: estimated, and raised when the inner steps meet more"),
    BLV_POSITIVE_AUTO("mu", inner.mu,
                      "smallest curvature of g in y, for accelerated inner steps; auto: estimated"),
    BLV_COUNT_AUTO("inner", inner.steps,
                   "T_in: plain inner steps from y; auto: from the last z, as many as it takes"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_bome = {
    BLV_SIZED(blv_solver),
    .name = "bome",
    .summary = "gradients only: a dynamic barrier weighs f against the gap of the lower level",
    .citation = "M. Ye, B. Liu, S. Wright, P. Stone, Q. Liu, NeurIPS 2022",
    .group = "first-order penalty",
    .hint = "lower step_x or step_y, or raise Lg",
    .state_size = sizeof(bome),
    .params = params,
    .open = bome_open,
    .prepare = bome_prepare,
    .step = bome_step,
};
