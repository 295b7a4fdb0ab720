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
 * Ours: scale = auto sets the eta's to the distances that y, v and x have to go, as tight solves at
 * the start show them. Sums of gradient norms do not forget: on a badly scaled problem the first
 * large gradients shrink all later steps, and a run with eta = 1 hardly moves. */
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct s_tfbo {
    double alpha0, beta0, gamma0, eta_x, eta_y, eta_v;
    int scale;
    blv_constants_work *constants;
    blv_hypergradient_terms at;
    blv_vec *v;
    double alpha, beta, gamma;
    double first_step_x, last_d_norm, largest_d_norm; /* to notice steps that have collapsed */
} s_tfbo;

static blv_error s_tfbo_open(blv_run *run, void *state) {
    s_tfbo *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(
        blv_state_scalars(run, "alpha", &s->alpha, "beta", &s->beta, "gamma", &s->gamma, NULL));
    BLV_CHECK(blv_state_hiddens(run, "eta_x", &s->eta_x, "eta_y", &s->eta_y, "eta_v", &s->eta_v,
                                "first step_x", &s->first_step_x, "last |d|", &s->last_d_norm,
                                "largest |d|", &s->largest_d_norm, NULL));
    s->alpha = s->alpha0;
    s->beta = s->beta0;
    s->gamma = s->gamma0;
    return s->scale ? blv_constants_open(run, &s->constants) : BLV_OK;
}

static double positive_or_one(double reach) {
    return reach > 0.0 ? reach : 1.0;
}

static blv_flow s_tfbo_prepare(blv_run *run, void *state) {
    s_tfbo *s = state;
    if (!s->scale)
        return BLV_GO;
    blv_constants c;
    BLV_TRY(blv_constants_estimate(run, s->constants, &c));
    s->eta_y *= positive_or_one(c.reach_y);
    s->eta_v *= positive_or_one(c.reach_v);
    s->eta_x *=
        positive_or_one(c.reach_x) * fmax(positive_or_one(c.reach_y), positive_or_one(c.reach_v));
    blv_run_note(run, "scale = auto chose eta_x = %.4g, eta_y = %.4g, eta_v = %.4g", s->eta_x,
                 s->eta_y, s->eta_v);
    return BLV_GO;
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
    s->largest_d_norm = fmax(s->largest_d_norm, d_norm);
    bool falls = d_norm <= 0.1 * s->largest_d_norm, looks = k >= 512 && (k & (k - 1)) == 0;
    if (falls)
        blv_run_unnote(run, collapse);
    if (looks && k > 512 && !falls && step_x < 1e-3 * s->first_step_x &&
        d_norm > 0.5 * s->last_d_norm)
        blv_run_note(run, collapse, step_x, (unsigned long long)k);
    if (looks)
        s->last_d_norm = d_norm;
}

static blv_flow s_tfbo_step(blv_run *run, void *state) {
    s_tfbo *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = s->at.hv, *d = s->at.fx;
    const blv_batch *bf = blv_sampler_next(s->at.f_batches),
                    *bg = blv_sampler_next(s->at.g_batches);
    double gy_norm, r_norm, d_norm;

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->at.fx, s->at.fy));
    BLV_TRY(blv_oracle_all(run, bg, x, y, s->v, s->at.gy, s->at.hv, s->at.jv));
    blv_vec_combine(r, 1.0, s->at.hv, -1.0, s->at.fy);
    blv_vec_combine(d, 1.0, s->at.fx, -1.0, s->at.jv);
    BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&gy_norm, s->at.gy), BLV_NORM(&r_norm, r),
                                            BLV_NORM(&d_norm, d))));

    double beta = hypot(s->beta, gy_norm), gamma = hypot(s->gamma, r_norm);
    double phi = fmax(beta, gamma), alpha = hypot(s->alpha, d_norm);
    double step_y = s->eta_y / beta, step_v = s->eta_v / phi, step_x = s->eta_x / (alpha * phi);

    *blv_run_metrics(run) = (blv_metrics){gy_norm, r_norm, d_norm, step_y, step_v, step_x};
    BLV_TRY(blv_move(run, y, step_y, s->at.gy));
    BLV_TRY(blv_move(run, s->v, step_v, r));
    BLV_TRY(blv_move(run, x, step_x, d));
    s->alpha = alpha;
    s->beta = beta;
    s->gamma = gamma;
    if (!s->scale && !bf && !bg)
        note_collapse(run, s, d_norm, step_x);
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
             "auto: multiply the eta's by the distances to go, measured at the start (ours)"),
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
