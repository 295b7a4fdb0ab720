/* FSLA: fully single loop, recursive (STORM) momentum on the hypergradient estimate.
 *
 *   d(x,y,v;B) = fx - J v;   e_t = (t+1)^-1/2;   alpha_t = min(1, c1 e_t), and 1 for t = 0
 *
 *   y_{t+1} = y_t - step_y e_t gy(x_t,y_t)
 *   v_{t+1} = v_t - step_v e_t (H v_t - fy)(x_t,y_{t+1})
 *   w_t     = d(x_t,y_{t+1},v_{t+1};B) + (1 - alpha_t) (w_{t-1} - d(x_{t-1},y_t,v_t;B))
 *   x_{t+1} = P_X(x_t - step_x e_t w_t)
 *
 * gy, H and J on batches of g of their own; fx and fy on one batch of f.
 * J. Li, B. Gu, H. Huang, "A fully single loop algorithm for bilevel optimization without Hessian
 * inverse", AAAI 2022.
 *
 * Automatic steps decay as (1 + t/hold)^-1/2, with the hold of blocks/steps.h: with (t+1)^-1/2 they
 * would shrink before anything has converged. */
#include "blocks/param_rows.h"
#include "blocks/recursive.h"
#include "blocks/schedule.h"
#include "blocks/steps.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct fsla {
    blv_steps steps;
    double decay, c1;
    blv_hypergradient_terms at;
    blv_recursive w;
    blv_old_point old;
    blv_vec *v, *v_old;
} fsla;

static blv_error fsla_open(blv_run *run, void *state) {
    fsla *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_state_vec(run, "v before", BLV_LEVEL_Y, &s->v_old));
    BLV_CHECK(blv_old_point_open(run, &s->old));
    BLV_CHECK(blv_recursive_open(run, "w", BLV_LEVEL_X, isnan(s->steps.x), &s->w));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XYV, false);
}

static blv_flow fsla_prepare(blv_run *run, void *state) {
    fsla *s = state;
    return blv_steps_prepare(run, &s->steps, 1.0);
}

static blv_flow fsla_step(blv_run *run, void *state) {
    fsla *s = state;
    const blv_hypergradient_terms *p = &s->at;
    uint64_t t = blv_run_iteration(run);
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = p->fy;
    blv_metrics *m = blv_run_metrics(run);
    const double decay = blv_decay_after(blv_steps_hold(&s->steps), t, s->decay);
    const double alpha = t == 0 ? 1.0 : fmin(s->c1 * blv_decay(t, s->decay), 1.0);

    const blv_batch *bg = blv_sampler_next(p->g_batches);
    BLV_TRY(blv_oracle_lower(run, bg, x, y, NULL, NULL, p->gy));
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.gy = p->gy}));
    m->step_y = blv_steps_y(&s->steps, decay, bg, p->gy, m->gy_norm);
    BLV_TRY(blv_move(run, y, m->step_y, p->gy));

    const blv_batch *bf = blv_sampler_next(p->f_batches), *bh = blv_sampler_next(p->g_batches);
    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->w.at[0], p->fy));
    BLV_TRY(blv_oracle_hvp(run, bh, x, y, s->v, p->hv));
    blv_vec_combine(r, 1.0, p->hv, -1.0, p->fy);
    BLV_TRY(
        blv_steps_measure(run, &s->steps, &(const blv_directions){.r = r, .v = s->v, .hv = p->hv}));
    m->step_v = blv_steps_v(&s->steps, decay, bh, r, m->r_norm);
    BLV_TRY(blv_move(run, s->v, m->step_v, r));

    const blv_batch *bj = blv_sampler_next(p->g_batches);
    BLV_TRY(blv_oracle_cross(run, bj, x, y, s->v, p->jv));
    blv_vec_axpy(s->w.at[0], -1.0, p->jv);
    if (t > 0) {
        BLV_TRY(blv_oracle_upper(run, bf, s->old.x, s->old.y, NULL, s->w.at[1], NULL));
        BLV_TRY(blv_oracle_cross(run, bj, s->old.x, s->old.y, s->v_old, p->jv));
        blv_vec_axpy(s->w.at[1], -1.0, p->jv);
    }
    blv_recursive_update(&s->w, alpha);
    blv_old_point_keep(run, &s->old);
    blv_vec_copy(s->v_old, s->v);
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.d = s->w.estimate}));
    m->step_x = blv_steps_x(&s->steps, decay, bj ? bj : bf, s->w.estimate, m->d_norm);
    return blv_move(run, x, m->step_x, s->w.estimate);
}

#define FIELD(name) offsetof(fsla, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x, "first x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "first y-step; auto: 1/L"),
    BLV_POSITIVE_AUTO("step_v", steps.v, "first v-step; auto: 1/L"),
    {"decay", BLV_REAL, FIELD(decay), "0.5", 0, 1, NULL, "exponent e of (t+1)^-e"},
    {"c1", BLV_REAL, FIELD(c1), "1", 0, DBL_MAX, NULL, "momentum: alpha_t = c1 (t+1)^-e"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_fsla = {
    BLV_SIZED(blv_solver),
    .name = "fsla",
    .summary = "one step in y, v and x, recursive momentum on the hypergradient estimate",
    .citation = "J. Li, B. Gu, H. Huang, AAAI 2022",
    .group = "variance-reduced",
    .hint = "lower step_x, step_y or step_v",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(fsla),
    .params = params,
    .open = fsla_open,
    .prepare = fsla_prepare,
    .step = fsla_step,
};
