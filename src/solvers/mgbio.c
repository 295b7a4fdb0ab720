/* MGBiO: gradient steps with momentum for lower levels that are not convex but have no bad
 * stationary point (Polyak-Lojasiewicz).
 *
 *   w      fx - J (H \ fy), hypergradient estimate     gamma, lambda   steps of x and y
 *   v      H \ fy                                      eta             momentum, in (0, 1]
 *
 *   xt = P_X(x - gamma w);  x += eta (xt - x);   yt = y - lambda gy;  y += eta (yt - y)
 *
 * all at the old point. F. Huang, "On momentum-based gradient methods for bilevel optimization with
 * nonconvex lower-level", Algorithm 1; its section 3.1 has a plus before J (H \ fy) once, where the
 * minus of the algorithm is right. (The paper's v is gy.)
 *
 * H may be indefinite, so H \ fy is MINRES from the last v; or, where H is small, a symmetric
 * factorization. Where H is singular at an iterate, v is a solution of least squares (MINRES) or
 * stays as it is, and the run ends only when that does not pass. */
#include "blocks/averaged_move.h"
#include "blocks/dense_derivatives.h"
#include "blocks/iterate_selection.h"
#include "blocks/pair_guard.h"
#include "blocks/param_rows.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

enum { LINEAR_MINRES, LINEAR_EXPLICIT, LINEAR_AUTO };
enum { AUTO_DIM_MAX = 100 }; /* auto: explicit up to this size, where the problem has its H */

typedef struct mgbio {
    blv_steps steps;
    blv_pair_guard guard;
    double eta;
    int linear;
    blv_adjoint_limits limits;
    blv_iterate_selection out;
    blv_hypergradient_terms at;
    blv_vec *ahead;
    blv_linear_work *minres;
    blv_matrices matrices;
    blv_dense_system system;
    double *H; /* NULL: by products */
    double singular_in_a_row;
} mgbio;

static bool is_explicit(blv_run *run, const mgbio *s) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    return s->linear == LINEAR_EXPLICIT ||
           (s->linear == LINEAR_AUTO && def->lower_hessian_matrix && def->dim_y <= AUTO_DIM_MAX);
}

static blv_error mgbio_open(blv_run *run, void *state) {
    mgbio *s = state;
    BLV_CHECK(blv_iterate_selection_open(run, &s->out));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->ahead));
    BLV_CHECK(blv_state_hidden(run, "singular_in_a_row", &s->singular_in_a_row));
    BLV_CHECK(blv_steps_open(run, &s->steps, BLV_STEPS_XY, false));
    BLV_CHECK(blv_pair_guard_open(run, &s->guard));
    if (!is_explicit(run, s))
        return blv_run_linear_work(run, BLV_MINRES_VECTORS, &s->minres);
    BLV_CHECK(blv_matrices_fit(run, false));
    BLV_CHECK(blv_matrices_open(run, &s->matrices));
    BLV_CHECK(blv_dense_system_open(run, &s->system));
    size_t dy = blv_problem_definition(blv_run_problem(run))->dim_y;
    return blv_scratch_block(run, dy * dy, &s->H);
}

static blv_flow mgbio_prepare(blv_run *run, void *state) {
    mgbio *s = state;
    BLV_TRY(blv_steps_prepare(run, &s->steps, 1.0));
    blv_pair_guard_begin(&s->guard, &s->steps);
    return BLV_GO;
}

/* v = H \ fy */
static blv_flow solve(blv_run *run, mgbio *s, const blv_batch *batch, double *r_norm) {
    blv_adjoint_result r;
    if (s->H) {
        BLV_TRY(blv_matrices_fill(run, &s->matrices, batch, s->out.x, s->out.y, s->H, NULL));
        BLV_TRY(blv_dense_system_factor(&s->system, s->H, s->at.fy, s->out.v, &r));
    } else {
        BLV_TRY(blv_adjoint_minres(run, s->minres, batch, s->out.x, s->out.y, s->at.fy, s->out.v,
                                   &s->limits, &r));
    }
    *r_norm = r.r_norm;
    return blv_adjoint_singular(run, batch, r.singular, &s->singular_in_a_row);
}

static blv_flow mgbio_step(blv_run *run, void *state) {
    mgbio *s = state;
    const blv_hypergradient_terms *p = &s->at;
    blv_iterate_selection_begin(run, &s->out);
    s->steps.x_now = s->out.x;
    s->steps.y_now = s->out.y;
    blv_vec *x = s->out.x, *y = s->out.y, *w = p->fx;
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *bf = blv_sampler_next(p->f_batches), *bg = blv_sampler_next(p->g_batches);

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, p->fx, p->fy));
    BLV_TRY(solve(run, s, bg, &m->r_norm));
    BLV_TRY(blv_oracle_all(run, bg, x, y, s->out.v, p->gy, NULL, p->jv));
    blv_vec_combine(w, 1.0, p->fx, -1.0, p->jv);
    const blv_pair pair = {x, w, p->gy, s->out.v, p->jv, NULL, NULL};
    BLV_TRY(blv_pair_guard_steps(run, &s->guard, &s->steps, s->eta, bg ? bg : bf, &pair));

    double gamma = m->step_x / s->eta, mapping;
    BLV_TRY(blv_look_ahead(run, x, gamma, w, s->ahead, &mapping));
    BLV_TRY(blv_iterate_selection_offer(run, &s->out, fmax(mapping, m->gy_norm)));
    BLV_TRY(blv_move_part(run, x, s->eta, gamma, w, s->ahead));
    blv_pair_guard_moved(&s->guard, m->step_x * mapping, m->step_y * m->gy_norm);
    return blv_move(run, y, m->step_y, p->gy);
}

#define FIELD(name) offsetof(mgbio, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("gamma", steps.x, "x-step"),
    BLV_POSITIVE_AUTO("lambda", steps.y, "y-step; auto: 1/L"),
    {"eta", BLV_REAL, FIELD(eta), "0.5", DBL_MIN, 1, NULL, "part of a step that is taken"},
    BLV_WORD(
        "linear", linear, "auto", "minres|explicit|auto",
        "how H v = fy is solved; auto: explicit where the problem hands out H and it is small"),
    BLV_COUNT("products", limits.products, "20", "products with H that MINRES takes at most"),
    {"tolerance", BLV_REAL, FIELD(limits.tolerance), "1e-12", 0, 1, NULL,
     "MINRES stops at |H v - fy| = tolerance |fy|"},
    BLV_WORD("output", out.rule, "last", BLV_OUTPUT_WORDS,
             "which iterate x and y are handed out; best: by the larger of |w| and |gy|"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_mgbio = {
    BLV_SIZED(blv_solver),
    .name = "mgbio",
    .summary = "steps with momentum, MINRES for the linear system: g need not be convex in y",
    .citation = "F. Huang, On momentum-based gradient methods for bilevel optimization with "
                "nonconvex lower-level, Algorithm 1",
    .group = "single-loop",
    .hint = "lower gamma or lambda",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(mgbio),
    .params = params,
    .open = mgbio_open,
    .prepare = mgbio_prepare,
    .step = mgbio_step,
};
