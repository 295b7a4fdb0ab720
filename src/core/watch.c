/* How good the end of a run is: whether the certificate confirms the method's own test, whether Phi
 * has left every scale of the problem, and which point is then kept.
 *
 * The scale is that of the start: |f| + |fx| |x| + |fy| |y| there, or |Phi| where that is more. It
 * knows no absolute number. A run may go far up and come back, so it ends early only where Phi is
 * 1e12 times the scale and |d| or |gy| still grow; a run that has ended has diverged where Phi is
 * 1e4 times the scale. What the steps report raises the suspicion, at no cost; the certificate
 * decides. */
#include "bilevel/certificate.h"
#include "core/run_private.h"
#include "core/workspace.h"

#include <math.h>

static const double far_on_the_way = 1e12, far_at_the_end = 1e4;

blv_error blv_watch_register(blv_run *run) {
    blv_watch *w = &run->watch;
    BLV_CHECK(blv_state_vec(run, "start x", BLV_LEVEL_X, &w->start_x));
    BLV_CHECK(blv_state_vec(run, "start y", BLV_LEVEL_Y, &w->start_y));
    BLV_CHECK(blv_state_vec(run, "best x", BLV_LEVEL_X, &w->best_x));
    BLV_CHECK(blv_state_vec(run, "best y", BLV_LEVEL_Y, &w->best_y));
    w->start_phi = NAN;
    w->best = INFINITY;
    run->tol_factor = 1.0;
    return blv_state_hiddens(run, "best", &w->best, "best iteration", &w->best_at, "first |d|",
                             &w->first_d, "first |gy|", &w->first_gy, "last |d|", &w->last_d,
                             "last |gy|", &w->last_gy, "factor of tol", &run->tol_factor,
                             "last certified", &run->last_certified, NULL);
}

void blv_watch_start(blv_run *run) {
    blv_vec_copy(run->watch.start_x, run->x);
    blv_vec_copy(run->watch.start_y, run->y);
}

/* ---- Scales ---- */

/* NaN where it is not known. */
static blv_error phi_at(blv_run *run, const blv_vec *x, const blv_vec *y, double *phi) {
    blv_certifier *c;
    *phi = NAN;
    blv_error error = blv_certifier_create(&c, run->problem, &run->result.check_counts);
    if (error != BLV_OK)
        return error == BLV_E_MEMORY ? error : BLV_OK;
    if (blv_certifier_phi(c, x, y, phi) != BLV_GO)
        *phi = NAN;
    blv_certifier_destroy(c);
    return BLV_OK;
}

static blv_error find_start_phi(blv_run *run) {
    blv_watch *w = &run->watch;
    return isnan(w->start_phi) ? phi_at(run, w->start_x, w->start_y, &w->start_phi) : BLV_OK;
}

/* The scale of f at the start, 0: not known. */
static blv_error find_scale(blv_run *run, double *scale) {
    blv_watch *w = &run->watch;
    blv_vec *fx = NULL, *fy = NULL;
    double f, x, y, fx_norm, fy_norm;
    *scale = 0.0;
    BLV_CHECK(find_start_phi(run));
    blv_error error = blv_vec_create(&fx, run->def->space_x);
    if (error == BLV_OK)
        error = blv_vec_create(&fy, run->def->space_y);
    if (error == BLV_OK &&
        blv_eval_upper(&run->observe, NULL, w->start_x, w->start_y, &f, fx, fy) == BLV_GO &&
        blv_reduce(BLV_SCALARS(BLV_NORM(&x, w->start_x), BLV_NORM(&y, w->start_y),
                               BLV_NORM(&fx_norm, fx), BLV_NORM(&fy_norm, fy))))
        *scale = fmax(fabs(f) + fx_norm * x + fy_norm * y, fabs(w->start_phi));
    blv_vec_destroy(fx);
    blv_vec_destroy(fy);
    return error;
}

/* Whether the steps report |d| or |gy| that fit to a Phi of `factor` times that of the start. */
static bool is_suspicious(const blv_run *run, double factor) {
    const blv_watch *w = &run->watch;
    const blv_metrics *m = &run->result.metrics;
    return (w->first_d > 0.0 && m->d_norm > sqrt(factor) * w->first_d) ||
           (w->first_gy > 0.0 && m->gy_norm > sqrt(factor) * w->first_gy);
}

/* Whether this Phi, which may be NaN, is `factor` times the scale. */
static blv_error has_left(blv_run *run, double phi, double factor, bool *left) {
    double scale;
    *left = false;
    BLV_CHECK(find_start_phi(run));
    if (phi <= factor * fabs(run->watch.start_phi))
        return BLV_OK;
    BLV_CHECK(find_scale(run, &scale));
    *left = scale > 0.0 && !(phi <= factor * scale);
    return BLV_OK;
}

static double f_at(blv_run *run, const blv_vec *x, const blv_vec *y) {
    double f;
    return blv_eval_upper(&run->observe, NULL, x, y, &f, NULL, NULL) == BLV_GO ? f : (double)NAN;
}

/* The same here. Without a certificate, f counts. */
static blv_error has_left_here(blv_run *run, double factor, double *phi, bool *left) {
    BLV_CHECK(phi_at(run, run->x, run->y, phi));
    if (isnan(*phi))
        *phi = f_at(run, run->x, run->y);
    return has_left(run, *phi, factor, left);
}

/* ---- On the way ---- */

/* Of the first norms; 1 where nothing is known. */
static double share(double norm, double first) {
    return first > 0.0 && !isnan(norm) ? norm / first : 1.0;
}

blv_outcome blv_watch_look(blv_run *run) {
    blv_watch *w = &run->watch;
    const blv_metrics m = run->result.metrics;
    uint64_t k = run->result.iterations;
    if (k <= BLV_WATCH_FIRST_STEPS) {
        w->first_d = fmax(w->first_d, m.d_norm);
        w->first_gy = fmax(w->first_gy, m.gy_norm);
    }
    if ((k & (k - 1)) != 0)
        return BLV_RUNNING;
    bool grows = m.d_norm > w->last_d || m.gy_norm > w->last_gy, left = false;
    w->last_d = m.d_norm;
    w->last_gy = m.gy_norm;
    double now = share(m.d_norm, w->first_d) + share(m.gy_norm, w->first_gy);
    if (now < w->best) {
        w->best = now;
        w->best_at = (double)k;
        blv_vec_copy(w->best_x, run->x);
        blv_vec_copy(w->best_y, run->y);
    }
    if (!grows || !is_suspicious(run, far_on_the_way))
        return BLV_RUNNING;
    blv_flow moves = blv_settle_moves(run);
    if (moves != BLV_GO)
        return moves == BLV_FATAL ? BLV_ORACLE_FAILED : BLV_DIVERGED;
    double phi;
    blv_clock_stop(run);
    run->error = has_left_here(run, far_on_the_way, &phi, &left);
    blv_clock_start(run);
    return left ? BLV_DIVERGED : BLV_RUNNING;
}

/* ---- At the end ---- */

/* x and y become the better one of the start and the best seen. */
static blv_error keep_best(blv_run *run) {
    blv_watch *w = &run->watch;
    double best = NAN;
    if (w->best_at > 0.0)
        BLV_CHECK(phi_at(run, w->best_x, w->best_y, &best));
    bool at_start = !(best < w->start_phi) && !(isnan(w->start_phi) && isfinite(best));
    blv_vec_copy(run->x, at_start ? w->start_x : w->best_x);
    blv_vec_copy(run->y, at_start ? w->start_y : w->best_y);
    w->best_at = at_start ? 0.0 : w->best_at;
    run->kept_best = true;
    run->may_continue = run->certificate_known = false;
    return BLV_OK;
}

static void explain_left(blv_run *run, double phi) {
    if (!run->message.text[0])
        blv_run_fail(run, BLV_OK,
                     "Phi has left every scale of the problem: %.3g, at the start %.3g", phi,
                     run->watch.start_phi);
}

/* A step that was not finite may come after one that was out of all proportion. */
static bool f_has_grown(blv_run *run) {
    const blv_watch *w = &run->watch;
    double f = f_at(run, run->x, run->y), start = f_at(run, w->start_x, w->start_y);
    return f > far_at_the_end * fabs(start);
}

blv_outcome blv_watch_end(blv_run *run, blv_outcome outcome) {
    double phi;
    bool left = false;
    if (!is_suspicious(run, far_at_the_end) && !(outcome == BLV_DIVERGED && f_has_grown(run)))
        return outcome;
    blv_error error = has_left_here(run, far_at_the_end, &phi, &left);
    if (error == BLV_OK && left) {
        explain_left(run, phi);
        error = keep_best(run);
        outcome = BLV_DIVERGED;
    }
    run->error = error;
    return outcome;
}

blv_outcome blv_confirm(blv_run *run, double tolerance, bool may_go_on) {
    const double near = 10.0;
    blv_certificate c;
    if (run->options.certify == CERTIFY_NEVER) {
        blv_run_fail(run, BLV_OK, "no certificate was wanted");
        return BLV_UNCERTIFIED;
    }
    blv_flow moves = blv_settle_moves(run);
    if (moves != BLV_GO)
        return moves == BLV_FATAL ? BLV_ORACLE_FAILED : BLV_DIVERGED;
    blv_clock_stop(run);
    blv_error error = blv_run_certify(run, &c);
    blv_clock_start(run);
    run->error = error == BLV_E_MEMORY ? error : BLV_OK;
    run->certificate_known = error == BLV_OK;
    if (error != BLV_OK)
        return BLV_UNCERTIFIED;
    bool sound = c.tight && c.minimum == BLV_YES;
    if (sound && c.grad_norm <= tolerance)
        return BLV_CONVERGED;
    bool falls = run->last_certified == 0.0 || c.grad_norm <= 0.9 * run->last_certified;
    if (sound && may_go_on && falls && c.grad_norm <= near * tolerance) {
        run->last_certified = c.grad_norm;
        run->tol_factor *= 0.5;
        return BLV_RUNNING;
    }
    if (c.singular)
        blv_run_fail(run, BLV_OK, "the lower-level Hessian is singular");
    else
        blv_run_fail(run, BLV_OK, "the certificate says |grad Phi| = %.3g%s%s", c.grad_norm,
                     c.tight ? "" : ", and is not tight",
                     c.minimum == BLV_YES  ? ""
                     : c.minimum == BLV_NO ? ", and y is not a minimum of g"
                                           : ", and y may be no minimum of g");
    return BLV_UNCERTIFIED;
}

static blv_error certify_here(blv_run *run) {
    blv_message why;
    const blv_state_entry *v = run->kept_best ? NULL : blv_state_find(run, "v");
    if (run->certificate_known)
        return BLV_OK;
    blv_error error = blv_certify(run->problem, run->x, run->y, v ? v->vec : NULL,
                                  &run->certificate, &run->result.check_counts, &why);
    return error == BLV_OK ? BLV_OK : blv_run_fail(run, error, "%s", why.text);
}

/* What only a run that has ended can be told: how its Phi compares with that of the start. */
static blv_error compare_with_start(blv_run *run) {
    blv_certificate *c = &run->certificate;
    bool left, limit = run->result.outcome < 0 && run->result.outcome > BLV_DIVERGED;
    double rounding = run->def->precision == BLV_F32 ? 1e-3 : 1e-6;
    BLV_CHECK(has_left(run, c->phi, far_at_the_end, &left));
    if (left && limit) {
        run->message.text[0] = '\0';
        explain_left(run, c->phi);
        BLV_CHECK(keep_best(run));
        blv_run_explain_end(run, BLV_DIVERGED, false);
        BLV_CHECK(certify_here(run));
    }
    c->start_phi = run->watch.start_phi;
    c->above_start = c->phi > c->start_phi + rounding * fabs(c->start_phi);
    if (c->above_start)
        blv_run_note(run, "the run ended above its start: Phi = %.10g, at the start %.10g", c->phi,
                     c->start_phi);
    return BLV_OK;
}

blv_error blv_run_certify(blv_run *run, blv_certificate *certificate) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (!certificate)
        return blv_run_fail(run, BLV_E_ARGUMENT, "blv_certify: a NULL argument");
    BLV_CHECK(certify_here(run));
    bool ended = run->phase == PHASE_ENDED && !run->busy && run->result.iterations > 0;
    blv_error error = ended ? compare_with_start(run) : BLV_OK;
    if (error != BLV_OK)
        return blv_run_fail(run, error, "certificate: %s", blv_error_text(error));
    *certificate = run->certificate;
    return BLV_OK;
}
