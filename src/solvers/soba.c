/* SOBA: one simultaneous stochastic step in y, v and x at the old point.
 *
 *   y -= step_y (t+1)^-e gy;   v -= step_v (t+1)^-e (H v - fy);   x = P_X(x - step_x (t+1)^-e d)
 *
 * with d = fx - J v, all on the batches of the iteration, e = 1/2. Automatic steps decay as
 * (1 + t/hold)^-e, with the hold of blocks/steps.h.
 * M. Dagreou, P. Ablin, S. Vaiter, T. Moreau, "A framework for bilevel optimization that enables
 * stochastic and global variance reduction algorithms", NeurIPS 2022. */
#include "blocks/param_rows.h"
#include "blocks/schedule.h"
#include "blocks/steps.h"
#include "solvers/builtin_solvers.h"

typedef struct soba {
    blv_steps steps;
    double decay;
    blv_hypergradient_terms at;
    blv_vec *v;
} soba;

static blv_error soba_open(blv_run *run, void *state) {
    soba *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XYV, false);
}

static blv_flow soba_prepare(blv_run *run, void *state) {
    soba *s = state;
    return blv_steps_prepare(run, &s->steps, 1.0);
}

static blv_flow soba_step(blv_run *run, void *state) {
    soba *s = state;
    const blv_hypergradient_terms *p = &s->at;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = p->fy, *d = p->fx;
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *bf = blv_sampler_next(p->f_batches), *bg = blv_sampler_next(p->g_batches);
    double decay = blv_decay_after(blv_steps_hold(&s->steps), blv_run_iteration(run), s->decay);

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, p->fx, p->fy));
    BLV_TRY(blv_oracle_all(run, bg, x, y, s->v, p->gy, p->hv, p->jv));
    blv_vec_combine(r, 1.0, p->hv, -1.0, p->fy);
    blv_vec_combine(d, 1.0, p->fx, -1.0, p->jv);
    BLV_TRY(
        blv_steps_measure(run, &s->steps,
                          &(const blv_directions){
                              .gy = p->gy, .r = r, .d = d, .v = s->v, .hv = p->hv, .later = true}));
    m->step_y = blv_steps_y(&s->steps, decay, bg, p->gy, m->gy_norm);
    m->step_v = blv_steps_v(&s->steps, decay, bg, r, m->r_norm);
    m->step_x = blv_steps_x(&s->steps, decay, bg ? bg : bf, d, m->d_norm);
    BLV_TRY(blv_move(run, y, m->step_y, p->gy));
    BLV_TRY(blv_move(run, s->v, m->step_v, r));
    return blv_move(run, x, m->step_x, d);
}

#define FIELD(name) offsetof(soba, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x, "first x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "first y-step; auto: 1/L"),
    BLV_POSITIVE_AUTO("step_v", steps.v, "first v-step; auto: 1/L"),
    {"decay", BLV_REAL, FIELD(decay), "0.5", 0, 1, NULL, "exponent e of (t+1)^-e"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_soba = {
    BLV_SIZED(blv_solver),
    .name = "soba",
    .summary = "one stochastic step in y, v and x at once",
    .citation = "M. Dagreou, P. Ablin, S. Vaiter, T. Moreau, NeurIPS 2022",
    .group = "single-loop",
    .hint = "lower step_x, step_y or step_v",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(soba),
    .params = params,
    .open = soba_open,
    .prepare = soba_prepare,
    .step = soba_step,
};
