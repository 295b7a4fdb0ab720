/* exact: the yardstick. Projected L-BFGS on Phi itself, with its true gradient.
 *
 *   y*(x) by Newton-CG and v = H^-1 fy by CG or MINRES, both to the limit of the precision
 *   grad Phi = fx - J v;   x by one projected L-BFGS step with line search on Phi
 *
 * For small smooth problems, and for the Phi* that plots are measured from. The whole sums are used
 * always, whatever the batch. */
#include "blocks/param_rows.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

typedef struct exact {
    double accuracy, solve_tol;
    int64_t memory, products;
    blv_lbfgs *lbfgs;
    blv_implicit *implicit;
    blv_vec *v;
    blv_vec *y_trial, *v_trial; /* belong to the x that was evaluated last */
    double first;               /* |grad Phi| at the start */
    blv_vec *gradient, *projected;
    double phi_trial, gy_norm, r_norm;
    double tight; /* not 0: a solve has reached the limit of the precision before */
    double phi;
    blv_flow trouble; /* why the last evaluation gave no value; BLV_GO: it did */
    blv_run *run;
} exact;

/* Every trial is solved from the accepted y, not from the last trial: where g has several minima, a
 * trial that was too long must not lead to another one.
 *
 * Where Phi cannot be computed the trial step is shortened; other flows are fatal for L-BFGS and
 * are handed on as their negatives. */
static int phi_and_gradient(void *context, const blv_vec *x, double *value, blv_vec *gradient) {
    exact *s = context;
    blv_implicit_result solved;
    blv_vec_copy(s->y_trial, blv_run_y(s->run));
    blv_vec_copy(s->v_trial, s->v);
    blv_flow flow = blv_implicit_gradient(s->implicit, x, s->y_trial, s->v_trial, s->solve_tol,
                                          gradient, &solved);
    s->trouble = flow;
    if (flow == BLV_GO && s->solve_tol == 0.0 && s->products < 0 && s->tight != 0.0 &&
        !solved.tight) {
        blv_run_note(s->run, "the lower level could not be solved at a trial point: the step was "
                             "shortened");
        return 1;
    }
    if (flow == BLV_RETRY || flow == BLV_NONFINITE || flow == BLV_NO_INVERSE) {
        blv_run_note(s->run, "Phi could not be computed at a trial point: the step was shortened");
        return 1;
    }
    if (flow != BLV_GO)
        return -(int)flow;
    s->phi_trial = *value = solved.phi;
    s->gy_norm = solved.gy_norm;
    s->r_norm = solved.r_norm;
    s->tight = solved.tight ? 1.0 : s->tight;
    return 0;
}

static int project(void *context, blv_vec *x) {
    exact *s = context;
    return (int)blv_project_or_keep(s->run, x, s->projected);
}

static blv_lbfgs_problem phi_of(blv_run *run, exact *s) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    return (blv_lbfgs_problem){
        .objective = phi_and_gradient, .project = def->project_x ? project : NULL, .context = s};
}

static blv_error exact_open(blv_run *run, void *state) {
    exact *s = state;
    s->run = run;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_state_vec(run, "y trial", BLV_LEVEL_Y, &s->y_trial));
    BLV_CHECK(blv_state_vec(run, "v trial", BLV_LEVEL_Y, &s->v_trial));
    BLV_CHECK(blv_state_scalar(run, "phi_estimate", &s->phi));
    BLV_CHECK(blv_state_hiddens(run, "phi trial", &s->phi_trial, "gy trial", &s->gy_norm, "r trial",
                                &s->r_norm, "|grad Phi| at the start", &s->first, "tight",
                                &s->tight, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->gradient, &s->projected, NULL));
    BLV_CHECK(blv_run_implicit(run, &s->implicit));
    if (s->products > 0)
        blv_implicit_budget(s->implicit, 2 * (size_t)s->products);
    BLV_CHECK(blv_run_lbfgs(run, BLV_LEVEL_X, (size_t)s->memory, &s->lbfgs));
    BLV_CHECK(blv_state_lbfgs(run, "lbfgs", s->lbfgs));
    blv_lbfgs_problem phi = phi_of(run, s);
    blv_lbfgs_bind(s->lbfgs, &phi, blv_run_x(run), 0.0);
    return BLV_OK;
}

/* A callback's code: negative from the objective, where it is fatal; positive from it at the start,
 * where there is no step to shorten; positive from the projection. */
static blv_flow flow_of(const exact *s, const blv_lbfgs_result *r) {
    if (r->end == BLV_LBFGS_CALLBACK && r->code > 0 && s->trouble != BLV_GO)
        return s->trouble;
    if (r->end == BLV_LBFGS_CALLBACK)
        return r->code > 0 ? (blv_flow)r->code : (blv_flow)-r->code;
    return r->end == BLV_LBFGS_NONFINITE ? BLV_NONFINITE : BLV_GO;
}

static blv_flow exact_step(blv_run *run, void *state) {
    exact *s = state;
    blv_vec *x = blv_run_x(run);
    blv_metrics *m = blv_run_metrics(run);
    blv_lbfgs_result r = {.end = BLV_LBFGS_ITERATING};

    if (blv_run_iteration(run) == 0) {
        blv_lbfgs_problem phi = phi_of(run, s);
        r = blv_lbfgs_start(s->lbfgs, &phi, x, 0.0);
        s->first = r.stationarity;
    }
    BLV_TRY(flow_of(s, &r));
    if (r.end == BLV_LBFGS_ITERATING)
        r = blv_lbfgs_iterate(s->lbfgs);
    BLV_TRY(flow_of(s, &r));
    double value = r.value;
    if (s->phi_trial != value) { /* the last trial was not the one that was taken */
        int code = phi_and_gradient(s, x, &value, s->gradient);
        if (code != 0)
            return code > 0 ? s->trouble : (blv_flow)-code;
    }
    BLV_TRY(blv_move_to(run, blv_run_y(run), 1, (const double[]){1.0},
                        (const blv_vec *const[]){s->y_trial}));
    BLV_TRY(blv_move_to(run, s->v, 1, (const double[]){1.0}, (const blv_vec *const[]){s->v_trial}));
    s->phi = value;
    m->gy_norm = s->gy_norm;
    m->r_norm = s->r_norm;
    m->d_norm = r.stationarity;
    if (r.stationarity <= s->accuracy * s->first)
        return blv_run_finished(run, 2.0 * s->accuracy * s->first);
    if (r.end != BLV_LBFGS_STALLED)
        return BLV_GO;
    return s->trouble != BLV_GO ? s->trouble : BLV_STUCK;
}

#define FIELD(name) offsetof(exact, name)

static const blv_param params[] = {
    {"accuracy", BLV_REAL, FIELD(accuracy), "1e-10", 0, 1, NULL,
     "ends when |grad Phi| (or the gradient mapping) is at most this part of the first"},
    {"solve_tol", BLV_REAL, FIELD(solve_tol), "0", 0, 1, NULL,
     "relative tolerance of the inner and the linear solve; 0: the limit of the precision"},
    {"products", BLV_INT, FIELD(products), "auto", 1, 1e9, "auto",
     "products with H at most, in the inner and in the linear solve; auto: as many as it takes"},
    {"memory", BLV_INT, FIELD(memory), "20", 1, BLV_LBFGS_MEMORY_MAX, NULL,
     "pairs that L-BFGS keeps"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_exact = {
    BLV_SIZED(blv_solver),
    .name = "exact",
    .summary = "tight lower-level solves and L-BFGS on Phi: the yardstick",
    .citation = "this library; L-BFGS as in D. Liu, J. Nocedal, Math. Programming 1989",
    .group = "reference",
    .hint = "check the oracles with `bilevel check`; where x runs off, bound it",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(exact),
    .params = params,
    .open = exact_open,
    .step = exact_step,
};
