/* D-TFBO: double-loop tuning-free bilevel optimizer.
 *
 *   beta = beta0;    while |gy|^2 > c_y/T:  beta  = sqrt(beta^2 + |gy|^2);  y -= eta_y/beta gy
 *   gamma = gamma0;  while |r|^2  > c_v/T:  gamma = sqrt(gamma^2 + |r|^2);  v -= eta_v/gamma r
 *   alpha = sqrt(alpha^2 + |d|^2);  x = P_X(x - eta_x/alpha d)
 *
 * with r = H v - fy, d = fx - J v. y and v are warm, beta and gamma start again in every iteration.
 * fy is computed once an iteration, and the gradient that fails the test is the one of the step.
 * "Tuning-free bilevel optimization: new algorithms and convergence analysis", Algorithm 1; the
 * eta's are those of its Remark 1. Its accuracy is set by T: |gy|^2 and |r|^2 stay near c/T.
 *
 * Ours: scale = auto, see s-tfbo; the loops then end at c_y/T G^2 and c_v/T R^2. On batches, where
 * no gradient falls below the noise, inner = auto ends them after n_y and n_v steps. */
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "blocks/tuning_free_units.h"
#include "core/sampler.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct d_tfbo {
    double alpha0, beta0, gamma0, eta_x, eta_y, eta_v, c_y, c_v;
    int64_t T, n_y, n_v, cap;
    int inner, scale;
    double tol_y, tol_v; /* on squared norms, in units */
    blv_tuning_free_units unit;
    blv_hypergradient_terms at;
    blv_vec *v;
    double alpha, steps_y, steps_v;
} d_tfbo;

enum { INNER_AUTO, INNER_TOL, INNER_FIXED };
enum { T_DEFAULT = 100000 };

static blv_error d_tfbo_open(blv_run *run, void *state) {
    d_tfbo *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(blv_state_scalars(run, "alpha", &s->alpha, "steps_y", &s->steps_y, "steps_v",
                                &s->steps_v, NULL));
    uint64_t limit = blv_run_limit(run);
    if (s->T < 0)
        s->T = limit > 0 ? (int64_t)limit : T_DEFAULT;
    if (s->inner == INNER_AUTO)
        s->inner = blv_sampler_batch(s->at.g_batches) > 0 ? INNER_FIXED : INNER_TOL;
    s->tol_y = s->c_y / (double)s->T;
    s->tol_v = s->c_v / (double)s->T;
    s->alpha = s->alpha0;
    return blv_tuning_free_open(run, s->scale, &s->unit);
}

static blv_flow d_tfbo_prepare(blv_run *run, void *state) {
    return blv_tuning_free_prepare(run, &((d_tfbo *)state)->unit);
}

/* Whether an inner loop that has taken `taken` steps continues. */
static bool goes_on(blv_run *run, const d_tfbo *s, int64_t taken, int64_t fixed, double norm,
                    double tol) {
    if (s->inner == INNER_FIXED)
        return taken < fixed;
    if (norm * norm <= tol)
        return false;
    if (taken < s->cap)
        return true;
    blv_run_note(run, "an inner loop was cut off after cap = %lld steps", (long long)s->cap);
    return false;
}

static blv_flow solve_y(blv_run *run, d_tfbo *s, blv_metrics *m) {
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    double beta = s->beta0;
    for (int64_t p = 0;; p++) {
        s->steps_y = (double)p;
        if (s->inner == INNER_FIXED && p == s->n_y)
            return BLV_GO;
        BLV_TRY(
            blv_oracle_lower(run, blv_sampler_next(s->at.g_batches), x, y, NULL, NULL, s->at.gy));
        BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&m->gy_norm, s->at.gy))));
        if (!goes_on(run, s, p, s->n_y, m->gy_norm / s->unit.gy, s->tol_y))
            return BLV_GO;
        beta = hypot(beta, m->gy_norm / s->unit.gy);
        m->step_y = s->unit.step_y * s->eta_y / beta;
        BLV_TRY(blv_move(run, y, m->step_y, s->at.gy));
    }
}

static blv_flow solve_v(blv_run *run, d_tfbo *s, blv_metrics *m) {
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = s->at.hv;
    double gamma = s->gamma0;
    for (int64_t q = 0;; q++) {
        s->steps_v = (double)q;
        if (s->inner == INNER_FIXED && q == s->n_v)
            return BLV_GO;
        BLV_TRY(blv_oracle_hvp(run, blv_sampler_next(s->at.g_batches), x, y, s->v, s->at.hv));
        blv_vec_combine(r, 1.0, s->at.hv, -1.0, s->at.fy);
        BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&m->r_norm, r))));
        if (!goes_on(run, s, q, s->n_v, m->r_norm / s->unit.r, s->tol_v))
            return BLV_GO;
        gamma = hypot(gamma, m->r_norm / s->unit.r);
        m->step_v = s->unit.step_v * s->eta_v / gamma;
        BLV_TRY(blv_move(run, s->v, m->step_v, r));
    }
}

static blv_flow d_tfbo_step(blv_run *run, void *state) {
    d_tfbo *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *d = s->at.fx;
    blv_metrics *m = blv_run_metrics(run);

    BLV_TRY(solve_y(run, s, m));
    BLV_TRY(
        blv_oracle_upper(run, blv_sampler_next(s->at.f_batches), x, y, NULL, s->at.fx, s->at.fy));
    BLV_TRY(solve_v(run, s, m));
    BLV_TRY(blv_oracle_cross(run, blv_sampler_next(s->at.g_batches), x, y, s->v, s->at.jv));
    blv_vec_combine(d, 1.0, s->at.fx, -1.0, s->at.jv);
    BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&m->d_norm, d))));
    double alpha = hypot(s->alpha, m->d_norm / s->unit.d);
    m->step_x = s->unit.step_x * s->eta_x / alpha;
    BLV_TRY(blv_move(run, x, m->step_x, d));
    s->alpha = alpha;
    return BLV_GO;
}

#define FIELD(name) offsetof(d_tfbo, name)

static const blv_param params[] = {
    BLV_POSITIVE("alpha0", alpha0, "1", "initial sum for x"),
    BLV_POSITIVE("beta0", beta0, "1", "initial sum of each y-loop"),
    BLV_POSITIVE("gamma0", gamma0, "1", "initial sum of each v-loop"),
    BLV_POSITIVE("eta_x", eta_x, "1", "factor of the x-step"),
    BLV_POSITIVE("eta_y", eta_y, "1", "factor of the y-steps"),
    BLV_POSITIVE("eta_v", eta_v, "1", "factor of the v-steps"),
    BLV_COUNT_AUTO(
        "T", T,
        "planned iterations: the loops end at |.|^2 <= c/T; auto: the iteration limit, or 100000"),
    BLV_POSITIVE("c_y", c_y, "1", "tolerance of the y-loop times T"),
    BLV_POSITIVE("c_v", c_v, "1", "tolerance of the v-loop times T"),
    BLV_WORD("inner", inner, "auto", "auto|tol|fixed",
             "loops end by tolerance, or after n_y and n_v steps; auto: tol, on batches fixed"),
    BLV_COUNT("n_y", n_y, "10", "y-steps with inner = fixed"),
    BLV_COUNT("n_v", n_v, "10", "v-steps with inner = fixed"),
    BLV_WORD("scale", scale, "off", "off|auto",
             "auto: measure the units of y, v and x at the start and divide them out (ours)"),
    BLV_COUNT("cap", cap, "10000", "most steps of one loop, noted if met"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_d_tfbo = {
    BLV_SIZED(blv_solver),
    .name = "d-tfbo",
    .summary = "double loop, steps from sums of gradient norms: nothing to tune",
    .citation = "Tuning-free bilevel optimization: new algorithms and convergence analysis, "
                "Algorithm 1",
    .group = "tuning-free",
    .hint = "raise alpha0, beta0 and gamma0, or lower eta_x, eta_y and eta_v",
    .bias = "y and v are solved to |gy|^2 <= c_y/T and |r|^2 <= c_v/T only",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(d_tfbo),
    .params = params,
    .open = d_tfbo_open,
    .prepare = d_tfbo_prepare,
    .step = d_tfbo_step,
};
