/* MSGBiO and VR-MSGBiO: momentum estimates of all that a hypergradient is made of, on batches, for
 * lower levels that are not convex but have no bad stationary point (Polyak-Lojasiewicz).
 *
 *   u, h    estimates of fx, fy          eta_t   k/(m+t)^e, at most 1; it multiplies both steps
 *   s       estimate of gy               c_q     c1 .. c5 times eta_{t-1}^p, at most 1; 1 at t = 0
 *   G, Hm   estimates of J, H            B       f's batch for fx and fy, g's for gy, J and H
 *
 *   msgbio      q_t = c_q q(z_t;B) + (1 - c_q) q_{t-1}                    e = 1/2, p = 1
 *   vr-msgbio   q_t = q(z_t;B) + (1 - c_q) (q_{t-1} - q(z_{t-1};B))       e = 1/3, p = 2
 *
 * for each q of u, h, s, G and Hm with z = (x, y), the batches of f and g independent; then
 *
 *   w = u - G (Hm \ h);   xt = P_X(x - gamma w);  x += eta_t (xt - x);   y -= eta_t lambda s
 *
 * F. Huang, "On momentum-based gradient methods for bilevel optimization with nonconvex
 * lower-level", Algorithms 2 and 3. (The paper's v is s here; v is Hm \ h, as elsewhere.)
 *
 * clip = on adds the paper's projections: |h| to at most C_fy, the singular values of G to at most
 * C_gxy, the eigenvalues of Hm into [mu, L] in size. It leaves them out in practice, and so does
 * the default. G and Hm are dense or sums of products at the last points: blocks/hessian_average.h.
 *
 * Ours: k and m. auto makes eta_0 = 1 and lets the steps shrink only after about m = 10 L/mu
 * iterations (at least 100, at most 10000): y has to come near y*(x) first. */
#include "blocks/averaged_move.h"
#include "blocks/hessian_average.h"
#include "blocks/iterate_selection.h"
#include "blocks/pair_guard.h"
#include "blocks/param_rows.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct msgbio {
    blv_steps steps;
    blv_pair_guard guard;
    double k, m, c_fx, c_fy, c_gy, c_J, c_H;
    int clip;
    double clip_fy, clip_gxy, clip_mu, clip_L;
    blv_hessian_average curvature;
    blv_iterate_selection out;
    bool recursive;
    blv_hypergradient_terms at;                 /* on the batches, at z_t */
    blv_vec *fx_old, *fy_old, *gy_old;          /* there too, at z_{t-1} */
    blv_vec *u, *h, *s, *u_now, *h_now, *s_now; /* estimates of the last iteration, of this one */
    blv_vec *x_old, *y_old, *x_now, *y_now;     /* z_{t-1}, z_t */
    blv_vec *ahead;
    double *clip_room;
} msgbio;

static blv_error open_estimate(blv_run *run, const char *name, blv_level level, blv_vec **last,
                               blv_vec **now) {
    BLV_CHECK(blv_state_vec(run, name, level, last));
    return blv_scratch_vec(run, level, now);
}

static blv_error open_old_point(blv_run *run, msgbio *s) {
    BLV_CHECK(blv_state_vec(run, "x before", BLV_LEVEL_X, &s->x_old));
    BLV_CHECK(blv_state_vec(run, "y before", BLV_LEVEL_Y, &s->y_old));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->x_now, &s->fx_old, NULL));
    return blv_scratch_vecs(run, BLV_LEVEL_Y, &s->y_now, &s->fy_old, &s->gy_old, NULL);
}

static blv_error open_clip(blv_run *run, msgbio *s) {
    if (s->curvature.form == BLV_CARRIED_OPERATOR)
        return blv_run_fail(run, BLV_E_VALUE,
                            "solver %s: clip = on needs representation = explicit",
                            blv_run_solver(run)->name);
    BLV_CHECK(blv_state_hiddens(run, "clip_fy", &s->clip_fy, "clip_gxy", &s->clip_gxy, "clip_mu",
                                &s->clip_mu, "clip_L", &s->clip_L, NULL));
    return blv_scratch_block(run, blv_hessian_average_clip_room(run), &s->clip_room);
}

static blv_error msgbio_open(blv_run *run, void *state) {
    msgbio *s = state;
    bool wants = isnan(s->m) || (s->clip && (isnan(s->clip_mu) || isnan(s->clip_L)));
    s->recursive = blv_run_solver(run) == &blv_solver_vr_msgbio;
    BLV_CHECK(blv_iterate_selection_open(run, &s->out));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(open_estimate(run, "fx estimate", BLV_LEVEL_X, &s->u, &s->u_now));
    BLV_CHECK(open_estimate(run, "fy estimate", BLV_LEVEL_Y, &s->h, &s->h_now));
    BLV_CHECK(open_estimate(run, "gy estimate", BLV_LEVEL_Y, &s->s, &s->s_now));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->ahead));
    if (s->recursive)
        BLV_CHECK(open_old_point(run, s));
    BLV_CHECK(blv_state_hiddens(run, "k", &s->k, "m", &s->m, NULL));
    BLV_CHECK(blv_steps_open(run, &s->steps, BLV_STEPS_XY, wants));
    BLV_CHECK(blv_pair_guard_open(run, &s->guard));
    BLV_CHECK(blv_hessian_average_open(run, &s->curvature, s->recursive, s->clip, s->at.g_batches));
    return s->clip ? open_clip(run, s) : BLV_OK;
}

static double exponent(const msgbio *s) {
    return s->recursive ? 1.0 / 3.0 : 0.5;
}

static blv_flow msgbio_prepare(blv_run *run, void *state) {
    msgbio *s = state;
    const blv_constants *c = &s->steps.constants;
    BLV_TRY(blv_steps_prepare(run, &s->steps, 1.0));
    blv_pair_guard_begin(&s->guard, &s->steps);
    if (isnan(s->m))
        s->m = fmin(fmax(10.0 * c->L / c->mu, 100.0), 10000.0);
    if (isnan(s->k))
        s->k = pow(s->m, exponent(s));
    if (s->clip && isnan(s->clip_mu))
        s->clip_mu = 0.5 * c->mu;
    if (s->clip && isnan(s->clip_L))
        s->clip_L = 2.0 * c->L;
    return BLV_GO;
}

static double eta_at(const msgbio *s, uint64_t t) {
    return fmin(1.0, s->k / pow(s->m + (double)t, exponent(s)));
}

/* The coefficient of an estimate in iteration t. */
static double coefficient(const msgbio *s, double c, uint64_t t) {
    double eta = t > 0 ? eta_at(s, t - 1) : 1.0;
    return t > 0 ? fmin(1.0, c * (s->recursive ? eta * eta : eta)) : 1.0;
}

/* q_t; old: q(z_{t-1};B), NULL for averages and in the first iteration */
static void estimate(blv_vec *now, double c, const blv_vec *here, const blv_vec *last,
                     const blv_vec *old) {
    if (old)
        blv_vec_lincomb(now, 3, (const double[]){1.0, 1.0 - c, c - 1.0},
                        (const blv_vec *const[]){here, last, old});
    else
        blv_vec_combine(now, c, here, 1.0 - c, last);
}

static void clip_fy(msgbio *s) {
    double norm = blv_vec_norm(s->h_now);
    if (isnan(s->clip_fy))
        s->clip_fy = 10.0 * norm;
    if (norm > s->clip_fy)
        blv_vec_scale(s->h_now, s->clip_fy / norm);
}

static void clip_matrices(blv_run *run, msgbio *s) {
    if (isnan(s->clip_gxy))
        s->clip_gxy = 10.0 * blv_hessian_average_cross_norm(run, &s->curvature);
    blv_hessian_average_clip(run, &s->curvature, s->clip_mu, s->clip_L, s->clip_gxy, s->clip_room);
}

/* u, h, s, G and Hm of this iteration. */
static blv_flow make_estimates(blv_run *run, msgbio *s, const blv_batch *bf, const blv_batch *bg) {
    const blv_hypergradient_terms *p = &s->at;
    uint64_t t = blv_run_iteration(run);
    blv_point here = {s->out.x, s->out.y}, before = {s->x_old, s->y_old};
    bool twice = s->recursive && t > 0;
    BLV_TRY(blv_oracle_upper(run, bf, here.x, here.y, NULL, p->fx, p->fy));
    BLV_TRY(blv_oracle_lower(run, bg, here.x, here.y, NULL, NULL, p->gy));
    if (twice) {
        BLV_TRY(blv_oracle_upper(run, bf, before.x, before.y, NULL, s->fx_old, s->fy_old));
        BLV_TRY(blv_oracle_lower(run, bg, before.x, before.y, NULL, NULL, s->gy_old));
    }
    estimate(s->u_now, coefficient(s, s->c_fx, t), p->fx, s->u, twice ? s->fx_old : NULL);
    estimate(s->h_now, coefficient(s, s->c_fy, t), p->fy, s->h, twice ? s->fy_old : NULL);
    estimate(s->s_now, coefficient(s, s->c_gy, t), p->gy, s->s, twice ? s->gy_old : NULL);
    BLV_TRY(blv_hessian_average_put(run, &s->curvature, bg, &here, twice ? &before : NULL,
                                    coefficient(s, s->c_H, t), coefficient(s, s->c_J, t)));
    if (s->clip) {
        clip_fy(s);
        clip_matrices(run, s);
    }
    return BLV_GO;
}

/* What this iteration found is what the next one starts from. */
static void keep_estimates(blv_run *run, msgbio *s) {
    blv_vec_swap(s->u, s->u_now);
    blv_vec_swap(s->h, s->h_now);
    blv_vec_swap(s->s, s->s_now);
    blv_hessian_average_keep(run, &s->curvature);
    if (s->recursive) {
        blv_vec_swap(s->x_old, s->x_now);
        blv_vec_swap(s->y_old, s->y_now);
    }
}

static blv_flow msgbio_step(blv_run *run, void *state) {
    msgbio *s = state;
    blv_iterate_selection_begin(run, &s->out);
    s->steps.x_now = s->out.x;
    s->steps.y_now = s->out.y;
    blv_vec *x = s->out.x, *y = s->out.y, *v = s->out.v, *w = s->at.fx;
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *bf = blv_sampler_next(s->at.f_batches),
                    *bg = blv_sampler_next(s->at.g_batches);
    double eta = eta_at(s, blv_run_iteration(run));

    BLV_TRY(make_estimates(run, s, bf, bg));
    BLV_TRY(blv_hessian_average_solve(run, &s->curvature, bg, s->h_now, v, &m->r_norm));
    BLV_TRY(blv_hessian_average_cross(run, &s->curvature, v, s->at.jv));
    blv_vec_combine(w, 1.0, s->u_now, -1.0, s->at.jv);
    const blv_pair pair = {x, w, s->s_now, v, s->at.jv, NULL, NULL};
    BLV_TRY(blv_pair_guard_steps(run, &s->guard, &s->steps, eta, bg ? bg : bf, &pair));

    double gamma = m->step_x / eta, mapping;
    BLV_TRY(blv_look_ahead(run, x, gamma, w, s->ahead, &mapping));
    BLV_TRY(blv_iterate_selection_offer(run, &s->out, fmax(mapping, m->gy_norm)));
    if (s->recursive) {
        blv_vec_copy(s->x_now, x);
        blv_vec_copy(s->y_now, y);
    }
    BLV_TRY(blv_move_part(run, x, eta, gamma, w, s->ahead));
    blv_pair_guard_moved(&s->guard, m->step_x * mapping, m->step_y * m->gy_norm);
    BLV_TRY(blv_move(run, y, m->step_y, s->s_now));
    keep_estimates(run, s);
    return BLV_GO;
}

#define FIELD(name) offsetof(msgbio, name)
/* clang-format off */
#define PARAMS(k_help, c_help, c) \
    BLV_POSITIVE_AUTO("gamma", steps.x, "x-step"), \
    BLV_POSITIVE_AUTO("lambda", steps.y, "y-step; auto: 1/L"), \
    BLV_POSITIVE_AUTO("k", k, k_help), \
    {"m", BLV_REAL, FIELD(m), "auto", 0, DBL_MAX, "auto", \
     "iterations before the steps shrink; auto: 10 L/mu, at least 100, at most 10000"}, \
    BLV_POSITIVE("c1", c_fx, c, c_help " of fx"), \
    BLV_POSITIVE("c2", c_fy, c, c_help " of fy"), \
    BLV_POSITIVE("c3", c_gy, c, c_help " of gy"), \
    BLV_POSITIVE("c4", c_J, c, c_help " of J"), \
    BLV_POSITIVE("c5", c_H, c, c_help " of H"), \
    BLV_WORD("representation", curvature.form, "auto", BLV_CARRIED_WORDS, \
     "of G and Hm: dense matrices, or products at the last points; auto: by size"), \
    {"window", BLV_INT, FIELD(curvature.slots), "20", 1, 100000, NULL, \
     "operator: iterations that are kept"}, \
    BLV_COUNT("products", curvature.limits.products, "20", \
     "operator: products with Hm that MINRES takes at most"), \
    {"tolerance", BLV_REAL, FIELD(curvature.limits.tolerance), "1e-10", 0, 1, NULL, \
     "operator: MINRES stops at |Hm v - h| = tolerance |h|"}, \
    BLV_WORD("clip", clip, "off", "off|on", \
     "the paper's projections of h, G and Hm; needs explicit matrices"), \
    BLV_POSITIVE_AUTO("clip_fy", clip_fy, "C_fy, largest |h|; auto: 10 times the first"), \
    BLV_POSITIVE_AUTO("clip_gxy", clip_gxy, \
     "C_gxy, largest singular value of G; auto: 10 |G|_F of the first"), \
    BLV_POSITIVE_AUTO("clip_mu", clip_mu, \
     "smallest size of an eigenvalue of Hm; auto: half of the estimate"), \
    BLV_POSITIVE_AUTO("clip_L", clip_L, \
     "largest size of an eigenvalue of Hm; auto: twice the estimate"), \
    BLV_WORD("output", out.rule, "last", BLV_OUTPUT_WORDS, \
     "which iterate x and y are handed out; best: by the larger of |w| and |gy|"), \
    BLV_LAST_PARAM
/* clang-format on */

static const blv_param params[] = {
    PARAMS("of eta_t = k/(m+t)^(1/2); auto: m^(1/2)", "factor of eta_t in the average", "0.5")};
static const blv_param vr_params[] = {
    PARAMS("of eta_t = k/(m+t)^(1/3); auto: m^(1/3)", "factor of eta_t^2 in the estimate", "0.05")};

#define COMMON_FIELDS                                                                              \
    .hint = "lower gamma or lambda",                                                               \
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,                  \
    .state_size = sizeof(msgbio), .open = msgbio_open, .prepare = msgbio_prepare,                  \
    .step = msgbio_step

const blv_solver blv_solver_msgbio = {
    BLV_SIZED(blv_solver),
    .name = "msgbio",
    .summary = "momentum averages of gradients, H and J on batches: g need not be convex in y",
    .citation = "F. Huang, On momentum-based gradient methods for bilevel optimization with "
                "nonconvex lower-level, Algorithm 2",
    .group = "single-loop",
    .params = params,
    COMMON_FIELDS,
};

const blv_solver blv_solver_vr_msgbio = {
    BLV_SIZED(blv_solver),
    .name = "vr-msgbio",
    .summary = "recursive estimates of gradients, H and J on batches: less noise than averages",
    .citation = "F. Huang, On momentum-based gradient methods for bilevel optimization with "
                "nonconvex lower-level, Algorithm 3",
    .group = "variance-reduced",
    .params = vr_params,
    COMMON_FIELDS,
};
