/* MinimaxOPT: descent and ascent on a penalty that grows by stages.
 *
 *   min over x and w, max over u of   f(x,w) + a (g(x,w) - g(x,u))
 *
 *   stage i:  a = alpha0 tau^i,  eta = eta0/tau^i, times a cosine schedule if asked for
 *     inner times:  u -= factor_u eta Gu,   Gu = b Gu + a gy(x,u)
 *                   w -= factor_w eta Gw,   Gw = b Gw + fy(x,w) + a gy(x,w)
 *     x = P_X(x - factor_x eta Gx),         Gx = b Gx + fx(x,w) + a (gx(x,w) - gx(x,u))
 *
 * x is moved at the new u and w (order = sequential), or together with the last of them at the old
 * point (simultaneous). "Effective bilevel optimization via minimax reformulation", Algorithms 1
 * (b = 0) and 2; the sign of the u-step is that of ascent. The last step of u and w and the x-step
 * are on the same batches, as in the second. The result's y is w. After the last stage the run goes
 * on with its values until it is stopped; with the cosine schedule the steps are down to zero then,
 * and the run ends.
 *
 * Ours: on auto eta is 1/(L_f + a L) for u and w, the same for both, so that they lag alike and the
 * lag cancels in gx(x,w) - gx(x,u), and the x-step is what blocks/constants.h says for that lag; L
 * and mu are corrected on the way. With optimizer = adam, eta is 0.01 in all stages. */
#include "blocks/adam.h"
#include "blocks/constants.h"
#include "blocks/guard.h"
#include "blocks/param_rows.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

/* One of u, w and x: its sum of directions, and its Adam. */
typedef struct side {
    blv_vec *G;
    blv_adam adam;
} side;

typedef struct minimaxopt {
    double alpha0, eta0, tau, momentum, factor_u, factor_w, factor_x, beta2, eps;
    int64_t stages, steps, inner;
    int order, schedule, optimizer;
    bool automatic; /* eta0, with momentum */
    bool falls;     /* eta falls from stage to stage */
    blv_penalty at;
    blv_constants_work *work;
    double L_f, mu_f, L, mu, L_phi; /* constants that the steps use */
    blv_vec *u, *Gx;
    side of_u, of_w, of_x;
    blv_guard guard;    /* of automatic x-steps */
    double scale_x;     /* which it shortens */
    blv_curvature of_r; /* of f + a g at w */
    double x_moved;     /* by how much, since */
    double stage, alpha;
} minimaxopt;

enum { SEQUENTIAL, SIMULTANEOUS };
enum { CONSTANT, COSINE };
enum { MOMENTUM, ADAM };

static blv_error open_side(blv_run *run, const minimaxopt *s, const char *name, blv_level level,
                           side *one) {
    if (s->optimizer == ADAM)
        return blv_adam_open(run, name, level, &one->adam);
    return blv_state_vec(run, name, level, &one->G);
}

static blv_error open_automatic(blv_run *run, minimaxopt *s) {
    BLV_CHECK(blv_guard_open(run, "Gx before", BLV_LEVEL_X, &s->guard));
    BLV_CHECK(blv_curvature_open(run, "r", BLV_LEVEL_Y, &s->of_r));
    BLV_CHECK(blv_state_hidden(run, "first penalty", &s->alpha0));
    BLV_CHECK(blv_state_scalars(run, "x_moved", &s->x_moved, "L_f", &s->L_f, "mu_f", &s->mu_f, "L",
                                &s->L, "mu", &s->mu, "L_phi", &s->L_phi, NULL));
    return blv_constants_open(run, &s->work);
}

static blv_error minimaxopt_open(blv_run *run, void *state) {
    minimaxopt *s = state;
    s->automatic = isnan(s->eta0) && s->optimizer == MOMENTUM;
    s->falls = !isnan(s->eta0);
    if (isnan(s->alpha0) && !s->automatic)
        s->alpha0 = 1.0;
    s->scale_x = 1.0;
    if (isnan(s->momentum))
        s->momentum = s->optimizer == ADAM ? 0.9 : 0.0;
    if (isnan(s->eta0) && s->optimizer == ADAM)
        s->eta0 = 0.01;
    BLV_CHECK(blv_state_iterate(run, "u", BLV_LEVEL_Y, &s->u));
    BLV_CHECK(blv_penalty_open(run, &s->at));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->Gx));
    BLV_CHECK(open_side(run, s, "Gu", BLV_LEVEL_Y, &s->of_u));
    BLV_CHECK(open_side(run, s, "Gw", BLV_LEVEL_Y, &s->of_w));
    BLV_CHECK(open_side(run, s, "Gx", BLV_LEVEL_X, &s->of_x));
    BLV_CHECK(blv_state_scalars(run, "stage", &s->stage, "alpha", &s->alpha, "scale_x", &s->scale_x,
                                NULL));
    return s->automatic ? open_automatic(run, s) : BLV_OK;
}

static blv_flow minimaxopt_prepare(blv_run *run, void *state) {
    minimaxopt *s = state;
    blv_vec_copy(s->u, blv_run_y(run));
    if (!s->work)
        return BLV_GO;
    blv_constants c;
    double growth = pow(s->tau, (double)(s->stages - 1)), last = s->alpha0 * growth;
    BLV_TRY(blv_constants_penalized(run, s->work, &s->at, &last, growth, false, &c));
    if (isnan(s->alpha0))
        s->alpha0 = c.lambda_unit;
    s->guard.unit = blv_move_unit(&c);
    s->L_f = c.L_f;
    s->mu_f = fmax(c.mu_f, 0.0);
    s->L = c.L;
    s->mu = c.mu;
    s->L_phi = c.doubt * c.L_phi;
    return BLV_GO;
}

typedef struct etas {
    double uw, x;
} etas;

static etas etas_of(const minimaxopt *s, double t, double end) {
    double uw = s->falls ? s->eta0 / pow(s->tau, s->stage) : s->eta0;
    double x = isnan(s->factor_x) ? uw : s->factor_x * uw;
    if (s->automatic) {
        double L = s->L_f + s->alpha * s->L, damped = 1.0 - s->momentum;
        double covered = blv_covered((s->mu_f + s->alpha * s->mu) / L, (double)s->inner);
        uw = damped / L;
        x = isnan(s->factor_x) ? damped * blv_covering_step(s->L_phi, covered) : s->factor_x * uw;
    }
    double wave = s->schedule == COSINE ? 0.5 * (cos(acos(-1.0) * fmin(t / end, 1.0)) + 1.0) : 1.0;
    return (etas){wave * uw, wave * x};
}

/* d becomes the direction to go: G = b G + d, or Adam's. */
static void take_in(const minimaxopt *s, side *one, blv_vec *d) {
    if (s->optimizer == ADAM) {
        blv_adam_direction(&one->adam, s->momentum, s->beta2, s->eps, d);
        return;
    }
    blv_vec_combine(one->G, s->momentum, one->G, 1.0, d);
    blv_vec_copy(d, one->G);
}

/* gu: gy(x,u), is scaled; gw: fy(x,w) + a gy(x,w). */
static blv_flow move_u_and_w(blv_run *run, minimaxopt *s, blv_vec *gu, blv_vec *gw, double eta) {
    blv_vec_scale(gu, s->alpha);
    take_in(s, &s->of_u, gu);
    take_in(s, &s->of_w, gw);
    BLV_TRY(blv_move(run, s->u, s->factor_u * eta, gu));
    return blv_move(run, blv_run_y(run), s->factor_w * eta, gw);
}

/* r: the gradient of f + a g at w. With the last one it shows a curvature, unless x has moved too
 * much in between. L is raised to it. mu falls to it and rises again slowly:
 * what is left in r belongs to the slowest directions, and among them to those that lag, if any do.
 */
static void learn(minimaxopt *s, const blv_vec *w, const blv_vec *r) {
    if (!s->automatic)
        return;
    double way, curvature = blv_curvature_met(&s->of_r, w, r, &way);
    if (curvature > 0.0 && s->x_moved <= 0.1 * way) {
        double met = fmax((curvature - s->mu_f) / s->alpha, 1e-12 * s->L);
        s->L = fmax(s->L, (curvature - s->L_f) / s->alpha);
        s->mu = fmin(met, 1.02 * s->mu);
    }
    s->x_moved = 0.0;
}

/* Gradients on different batches have nothing to say about curvature. */
static blv_batches draw(minimaxopt *s) {
    blv_batches b = blv_penalty_draw(&s->at);
    if (b.f || b.g)
        blv_curvature_forget(&s->of_r);
    return b;
}

static void enter_stage(minimaxopt *s, uint64_t iteration) {
    double stage = fmin(floor((double)iteration / (double)s->steps), (double)s->stages - 1.0);
    if (stage != s->stage) {
        blv_guard_reset(&s->guard);
        s->scale_x = 1.0;
        blv_curvature_forget(&s->of_r);
    }
    s->stage = stage;
    s->alpha = s->alpha0 * pow(s->tau, stage);
}

static blv_flow minimaxopt_step(blv_run *run, void *state) {
    minimaxopt *s = state;
    blv_penalty *p = &s->at;
    blv_vec *x = blv_run_x(run), *w = blv_run_y(run);
    blv_metrics *m = blv_run_metrics(run);
    blv_penalty_look look;
    bool together = s->order == SIMULTANEOUS;
    double t = (double)blv_run_iteration(run) + 1.0, end = (double)s->steps * (double)s->stages;

    if (s->schedule == COSINE && t > end) {
        blv_run_fail(run, BLV_OK, "the cosine schedule is over, all its steps are taken");
        return BLV_STUCK;
    }
    enter_stage(s, blv_run_iteration(run));
    blv_batches b = draw(s);
    for (int64_t k = together ? 1 : 0; k < s->inner; k++) {
        b = k > 0 ? draw(s) : b;
        BLV_TRY(blv_oracle_lower(run, b.g, x, s->u, NULL, NULL, p->gy_z));
        BLV_TRY(blv_penalty_gradient(run, p, b, s->alpha, x, w, p->fy));
        learn(s, w, p->fy);
        BLV_TRY(move_u_and_w(run, s, p->gy_z, p->fy, etas_of(s, t, end).uw));
    }
    BLV_TRY(blv_penalty_direction(run, p, b, s->alpha, x, w, s->u, false, s->Gx, NULL, &look));
    learn(s, w, p->fy);
    etas eta = etas_of(s, t, end);
    bool last = s->stage == (double)s->stages - 1.0;
    m->gy_norm = last ? look.gy_norm : blv_vec_norm(p->gy); /* at w: no end by tol before */
    m->r_norm = look.r_norm;
    m->d_norm = look.G_norm;
    m->step_y = eta.uw;
    if (together)
        BLV_TRY(move_u_and_w(run, s, p->gy_z, p->fy, eta.uw));
    take_in(s, &s->of_x, s->Gx);
    double norm;
    blv_scalar list[BLV_STEP_SCALARS], *next = list;
    next = blv_ask_norm(next, &norm, s->Gx);
    next = blv_guard_ask(&s->guard, x, s->Gx, next);
    BLV_TRY(blv_run_reduce(run, (size_t)(next - list), list));
    m->step_x = blv_guard_step(&s->guard, &s->scale_x, eta.x, look.batch, s->Gx, norm);
    BLV_TRY(blv_move(run, x, m->step_x, s->Gx));
    s->x_moved = m->step_x * norm;
    return BLV_GO;
}

#define FIELD(name) offsetof(minimaxopt, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("alpha0", alpha0,
                      "penalty of the first stage; auto: L_f/mu, and 1 where eta0 is given or "
                      "optimizer = adam"),
    {"tau", BLV_REAL, FIELD(tau), "1.5", 1, 1e6, NULL, "factor of the penalty from stage to stage"},
    BLV_COUNT("stages", stages, "20", "stages; the last one does not end"),
    BLV_COUNT("steps", steps, "100", "iterations of a stage"),
    BLV_COUNT("inner", inner, "1", "steps of u and w for each x-step"),
    BLV_POSITIVE_AUTO("eta0", eta0,
                      "step of the first stage; auto: by the constants of each stage"),
    BLV_POSITIVE("factor_u", factor_u, "1", "u-step over eta"),
    BLV_POSITIVE("factor_w", factor_w, "1", "w-step over eta"),
    BLV_POSITIVE_AUTO("factor_x", factor_x,
                      "x-step over eta; auto: 1, and with eta0 = auto by the constants"),
    {"momentum", BLV_REAL, FIELD(momentum), "auto", 0, 1, "auto",
     "b, and beta1 of adam; auto: 0, with adam 0.9"},
    BLV_WORD("order", order, "sequential", "sequential|simultaneous",
             "x moves after u and w, or with them at the old point"),
    BLV_WORD("schedule", schedule, "constant", "constant|cosine",
             "cosine: steps fall to 0 at the end of the last stage, and the run ends"),
    BLV_WORD("optimizer", optimizer, "momentum", "momentum|adam", "what is made of the directions"),
    {"beta2", BLV_REAL, FIELD(beta2), "0.999", 0, 1, NULL, "of adam"},
    BLV_POSITIVE("eps", eps, "1e-8", "of adam"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_minimaxopt = {
    BLV_SIZED(blv_solver),
    .name = "minimaxopt",
    .summary = "gradients only: single-loop descent and ascent, the penalty grows by stages",
    .citation = "Effective bilevel optimization via minimax reformulation, Algorithms 1 and 2",
    .group = "first-order penalty",
    .hint = "lower eta0, factor_x or tau",
    .bias = "ends where f + alpha (g - min g) is stationary: |grad Phi| of order 1/alpha is left",
    .state_size = sizeof(minimaxopt),
    .params = params,
    .open = minimaxopt_open,
    .prepare = minimaxopt_prepare,
    .step = minimaxopt_step,
};
