/* RAGD-GS: restarted accelerated gradient descent on the penalized function.
 *
 *   z = AGD on g(w, .);   y = AGD on f(w, .) + lambda g(w, .)          (blocks/penalized.h)
 *   G = fx(w,y) + lambda (gx(w,y) - gx(w,z))
 *   x+ = P_X(w - G/L);   w = x+ + k/(k+1) (x+ - x);   S += |x+ - x|^2   (k counts this step)
 *   restart with w = x when (k+1)^(4+nu) Hc^2 S^nu > L^2
 *
 * "Accelerating first-order methods for bilevel optimization under general smoothness", Algorithms
 * 1 and 2. Its output is the average wbar = (k-1)/(k+1) wbar + 2/(k+1) w of an epoch: `wbar` in the
 * state, and x itself with output = average. The default is the last x, which is the better one
 * where the epochs are ended in time. The result's y is the minimizer of f + lambda g.
 *
 * Ours. L on auto: see blocks/momentum.h. Hc on auto: the largest constant that this epoch's
 * iterates show in Lemmas 6 and 5, for the penalized function p:
 *
 *   |p(a) - p(b) - (p'(a) + p'(b))'(a - b)/2| <= 2 Hc |a - b|^(2+nu) / ((1+nu)(2+nu)(3+nu))
 *   |p'(wbar) - average of p'(w)| <= Hc (spread of the w)^((1+nu)/2) / (1+nu)
 *
 * above rounding, and above a hundredth of what L alone allows, for the inner solves have errors.
 * The second takes an iteration of its own, at k = 8, 16, 32, ..., which looks at wbar and does not
 * move x. On auto an epoch also ends when the momentum points uphill, G'(x+ - x) > 0: on a
 * quadratic Hc is 0 and nothing else would end it; and after each step on batches, whose noise the
 * momentum would add up. */
#include "blocks/momentum.h"
#include "blocks/param_rows.h"
#include "blocks/penalized.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"
#include "space/distance.h"

#include <math.h>

typedef struct ragd_gs {
    double Hc, nu;
    int output, warm;
    blv_penalized inner;
    blv_momentum outer;
    bool Hc_auto;
    blv_vec *G, *average_G, *wbar, *room;
    blv_vec *xk;         /* the iterate, when the run's x is the average */
    double value_before; /* of the penalized function at w_before */
    double spread;       /* weighted variance of the epoch's w */
    double looked;       /* k of the last look at wbar in this epoch */
    double d_norm;       /* of the last step */
} ragd_gs;

enum { OUTPUT_LAST, OUTPUT_AVERAGE };

static blv_error ragd_gs_open(blv_run *run, void *state) {
    ragd_gs *s = state;
    s->Hc_auto = isnan(s->Hc);
    if (s->output == OUTPUT_AVERAGE)
        BLV_CHECK(blv_state_iterate(run, "x_k", BLV_LEVEL_X, &s->xk));
    BLV_CHECK(blv_momentum_open(run, s->xk ? s->xk : blv_run_x(run), &s->outer));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->G, &s->room, NULL));
    BLV_CHECK(blv_state_vec(run, "wbar", BLV_LEVEL_X, &s->wbar));
    BLV_CHECK(blv_state_vec(run, "average G", BLV_LEVEL_X, &s->average_G));
    BLV_CHECK(blv_state_scalars(run, "Hc", &s->Hc, "value", &s->value_before, "spread", &s->spread,
                                "looked", &s->looked, "last_d_norm", &s->d_norm, NULL));
    return blv_penalized_open(run, &s->inner, true, s->outer.L_auto);
}

static blv_flow ragd_gs_prepare(blv_run *run, void *state) {
    ragd_gs *s = state;
    BLV_TRY(blv_penalized_prepare(run, &s->inner));
    blv_momentum_set(&s->outer, &s->inner.constants);
    if (s->xk)
        blv_vec_copy(s->xk, blv_run_x(run));
    if (s->Hc_auto)
        s->Hc = 0.0;
    return BLV_GO;
}

static void begin_epoch(blv_run *run, ragd_gs *s) {
    if (!s->warm) {
        blv_vec_fill(blv_run_y(run), 0.0);
        blv_vec_fill(s->inner.z, 0.0);
    }
    if (s->Hc_auto)
        s->Hc = 0.0;
    s->spread = s->looked = 0.0;
}

/* Errors of the inner solves, relative to L times the way, that must not pass for curvature. */
static const double inexact = 0.01;

/* What Hc must at least be, from the values and gradients at w and w_before. */
static void learn_Hc(ragd_gs *s, const blv_penalty_look *look) {
    const blv_momentum *o = &s->outer;
    if (!s->Hc_auto || o->known == 0.0 || look->batch || o->k == 0.0)
        return;
    double nu = s->nu, way = blv_distance(s->room, o->w, o->w_before);
    double slopes = blv_vec_dot(s->G, s->room) + blv_vec_dot(o->G_before, s->room);
    double gap = fabs(look->value - s->value_before - 0.5 * slopes);
    gap -= 2.0 * look->noise + inexact * o->L * way * way;
    if (way > 0.0)
        s->Hc = fmax(s->Hc, 0.5 * (1.0 + nu) * (2.0 + nu) * (3.0 + nu) * gap / pow(way, 2.0 + nu));
}

/* An iteration that takes G at wbar, for Lemma 5. */
static blv_flow look_at_average(blv_run *run, ragd_gs *s) {
    blv_penalty_look look;
    BLV_TRY(blv_penalized_gradient(run, &s->inner, s->wbar, false, s->G, NULL, &look));
    double gap = blv_distance(s->room, s->G, s->average_G);
    gap -= inexact * s->outer.L * sqrt(s->spread);
    if (s->spread > 0.0)
        s->Hc = fmax(s->Hc, gap * (1.0 + s->nu) / pow(s->spread, 0.5 * (1.0 + s->nu)));
    s->looked = s->outer.k;
    return BLV_GO;
}

static bool look_is_due(const ragd_gs *s) {
    double k = s->outer.k;
    return s->Hc_auto && s->outer.known > 0.0 && k >= 8.0 && k > s->looked &&
           exp2(floor(log2(k))) == k;
}

/* wbar, the average of G and the spread take in the w of the last step. */
static void average(ragd_gs *s) {
    double c = 2.0 / (s->outer.k + 1.0);
    double way = blv_distance(s->room, s->outer.w_before, s->wbar);
    s->spread = (1.0 - c) * (s->spread + c * way * way);
    blv_vec_combine(s->wbar, 1.0 - c, s->wbar, c, s->outer.w_before);
    blv_vec_combine(s->average_G, 1.0 - c, s->average_G, c, s->outer.G_before);
}

/* The bound of Lemma 5 on the gradient at wbar. */
static double norm_at_average(const ragd_gs *s) {
    return blv_vec_norm(s->average_G) + s->Hc / (1.0 + s->nu) * pow(s->spread, 0.5 * (1.0 + s->nu));
}

static blv_flow ragd_gs_step(blv_run *run, void *state) {
    ragd_gs *s = state;
    blv_momentum *o = &s->outer;
    blv_metrics *m = blv_run_metrics(run);
    blv_penalty_look look;
    blv_momentum_move move;
    bool again;

    if (blv_momentum_begins(o))
        begin_epoch(run, s);
    m->d_norm = s->d_norm;
    m->step_y = 1.0 / s->inner.lower.L;
    if (look_is_due(s))
        return look_at_average(run, s);
    BLV_TRY(blv_penalized_gradient(run, &s->inner, o->w, s->Hc_auto, s->G, NULL, &look));
    BLV_TRY(blv_momentum_check(run, o, s->G, look.batch, &again));
    if (again)
        return BLV_GO;
    learn_Hc(s, &look);
    double theta = (o->k + 1.0) / (o->k + 2.0);
    BLV_TRY(blv_momentum_step(run, o, s->G, look.batch, theta, &move));
    m->step_x = move.step;
    s->value_before = look.value;
    average(s);
    s->d_norm = m->d_norm = s->xk ? norm_at_average(s) : move.mapping;
    if (s->xk)
        BLV_TRY(blv_move_to(run, blv_run_x(run), 1, (const double[]){1.0},
                            (const blv_vec *const[]){s->wbar}));
    double k = o->k, L = o->L;
    bool far = pow(k + 1.0, 4.0 + s->nu) * s->Hc * s->Hc * pow(o->S, s->nu) > L * L;
    if (far || (s->Hc_auto && (move.uphill || look.batch)))
        blv_momentum_restart(o);
    return BLV_GO;
}

#define FIELD(name) offsetof(ragd_gs, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("L", outer.L, "the x-step is 1/L; auto: estimated, raised by backtracking"),
    {"Hc", BLV_REAL, FIELD(Hc), "auto", 0, DBL_MAX, "auto",
     "constant of the restart condition; auto: what the epoch's iterates show"},
    {"nu", BLV_REAL, FIELD(nu), "1", 0, 1, NULL, "Hoelder exponent of the second derivatives"},
    BLV_PENALIZED_PARAMS(ragd_gs),
    BLV_WORD("warm", warm, "on", "off|on",
             "y and z are kept over a restart; off: they begin at 0, as in the paper"),
    BLV_WORD("output", output, "last", "last|average",
             "what x is: the last iterate, or the average wbar of the epoch, as in the paper"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_ragd_gs = {
    BLV_SIZED(blv_solver),
    .name = "ragd-gs",
    .summary = "gradients only: restarted accelerated descent on the penalized function",
    .citation = "Accelerating first-order methods for bilevel optimization under general "
                "smoothness, Algorithm 1",
    .group = "first-order penalty",
    .hint = "raise L or Lg",
    .bias = "ends where f + lambda (g - min g) is stationary: |grad Phi| of order 1/lambda is left",
    .state_size = sizeof(ragd_gs),
    .params = params,
    .open = ragd_gs_open,
    .prepare = ragd_gs_prepare,
    .step = ragd_gs_step,
};
