/* Approximate implicit differentiation: inner steps on y, an approximate v = H^-1 fy, an x-step.
 *
 *   T_in times:  y -= step_y gy
 *   v:  aid-cg       K products of conjugate gradients on H v = fy, from the last v
 *       ba-cg        the same, with T_in = ceil(c (k+1)^(1/4)) in iteration k
 *       aid-fp       K times v -= step_v (H v - fy), from the last v, on one batch
 *       amigo        the same, on a new batch each time
 *       bcsr         as aid-fp, with J on the batch of H
 *       aid-neumann  v = eta sum_{q=0..K} (I - eta H)^q fy, on one batch
 *       t1-t2        v = eta fy
 *   d = fx - J v;   x = P_X(x - step_x d)
 *
 * aid-cg, aid-fp and aid-neumann as in K. Ji, J. Yang, Y. Liang, "Bilevel optimization: convergence
 * analysis and enhanced design", ICML 2021, and R. Grazzi, L. Franceschi, M. Pontil, S. Salzo, "On
 * the iteration complexity of hypergradient computation", ICML 2020. ba-cg: S. Ghadimi, M. Wang,
 * "Approximation methods for bilevel programming", 2018, Algorithm 1, whose exact inverse is CG
 * here. amigo: M. Arbel, J. Mairal, "Amortized implicit differentiation for stochastic bilevel
 * optimization", ICLR 2022. t1-t2: J. Luketina, M. Berglund, K. Greff, T. Raiko, "Scalable
 * gradient-based tuning of continuous regularization hyperparameters", ICML 2016. bcsr: J. Hao,
 * K. Ji, M. Liu, "Bilevel coreset selection in continual learning: a new formulation and
 * algorithm", NeurIPS 2023, where X is the simplex of the weights of rows and f has the smoothed
 * sum of the largest weights: both belong to the problem (`coreset`). Since H and J are of one
 * batch, d is the hypergradient of that batch once v has converged.
 *
 * K counts products with H. In CG the first one of a warm start gives the residual, the others are
 * steps. The Neumann sum is the fixed point iteration from v = eta fy: (1 - mu eta)^(K+1) of v at
 * most is missing, in every iteration. For t1-t2 that is K = 0. */
#include "blocks/adjoint.h"
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct aid aid;
typedef blv_flow (*solve_fn)(blv_run *run, aid *s, blv_metrics *m);

struct aid {
    blv_steps steps; /* steps.v: the v-step, or eta */
    int64_t inner, linear;
    double growth;      /* c of ba-cg; 0: T_in is `inner` */
    solve_fn solve;     /* v from fy at the new y */
    bool fresh_batches; /* a new batch for each product */
    bool one_batch;     /* J on that of the products */
    const blv_batch *of_H;
    bool watch;  /* eta is automatic: a sum may end early */
    double left; /* size of the last term of a sum, relative to the first */
    blv_hypergradient_terms at;
    blv_linear_work *cg;
    blv_vec *v;
};

enum { AUTO_PRODUCTS_MAX = 1000 };

/* ---- v ---- */

static blv_flow by_cg(blv_run *run, aid *s, blv_metrics *m) {
    const blv_batch *batch = blv_sampler_next(s->at.g_batches);
    return blv_adjoint_cg(run, s->cg, batch, blv_run_x(run), blv_run_y(run), s->at.fy, s->v,
                          (size_t)s->linear, &m->r_norm);
}

static blv_flow by_fixed_point(blv_run *run, aid *s, blv_metrics *m) {
    blv_vec *r = s->at.gy;
    blv_steps_loop_v(&s->steps, (double)s->linear);
    for (int64_t k = 0; k < s->linear; k++) {
        if (k == 0 || s->fresh_batches)
            s->of_H = blv_sampler_next(s->at.g_batches);
        const blv_batch *batch = s->of_H;
        BLV_TRY(blv_oracle_hvp(run, batch, blv_run_x(run), blv_run_y(run), s->v, s->at.hv));
        blv_vec_combine(r, 1.0, s->at.hv, -1.0, s->at.fy);
        BLV_TRY(blv_steps_measure(run, &s->steps,
                                  &(const blv_directions){.r = r, .v = s->v, .hv = s->at.hv}));
        m->step_v =
            blv_steps_v(&s->steps, blv_steps_decay(run, &s->steps, batch), batch, r, m->r_norm);
        BLV_TRY(blv_move(run, s->v, m->step_v, r));
    }
    return BLV_GO;
}

/* Whether a sum with an automatic eta has to end before its next term. On whole sums p may turn
 * back, which shows that eta is longer than 1/L: it is halved, for good. The terms may also grow,
 * where g curves down or a batch is far from the whole. */
static bool sum_ends(blv_run *run, aid *s, const blv_batch *batch, double before, double norm,
                     double moved) {
    bool turned = !batch && moved > 1.1 * hypot(before, norm);
    if (!s->watch || !(turned || norm > before))
        return false;
    if (turned)
        s->steps.v *= 0.5;
    blv_run_note(run, "a Neumann sum was ended early: its terms no longer fell");
    return true;
}

/* An automatic K is what mu asks for, and more where the terms have not fallen to a
 * twentieth by then. */
static bool sum_goes_on(const aid *s, double q, double first, double norm) {
    if (s->linear >= 0)
        return q < (double)s->linear;
    return q < blv_auto_terms(s->steps.constants.mu, s->steps.v, AUTO_PRODUCTS_MAX) ||
           (q < AUTO_PRODUCTS_MAX && norm > 0.05 * first);
}

static blv_flow by_neumann(blv_run *run, aid *s, blv_metrics *m) {
    blv_vec *p = s->at.fy, *sum = s->at.gy;
    const blv_batch *batch = blv_sampler_next(s->at.g_batches);
    double *met = &s->steps.curvature;
    const double eta = s->watch ? fmin(s->steps.v, 1.0 / *met) : s->steps.v,
                 first = blv_vec_norm(p);
    double norm = first;
    m->step_v = eta;
    blv_vec_copy(sum, p);
    for (double q = 0.0; sum_goes_on(s, q, first, norm); q++) {
        BLV_TRY(blv_oracle_hvp(run, batch, blv_run_x(run), blv_run_y(run), p, s->at.hv));
        double before = norm, hp_norm;
        blv_vec_combine(p, 1.0, p, -eta, s->at.hv);
        BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&norm, p), BLV_NORM(&hp_norm, s->at.hv))));
        *met = before > 0.0 ? fmax(0.98 * *met, hp_norm / before) : *met;
        if (sum_ends(run, s, batch, before, norm, eta * hp_norm))
            break;
        blv_vec_axpy(sum, 1.0, p);
    }
    s->left = first > 0.0 ? norm / first : 0.0;
    return blv_move_to(run, s->v, 1, &eta, (const blv_vec *const[]){sum});
}

static blv_flow by_one_step(blv_run *run, aid *s, blv_metrics *m) {
    m->step_v = s->steps.v;
    return blv_move_to(run, s->v, 1, &s->steps.v, (const blv_vec *const[]){s->at.fy});
}

/* ---- The algorithm ---- */

static double inner_steps(const blv_run *run, const aid *s) {
    double k = (double)blv_run_iteration(run);
    return s->growth > 0.0 ? ceil(s->growth * pow(k + 1.0, 0.25)) : (double)s->inner;
}

static blv_flow aid_step(blv_run *run, void *state) {
    aid *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *d = s->at.fx;
    blv_metrics *m = blv_run_metrics(run);
    const double T_in = inner_steps(run, s);

    blv_steps_loop_y(&s->steps, T_in);
    for (uint64_t t = 0; (double)t < T_in; t++) {
        const blv_batch *batch = blv_sampler_next(s->at.g_batches);
        BLV_TRY(blv_oracle_lower(run, batch, x, y, NULL, NULL, s->at.gy));
        BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.gy = s->at.gy}));
        m->step_y = blv_steps_y(&s->steps, blv_steps_decay(run, &s->steps, batch), batch, s->at.gy,
                                m->gy_norm);
        BLV_TRY(blv_move(run, y, m->step_y, s->at.gy));
    }
    const blv_batch *bf = blv_sampler_next(s->at.f_batches);
    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->at.fx, s->at.fy));
    BLV_TRY(s->solve(run, s, m));
    const blv_batch *bj = s->one_batch ? s->of_H : blv_sampler_next(s->at.g_batches);
    BLV_TRY(blv_oracle_cross(run, bj, x, y, s->v, s->at.jv));
    blv_vec_combine(d, 1.0, s->at.fx, -1.0, s->at.jv);
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.d = d}));
    const blv_batch *noise = bj ? bj : bf;
    m->step_x = blv_steps_x(&s->steps, blv_steps_decay(run, &s->steps, noise), noise, d, m->d_norm);
    return blv_move(run, x, m->step_x, d);
}

/* ---- The members of the family ---- */

static blv_error open_cg(blv_run *run, void *state) {
    aid *s = state;
    s->solve = by_cg;
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(blv_run_linear_work(run, BLV_CG_VECTORS, &s->cg));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XY, false);
}

static blv_error open_fixed_point(blv_run *run, void *state) {
    aid *s = state;
    s->solve = by_fixed_point;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XYV, false);
}

static blv_error open_amigo(blv_run *run, void *state) {
    aid *s = state;
    s->fresh_batches = true;
    return open_fixed_point(run, state);
}

static blv_error open_bcsr(blv_run *run, void *state) {
    aid *s = state;
    s->one_batch = true;
    return open_fixed_point(run, state);
}

static blv_error open_sum(blv_run *run, aid *s, solve_fn solve, bool estimate) {
    s->solve = solve;
    s->watch = isnan(s->steps.v);
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(blv_state_scalar(run, "eta", &s->steps.v));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XY, estimate);
}

static blv_error open_neumann(blv_run *run, void *state) {
    aid *s = state;
    BLV_CHECK(blv_state_scalar(run, "left", &s->left));
    return open_sum(run, s, by_neumann, isnan(s->steps.v) || s->linear < 0);
}

static blv_error open_one_step(blv_run *run, void *state) {
    aid *s = state;
    return open_sum(run, s, by_one_step, isnan(s->steps.v));
}

/* In fixed point steps v follows as late as its own steps let it. */
static blv_flow aid_prepare(blv_run *run, void *state) {
    aid *s = state;
    double steps = inner_steps(run, s);
    if (s->solve == by_fixed_point)
        steps = fmin(steps, (double)s->linear);
    BLV_TRY(blv_steps_prepare(run, &s->steps, steps));
    if (s->solve == by_neumann && s->linear < 0)
        blv_run_note(run, "Neumann sums: eta = %.4g, K = %.0f at first", s->steps.v,
                     blv_auto_terms(s->steps.constants.mu, s->steps.v, AUTO_PRODUCTS_MAX));
    return BLV_GO;
}

#define FIELD(name) offsetof(aid, name)
#define NEEDS (BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE)
#define STEPS_XY                                                                                   \
    BLV_POSITIVE_AUTO("step_x", steps.x, "x-step"),                                                \
        BLV_POSITIVE_AUTO("step_y", steps.y, "y-step; auto: 1/L")
#define STEP_V BLV_POSITIVE_AUTO("step_v", steps.v, "v-step; auto: 1/L")
#define INNER BLV_COUNT("inner", inner, "10", "T_in: y-steps in an iteration")
#define ETA BLV_POSITIVE_AUTO("eta", steps.v, "in place of H^-1; auto: 1/L")
#define COMMON_FIELDS                                                                              \
    .group = "double-loop", .state_size = sizeof(aid), .prepare = aid_prepare, .step = aid_step

/* CG takes one product to see where it stands. */
#define LINEAR(least)                                                                              \
    {                                                                                              \
        "linear", BLV_INT, FIELD(linear), "10", least, 9e15, NULL,                                 \
            "K: products with H in an iteration"                                                   \
    }

static const blv_param cg_params[] = {STEPS_XY, INNER, LINEAR(2), BLV_LAST_PARAM};

const blv_solver blv_solver_aid_cg = {
    BLV_SIZED(blv_solver),
    .name = "aid-cg",
    .summary = "inner gradient steps, then conjugate gradients for the linear system",
    .citation = "K. Ji, J. Yang, Y. Liang, ICML 2021 (AID-BiO)",
    .hint = "lower step_x or step_y",
    .uses = NEEDS,
    .params = cg_params,
    .open = open_cg,
    COMMON_FIELDS,
};

static const blv_param ba_params[] = {
    STEPS_XY,
    {"c", BLV_REAL, FIELD(growth), "1", DBL_MIN, 1e12, NULL,
     "y-steps in iteration k = 0, 1, ...: c (k+1)^(1/4), rounded up"},
    LINEAR(2),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_ba_cg = {
    BLV_SIZED(blv_solver),
    .name = "ba-cg",
    .summary = "as aid-cg, with more and more inner steps",
    .citation = "S. Ghadimi, M. Wang, 2018, Algorithm 1 (BA)",
    .hint = "lower step_x or step_y",
    .uses = NEEDS,
    .params = ba_params,
    .open = open_cg,
    COMMON_FIELDS,
};

static const blv_param fixed_point_params[] = {STEPS_XY, STEP_V, INNER, LINEAR(1), BLV_LAST_PARAM};

#define FIXED_POINT_FIELDS .hint = "lower step_x, step_y or step_v", COMMON_FIELDS

const blv_solver blv_solver_aid_fp = {
    BLV_SIZED(blv_solver),
    .name = "aid-fp",
    .summary = "inner gradient steps, then fixed point steps for the linear system",
    .citation = "R. Grazzi, L. Franceschi, M. Pontil, S. Salzo, ICML 2020 (AID-FP)",
    .uses = NEEDS,
    .params = fixed_point_params,
    .open = open_fixed_point,
    FIXED_POINT_FIELDS,
};

const blv_solver blv_solver_amigo = {
    BLV_SIZED(blv_solver),
    .name = "amigo",
    .summary = "inner stochastic steps on y, then on v, both from where they were",
    .citation = "M. Arbel, J. Mairal, ICLR 2022 (AmIGO)",
    .uses = NEEDS | BLV_IS_STOCHASTIC,
    .params = fixed_point_params,
    .open = open_amigo,
    FIXED_POINT_FIELDS,
};

static const blv_param bcsr_params[] = {
    STEPS_XY,
    STEP_V,
    BLV_COUNT("inner", inner, "5", "y-steps in an iteration"),
    BLV_COUNT("linear", linear, "3", "v-steps in an iteration"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_bcsr = {
    BLV_SIZED(blv_solver),
    .name = "bcsr",
    .summary = "for coresets: a few steps on y and v, then a projected step on the weights",
    .citation = "J. Hao, K. Ji, M. Liu, NeurIPS 2023",
    .uses = NEEDS | BLV_IS_STOCHASTIC,
    .params = bcsr_params,
    .open = open_bcsr,
    FIXED_POINT_FIELDS,
};

static const blv_param neumann_params[] = {
    STEPS_XY,
    ETA,
    INNER,
    {"linear", BLV_INT, FIELD(linear), "auto", 0, 9e15, "auto",
     "K: products with H; auto: until a twentieth of fy is left, at most 1000"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_aid_neumann = {
    BLV_SIZED(blv_solver),
    .name = "aid-neumann",
    .summary = "inner gradient steps, then a Neumann sum for the linear system",
    .citation = "K. Ji, J. Yang, Y. Liang, ICML 2021; J. Lorraine, P. Vicol, D. Duvenaud, 2020",
    .hint = "lower eta, step_x or step_y",
    .bias = "the Neumann sum is cut off: (1 - mu eta)^linear of H^-1 fy is missing",
    .uses = NEEDS,
    .params = neumann_params,
    .open = open_neumann,
    COMMON_FIELDS,
};

static const blv_param one_step_params[] = {STEPS_XY, ETA, INNER, BLV_LAST_PARAM};

const blv_solver blv_solver_t1_t2 = {
    BLV_SIZED(blv_solver),
    .name = "t1-t2",
    .summary = "inner gradient steps, then v = eta fy: cheap and biased",
    .citation = "J. Luketina, M. Berglund, K. Greff, T. Raiko, ICML 2016 (T1-T2)",
    .hint = "lower step_x, step_y or eta",
    .bias = "ends where fx - eta J fy is zero: eta fy is taken for H^-1 fy",
    .uses = NEEDS,
    .params = one_step_params,
    .open = open_one_step,
    COMMON_FIELDS,
};
