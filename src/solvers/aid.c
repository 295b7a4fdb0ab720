/* Approximate implicit differentiation with conjugate gradients (AID-CG).
 *
 *   T_in times:  y -= step_y gy
 *   v = K products of CG on H v = fy, from the last v
 *   d = fx - J v;   x = P_X(x - step_x d)
 *
 * As in K. Ji, J. Yang, Y. Liang, "Bilevel optimization: convergence analysis and enhanced design",
 * ICML 2021. K counts products with H: the first one of a warm start gives the residual, the others
 * are steps. */
#include "core/constants.h"
#include "core/guard.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <float.h>
#include <math.h>

typedef struct aid {
    double step_x, step_y;
    int64_t inner, linear;
    blv_constants_work *constants;
    blv_guard guard_x, guard_y;
    blv_sampler *f_batches, *g_batches;
    blv_cg *cg;
    blv_vec *v, *gy, *fy, *fx, *jv;
} aid;

static blv_error aid_open(blv_run *run, void *state) {
    aid *s = state;
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->gy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->fy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->fx));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->jv));
    BLV_CHECK(blv_run_cg(run, BLV_LEVEL_Y, &s->cg));
    BLV_CHECK(blv_state_sampler(run, "f batch", BLV_LEVEL_X, 0, &s->f_batches));
    BLV_CHECK(blv_state_sampler(run, "g batch", BLV_LEVEL_Y, 0, &s->g_batches));
    BLV_CHECK(blv_state_scalar(run, "auto_step_x", &s->step_x));
    BLV_CHECK(blv_state_scalar(run, "auto_step_y", &s->step_y));
    if (isnan(s->step_x))
        BLV_CHECK(blv_guard_open(run, "d before", BLV_LEVEL_X, &s->guard_x));
    if (isnan(s->step_y))
        BLV_CHECK(blv_guard_open(run, "gy before", BLV_LEVEL_Y, &s->guard_y));
    bool estimate = isnan(s->step_x) || isnan(s->step_y);
    return estimate ? blv_constants_open(run, &s->constants) : BLV_OK;
}

static blv_flow aid_prepare(blv_run *run, void *state) {
    aid *s = state;
    if (!s->constants)
        return BLV_GO;
    blv_constants c;
    BLV_TRY(blv_constants_estimate(run, s->constants, &c));
    s->step_y = blv_auto_inner_step(s->step_y, &c);
    s->step_x = blv_auto_outer_step(s->step_x, &c, (double)s->inner);
    blv_run_note(run, "steps: step_y = %.4g, step_x = %.4g", s->step_y, s->step_x);
    return BLV_GO;
}

typedef struct hessian_at {
    blv_run *run;
    const blv_batch *batch;
} hessian_at;

static int apply_hessian(void *context, const blv_vec *in, blv_vec *out) {
    const hessian_at *h = context;
    return (int)blv_oracle_hvp(h->run, h->batch, blv_run_x(h->run), blv_run_y(h->run), in, out);
}

static blv_flow solve_v(blv_run *run, aid *s, double *r_norm) {
    hessian_at h = {run, blv_sampler_next(s->g_batches)};
    blv_linear_result result =
        blv_cg_solve(s->cg, apply_hessian, &h, s->fy, s->v, false, 0.0, (size_t)s->linear);
    *r_norm = result.residual;
    if (result.end == BLV_LINEAR_OPERATOR)
        return (blv_flow)result.code;
    if (result.end == BLV_LINEAR_NONFINITE)
        return BLV_NONFINITE;
    if (result.end == BLV_LINEAR_SINGULAR)
        return BLV_NO_INVERSE;
    if (result.end == BLV_LINEAR_INDEFINITE)
        blv_run_note(run, "CG met a direction in which g curves down, and stopped there");
    return BLV_GO;
}

static blv_flow aid_step(blv_run *run, void *state) {
    aid *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *d = s->fx;
    blv_metrics *m = blv_run_metrics(run);

    blv_guard_reset(&s->guard_y);
    for (int64_t t = 0; t < s->inner; t++) {
        const blv_batch *batch = blv_sampler_next(s->g_batches);
        BLV_TRY(blv_oracle_lower(run, batch, x, y, NULL, NULL, s->gy));
        m->gy_norm = blv_vec_norm(s->gy);
        m->step_y = blv_guard_step(&s->guard_y, &s->step_y, 1.0, batch, s->gy, m->gy_norm);
        BLV_TRY(blv_move(run, y, m->step_y, s->gy));
    }
    const blv_batch *bf = blv_sampler_next(s->f_batches);
    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->fx, s->fy));
    BLV_TRY(solve_v(run, s, &m->r_norm));
    BLV_TRY(blv_oracle_jvp(run, blv_sampler_next(s->g_batches), x, y, s->v, s->jv));
    m->d_norm = blv_vec_combine(d, 1.0, s->fx, -1.0, s->jv);
    blv_guard_limit(&s->guard_x, x);
    m->step_x = blv_guard_step(&s->guard_x, &s->step_x, 1.0, bf, d, m->d_norm);
    return blv_move(run, x, m->step_x, d);
}

#define FIELD(name) offsetof(aid, name)

static const blv_param params[] = {
    {"step_x", BLV_REAL, FIELD(step_x), "auto", DBL_MIN, DBL_MAX, "auto", "x-step"},
    {"step_y", BLV_REAL, FIELD(step_y), "auto", DBL_MIN, DBL_MAX, "auto", "y-step; auto: 1/L"},
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
