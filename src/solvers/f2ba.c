/* F2BA: fully first-order bilevel approximation. Descent on the penalized function.
 *
 *   z = T  gradient steps on g(x, .)                   from the last z
 *   y = T' gradient steps on f(x, .) + lambda g(x, .)  from the last y
 *   G = fx(x,y) + lambda (gx(x,y) - gx(x,z));   x = P_X(x - step_x G)
 *
 * z starts at y. L. Chen, Y. Ma, J. Zhang, "Near-optimal nonconvex-strongly-convex bilevel
 * optimization with fully first-order oracles", JMLR 26, 2025, Algorithm 1; steps of y and z as in
 * blocks/penalized.h. The result's y is the minimizer of f + lambda g. */
#include "blocks/guard.h"
#include "blocks/param_rows.h"
#include "blocks/penalized.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct f2ba {
    double step_x;
    blv_penalized inner;
    blv_guard guard;
    blv_vec *G;
} f2ba;

static blv_error f2ba_open(blv_run *run, void *state) {
    f2ba *s = state;
    bool automatic = isnan(s->step_x);
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->G));
    BLV_CHECK(blv_state_scalar(run, "auto_step_x", &s->step_x));
    if (automatic)
        BLV_CHECK(blv_guard_open(run, "G before", BLV_LEVEL_X, &s->guard));
    return blv_penalized_open(run, &s->inner, false, automatic);
}

static blv_flow f2ba_prepare(blv_run *run, void *state) {
    f2ba *s = state;
    BLV_TRY(blv_penalized_prepare(run, &s->inner));
    s->guard.unit = blv_move_unit(&s->inner.constants);
    if (isnan(s->step_x))
        s->step_x = blv_covering_step(s->inner.constants.L_phi, blv_inner_covered(&s->inner.lower));
    return BLV_GO;
}

static blv_flow f2ba_step(blv_run *run, void *state) {
    f2ba *s = state;
    blv_vec *x = blv_run_x(run);
    blv_metrics *m = blv_run_metrics(run);
    blv_penalty_look look;
    BLV_TRY(blv_penalized_gradient(run, &s->inner, x, false, s->G, &s->guard, &look));
    m->d_norm = look.G_norm;
    m->step_y = 1.0 / s->inner.lower.L;
    m->step_x = blv_guard_step(&s->guard, &s->step_x, 1.0, look.batch, s->G, look.G_norm);
    return blv_move(run, x, m->step_x, s->G);
}

#define FIELD(name) offsetof(f2ba, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", step_x, "x-step"),
    BLV_PENALIZED_PARAMS(f2ba),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_f2ba = {
    BLV_SIZED(blv_solver),
    .name = "f2ba",
    .summary = "gradients only: inner gradient steps on g and f + lambda g, then an x-step",
    .citation = "L. Chen, Y. Ma, J. Zhang, JMLR 2025 (F2BA)",
    .group = "first-order penalty",
    .hint = "lower step_x, or raise Lg",
    .bias = "ends where f + lambda (g - min g) is stationary: |grad Phi| of order 1/lambda is left",
    .state_size = sizeof(f2ba),
    .params = params,
    .open = f2ba_open,
    .prepare = f2ba_prepare,
    .step = f2ba_step,
};
