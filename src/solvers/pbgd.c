/* V-PBGD and V-PBSGD: penalty-based descent in x and y at once, whole or on batches.
 *
 *   T_in times:  z -= step_z gy(x,z)
 *   x = P_X(x - step_x (fx(x,y) + gamma (gx(x,y) - gx(x,z))))
 *   y = y - step_y (fy(x,y) + gamma gy(x,y))                    both at the old x and y
 *
 * z is the auxiliary point, kept from iteration to iteration; it starts at y. H. Shen, T. Chen, "On
 * penalty-based bilevel gradient descent method", ICML 2023, the value-gap penalty; the paper has
 * one step for x and y, here they are two. The result's y is near the minimizer of f + gamma g. On
 * auto (ours): step_z = 1/L, step_y = 1/(L_f + gamma L), and step_x = 1/(2 L_x), where L_x is the
 * curvature of f + gamma (g - min g) in x with y held: y follows only slowly, so that what x feels
 * is this; or that of Phi, where it is larger, but not on batches of a g with many minimizers,
 * where its estimate is chance, and where gamma is smaller: it multiplies noise. L is raised when
 * the steps of z meet more. One batch of f and one of g serve the whole iteration. On batches, and
 * where g has many minimizers, automatic y and z take one step each, of the same length but for
 * gamma, at the old point. What is noise in both then cancels in gx(x,y) - gx(x,z), where it is
 * multiplied by gamma; and so does what both have still to go: with a z that runs ahead of y every
 * loss of a network's row is smaller at z, and all their weights fall. On batches all steps decay
 * as (1 + t/hold)^-1/2. */
#include "blocks/constants.h"
#include "blocks/guard.h"
#include "blocks/inner.h"
#include "blocks/param_rows.h"
#include "blocks/schedule.h"
#include "blocks/steps.h"
#include "core/sampler.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct pbgd {
    double gamma, step_x, step_y, step_z;
    int64_t inner;
    blv_penalty at;
    blv_constants_work *work;
    blv_guard guard; /* of automatic x-steps */
    blv_agd agd;
    blv_vec *z, *G;
    bool y_auto, z_auto, many; /* minimizers */
    double L_f, L, hold;
} pbgd;

static blv_error pbgd_open(blv_run *run, void *state) {
    pbgd *s = state;
    s->y_auto = isnan(s->step_y);
    s->z_auto = isnan(s->step_z);
    s->many = blv_problem_definition(blv_run_problem(run))->many_minimizers;
    bool estimate = isnan(s->step_x) || s->y_auto || s->z_auto;
    if (isnan(s->gamma) && !estimate)
        s->gamma = 30.0;
    BLV_CHECK(blv_state_iterate(run, "z", BLV_LEVEL_Y, &s->z));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->G));
    BLV_CHECK(blv_penalty_open(run, &s->at));
    BLV_CHECK(blv_agd_open(run, BLV_LEVEL_Y, s->z_auto, &s->agd));
    BLV_CHECK(blv_state_scalars(run, "L_f", &s->L_f, "L", &s->L, NULL));
    if (isnan(s->step_x))
        BLV_CHECK(blv_guard_open(run, "G before", BLV_LEVEL_X, &s->guard));
    BLV_CHECK(blv_state_scalars(run, "auto_step_x", &s->step_x, "auto_step_y", &s->step_y,
                                "auto_step_z", &s->step_z, NULL));
    s->hold = 1.0;
    BLV_CHECK(blv_state_hiddens(run, "penalty", &s->gamma, "hold", &s->hold, NULL));
    return estimate ? blv_constants_open(run, &s->work) : BLV_OK;
}

static void set_steps(pbgd *s) {
    if (s->z_auto)
        s->step_z = 1.0 / s->L;
    if (s->y_auto)
        s->step_y = 1.0 / (s->L_f + s->gamma * s->L);
}

static blv_flow pbgd_prepare(blv_run *run, void *state) {
    pbgd *s = state;
    blv_vec_copy(s->z, blv_run_y(run));
    if (!s->work)
        return BLV_GO;
    blv_constants c;
    const bool noisy = s->many && blv_sampler_batch(s->at.g_batches) > 0;
    const double factor = noisy ? 3.0 : 30.0;
    BLV_TRY(blv_constants_penalized(run, s->work, &s->at, &s->gamma, factor, true, &c));
    s->L_f = c.L_f;
    s->L = c.L;
    s->guard.unit = blv_move_unit(&c);
    set_steps(s);
    if (isnan(s->step_x))
        s->step_x = 0.5 / (c.doubt * fmax(c.L_x, c.L_phi));
    s->hold = blv_hold(s->step_x, c.L_phi);
    return BLV_GO;
}

static blv_flow move_z(blv_run *run, pbgd *s, const blv_batch *batch) {
    blv_lower_level g = {run, batch, blv_run_x(run)};
    blv_agd_rule rule = {.L = 1.0 / s->step_z, .learns = s->z_auto, .steps = (size_t)s->inner};
    BLV_TRY(blv_agd_steps(run, &s->agd, blv_lower_gradient, &g, s->z, &rule));
    s->L = fmax(s->L, rule.L);
    if (s->z_auto)
        set_steps(s);
    return BLV_GO;
}

static blv_flow pbgd_step(blv_run *run, void *state) {
    pbgd *s = state;
    blv_penalty *p = &s->at;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    blv_penalty_look look;
    blv_batches b = blv_penalty_draw(p);

    const bool alike = (b.g || s->many) && s->z_auto && s->y_auto;
    const double decay =
        alike && (b.f || b.g) ? blv_decay_after(s->hold, blv_run_iteration(run), 0.5) : 1.0;
    if (!alike)
        BLV_TRY(move_z(run, s, b.g));
    BLV_TRY(blv_penalty_direction(run, p, b, s->gamma, x, y, s->z, false, s->G, &s->guard, &look));
    blv_penalty_report(m, &look);
    m->d_norm = look.G_norm;
    m->step_y = s->step_y * decay;
    m->step_x = blv_guard_step(&s->guard, &s->step_x, decay, look.batch, s->G, look.G_norm);
    if (alike)
        BLV_TRY(blv_move(run, s->z, s->gamma * m->step_y, p->gy_z));
    BLV_TRY(blv_move(run, y, m->step_y, p->fy));
    return blv_move(run, x, m->step_x, s->G);
}

#define FIELD(name) offsetof(pbgd, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("gamma", gamma,
                      "penalty; the bias of the result is of order 1/gamma; auto: 30 L_f/mu (on "
                      "batches of networks 3 L_f/L), and 30 where all steps are given"),
    BLV_POSITIVE_AUTO("step_x", step_x, "x-step"),
    BLV_POSITIVE_AUTO("step_y", step_y, "y-step"),
    BLV_POSITIVE_AUTO("step_z", step_z, "step of the auxiliary point; auto: 1/L"),
    BLV_COUNT("inner", inner, "10", "T_in: steps of the auxiliary point in an iteration"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_pbgd = {
    BLV_SIZED(blv_solver),
    .name = "pbgd",
    .summary =
        "gradients only: one step in x and y on the penalty, after steps on an auxiliary point",
    .citation = "H. Shen, T. Chen, ICML 2023 (V-PBGD)",
    .group = "first-order penalty",
    .hint = "lower step_x, step_y or step_z",
    .bias = "ends where f + gamma (g - min g) is stationary: |grad Phi| of order 1/gamma is left",
    .state_size = sizeof(pbgd),
    .params = params,
    .open = pbgd_open,
    .prepare = pbgd_prepare,
    .step = pbgd_step,
};

const blv_solver blv_solver_pbsgd = {
    BLV_SIZED(blv_solver),
    .name = "pbsgd",
    .summary = "pbgd on batches",
    .citation = "H. Shen, T. Chen, ICML 2023 (V-PBSGD)",
    .group = "first-order penalty",
    .hint = "lower step_x, step_y or step_z",
    .bias = "ends where f + gamma (g - min g) is stationary: |grad Phi| of order 1/gamma is left",
    .uses = BLV_IS_STOCHASTIC,
    .state_size = sizeof(pbgd),
    .params = params,
    .open = pbgd_open,
    .prepare = pbgd_prepare,
    .step = pbgd_step,
};
