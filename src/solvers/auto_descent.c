/* L-BFGS on Phi, with y and v that follow x.
 *
 *   at x + s:  y, v from those at x, until |gy| and |H v - fy| are `reduce` of what they are there
 *              Phi ~ f - v'gy;  grad Phi ~ fx - J v
 *
 * What is wrong with the gradient is then about `reduce` of its change along s. The solves go on
 * where the gradient has become much smaller than that change, and where v'gy may be what the value
 * has changed by. Each of them is given a few products with H, and twice as many next time where
 * that did not suffice. When the line search finds no step, or the value stands still, what it sees
 * may be the errors of the solves: `reduce` is divided by ten and x evaluated again, until rounding
 * is what is left. A gradient that is small enough counts once tight solves have confirmed it. */
#include "solvers/auto_descent.h"

#include "blocks/nested.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    MEMORY = 20,
    PAIRS_TO_SPARE = 3,
    TRIALS_MAX = 5,
    FIRST_TRIALS_MAX = 30,
    ROUNDS_MAX = 3,
    LOOSE_MAX = 3,
    PAIRS_MAX = 30,
    PAIRS_MIN = 5,
    SAMPLES_MIN = 1000,
    PRODUCTS = 10,
    IDLE_MAX = 5,
    STEEP = 1000, /* times the steepest so far: what no step that lowers Phi leads to */
    NOISE = -100
};
static const double first_reduce = 0.1, accuracy = 1e-6;

static bool single(const blv_auto_descent *s) {
    return blv_space_precision(blv_vec_space(s->gradient)) == BLV_F32;
}

/* ---- Phi and its gradient ---- */

static blv_flow follow(blv_auto_descent *s, const blv_vec *x, double reduce, blv_vec *gradient,
                       blv_implicit_result *solved) {
    blv_implicit_budget(s->implicit, 2 * (size_t)s->products);
    blv_flow flow =
        blv_implicit_follow(s->implicit, x, s->y_trial, s->v_trial, reduce, gradient, solved);
    blv_implicit_budget(s->implicit, 0);
    if (flow != BLV_NO_INVERSE)
        return flow;
    /* y may be on its way past a place where g curves down, as from the random start of a network:
     * it goes only so much further that g no longer does before v is looked at. */
    for (int k = 1; k <= LOOSE_MAX && blv_implicit_minimum(s->implicit) == BLV_NO; k++) {
        double scale, rel = pow(0.1, k);
        BLV_TRY(blv_implicit_value(s->implicit, x, s->y_trial, rel, gradient, &scale, solved));
        blv_vec_fill(s->v_trial, 0.0);
        flow = blv_implicit_follow(s->implicit, x, s->y_trial, s->v_trial, first_reduce, gradient,
                                   solved);
        if (flow != BLV_NO_INVERSE)
            return flow;
    }
    BLV_TRY(blv_implicit_gradient(s->implicit, x, s->y_trial, s->v_trial, 0.0, gradient, solved));
    return blv_implicit_minimum(s->implicit) == BLV_YES ? BLV_GO : BLV_NO_INVERSE;
}

/* From far away: twice, since a tenth of what y and v lack there is still much. */
static blv_flow settle(blv_auto_descent *s, const blv_vec *x, blv_vec *gradient,
                       blv_implicit_result *solved) {
    BLV_TRY(follow(s, x, first_reduce, gradient, solved));
    BLV_TRY(follow(s, x, first_reduce, gradient, solved));
    solved->phi -= fmin(solved->corrected, 0.0); /* the larger one: y may have come from far away */
    return BLV_GO;
}

/* Whether what y lacks may be what the value has changed by. */
static bool in_doubt(const blv_auto_descent *s, const blv_implicit_result *solved) {
    double change = fabs(solved->phi - s->phi), so_far = fabs(s->phi_first - s->phi);
    return fabs(solved->corrected) > fmax(0.5 * change, 0.01 * so_far);
}

static blv_flow evaluate(blv_auto_descent *s, const blv_vec *x, blv_vec *gradient,
                         blv_implicit_result *solved) {
    if (s->d_norm == 0.0)
        return settle(s, x, gradient, solved);
    BLV_TRY(follow(s, x, s->reduce, gradient, solved));
    if (solved->left > 3.0 * s->reduce)
        s->products *= 2.0;
    double before = s->d_norm, norm = blv_vec_norm(gradient);
    for (int k = 0; k < ROUNDS_MAX && norm > 0.0; k++) {
        if (norm >= 0.5 * before && !in_doubt(s, solved))
            break;
        double share = fmax(fmin(norm / before, s->reduce), 0.1 * s->reduce);
        BLV_TRY(follow(s, x, share, gradient, solved));
        before = fmin(norm, before);
        norm = blv_vec_norm(gradient);
    }
    if (in_doubt(s, solved))
        solved->phi -= fmin(solved->corrected, 0.0);
    return BLV_GO;
}

static void begin_search(blv_auto_descent *s) {
    s->trials = 0;
    s->fell = false;
}

/* Where Phi cannot be computed the trial step is shortened; other flows are fatal for L-BFGS and
 * are handed on as their negatives. */
static int phi_and_gradient(void *context, const blv_vec *x, double *value, blv_vec *gradient) {
    blv_auto_descent *s = context;
    blv_implicit_result solved;
    bool scaled = s->moved != 0.0 || s->curvature > 0.0;
    if (s->trials++ >= (scaled ? TRIALS_MAX : FIRST_TRIALS_MAX) && !s->fell)
        return NOISE;
    blv_vec_copy(s->y_trial, blv_run_y(s->run));
    blv_vec_copy(s->v_trial, s->v);
    s->trouble = evaluate(s, x, gradient, &solved);
    if (s->trouble == BLV_GO && s->d_norm > 0.0 && blv_vec_norm(gradient) > STEEP * s->d_most)
        s->trouble = BLV_NONFINITE; /* in effect: the solves have failed */
    if (s->trouble == BLV_RETRY || s->trouble == BLV_NONFINITE || s->trouble == BLV_NO_INVERSE)
        return 1;
    if (s->trouble != BLV_GO)
        return -(int)s->trouble;
    s->phi_trial = *value = solved.phi;
    s->fell = s->fell || solved.phi < s->phi;
    s->gy_norm = solved.gy_norm;
    s->r_norm = solved.r_norm;
    return 0;
}

static int project(void *context, blv_vec *x) {
    blv_auto_descent *s = context;
    return (int)blv_project_or_keep(s->run, x, s->other);
}

static blv_lbfgs_problem phi_of(blv_auto_descent *s) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(s->run));
    return (blv_lbfgs_problem){
        .objective = phi_and_gradient, .project = def->project_x ? project : NULL, .context = s};
}

/* ---- Steps ---- */

/* Where a product with H costs much more than as many operations on vectors: sums of many samples
 * that are not much larger in y. */
static size_t pairs_worth_keeping(const blv_problem_def *def) {
    const double numbers_max = 6e5, pairs = fmin(PAIRS_MAX, numbers_max / (double)def->dim_y);
    return def->lower_samples >= SAMPLES_MIN && pairs >= PAIRS_MIN ? (size_t)pairs : 0;
}

static blv_error open_matrix(blv_run *run, blv_recycled *r) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    if (!blv_implicit_may_form(def))
        return BLV_OK;
    BLV_CHECK(blv_state_block(run, "recycled matrix", def->dim_y * def->dim_y, &r->upper));
    BLV_CHECK(blv_state_block(run, "recycled room", def->dim_y, &r->room));
    return blv_state_hiddens(run, "recycled is dense", &r->is_dense, "recycled products",
                             &r->products, NULL);
}

static blv_error open_recycled(blv_run *run, blv_auto_descent *s) {
    blv_recycled *r = &s->recycled;
    r->capacity = pairs_worth_keeping(blv_problem_definition(blv_run_problem(run)));
    BLV_CHECK(open_matrix(run, r));
    if (r->capacity == 0 && !r->upper)
        return BLV_OK;
    for (size_t i = 0; i < 2 * r->capacity; i++) {
        char name[32];
        snprintf(name, sizeof name, "recycled p %zu", i);
        BLV_CHECK(blv_state_vec(run, name, BLV_LEVEL_Y, &r->p[i]));
        snprintf(name, sizeof name, "recycled q %zu", i);
        BLV_CHECK(blv_state_vec(run, name, BLV_LEVEL_Y, &r->q[i]));
    }
    if (r->capacity > 0) {
        BLV_CHECK(blv_state_block(run, "recycled pq", 2 * r->capacity, &r->pq));
        BLV_CHECK(blv_state_block(run, "recycled qq", 2 * r->capacity, &r->qq));
    }
    BLV_CHECK(blv_state_hiddens(run, "recycled first", &r->first, "recycled count", &r->count,
                                "recycled waiting", &r->waiting, NULL));
    return blv_implicit_recycle(s->implicit, r);
}

blv_error blv_auto_descent_open(blv_run *run, blv_vec *v, blv_auto_descent *s) {
    s->run = run;
    s->v = v;
    s->products = PRODUCTS;
    s->reduce = first_reduce;
    BLV_CHECK(blv_state_scalars(run, "phi_estimate", &s->phi, "reduce", &s->reduce, "products",
                                &s->products, NULL));
    BLV_CHECK(blv_state_hiddens(run, "first phi", &s->phi_first, "|grad Phi|", &s->d_norm,
                                "steepest", &s->d_most, "first", &s->first, "goal", &s->goal,
                                "idle", &s->idle, "curvature", &s->curvature, "moved", &s->moved,
                                "tightened", &s->tightened, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &s->y_trial, &s->v_trial, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->gradient, &s->other, &s->room, NULL));
    BLV_CHECK(blv_run_implicit(run, &s->implicit));
    BLV_CHECK(open_recycled(run, s));
    size_t pairs = blv_vec_dim(blv_run_x(run)) + PAIRS_TO_SPARE; /* more would say nothing new */
    BLV_CHECK(blv_run_lbfgs(run, BLV_LEVEL_X, pairs < MEMORY ? pairs : MEMORY, &s->lbfgs));
    BLV_CHECK(blv_state_lbfgs(run, "lbfgs", s->lbfgs));
    blv_lbfgs_problem phi = phi_of(s);
    blv_lbfgs_bind(s->lbfgs, &phi, blv_run_x(run), 0.0);
    return BLV_OK;
}

/* A callback's code: negative from the objective, where it is fatal; positive from it where there
 * is no step to shorten; positive from the projection. */
static blv_flow flow_of(const blv_auto_descent *s, const blv_lbfgs_result *r) {
    if (r->end == BLV_LBFGS_CALLBACK && r->code > 0 && s->trouble != BLV_GO)
        return s->trouble;
    if (r->end == BLV_LBFGS_CALLBACK && r->code != NOISE)
        return r->code > 0 ? (blv_flow)r->code : (blv_flow)-r->code;
    return r->end == BLV_LBFGS_NONFINITE ? BLV_NONFINITE : BLV_GO;
}

/* y and v of the last evaluation become the run's. */
static blv_flow take(blv_run *run, blv_auto_descent *s, double stationarity) {
    blv_metrics *m = blv_run_metrics(run);
    BLV_TRY(blv_move_to(run, blv_run_y(run), 1, (const double[]){1.0},
                        (const blv_vec *const[]){s->y_trial}));
    BLV_TRY(blv_move_to(run, s->v, 1, (const double[]){1.0}, (const blv_vec *const[]){s->v_trial}));
    s->d_norm = blv_vec_norm(blv_lbfgs_gradient(s->lbfgs));
    s->d_most = fmax(s->d_most, s->d_norm);
    s->phi = s->phi_trial;
    m->gy_norm = s->gy_norm;
    m->r_norm = s->r_norm;
    m->d_norm = stationarity;
    return BLV_GO;
}

blv_flow blv_auto_descent_begin(blv_run *run, blv_auto_descent *s) {
    bool anew = s->goal == 0.0;
    blv_lbfgs_problem phi = phi_of(s);
    begin_search(s);
    s->d_norm = 0.0;
    blv_lbfgs_result r =
        anew ? blv_lbfgs_start(s->lbfgs, &phi, blv_run_x(run), 0.0) : blv_lbfgs_refresh(s->lbfgs);
    BLV_TRY(flow_of(s, &r));
    BLV_TRY(take(run, s, r.stationarity));
    if (anew && s->curvature > 0.0)
        blv_lbfgs_first_step(s->lbfgs, s->d_norm / s->curvature);
    if (anew)
        s->phi_first = s->phi;
    if (s->first == 0.0) /* not where batches have gone: it may be steep there */
        s->first = r.stationarity;
    s->goal = blv_nested_tol(run) > 0.0 ? blv_nested_tol(run) : accuracy * s->first;
    return BLV_GO;
}

/* The stationarity by tight solves, which is what the certificate will say. */
static blv_flow measure_tightly(blv_run *run, blv_auto_descent *s, bool *confirmed) {
    const blv_vec *x = blv_run_x(run);
    blv_implicit_result solved;
    double norm;
    blv_vec_copy(s->y_trial, blv_run_y(run));
    blv_vec_copy(s->v_trial, s->v);
    BLV_TRY(
        blv_implicit_gradient(s->implicit, x, s->y_trial, s->v_trial, 0.0, s->gradient, &solved));
    blv_lbfgs_problem phi = phi_of(s);
    BLV_TRY((blv_flow)blv_stationarity(x, solved.phi, s->gradient, phi.project, s, s->room, &norm));
    s->gy_norm = solved.gy_norm;
    s->r_norm = solved.r_norm;
    *confirmed = (norm == 0.0 || norm < s->goal) && blv_implicit_minimum(s->implicit) == BLV_YES;
    return take(run, s, norm);
}

/* x again, from solves that are ten times as accurate. Where that was no help the last time, it is
 * the direction that was wrong: L-BFGS begins anew. */
static blv_flow tighten(blv_run *run, blv_auto_descent *s) {
    double least = single(s) ? 1e-3 : 1e-8, fell = s->phi_first - s->phi;
    bool anew = s->tightened != 0.0;
    if (s->reduce <= least)
        return BLV_STUCK;
    s->reduce = fmax(0.1 * s->reduce, least);
    s->products *= 4.0;
    s->idle = 0.0;
    s->tightened = 1.0;
    begin_search(s);
    blv_lbfgs_problem phi = phi_of(s);
    blv_lbfgs_result r =
        anew ? blv_lbfgs_start(s->lbfgs, &phi, blv_run_x(run), 0.0) : blv_lbfgs_refresh(s->lbfgs);
    BLV_TRY(flow_of(s, &r));
    BLV_TRY(take(run, s, r.stationarity));
    if (!anew)
        return BLV_GO;
    s->moved = s->curvature = 0.0;
    if (fell > 0.0)
        blv_lbfgs_first_step(s->lbfgs, fell / s->d_norm);
    return BLV_GO;
}

blv_flow blv_auto_descent_confirm(blv_run *run, blv_auto_descent *s) {
    bool confirmed = false;
    if (blv_run_metrics(run)->d_norm > s->goal)
        return BLV_GO;
    BLV_TRY(measure_tightly(run, s, &confirmed));
    return confirmed ? blv_run_finished(run, s->goal) : tighten(run, s);
}

blv_flow blv_auto_descent_step(blv_run *run, blv_auto_descent *s) {
    begin_search(s);
    blv_lbfgs_result r = blv_lbfgs_iterate(s->lbfgs);
    BLV_TRY(flow_of(s, &r));
    if (r.end == BLV_LBFGS_STALLED || r.end == BLV_LBFGS_CALLBACK)
        return tighten(run, s);
    double value = r.value, eps = single(s) ? (double)FLT_EPSILON : DBL_EPSILON;
    s->idle = s->phi - value > 4.0 * eps * fabs(value) ? 0.0 : s->idle + 1.0;
    if (s->phi_trial != value) { /* the last trial was not the one that was taken */
        begin_search(s);
        int code = phi_and_gradient(s, blv_run_x(run), &value, s->gradient);
        if (code != 0)
            return code > 0 ? s->trouble : (blv_flow)-code;
    }
    BLV_TRY(take(run, s, r.stationarity));
    s->moved = 1.0;
    s->tightened = 0.0;
    if (s->idle == IDLE_MAX && r.stationarity > s->goal)
        return tighten(run, s);
    return blv_auto_descent_confirm(run, s);
}
