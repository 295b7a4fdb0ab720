/* SOBA: one simultaneous stochastic step in y, v and x at the old point.
 *
 *   y -= step_y (t+1)^-e gy;   v -= step_v (t+1)^-e (H v - fy);   x = P_X(x - step_x (t+1)^-e d)
 *
 * with d = fx - J v, all on the batches of the iteration, e = 1/2.
 * M. Dagreou, P. Ablin, S. Vaiter, T. Moreau, "A framework for bilevel optimization that enables
 * stochastic and global variance reduction algorithms", NeurIPS 2022. */
#include "core/constants.h"
#include "core/guard.h"
#include "core/schedule.h"
#include "solvers/builtin_solvers.h"

#include <float.h>
#include <math.h>

typedef struct soba {
    double step_x, step_y, step_v, decay;
    blv_constants_work *constants;
    blv_guard guard_x, guard_y, guard_v;
    blv_sampler *f_batches, *g_batches;
    blv_vec *v, *gy, *hv, *fy, *fx, *jv;
} soba;

static blv_error soba_open(blv_run *run, void *state) {
    soba *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->gy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->hv));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->fy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->fx));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->jv));
    BLV_CHECK(blv_state_sampler(run, "f batch", BLV_LEVEL_X, 0, &s->f_batches));
    BLV_CHECK(blv_state_sampler(run, "g batch", BLV_LEVEL_Y, 0, &s->g_batches));
    BLV_CHECK(blv_state_scalar(run, "auto_step_x", &s->step_x));
    BLV_CHECK(blv_state_scalar(run, "auto_step_y", &s->step_y));
    BLV_CHECK(blv_state_scalar(run, "auto_step_v", &s->step_v));
    if (isnan(s->step_x))
        BLV_CHECK(blv_guard_open(run, "d before", BLV_LEVEL_X, &s->guard_x));
    if (isnan(s->step_y))
        BLV_CHECK(blv_guard_open(run, "gy before", BLV_LEVEL_Y, &s->guard_y));
    if (isnan(s->step_v))
        BLV_CHECK(blv_guard_open(run, "r before", BLV_LEVEL_Y, &s->guard_v));
    bool estimate = isnan(s->step_x) || isnan(s->step_y) || isnan(s->step_v);
    return estimate ? blv_constants_open(run, &s->constants) : BLV_OK;
}

static blv_flow soba_prepare(blv_run *run, void *state) {
    soba *s = state;
    if (!s->constants)
        return BLV_GO;
    blv_constants c;
    BLV_TRY(blv_constants_estimate(run, s->constants, &c));
    s->step_y = blv_auto_inner_step(s->step_y, &c);
    s->step_v = blv_auto_inner_step(s->step_v, &c);
    s->step_x = blv_auto_outer_step(s->step_x, &c, 1.0);
    blv_run_note(run, "steps: step_y = %.4g, step_v = %.4g, step_x = %.4g", s->step_y, s->step_v,
                 s->step_x);
    return BLV_GO;
}

static blv_flow soba_step(blv_run *run, void *state) {
    soba *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = s->hv, *d = s->fx;
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *bf = blv_sampler_next(s->f_batches), *bg = blv_sampler_next(s->g_batches);
    double decay = blv_decay(blv_run_iteration(run), s->decay);

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->fx, s->fy));
    BLV_TRY(blv_oracle_all(run, bg, x, y, s->v, s->gy, s->hv, s->jv));
    m->gy_norm = blv_vec_norm(s->gy);
    m->r_norm = blv_vec_combine(r, 1.0, s->hv, -1.0, s->fy);
    m->d_norm = blv_vec_combine(d, 1.0, s->fx, -1.0, s->jv);
    m->step_y = blv_guard_step(&s->guard_y, &s->step_y, decay, bg, s->gy, m->gy_norm);
    m->step_v = blv_guard_step(&s->guard_v, &s->step_v, decay, bg, r, m->r_norm);
    blv_guard_limit(&s->guard_x, x);
    m->step_x = blv_guard_step(&s->guard_x, &s->step_x, decay, bg ? bg : bf, d, m->d_norm);
    BLV_TRY(blv_move(run, y, m->step_y, s->gy));
    BLV_TRY(blv_move(run, s->v, m->step_v, r));
    return blv_move(run, x, m->step_x, d);
}

#define FIELD(name) offsetof(soba, name)

static const blv_param params[] = {
    {"step_x", BLV_REAL, FIELD(step_x), "auto", DBL_MIN, DBL_MAX, "auto", "first x-step"},
    {"step_y", BLV_REAL, FIELD(step_y), "auto", DBL_MIN, DBL_MAX, "auto",
     "first y-step; auto: 1/L"},
    {"step_v", BLV_REAL, FIELD(step_v), "auto", DBL_MIN, DBL_MAX, "auto",
     "first v-step; auto: 1/L"},
    {"decay", BLV_REAL, FIELD(decay), "0.5", 0, 1, NULL, "exponent e of (t+1)^-e"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

const blv_solver blv_solver_soba = {
    .name = "soba",
    .summary = "one stochastic step in y, v and x at once",
    .citation = "M. Dagreou, P. Ablin, S. Vaiter, T. Moreau, NeurIPS 2022",
    .group = "single-loop",
    .hint = "lower step_x, step_y or step_v",
    .uses = BLV_USES_HVP | BLV_USES_JVP | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(soba),
    .params = params,
    .open = soba_open,
    .prepare = soba_prepare,
    .step = soba_step,
};
