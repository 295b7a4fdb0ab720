/* F2SA: fully first-order stochastic approximation.
 *
 *   T_in times:  z -= step_z (t+1)^-4/7 gy(x,z)
 *                y -= step_y (t+1)^-5/7 (fy(x,y) + lambda gy(x,y))
 *   x = P_X(x - step_x (t+1)^-4/7 (fx(x,y) + lambda (gx(x,y) - gx(x,z))))
 *   lambda = lambda0 (t+1)^1/7
 *
 * z starts at y; the batches of z and y are the same, so that most of their noise cancels where it
 * is multiplied by lambda. J. Kwon, D. Kwon, S. Wright, R. Nowak, "A fully first-order method for
 * stochastic bilevel optimization", ICML 2023. The result's y is the minimizer of f + lambda g. On
 * auto (ours), step_y is 1/(L_f + lambda0 L) and step_z is lambda0 times that: they lag alike. L is
 * raised when the steps of z meet more, on whole sums. Automatic x-steps hold, see blocks/steps.h:
 * t+1 is then 1 + t/hold everywhere. */
#include "blocks/param_rows.h"
#include "blocks/schedule.h"
#include "blocks/steps.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct f2sa {
    double lambda0, step_x, step_y, step_z;
    int64_t inner;
    blv_penalty at;
    blv_constants_work *work;
    blv_guard guard; /* of automatic x-steps */
    blv_curvature of_z;
    blv_vec *z, *G;
    double lambda;
    bool y_auto, z_auto;
    double L_f, L, hold;
} f2sa;

static blv_error f2sa_open(blv_run *run, void *state) {
    f2sa *s = state;
    s->y_auto = isnan(s->step_y);
    s->z_auto = isnan(s->step_z);
    bool estimate = isnan(s->step_x) || s->y_auto || s->z_auto;
    if (isnan(s->lambda0) && !estimate)
        s->lambda0 = 100.0;
    BLV_CHECK(blv_state_iterate(run, "z", BLV_LEVEL_Y, &s->z));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->G));
    BLV_CHECK(blv_penalty_open(run, &s->at));
    if (isnan(s->step_x))
        BLV_CHECK(blv_guard_open(run, "G before", BLV_LEVEL_X, &s->guard));
    BLV_CHECK(blv_curvature_open(run, NULL, BLV_LEVEL_Y, &s->of_z));
    BLV_CHECK(blv_state_scalars(run, "L_f", &s->L_f, "L", &s->L, "lambda", &s->lambda,
                                "auto_step_x", &s->step_x, "auto_step_y", &s->step_y, "auto_step_z",
                                &s->step_z, NULL));
    BLV_CHECK(blv_state_hiddens(run, "first penalty", &s->lambda0, "hold", &s->hold, NULL));
    s->hold = 1.0;
    return estimate ? blv_constants_open(run, &s->work) : BLV_OK;
}

static void set_steps(f2sa *s) {
    double step = 1.0 / (s->L_f + s->lambda0 * s->L);
    if (s->y_auto)
        s->step_y = step;
    if (s->z_auto)
        s->step_z = s->lambda0 * step;
}

static blv_flow f2sa_prepare(blv_run *run, void *state) {
    f2sa *s = state;
    blv_vec_copy(s->z, blv_run_y(run));
    if (!s->work)
        return BLV_GO;
    blv_constants c;
    BLV_TRY(blv_constants_penalized(run, s->work, &s->at, &s->lambda0, 100.0, false, &c));
    s->L_f = c.L_f;
    s->L = c.L;
    s->guard.unit = blv_move_unit(&c);
    set_steps(s);
    double mu = fmax(c.mu_f, 0.0) + s->lambda0 * c.mu;
    if (isnan(s->step_x)) {
        s->step_x =
            blv_covering_step(c.doubt * c.L_phi, blv_covered(s->step_y * mu, (double)s->inner));
        s->hold = blv_hold(s->step_x, c.L_phi);
    }
    return BLV_GO;
}

/* After the gradient of z on a whole sum, in p->gy_z. */
static void learn(f2sa *s, const blv_batch *batch) {
    if (batch || !(s->y_auto || s->z_auto))
        return;
    s->L = fmax(s->L, blv_curvature_met(&s->of_z, s->z, s->at.gy_z, NULL));
    set_steps(s);
}

static blv_flow f2sa_step(blv_run *run, void *state) {
    f2sa *s = state;
    blv_penalty *p = &s->at;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    blv_penalty_look look;
    uint64_t t = blv_run_iteration(run);
    double of_z = blv_decay_after(s->hold, t, 4.0 / 7.0);
    double of_y = blv_decay_after(s->hold, t, 5.0 / 7.0);

    s->lambda = s->lambda0 / blv_decay_after(s->hold, t, 1.0 / 7.0);
    blv_curvature_forget(&s->of_z);
    for (int64_t k = 0; k < s->inner; k++) {
        blv_batches b = blv_penalty_draw(p);
        BLV_TRY(blv_oracle_lower(run, b.g, x, s->z, NULL, NULL, p->gy_z));
        BLV_TRY(blv_penalty_gradient(run, p, b, s->lambda, x, y, p->fy));
        learn(s, b.g);
        m->step_y = s->step_y * of_y;
        BLV_TRY(blv_move(run, s->z, s->step_z * of_z, p->gy_z));
        BLV_TRY(blv_move(run, y, m->step_y, p->fy));
    }
    BLV_TRY(blv_penalty_direction(run, p, blv_penalty_draw(p), s->lambda, x, y, s->z, false, s->G,
                                  &s->guard, &look));
    blv_penalty_report(m, &look);
    m->d_norm = look.G_norm;
    m->step_x = blv_guard_step(&s->guard, &s->step_x, of_z, look.batch, s->G, look.G_norm);
    return blv_move(run, x, m->step_x, s->G);
}

#define FIELD(name) offsetof(f2sa, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("lambda0", lambda0,
                      "first penalty; it grows as (t+1)^(1/7); auto: 100 L_f/mu, and 100 where all "
                      "steps are given"),
    BLV_POSITIVE_AUTO("step_x", step_x, "first x-step"),
    BLV_POSITIVE_AUTO("step_y", step_y, "first y-step"),
    BLV_POSITIVE_AUTO("step_z", step_z, "first z-step"),
    BLV_COUNT("inner", inner, "10", "T_in: steps of z and y in an iteration"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_f2sa = {
    BLV_SIZED(blv_solver),
    .name = "f2sa",
    .summary = "gradients only: stochastic steps on z, y and x, the penalty grows slowly",
    .citation = "J. Kwon, D. Kwon, S. Wright, R. Nowak, ICML 2023",
    .group = "first-order penalty",
    .hint = "lower step_x, step_y or step_z",
    .uses = BLV_IS_STOCHASTIC,
    .state_size = sizeof(f2sa),
    .params = params,
    .open = f2sa_open,
    .prepare = f2sa_prepare,
    .step = f2sa_step,
};
