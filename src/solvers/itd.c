/* Iterative differentiation (ITD, reverse mode): the gradient of x -> f(x, y_T(x)), where y_T is
 * the last of T_in steps on y from where y was.
 *
 *   t = 0 .. T-1:    y_{t+1} = y_t - eta_t gy(y_t) + m (y_t - y_{t-1}),   y_{-1} = y_0
 *   p_T = fy(y_T), p_{T+1} = 0, d = fx(y_T)
 *   t = T-1 .. T-K0:  d -= eta_t J(y_t) p_{t+1}
 *                     p_t = p_{t+1} - eta_t H(y_t) p_{t+1} + m (p_{t+1} - p_{t+2})
 *   x = P_X(x - step_x d)
 *
 * m is the momentum, 0 in the papers' form. The second recursion is the first one read backwards:
 * y_t enters y_{t+1} with factor (1 + m) I - eta_t H and y_{t+2} with -m I. H and J are taken on
 * the batches of the steps that they belong to, so that with K0 = T_in d is the exact derivative
 * of what was computed. K0 < T_in cuts the pass short and keeps K0 points besides y.
 *
 * L. Franceschi, M. Donini, P. Frasconi, M. Pontil, "Forward and reverse gradient-based
 * hyperparameter optimization", ICML 2017; truncated: A. Shaban, C. Cheng, N. Hatch, B. Boots,
 * "Truncated back-propagation for bilevel optimization", AISTATS 2019. With constant H and m = 0,
 * d is fx - J v for the Neumann sum v of K0 terms, whose residual is p_{T-K0}. */
#include "blocks/param_rows.h"
#include "blocks/steps.h"
#include "blocks/trajectory.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

typedef struct itd {
    blv_steps steps;
    int64_t inner, back; /* T and K0 as given; negative: automatic */
    double momentum;
    double T;           /* of this iteration */
    double left;        /* |p| after the pass back, relative to |fy| */
    size_t T_max, room; /* with inner = auto T is known after `open` only; room: for K0 points */
    blv_hypergradient_terms at;
    blv_trajectory *points;
    blv_vec *y_before, *p_next; /* y_{t-1} and p_{t+2}; NULL without momentum */
} itd;

enum { AUTO_INNER_MAX = 300, AUTO_INNER_MIN = 10, POINTS_MAX = 1000000 };
static const double auto_bytes_max = 256e6;

static size_t most_inner_steps(const blv_run *run, const itd *s) {
    if (s->inner > 0)
        return (size_t)s->inner;
    const blv_space *space = blv_problem_definition(blv_run_problem(run))->space_y;
    double fit = floor(auto_bytes_max / (double)blv_space_vec_bytes(space));
    return (size_t)fmax(AUTO_INNER_MIN, fmin(fit, AUTO_INNER_MAX));
}

static blv_error itd_open(blv_run *run, void *state) {
    itd *s = state;
    s->T_max = s->room = most_inner_steps(run, s);
    if (s->back > 0 && (size_t)s->back < s->room)
        s->room = (size_t)s->back;
    if (s->room > POINTS_MAX)
        return blv_run_fail(run, BLV_E_VALUE,
                            "solver itd: %zu points of y are too many to keep; set K0, at most %d",
                            s->room, POINTS_MAX);
    s->T = (double)s->T_max;
    BLV_CHECK(blv_state_scalars(run, "inner_steps", &s->T, "left", &s->left, NULL));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    if (s->momentum > 0.0)
        BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &s->y_before, &s->p_next, NULL));
    BLV_CHECK(blv_trajectory_open(run, s->room, s->at.g_batches, &s->points));
    blv_run_note(run, "the trajectory has room for %zu points of y besides the last: %.3g MB",
                 s->room, 1e-6 * (double)blv_trajectory_bytes(s->points));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XY, s->inner < 0);
}

static size_t steps_back(const itd *s) {
    return s->T < (double)s->room ? (size_t)s->T : s->room;
}

static blv_flow itd_prepare(blv_run *run, void *state) {
    itd *s = state;
    BLV_TRY(blv_steps_prepare(run, &s->steps, (double)s->T_max));
    if (s->inner > 0)
        return BLV_GO;
    double mu = s->steps.constants.mu, step = s->steps.y;
    s->T = blv_auto_terms(mu, step, (double)s->T_max);
    blv_run_note(run, "inner = %.0f at first: where g is flattest %.2g of d is missing", s->T,
                 pow(1.0 - fmin(mu * step, 1.0), (double)steps_back(s)));
    return BLV_GO;
}

/* An automatic T grows where p has not fallen to a twentieth of fy: mu was that of the start. */
static void choose_length(itd *s) {
    if (s->inner < 0 && s->back < 0 && s->left > 0.05)
        s->T = fmin(ceil(1.2 * s->T), (double)s->T_max);
}

static blv_flow forward(blv_run *run, itd *s, blv_metrics *m) {
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *gy = s->at.gy;
    const double momentum = s->momentum;
    blv_steps_loop_y(&s->steps, s->T);
    if (momentum > 0.0)
        blv_vec_copy(s->y_before, y);
    for (size_t t = 0; t < (size_t)s->T; t++) {
        const blv_batch *batch = blv_sampler_next(s->at.g_batches);
        BLV_TRY(blv_oracle_lower(run, batch, x, y, NULL, NULL, gy));
        BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.gy = gy}));
        m->step_y =
            blv_steps_y(&s->steps, blv_steps_decay(run, &s->steps, batch), batch, gy, m->gy_norm);
        blv_trajectory_keep(s->points, t, y, batch, m->step_y);
        if (momentum == 0.0) {
            BLV_TRY(blv_move(run, y, m->step_y, gy));
            continue;
        }
        BLV_TRY(blv_move_to(run, y, 3, (const double[]){1.0 + momentum, -m->step_y, -momentum},
                            (const blv_vec *const[]){y, gy, s->y_before}));
        blv_vec_copy(s->y_before, blv_trajectory_at(s->points, t).y);
    }
    return BLV_GO;
}

/* d comes in as fx, p as fy. */
static blv_flow backward(blv_run *run, itd *s, blv_vec *d, blv_vec *p) {
    const double momentum = s->momentum, first = blv_vec_norm(p);
    if (momentum > 0.0)
        blv_vec_fill(s->p_next, 0.0);
    for (size_t k = 1; k <= steps_back(s); k++) {
        blv_trajectory_point at = blv_trajectory_at(s->points, (size_t)s->T - k);
        BLV_TRY(blv_oracle_all(run, at.batch, blv_run_x(run), at.y, p, NULL, s->at.hv, s->at.jv));
        blv_vec_axpy(d, -at.step, s->at.jv);
        if (momentum == 0.0) {
            blv_vec_axpy(p, -at.step, s->at.hv);
            continue;
        }
        blv_vec_lincomb(s->p_next, 3, (const double[]){1.0 + momentum, -at.step, -momentum},
                        (const blv_vec *const[]){p, s->at.hv, s->p_next});
        blv_vec_swap(p, s->p_next);
    }
    s->left = first > 0.0 ? blv_vec_norm(p) / first : 0.0;
    return BLV_GO;
}

static blv_flow itd_step(blv_run *run, void *state) {
    itd *s = state;
    blv_vec *x = blv_run_x(run), *d = s->at.fx;
    blv_metrics *m = blv_run_metrics(run);

    BLV_TRY(forward(run, s, m));
    const blv_batch *bf = blv_sampler_next(s->at.f_batches);
    const blv_batch *bg = blv_trajectory_at(s->points, (size_t)s->T - 1).batch;
    BLV_TRY(blv_oracle_upper(run, bf, x, blv_run_y(run), NULL, s->at.fx, s->at.fy));
    BLV_TRY(backward(run, s, d, s->at.fy));
    BLV_TRY(blv_steps_measure(run, &s->steps, &(const blv_directions){.d = d}));
    const blv_batch *noise = bg ? bg : bf;
    m->step_x = blv_steps_x(&s->steps, blv_steps_decay(run, &s->steps, noise), noise, d, m->d_norm);
    BLV_TRY(blv_move(run, x, m->step_x, d));
    choose_length(s);
    return BLV_GO;
}

#define FIELD(name) offsetof(itd, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x, "x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "y-step; auto: 1/L"),
    BLV_COUNT_AUTO("inner", inner,
                   "T_in: y-steps; auto: until a twentieth of fy is left, at most 300 and 256 MB"),
    BLV_COUNT_AUTO("K0", back, "steps that are differentiated, the last ones; auto: all"),
    {"momentum", BLV_REAL, FIELD(momentum), "0", 0, 0.999999, NULL,
     "of the inner steps (heavy ball)"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_itd = {
    BLV_SIZED(blv_solver),
    .name = "itd",
    .summary = "inner gradient steps, differentiated backwards step by step",
    .citation = "L. Franceschi, M. Donini, P. Frasconi, M. Pontil, ICML 2017 (reverse mode)",
    .group = "double-loop",
    .hint = "lower step_x, step_y or momentum",
    .bias = "d goes back through the last K0 inner steps only: (1 - mu step_y)^K0 of it is missing",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(itd),
    .params = params,
    .open = itd_open,
    .prepare = itd_prepare,
    .step = itd_step,
};
