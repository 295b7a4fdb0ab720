/* L-BFGS, and its projected form.
 *
 *   x, g     iterate and gradient              X, P   convex set and its projection
 *   B        the L-BFGS matrix                 d      direction
 *   phi(t)   f(x + t d), slope phi'(t)         noise  what the value cannot resolve
 *
 *   whole space:  d = -B^-1 g
 *   set:          d = z - x,  z near the minimizer of g'(z - x) + (z - x)'B(z - x)/2 over X
 *   x += t d,  t by a line search for the Wolfe conditions; t <= 1 in a set, where x + d is in X
 *
 * Liu and Nocedal 1989; the projected form is the projected quasi-Newton method of Schmidt, van den
 * Berg, Friedlander and Murphy 2009, with the model minimized by spectral projected gradients
 * (Birgin, Martinez and Raydan 2000). The approximate Wolfe condition is Hager and Zhang's, 2005.
 *
 * Why this variant: P(x - t B^-1 g) need not descend when B is not a multiple of I; the minimizer
 * of the model over X always does, for any convex X, and costs projections but no evaluations,
 * which are the dear part here. Its first inner step is the spectral projected gradient step
 * itself, so a memory without pairs is that method: it is what a failed search falls back to. */
#include "linsolve/lbfgs_private.h"
#include "space/distance.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
    max_evaluations_a_search = 40,
    max_blind_evaluations = 6,
    max_model_steps = 50,
    max_idle_iterations = 50,
    max_expansions = 8
};

static const double sufficient_decrease = 1e-4;
static const double curvature = 0.9;        /* Wolfe: slope >= this much of the first one */
static const double approximate_rise = 0.8; /* approximate Wolfe: slope <= this much of -first */
static const double expansion = 4.0;
static const double jump = 0.25; /* a rise within this much of t, where the slope was still down */
static const double model_accuracy = 0.01; /* reduction of the model's projected gradient */

/* ---- Workspace ---- */

blv_error blv_lbfgs_create(blv_lbfgs **lbfgs, const blv_space *space, size_t memory) {
    const size_t square = memory * memory;
    blv_linear_work *v;
    assert(memory > 0 && memory <= BLV_LBFGS_MEMORY_MAX);
    *lbfgs = NULL;
    BLV_CHECK(blv_linear_work_create(&v, space, 2 * memory + 7));
    blv_lbfgs *l = calloc(1, sizeof *l + 3 * square * sizeof *l->products);
    if (!l) {
        blv_linear_work_destroy(v);
        return BLV_E_MEMORY;
    }
    blv_vec *const *last = v->vec + 2 * memory;
    *l = (blv_lbfgs){.space = space,
                     .vectors = v,
                     .g = last[0],
                     .d = last[1],
                     .trial = last[2],
                     .trial_g = last[3],
                     .work = last[4],
                     .spare = last[5],
                     .spare_g = last[6],
                     .pairs = {.space = space,
                               .capacity = memory,
                               .theta = 1.0,
                               .s = v->vec,
                               .y = v->vec + memory,
                               .ss = l->products,
                               .sy = l->products + square,
                               .factor = l->products + 2 * square},
                     .state.end = BLV_LBFGS_STALLED}; /* until it is started */
    *lbfgs = l;
    return BLV_OK;
}

void blv_lbfgs_destroy(blv_lbfgs *lbfgs) {
    if (lbfgs)
        blv_linear_work_destroy(lbfgs->vectors);
    free(lbfgs);
}

size_t blv_lbfgs_bytes(const blv_lbfgs *l) {
    return sizeof *l + 3 * l->pairs.capacity * l->pairs.capacity * sizeof *l->products +
           blv_linear_work_bytes(l->vectors);
}

const blv_vec *blv_lbfgs_gradient(const blv_lbfgs *lbfgs) {
    return lbfgs->g;
}

/* ---- Callbacks ---- */

/* These return 0 to go on; else the state says why it ended. */
static int fail(blv_lbfgs *l, int code) {
    l->state.end = BLV_LBFGS_CALLBACK;
    l->state.code = code;
    return code;
}

static int project(blv_lbfgs *l, blv_vec *point) {
    const int code = l->problem.project ? l->problem.project(l->problem.context, point) : 0;
    return code == 0 ? 0 : fail(l, code);
}

static int measure(blv_lbfgs *l, const blv_vec *x, double value, const blv_vec *g,
                   double *stationarity) {
    const int code = blv_stationarity(x, value, g, l->problem.project, l->problem.context, l->work,
                                      stationarity);
    return code == 0 ? 0 : fail(l, code);
}

/* ---- Direction ---- */

/* d = z - x for z near the minimizer of the model over X. model_g is its gradient g + B d; each
 * step goes along P(z - a model_g) - z, to the minimum of the model there or to its end. */
static int model_direction(blv_lbfgs *l) {
    blv_vec *const d = l->d, *const model_g = l->trial_g;
    blv_vec *const step = l->trial, *const b_step = l->work;
    double a = 1.0 / l->pairs.theta, enough = 0.0;

    blv_vec_fill(d, 0.0);
    blv_vec_copy(model_g, l->g);
    for (int k = 0; k < max_model_steps; k++) {
        blv_vec_lincomb(step, 3, (const double[]){1.0, 1.0, -a},
                        (const blv_vec *const[]){l->x, d, model_g});
        const int code = project(l, step);
        if (code != 0)
            return code;
        blv_vec_lincomb(step, 3, (const double[]){1.0, -1.0, -1.0},
                        (const blv_vec *const[]){step, l->x, d});
        const double length = blv_vec_norm(step);
        if (k == 0)
            enough = model_accuracy * length / a;
        else if (length / a <= enough)
            break;
        blv_lbfgs_pairs_multiply(&l->pairs, step, b_step);
        double slope, bend;
        blv_reduce(BLV_SCALARS(BLV_DOT(&slope, model_g, step), BLV_DOT(&bend, step, b_step)));
        const bool descends = slope < 0.0 && bend > 0.0;
        if (!descends && k > 0)
            break;
        const double t = descends ? fmin(1.0, -slope / bend) : 1.0;
        blv_vec_axpy(d, t, step);
        if (!descends || l->pairs.count == 0)
            break; /* nothing but rounding is left; or B = theta I, whose minimizer this is */
        blv_vec_axpy(model_g, t, b_step);
        a = length * length / bend;
    }
    return 0;
}

static int direction(blv_lbfgs *l) {
    if (!l->problem.project) {
        blv_vec_copy(l->d, l->g);
        blv_lbfgs_pairs_solve(&l->pairs, l->d);
        blv_vec_scale(l->d, -1.0);
        return 0;
    }
    if (!blv_lbfgs_pairs_factor(&l->pairs))
        blv_lbfgs_pairs_forget(&l->pairs);
    return model_direction(l);
}

/* ---- Line search ---- */

typedef struct search_point {
    double t, value, slope;
    bool usable; /* value and slope are known and finite */
} search_point;

/* Puts the point in trial and its gradient in trial_g. */
static int evaluate(blv_lbfgs *l, double t, search_point *at) {
    *at = (search_point){.t = t, .value = NAN, .slope = NAN};
    blv_vec_combine(l->trial, 1.0, l->x, t, l->d);
    int code = project(l, l->trial); /* x + t d is in X but for rounding */
    if (code != 0)
        return code;
    l->state.evaluations++;
    code = l->problem.objective(l->problem.context, l->trial, &at->value, l->trial_g);
    if (code < 0)
        return fail(l, code);
    at->slope = blv_vec_dot(l->trial_g, l->d);
    at->usable = code == 0 && isfinite(at->value) && isfinite(at->slope);
    return 0;
}

/* What the value leaves unresolved. Rounding goes with the terms that it is a sum of, which can be
 * much larger than it is; its own past hints at how large. */
static double value_noise(const blv_lbfgs *l) {
    const double noise = fmax(fabs(l->state.value), 0.01 * l->largest_value);
    return noise * (blv_space_precision(l->space) == BLV_F32 ? 1e-5 : 1e-10);
}

/* Sufficient decrease; or, where the value cannot show it, a slope that does. */
static bool decreases(const blv_lbfgs *l, double slope, const search_point *at) {
    if (!at->usable)
        return false;
    const double noise = value_noise(l);
    return at->value <= l->state.value + sufficient_decrease * at->t * slope ||
           (-slope * at->t <= noise && at->value <= l->state.value + noise &&
            at->slope <= -approximate_rise * slope);
}

/* Where value and slope are both lost in rounding (on a curved boundary the slope is the small
 * remainder of a large gradient), a smaller stationarity is what still shows progress. */
static int improves_blindly(blv_lbfgs *l, double slope, const search_point *at, bool *improves) {
    const double noise = value_noise(l);
    double stationarity;
    *improves = false;
    if (!at->usable || at->value > l->state.value + noise || -slope * at->t > noise)
        return 0;
    const int code = measure(l, l->trial, at->value, l->trial_g, &stationarity);
    *improves = code == 0 && stationarity < l->state.stationarity;
    return code;
}

/* The next t. before and lo decrease the value and still slope down; hi does not decrease it. Two
 * models of the function between lo and hi are parabolas: one has both slopes, the other has the
 * value at hi. Where that value is above noise, the nearer of their minima counts: slopes alone
 * would crawl down from a plateau. */
static double next_step(const search_point *before, const search_point *lo, const search_point *hi,
                        double noise) {
    if (isinf(hi->t)) {
        const double bend = (lo->slope - before->slope) / (lo->t - before->t);
        const double t = bend > 0.0 ? lo->t - lo->slope / bend : INFINITY;
        return fmin(fmax(t, 2.0 * lo->t), 10.0 * lo->t);
    }
    const double width = hi->t - lo->t;
    if (!hi->usable)
        return lo->t + 0.2 * width;
    const double above = hi->value - lo->value - lo->slope * width;
    const double by_value = above > 0.0 ? -0.5 * lo->slope * width / above : 0.5;
    double share = by_value;
    if (hi->slope > 0.0)
        share = lo->slope / (lo->slope - hi->slope);
    if (hi->value > lo->value + noise)
        share = fmin(share, by_value);
    return lo->t + fmin(fmax(share, 0.1), 0.9) * width;
}

typedef enum search_end { SEARCH_FOUND, SEARCH_NOTHING, SEARCH_FATAL } search_end;

/* A step in (0, t_max] that decreases the value and, where t_max allows, bends the slope up.
 * Without a downward slope, the few tries are blind ones. Where the function jumps up (y*(x)
 * changes from one minimum of g to another) no slope bends: the step ends before the jump, and
 * halving finds it, since parabolas would crawl there. */
static search_end line_search(blv_lbfgs *l, double slope, double t_max) {
    search_point before, at, lo = {0.0, l->state.value, slope, true}, hi = {.t = INFINITY};
    double t = 1.0;
    bool found = false;
    int forward = 0; /* steps of lo towards the same hi */
    const bool downward = slope < 0.0;
    before = lo;
    for (int k = 0; k < (downward ? max_evaluations_a_search : max_blind_evaluations); k++) {
        if (evaluate(l, t, &at) != 0)
            return SEARCH_FATAL;
        if (downward && decreases(l, slope, &at)) {
            found = at.slope >= curvature * slope || t >= t_max;
            before = lo;
            lo = at;
            forward += isfinite(hi.t);
        } else if (improves_blindly(l, slope, &at, &found) != 0) {
            return SEARCH_FATAL;
        } else {
            hi = at;
            forward = 0;
        }
        if (found) {
            l->state.value = at.value;
            return SEARCH_FOUND;
        }
        t = !downward     ? 0.25 * t
            : forward > 1 ? 0.5 * (lo.t + hi.t)
                          : fmin(next_step(&before, &lo, &hi, value_noise(l)), t_max);
        if (!(t > lo.t && t < hi.t) || hi.t - lo.t < jump * lo.t)
            break;
    }
    if (lo.t == 0.0)
        return SEARCH_NOTHING;
    /* it decreases and could go further, but no further point is usable */
    if (evaluate(l, lo.t, &at) != 0)
        return SEARCH_FATAL;
    if (!decreases(l, slope, &at))
        return SEARCH_NOTHING;
    l->state.value = at.value;
    return SEARCH_FOUND;
}

/* In a set steps end at x + d, where the model has its minimum over X. Where the function slopes
 * down there more steeply than at x it curves down along d, of which the model knows nothing:
 * longer steps are tried, along the projections of x + t d, as long as the value falls in
 * proportion. */
static search_end expand(blv_lbfgs *l, double slope) {
    double t = 1.0, at_t = blv_vec_dot(l->trial_g, l->d);
    for (int k = 0; k < max_expansions && at_t <= slope; k++) {
        double value;
        t *= expansion;
        blv_vec_combine(l->spare, 1.0, l->x, t, l->d);
        if (project(l, l->spare) != 0)
            return SEARCH_FATAL;
        const double length = blv_distance(l->work, l->trial, l->x);
        if (!(blv_distance(l->work, l->spare, l->x) > 1.5 * length))
            break;
        l->state.evaluations++;
        const int code = l->problem.objective(l->problem.context, l->spare, &value, l->spare_g);
        if (code < 0) {
            fail(l, code);
            return SEARCH_FATAL;
        }
        blv_vec_combine(l->work, 1.0, l->spare, -1.0, l->trial);
        if (code > 0 || !(value <= l->state.value + 0.5 * blv_vec_dot(l->trial_g, l->work)))
            break;
        blv_vec_swap(l->trial, l->spare);
        blv_vec_swap(l->trial_g, l->spare_g);
        l->state.value = value;
        at_t = blv_vec_dot(l->trial_g, l->d);
    }
    return SEARCH_FOUND;
}

/* ---- Iterations ---- */

/* Makes trial the iterate, learns from the step, and judges the new point. */
static void accept(blv_lbfgs *l) {
    blv_vec_combine(l->d, 1.0, l->trial, -1.0, l->x);
    blv_vec_combine(l->g, 1.0, l->trial_g, -1.0, l->g);
    blv_vec_swap(l->x, l->trial);
    blv_vec_swap(l->g, l->trial_g);
    if (!blv_lbfgs_pairs_add(&l->pairs, l->d, l->trial_g) && l->problem.project) {
        /* no curvature to be seen: drop the old ones, and let the next step be longer, as far as
         * its projection keeps half the digits */
        const double least = sqrt(blv_linear_roundoff(l->space));
        blv_lbfgs_pairs_forget(&l->pairs);
        l->pairs.theta = fmax(0.1 * l->pairs.theta, least * blv_vec_norm(l->g));
    }
    l->state.iterations++;
    l->largest_value = fmax(l->largest_value, fabs(l->state.value));
    if (measure(l, l->x, l->state.value, l->g, &l->state.stationarity) != 0)
        return;
    l->idle_iterations++;
    if (l->state.value < l->best_value || l->state.stationarity < l->best_stationarity)
        l->idle_iterations = 0;
    l->best_value = fmin(l->best_value, l->state.value);
    l->best_stationarity = fmin(l->best_stationarity, l->state.stationarity);
    if (l->state.stationarity <= l->tolerance)
        l->state.end = BLV_LBFGS_CONVERGED;
    else if (l->idle_iterations >= max_idle_iterations)
        l->state.end = BLV_LBFGS_STALLED;
    else
        l->state.end = BLV_LBFGS_ITERATING;
}

void blv_lbfgs_bind(blv_lbfgs *lbfgs, const blv_lbfgs_problem *problem, blv_vec *x,
                    double tolerance) {
    lbfgs->problem = *problem;
    lbfgs->x = x;
    lbfgs->tolerance = tolerance;
}

/* Of the first step: a tenth of where the value would be 0 if it fell on as it does. */
static double first_length(const blv_lbfgs *l, double norm_g) {
    double by_value = 0.1 * fabs(l->state.value) / norm_g, by_x = blv_vec_norm(l->x);
    return by_value > 0.0 && isfinite(by_value) ? by_value : by_x > 0.0 ? by_x : 1.0;
}

/* Value, gradient and stationarity at x, from which the descent is judged. */
static bool begin_here(blv_lbfgs *l) {
    l->state.end = BLV_LBFGS_ITERATING;
    l->state.code = 0;
    l->idle_iterations = 0;
    l->state.evaluations++;
    const int code = l->problem.objective(l->problem.context, l->x, &l->state.value, l->g);
    if (code != 0) {
        fail(l, code);
        return false;
    }
    if (!isfinite(l->state.value) || !isfinite(blv_vec_norm(l->g))) {
        l->state.end = BLV_LBFGS_NONFINITE;
        return false;
    }
    if (measure(l, l->x, l->state.value, l->g, &l->state.stationarity) != 0)
        return false;
    l->best_value = l->state.value;
    l->best_stationarity = l->state.stationarity;
    if (l->state.stationarity <= l->tolerance)
        l->state.end = BLV_LBFGS_CONVERGED;
    return true;
}

blv_lbfgs_result blv_lbfgs_start(blv_lbfgs *lbfgs, const blv_lbfgs_problem *problem, blv_vec *x,
                                 double tolerance) {
    blv_lbfgs *const l = lbfgs;
    blv_lbfgs_bind(l, problem, x, tolerance);
    l->state = (blv_lbfgs_result){.value = NAN, .stationarity = NAN};
    blv_lbfgs_pairs_forget(&l->pairs);
    if (project(l, x) != 0)
        return l->state;
    if (begin_here(l)) {
        l->largest_value = fabs(l->state.value);
        blv_lbfgs_first_step(l, first_length(l, blv_vec_norm(l->g)));
    }
    return l->state;
}

void blv_lbfgs_first_step(blv_lbfgs *lbfgs, double length) {
    const double norm = blv_vec_norm(lbfgs->g) / length;
    lbfgs->pairs.theta = isnormal(norm) ? norm : 1.0;
}

blv_lbfgs_result blv_lbfgs_refresh(blv_lbfgs *lbfgs) {
    begin_here(lbfgs);
    return lbfgs->state;
}

blv_lbfgs_result blv_lbfgs_iterate(blv_lbfgs *lbfgs) {
    blv_lbfgs *const l = lbfgs;
    if (l->state.end != BLV_LBFGS_ITERATING && l->state.end != BLV_LBFGS_CONVERGED)
        return l->state;
    for (;;) {
        if (direction(l) != 0)
            return l->state;
        const double slope = blv_vec_dot(l->g, l->d);
        search_end found = SEARCH_NOTHING;
        if (isfinite(slope))
            found = line_search(l, slope, l->problem.project ? 1.0 : INFINITY);
        if (found == SEARCH_FOUND && l->problem.project && slope < 0.0)
            found = expand(l, slope);
        if (found == SEARCH_FOUND)
            accept(l);
        else if (found == SEARCH_NOTHING && l->pairs.count == 0)
            l->state.end = BLV_LBFGS_STALLED;
        if (found != SEARCH_NOTHING || l->pairs.count == 0)
            return l->state;
        blv_lbfgs_pairs_forget(&l->pairs); /* again, along the (projected) gradient */
    }
}

blv_lbfgs_result blv_lbfgs_minimize(blv_lbfgs *lbfgs, const blv_lbfgs_problem *problem, blv_vec *x,
                                    double tolerance, size_t max_iterations) {
    blv_lbfgs_result result = blv_lbfgs_start(lbfgs, problem, x, tolerance);
    while (result.end == BLV_LBFGS_ITERATING && result.iterations < max_iterations)
        result = blv_lbfgs_iterate(lbfgs);
    if (result.end == BLV_LBFGS_ITERATING)
        result.end = BLV_LBFGS_LIMIT;
    return result;
}
