/* AccF2BA: F2BA with accelerated steps, inside and in x, and restarts.
 *
 *   z = AGD on g(w, .);   y = AGD on f(w, .) + lambda g(w, .)          (blocks/penalized.h)
 *   G = fx(w,y) + lambda (gx(w,y) - gx(w,z))
 *   x+ = P_X(w - G/L);   w = x+ + (1 - theta) (x+ - x);   S += |x+ - x|^2;   k += 1
 *   restart with w = x when k S >= B^2
 *
 * z starts at y. L. Chen, Y. Ma, J. Zhang, "Near-optimal nonconvex-strongly-convex bilevel
 * optimization with fully first-order oracles", JMLR 26, 2025, the accelerated algorithm, whose
 * theory has 4 times the Lipschitz constant for L, theta = 4 (eps rho)^(1/4)/sqrt(L) and
 * B = sqrt(eps/rho) for the accuracy eps and the Lipschitz constant rho of the second derivative.
 * It returns an average of w; here x is the last iterate, as in f2ba. The result's y is the
 * minimizer of f + lambda g. On auto (ours), L is found by backtracking, see blocks/momentum.h, and
 * in place of B an epoch ends when the momentum points uphill, or after each step on batches. */
#include "blocks/momentum.h"
#include "blocks/param_rows.h"
#include "blocks/penalized.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct accf2ba {
    double theta, B;
    blv_penalized inner;
    blv_momentum outer;
    blv_vec *G;
    double d_norm; /* of the last step */
} accf2ba;

static blv_error accf2ba_open(blv_run *run, void *state) {
    accf2ba *s = state;
    BLV_CHECK(blv_momentum_open(run, blv_run_x(run), &s->outer));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->G));
    BLV_CHECK(blv_state_scalar(run, "last_d_norm", &s->d_norm));
    return blv_penalized_open(run, &s->inner, true, s->outer.L_auto);
}

static blv_flow accf2ba_prepare(blv_run *run, void *state) {
    accf2ba *s = state;
    BLV_TRY(blv_penalized_prepare(run, &s->inner));
    blv_momentum_set(&s->outer, &s->inner.constants);
    return BLV_GO;
}

static blv_flow accf2ba_step(blv_run *run, void *state) {
    accf2ba *s = state;
    blv_momentum *o = &s->outer;
    blv_metrics *m = blv_run_metrics(run);
    blv_penalty_look look;
    blv_momentum_move move;
    bool again;

    blv_momentum_begins(o);
    BLV_TRY(blv_penalized_gradient(run, &s->inner, o->w, false, s->G, NULL, &look));
    m->d_norm = s->d_norm;
    m->step_y = 1.0 / s->inner.lower.L;
    BLV_TRY(blv_momentum_check(run, o, s->G, look.batch, &again));
    if (again)
        return BLV_GO;
    BLV_TRY(blv_momentum_step(run, o, s->G, look.batch, 1.0 - s->theta, &move));
    m->step_x = move.step;
    s->d_norm = m->d_norm = move.mapping;
    if (isnan(s->B) ? move.uphill || look.batch : o->k * o->S >= s->B * s->B)
        blv_momentum_restart(o);
    return BLV_GO;
}

#define FIELD(name) offsetof(accf2ba, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("L", outer.L, "the x-step is 1/L; auto: estimated, raised by backtracking"),
    {"theta", BLV_REAL, FIELD(theta), "0.1", 0, 1, NULL, "the momentum is 1 - theta"},
    BLV_POSITIVE_AUTO("B", B,
                      "an epoch ends when k S >= B^2; auto: when the momentum points uphill"),
    BLV_PENALIZED_PARAMS(accf2ba),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_accf2ba = {
    BLV_SIZED(blv_solver),
    .name = "accf2ba",
    .summary = "gradients only: f2ba with accelerated inner steps and accelerated x-steps",
    .citation = "L. Chen, Y. Ma, J. Zhang, JMLR 2025 (AccF2BA)",
    .group = "first-order penalty",
    .hint = "raise L or Lg",
    .bias = "ends where f + lambda (g - min g) is stationary: |grad Phi| of order 1/lambda is left",
    .state_size = sizeof(accf2ba),
    .params = params,
    .open = accf2ba_open,
    .prepare = accf2ba_prepare,
    .step = accf2ba_step,
};
