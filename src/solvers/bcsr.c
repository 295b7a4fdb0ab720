/* BCSR: bilevel coreset selection by regularization.
 *
 *   inner times:   y -= step_y gy              each on a batch of its own
 *   linear times:  v -= step_v (H v - fy)      from the last v, on one batch B
 *   x = P_X(x - step_x (fx - J v))             J on B too
 *
 * J. Hao, K. Ji, M. Liu, "Bilevel coreset selection in continual learning: a new formulation and
 * algorithm", NeurIPS 2023. There X is the simplex of the weights of rows, and f has the smoothed
 * sum of the largest weights: both belong to the problem (`coreset`) and not to the algorithm,
 * which is none the worse for other problems. Since H and J are of one batch, d is the
 * hypergradient of that batch once v has converged; amigo takes batches of their own. */
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct bcsr {
    blv_steps steps;
    int64_t inner, linear;
    blv_hypergradient_terms at;
    blv_vec *v;
} bcsr;

static blv_error bcsr_open(blv_run *run, void *state) {
    bcsr *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XYV, false);
}

static blv_flow bcsr_prepare(blv_run *run, void *state) {
    bcsr *s = state;
    return blv_steps_prepare(run, &s->steps, fmin((double)s->inner, (double)s->linear));
}

static blv_flow bcsr_step(blv_run *run, void *state) {
    bcsr *s = state;
    const blv_hypergradient_terms *p = &s->at;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = p->gy, *d = p->fx;
    blv_metrics *m = blv_run_metrics(run);

    blv_steps_loop_y(&s->steps, (double)s->inner);
    for (int64_t k = 0; k < s->inner; k++) {
        const blv_batch *batch = blv_sampler_next(p->g_batches);
        BLV_TRY(blv_oracle_lower(run, batch, x, y, NULL, NULL, p->gy));
        BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.gy = p->gy}));
        m->step_y = blv_steps_y(&s->steps, blv_steps_decay(run, &s->steps, batch), batch, p->gy,
                                m->gy_norm);
        BLV_TRY(blv_move(run, y, m->step_y, p->gy));
    }
    const blv_batch *bf = blv_sampler_next(p->f_batches), *B = blv_sampler_next(p->g_batches);
    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, p->fx, p->fy));
    blv_steps_loop_v(&s->steps, (double)s->linear);
    for (int64_t k = 0; k < s->linear; k++) {
        BLV_TRY(blv_oracle_hvp(run, B, x, y, s->v, p->hv));
        blv_vec_combine(r, 1.0, p->hv, -1.0, p->fy);
        BLV_TRY(blv_steps_measure(run, &s->steps,
                                  &(const blv_directions){.r = r, .v = s->v, .hv = p->hv}));
        m->step_v = blv_steps_v(&s->steps, blv_steps_decay(run, &s->steps, B), B, r, m->r_norm);
        BLV_TRY(blv_move(run, s->v, m->step_v, r));
    }
    BLV_TRY(blv_oracle_cross(run, B, x, y, s->v, p->jv));
    blv_vec_combine(d, 1.0, p->fx, -1.0, p->jv);
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.d = d}));
    const blv_batch *noise = B ? B : bf;
    m->step_x = blv_steps_x(&s->steps, blv_steps_decay(run, &s->steps, noise), noise, d, m->d_norm);
    return blv_move(run, x, m->step_x, d);
}

#define FIELD(name) offsetof(bcsr, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x, "x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "y-step; auto: 1/L"),
    BLV_POSITIVE_AUTO("step_v", steps.v, "v-step; auto: 1/L"),
    BLV_COUNT("inner", inner, "5", "y-steps in an iteration"),
    BLV_COUNT("linear", linear, "3", "v-steps in an iteration"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_bcsr = {
    BLV_SIZED(blv_solver),
    .name = "bcsr",
    .summary = "for coresets: a few steps on y and v, then a projected step on the weights",
    .citation = "J. Hao, K. Ji, M. Liu, NeurIPS 2023",
    .group = "double-loop",
    .hint = "lower step_x, step_y or step_v",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(bcsr),
    .params = params,
    .open = bcsr_open,
    .prepare = bcsr_prepare,
    .step = bcsr_step,
};
