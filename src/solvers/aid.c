/* Approximate implicit differentiation with conjugate gradients (AID-CG).
 *
 *   T_in times:  y -= step_y gy
 *   v = K products of CG on H v = fy, from the last v
 *   d = fx - J v;   x = P_X(x - step_x d)
 *
 * As in K. Ji, J. Yang, Y. Liang, "Bilevel optimization: convergence analysis and enhanced design",
 * ICML 2021. K counts products with H: the first one of a warm start gives the residual, the others
 * are steps. */
#include "core/adjoint.h"
#include "core/steps.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <float.h>

typedef struct aid {
    blv_steps steps;
    int64_t inner, linear;
    blv_pieces at;
    blv_cg *cg;
    blv_vec *v;
} aid;

static blv_error aid_open(blv_run *run, void *state) {
    aid *s = state;
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_pieces_open(run, &s->at));
    BLV_CHECK(blv_run_cg(run, BLV_LEVEL_Y, &s->cg));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XY, false);
}

static blv_flow aid_prepare(blv_run *run, void *state) {
    aid *s = state;
    return blv_steps_prepare(run, &s->steps, (double)s->inner);
}

static blv_flow aid_step(blv_run *run, void *state) {
    aid *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *d = s->at.fx;
    blv_metrics *m = blv_run_metrics(run);

    blv_guard_reset(&s->steps.guard_y);
    for (int64_t t = 0; t < s->inner; t++) {
        const blv_batch *batch = blv_sampler_next(s->at.g_batches);
        BLV_TRY(blv_oracle_lower(run, batch, x, y, NULL, NULL, s->at.gy));
        m->gy_norm = blv_vec_norm(s->at.gy);
        m->step_y = blv_steps_y(&s->steps, 1.0, batch, s->at.gy, m->gy_norm);
        BLV_TRY(blv_move(run, y, m->step_y, s->at.gy));
    }
    const blv_batch *bf = blv_sampler_next(s->at.f_batches);
    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->at.fx, s->at.fy));
    const blv_batch *bh = blv_sampler_next(s->at.g_batches);
    BLV_TRY(blv_adjoint_cg(run, s->cg, bh, x, y, s->at.fy, s->v, (size_t)s->linear, &m->r_norm));
    BLV_TRY(blv_oracle_jvp(run, blv_sampler_next(s->at.g_batches), x, y, s->v, s->at.jv));
    m->d_norm = blv_vec_combine(d, 1.0, s->at.fx, -1.0, s->at.jv);
    m->step_x = blv_steps_x(run, &s->steps, 1.0, bf, d, m->d_norm);
    return blv_move(run, x, m->step_x, d);
}

#define FIELD(name) offsetof(aid, name)

static const blv_param params[] = {
    {"step_x", BLV_REAL, FIELD(steps.x), "auto", DBL_MIN, DBL_MAX, "auto", "x-step"},
    {"step_y", BLV_REAL, FIELD(steps.y), "auto", DBL_MIN, DBL_MAX, "auto", "y-step; auto: 1/L"},
    {"inner", BLV_INT, FIELD(inner), "10", 1, 9e15, NULL, "T_in: y-steps in an iteration"},
    {"linear", BLV_INT, FIELD(linear), "10", 2, 9e15, NULL, "K: products with H in an iteration"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

const blv_solver blv_solver_aid_cg = {
    .name = "aid-cg",
    .summary = "inner gradient steps, then conjugate gradients for the linear system",
    .citation = "K. Ji, J. Yang, Y. Liang, ICML 2021 (AID-BiO)",
    .group = "double-loop",
    .hint = "lower step_x or step_y",
    .uses = BLV_USES_HVP | BLV_USES_JVP | BLV_USES_INVERSE,
    .state_size = sizeof(aid),
    .params = params,
    .open = aid_open,
    .prepare = aid_prepare,
    .step = aid_step,
};
