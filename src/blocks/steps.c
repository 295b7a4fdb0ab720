#include "blocks/steps.h"
#include "blocks/schedule.h"
#include "core/ahead.h"
#include "core/run_private.h"
#include "core/workspace.h"

#include <math.h>

enum { HOLD_MAX = 3000, RENEWAL_GROWTH = 2, WORK_FOR_AN_ESTIMATE = 8 };
static const double agreement = 0.9; /* a cosine */

blv_error blv_hypergradient_terms_open(blv_run *run, blv_hypergradient_terms *p) {
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &p->gy, &p->hv, &p->fy, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &p->fx, &p->jv, NULL));
    BLV_CHECK(blv_state_sampler(run, "f batch", BLV_LEVEL_X, 0, &p->f_batches));
    return blv_state_sampler(run, "g batch", BLV_LEVEL_Y, 0, &p->g_batches);
}

static blv_error open_step(blv_run *run, const char *column, double *step, const char *before,
                           blv_level level, blv_guard *guard) {
    BLV_CHECK(blv_state_scalar(run, column, step));
    return isnan(*step) ? blv_guard_open(run, before, level, guard) : BLV_OK;
}

blv_error blv_steps_open(blv_run *run, blv_steps *s, blv_steps_of which, bool also) {
    bool has_v = which == BLV_STEPS_XYV;
    bool estimate = also || isnan(s->x) || isnan(s->y) || (has_v && isnan(s->v));
    s->automatic = isnan(s->x) && isnan(s->y) && (!has_v || isnan(s->v));
    BLV_CHECK(open_step(run, "auto_step_x", &s->x, "d before", BLV_LEVEL_X, &s->guard_x));
    BLV_CHECK(open_step(run, "auto_step_y", &s->y, "gy before", BLV_LEVEL_Y, &s->guard_y));
    BLV_CHECK(blv_state_hiddens(run, "largest |Hv|/|v|", &s->curvature, "ceiling of step_x",
                                &s->x_ceiling, "step_x before", &s->x_before, "bold", &s->bold,
                                NULL));
    if (has_v)
        BLV_CHECK(open_step(run, "auto_step_v", &s->v, "r before", BLV_LEVEL_Y, &s->guard_v));
    if (!estimate)
        return BLV_OK;
    blv_constants *c = &s->constants; /* solvers may use them in their steps */
    BLV_CHECK(blv_state_hiddens(
        run, "L", &c->L, "mu", &c->mu, "L_phi", &c->L_phi, "reach_x", &c->reach_x, "reach_y",
        &c->reach_y, "reach_v", &c->reach_v, "noisy", &s->noisy, "measured at", &s->measured_at,
        "measured step_x", &s->measured_x, "measured step_y", &s->measured_y,
        "y-steps for an x-step", &s->inner_steps, "cost of constants", &s->estimate_cost, NULL));
    return blv_constants_open(run, &s->work);
}

static double calls(const blv_run *run) {
    return (double)(blv_counts_total(&run->result.counts) +
                    blv_counts_total(&run->result.setup_counts));
}

/* After an estimate that began when there had been that many calls. */
static void keep_measured(const blv_run *run, blv_steps *s, double began_at) {
    s->measured_at = calls(run);
    s->estimate_cost = s->measured_at - began_at;
    s->measured_x = blv_auto_outer_step(NAN, &s->constants, s->inner_steps);
    s->measured_y = blv_auto_inner_step(NAN, &s->constants);
}

blv_flow blv_steps_prepare(blv_run *run, blv_steps *s, double inner_steps) {
    if (!s->work)
        return BLV_GO;
    double began_at = calls(run);
    BLV_TRY(blv_constants_estimate(run, s->work, &s->constants));
    s->guard_x.unit = blv_move_unit(&s->constants);
    s->bold = s->constants.rough ? 1.0 : 0.0;
    s->y = blv_auto_inner_step(s->y, &s->constants);
    s->v = blv_auto_inner_step(s->v, &s->constants);
    s->x = blv_auto_outer_step(s->x, &s->constants, inner_steps);
    blv_run_note(run, "steps: step_y = %.4g, step_x = %.4g", s->y, s->x);
    s->inner_steps = inner_steps;
    keep_measured(run, s, began_at);
    return BLV_GO;
}

static double growth(double fresh, double before) {
    return fresh > 0.0 && before > 0.0 ? fresh / before : 1.0;
}

static blv_flow estimate_again(blv_run *run, blv_steps *s) {
    blv_vec *const x = run->x, *const y = run->y;
    run->x = s->x_now ? s->x_now : x;
    run->y = s->y_now ? s->y_now : y;
    blv_flow flow = blv_constants_estimate(run, s->work, &s->constants);
    run->x = x;
    run->y = y;
    return flow;
}

blv_flow blv_steps_renew(blv_run *run, blv_steps *s) {
    if (!s->work || s->noisy == 0.0 || calls(run) < RENEWAL_GROWTH * s->measured_at ||
        (!s->eager && calls(run) - s->measured_at < WORK_FOR_AN_ESTIMATE * s->estimate_cost))
        return BLV_GO;
    const blv_constants before = s->constants;
    double x = s->measured_x, y = s->measured_y, began_at = calls(run);
    blv_flow flow = estimate_again(run, s);
    if (flow == BLV_NONFINITE ||
        flow == BLV_NO_INVERSE) /* x and y are astray: they may come back */
        s->constants = before;
    else
        BLV_TRY(flow);
    s->constants.L_phi = fmax(s->constants.L_phi, 0.5 * before.L_phi);
    keep_measured(run, s, began_at);
    if (s->guard_x.before)
        s->x *= growth(s->measured_x, x);
    if (s->guard_y.before)
        s->y *= growth(s->measured_y, y);
    if (s->guard_v.before)
        s->v *= growth(s->measured_y, y);
    return BLV_GO;
}

void blv_steps_loop_y(blv_steps *s, double steps) {
    s->loops_y = steps > 1.0;
    if (s->loops_y)
        blv_guard_reset(&s->guard_y);
}

void blv_steps_loop_v(blv_steps *s, double steps) {
    s->loops_v = steps > 1.0;
    if (s->loops_v)
        blv_guard_reset(&s->guard_v);
}

double blv_hold(double step_x, double L_phi) {
    return fmin(3.0 / (step_x * L_phi), HOLD_MAX);
}

double blv_steps_hold(const blv_steps *s) {
    return s->automatic ? blv_hold(s->x, s->constants.L_phi) : 1.0;
}

double blv_steps_decay(const blv_run *run, const blv_steps *s, const blv_batch *batch) {
    if (!batch || !s->automatic)
        return 1.0;
    return blv_decay_after(blv_steps_hold(s), blv_run_iteration(run), 0.5);
}

blv_scalar *blv_steps_ask(blv_run *run, blv_steps *s, const blv_directions *of, blv_scalar *end) {
    blv_metrics *m = blv_run_metrics(run);
    if (of->gy) {
        end = blv_ask_norm(end, &m->gy_norm, of->gy);
        end = blv_guard_ask(&s->guard_y, NULL, of->gy, end);
    }
    if (of->r) {
        end = blv_ask_norm(end, &m->r_norm, of->r);
        end = blv_guard_ask(&s->guard_v, NULL, of->r, end);
    }
    if (of->d) {
        end = blv_ask_norm(end, &m->d_norm, of->d);
        end = blv_guard_ask(&s->guard_x, blv_run_x(run), of->d, end);
    }
    if (of->hv && (s->guard_y.before || s->guard_v.before)) {
        end = blv_ask_norm(end, &s->v_norm, of->v);
        end = blv_ask_norm(end, &s->hv_norm, of->hv);
    }
    return end;
}

void blv_steps_watch(blv_steps *s, const blv_directions *of) {
    if (of->hv && s->v_norm > 0.0)
        s->curvature = fmax(0.98 * s->curvature, s->hv_norm / s->v_norm);
}

blv_flow blv_steps_measure(blv_run *run, blv_steps *s, const blv_directions *of) {
    blv_scalar list[BLV_STEP_SCALARS], *end = list;
    if (of->d)
        BLV_TRY(blv_steps_renew(run, s));
    end = blv_steps_ask(run, s, of, end);
    const bool guarded = s->guard_x.before || s->guard_y.before || s->guard_v.before;
    BLV_TRY((of->later && !guarded ? blv_run_reduce_later
                                   : blv_run_reduce)(run, (size_t)(end - list), list));
    blv_steps_watch(s, of);
    return BLV_GO;
}

static double limited(const blv_steps *s, const blv_guard *guard, double step, double decay) {
    return guard->before ? fmin(decay, 1.0 / (s->curvature * step)) : decay;
}

/* The step to halve when a direction of y or v has turned; NULL: its own. */
static double *mover(blv_steps *s, bool loops) {
    return s->guard_x.before && !loops ? &s->x : NULL;
}

double blv_steps_y(blv_steps *s, double decay, const blv_batch *batch, const blv_vec *gy,
                   double norm) {
    s->guard_y.mover = mover(s, s->loops_y);
    return blv_guard_step(&s->guard_y, &s->y, limited(s, &s->guard_y, s->y, decay), batch, gy,
                          norm);
}

double blv_steps_v(blv_steps *s, double decay, const blv_batch *batch, const blv_vec *r,
                   double norm) {
    s->guard_v.mover = mover(s, s->loops_v);
    return blv_guard_step(&s->guard_v, &s->v, limited(s, &s->guard_v, s->v, decay), batch, r, norm);
}

/* A step that was shortened since the last time lowers the ceiling; another one grows. */
static void regrow(blv_steps *s, bool was_limited) {
    if (s->x_before == 0.0) {
        s->x_ceiling = s->x;
    } else if (s->x < s->x_before) {
        s->x_ceiling *= 0.9;
        s->bold = 0.0;
    } else if (s->bold != 0.0 && !was_limited && s->guard_x.cosine > agreement) {
        s->x_ceiling = s->x = 1.5 * s->x;
    } else {
        s->x = fmin(s->x_ceiling, 1.02 * s->x);
    }
    s->x_before = s->x;
}

double blv_steps_x(blv_steps *s, double decay, const blv_batch *batch, const blv_vec *d,
                   double norm) {
    double step = blv_guard_step(&s->guard_x, &s->x, decay, batch, d, norm);
    s->noisy = batch ? 1.0 : 0.0;
    if (s->guard_x.before && !batch)
        regrow(s, step < decay * s->x);
    return step;
}
