/* STABLE: one loop with dense recursive estimates of H and J, and y carried along with x.
 *
 *   q_t = q(z_t;B) + (1 - tau) (q_{t-1} - q(z_{t-1};B))   for the estimates Hm of H and G of J
 *
 *   x' = P_X(x - step_x (fx - G (Hm \ fy)))
 *   y' = y - step_y gy - Hm \ G'(x' - x)
 *
 * with z = (x, y), the batches of f and g independent, and tau = 1 in the first iteration. The last
 * term is what y*(x) moves when x does, so y need not chase it, and both steps are of one size.
 * T. Chen, Y. Sun, Q. Xiao, W. Yin, "A single-timescale method for stochastic bilevel
 * optimization", AISTATS 2022. Its projections of Hm and G are left out. */
#include "blocks/hessian_average.h"
#include "blocks/pair_guard.h"
#include "blocks/param_rows.h"
#include "blocks/recursive.h"
#include "core/sampler.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"
#include "space/distance.h"

#include <math.h>

/* Automatic x-steps on batches: fx and fy are as noisy as their batch, and the steps constant. */
static const double on_batches = 0.05;

typedef struct stable {
    blv_steps steps;
    blv_pair_guard guard;
    double tau;
    blv_hessian_average curvature;
    blv_hypergradient_terms at;
    blv_vec *v;
    blv_old_point old, now; /* z_{t-1}, z_t */
    blv_vec *moved, *drift; /* x' - x, and how far y*(x) moves */
} stable;

static blv_error stable_open(blv_run *run, void *state) {
    stable *s = state;
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_old_point_open(run, &s->old));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->now.x, &s->moved, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &s->now.y, &s->drift, NULL));
    BLV_CHECK(blv_hypergradient_terms_open(run, &s->at));
    BLV_CHECK(blv_steps_open(run, &s->steps, BLV_STEPS_XY, false));
    BLV_CHECK(blv_pair_guard_open(run, &s->guard));
    s->curvature.form = BLV_CARRIED_EXPLICIT;
    return blv_hessian_average_open(run, &s->curvature, true, true, s->at.g_batches);
}

/* y keeps up with x whatever the condition of H, as if it were solved for in between. */
static blv_flow stable_prepare(blv_run *run, void *state) {
    stable *s = state;
    bool is_auto = isnan(s->steps.x);
    BLV_TRY(blv_steps_prepare(run, &s->steps, INFINITY));
    if (is_auto && blv_sampler_batch(s->at.g_batches) > 0)
        s->steps.x *= on_batches;
    blv_pair_guard_begin(&s->guard, &s->steps);
    return BLV_GO;
}

static blv_flow stable_step(blv_run *run, void *state) {
    stable *s = state;
    const blv_hypergradient_terms *p = &s->at;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *d = p->fx;
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *bf = blv_sampler_next(p->f_batches), *bg = blv_sampler_next(p->g_batches);
    blv_point here = {x, y}, before = {s->old.x, s->old.y};
    bool first = blv_run_iteration(run) == 0;
    double tau = first ? 1.0 : s->tau;

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, p->fx, p->fy));
    BLV_TRY(blv_oracle_lower(run, bg, x, y, NULL, NULL, p->gy));
    BLV_TRY(
        blv_hessian_average_put(run, &s->curvature, bg, &here, first ? NULL : &before, tau, tau));
    BLV_TRY(blv_hessian_average_solve(run, &s->curvature, bg, p->fy, s->v, &m->r_norm));
    BLV_TRY(blv_hessian_average_cross(run, &s->curvature, s->v, p->jv));
    blv_vec_combine(d, 1.0, p->fx, -1.0, p->jv);
    const blv_pair pair = {x, d, p->gy, s->v, p->jv, NULL, NULL};
    const blv_batch *noise = bg ? bg : bf;
    const double decay = blv_steps_decay(run, &s->steps, noise);
    BLV_TRY(blv_pair_guard_steps(run, &s->guard, &s->steps, decay, noise, &pair));

    blv_old_point_keep(run, &s->now);
    BLV_TRY(blv_move(run, x, m->step_x, d));
    double x_moved = blv_distance(s->moved, x, s->now.x);
    blv_hessian_average_cross_transposed(run, &s->curvature, s->moved, p->hv);
    BLV_TRY(blv_hessian_average_solve_more(&s->curvature, p->hv, s->drift));
    BLV_TRY(blv_move_to(run, y, 3, (const double[]){1.0, -m->step_y, -1.0},
                        (const blv_vec *const[]){y, p->gy, s->drift}));
    blv_pair_guard_moved(&s->guard, x_moved, m->step_y * m->gy_norm);
    blv_hessian_average_keep(run, &s->curvature);
    blv_vec_swap(s->old.x, s->now.x);
    blv_vec_swap(s->old.y, s->now.y);
    return BLV_GO;
}

#define FIELD(name) offsetof(stable, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x,
                      "x-step; auto: 1/(2 L_phi), on batches a twentieth of that"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "y-step; auto: 1/L"),
    {"tau", BLV_REAL, FIELD(tau), "0.1", DBL_MIN, 1, NULL,
     "part of the estimates of H and J that is renewed in an iteration"},
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_stable = {
    BLV_SIZED(blv_solver),
    .name = "stable",
    .summary = "dense recursive estimates of H and J, y carried along with x: small y",
    .citation = "T. Chen, Y. Sun, Q. Xiao, W. Yin, AISTATS 2022",
    .group = "variance-reduced",
    .hint = "lower step_x or step_y",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(stable),
    .params = params,
    .open = stable_open,
    .prepare = stable_prepare,
    .step = stable_step,
};
