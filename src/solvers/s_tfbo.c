/* S-TFBO: single-loop tuning-free bilevel optimizer.
 *
 *   gy     gradient of g in y                          beta   sqrt(beta0^2  + sum |gy|^2)
 *   r      H v - fy, residual of the linear system     gamma  sqrt(gamma0^2 + sum |r|^2)
 *   d      fx - J v, hypergradient estimate            alpha  sqrt(alpha0^2 + sum |d|^2)
 *   phi    max(beta, gamma)
 *
 *   y -= eta_y/beta gy;   v -= eta_v/phi r;   x = P_X(x - eta_x/(alpha phi) d)
 *
 * all three at the same old point. "Tuning-free bilevel optimization: new algorithms and
 * convergence analysis", Algorithm 2; the eta's are those of its Remark 2.
 *
 * Ours: scale = auto. gy, r and d have different units, so max(beta, gamma) depends on them, and a
 * run with eta = 1 hardly moves where the first gradients are large. So they are divided by what
 * tight solves at the start show them to be, G = L |y - y*|, R = L |v - v*| and D = |d|, before
 * they enter the sums, which then are pure numbers; and the steps are multiplied by the distances
 * to go:
 *
 *   y -= eta_y |y - y*|/(beta G) gy;   v -= eta_v |v - v*|/(phi R) r
 *   x = P_X(x - eta_x (|d|/L_phi)/(alpha phi D) d) */
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "blocks/tuning_free_units.h"
#include "core/ahead.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"
#include "space/step_checks.h"

typedef struct s_tfbo {
    double alpha0, beta0, gamma0, eta_x, eta_y, eta_v;
    int scale;
    blv_hypergradient_terms at;
    blv_vec *v;
    double alpha, beta, gamma;
    double alpha_next, beta_next, gamma_next, phi, alpha_phi; /* of this iteration */
    blv_tuning_free_units unit;
    double first_step_x, last_d_norm, largest_d_norm; /* to notice steps that have collapsed */
    bool may_be_noted;                                /* so they were, here or before a resume */
} s_tfbo;

static blv_error s_tfbo_open(blv_run *run, void *state) {
    s_tfbo *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(
        blv_state_scalars(run, "alpha", &s->alpha, "beta", &s->beta, "gamma", &s->gamma, NULL));
    BLV_CHECK(blv_state_hiddens(run, "first step_x", &s->first_step_x, "last |d|", &s->last_d_norm,
                                "largest |d|", &s->largest_d_norm, NULL));
    s->alpha = s->alpha0;
    s->beta = s->beta0;
    s->gamma = s->gamma0;
    s->may_be_noted = true;
    return blv_tuning_free_open(run, s->scale, &s->unit);
}

static blv_flow s_tfbo_prepare(blv_run *run, void *state) {
    return blv_tuning_free_prepare(run, &((s_tfbo *)state)->unit);
}

static const char collapse[] =
    "the steps have collapsed: step_x = %.3g in iteration %llu and |d| hardly falls; the problem "
    "is badly scaled for this method, try scale=auto";

/* Looks at iterations 1024, 2048, 4096, ...: a thousandth of the first step left, and |d| not even
 * halved since the last look. The note goes where |d| falls after all, to a tenth of its largest
 * value. On batches |d| may be noise: nothing is said. */
static void note_collapse(blv_run *run, s_tfbo *s, double d_norm, double step_x) {
    uint64_t k = blv_run_iteration(run);
    if (k == 0)
        s->first_step_x = step_x;
    if (d_norm > s->largest_d_norm)
        s->largest_d_norm = d_norm;
    bool falls = d_norm <= 0.1 * s->largest_d_norm, looks = k >= 512 && (k & (k - 1)) == 0;
    if (falls && s->may_be_noted) {
        blv_run_unnote(run, collapse);
        s->may_be_noted = false;
    }
    if (looks && k > 512 && !falls && step_x < 1e-3 * s->first_step_x &&
        d_norm > 0.5 * s->last_d_norm) {
        blv_run_note(run, collapse, step_x, (unsigned long long)k);
        s->may_be_noted = true;
    }
    if (looks)
        s->last_d_norm = d_norm;
}

/* The sums with the norms of this iteration, and the steps. */
static void next_steps(blv_run *run, s_tfbo *s, blv_metrics *m) {
    const blv_tuning_free_units *u = &s->unit;
    blv_hypot_later(run, &s->beta_next, &s->beta, &m->gy_norm, u->gy);
    blv_hypot_later(run, &s->gamma_next, &s->gamma, &m->r_norm, u->r);
    blv_hypot_later(run, &s->alpha_next, &s->alpha, &m->d_norm, u->d);
    blv_larger_later(run, &s->phi, &s->beta_next, &s->gamma_next);
    blv_product_later(run, &s->alpha_phi, &s->alpha_next, &s->phi);
    blv_quotient_later(run, &m->step_y, u->step_y * s->eta_y, &s->beta_next);
    blv_quotient_later(run, &m->step_v, u->step_v * s->eta_v, &s->phi);
    blv_quotient_later(run, &m->step_x, u->step_x * s->eta_x, &s->alpha_phi);
}

static blv_flow s_tfbo_step(blv_run *run, void *state) {
    s_tfbo *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = s->at.hv, *d = s->at.fx;
    const blv_batch *bf = blv_sampler_next(s->at.f_batches),
                    *bg = blv_sampler_next(s->at.g_batches);
    blv_metrics *m = blv_run_metrics(run);

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->at.fx, s->at.fy));
    BLV_TRY(blv_oracle_all(run, bg, x, y, s->v, s->at.gy, s->at.hv, s->at.jv));
    blv_vec_norm_early(s->at.gy);
    blv_vec_combine(r, 1.0, s->at.hv, -1.0, s->at.fy);
    blv_vec_combine(d, 1.0, s->at.fx, -1.0, s->at.jv);
    const blv_scalar norms[] = {BLV_NORM(&m->gy_norm, s->at.gy), BLV_NORM(&m->r_norm, r),
                                BLV_NORM(&m->d_norm, d)};
    BLV_TRY((bf || bg ? blv_run_reduce_later : blv_run_reduce)(run, 3, norms));
    next_steps(run, s, m);

    BLV_TRY(blv_move_later(run, y, &m->step_y, s->at.gy));
    BLV_TRY(blv_move_later(run, s->v, &m->step_v, r));
    BLV_TRY(blv_move_later(run, x, &m->step_x, d));
    blv_copy_later(run, &s->alpha, &s->alpha_next);
    blv_copy_later(run, &s->beta, &s->beta_next);
    blv_copy_later(run, &s->gamma, &s->gamma_next);
    if (!s->scale && !bf && !bg)
        note_collapse(run, s, m->d_norm, m->step_x);
    return BLV_GO;
}

#define FIELD(name) offsetof(s_tfbo, name)

static const blv_param params[] = {
    {"alpha0", BLV_REAL, FIELD(alpha0), "1", 1, DBL_MAX, NULL, "initial sum for x"},
    BLV_POSITIVE("beta0", beta0, "1", "initial sum for y"),
    BLV_POSITIVE("gamma0", gamma0, "1", "initial sum for v"),
    BLV_POSITIVE("eta_x", eta_x, "1", "factor of the x-step"),
    BLV_POSITIVE("eta_y", eta_y, "1", "factor of the y-step"),
    BLV_POSITIVE("eta_v", eta_v, "1", "factor of the v-step"),
    BLV_WORD("scale", scale, "off", "off|auto",
             "auto: measure the units of y, v and x at the start and divide them out (ours)"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_s_tfbo = {
    BLV_SIZED(blv_solver),
    .name = "s-tfbo",
    .summary = "single loop, steps from sums of gradient norms: nothing to tune",
    .citation = "Tuning-free bilevel optimization: new algorithms and convergence analysis, "
                "Algorithm 2",
    .group = "tuning-free",
    .hint = "raise alpha0, beta0 and gamma0, or lower eta_x, eta_y and eta_v",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(s_tfbo),
    .params = params,
    .open = s_tfbo_open,
    .prepare = s_tfbo_prepare,
    .step = s_tfbo_step,
};
