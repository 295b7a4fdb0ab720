/* A custom solver, written outside the library: alternating implicit gradient steps with a
 * heavy ball in x.
 *
 *   inner times:  y -= step_y gy,   v -= step_y (H v - fy)
 *   d = fx - J v;   w = momentum w + d;   x = P_X(x - step_x w)
 *
 * It is a descriptor, a table of parameters, `open` and `step`. Stopping, counting, tracing and
 * memory are the run's. It is run as it is, then by its name from a registry, beside s-tfbo. */
#include <bilevel/bilevel.h>

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- The solver ---- */

typedef struct heavy_ball {
    double step_x, step_y, momentum; /* parameters: set before `open` */
    int64_t inner;
    blv_vec *v, *w;                  /* state */
    blv_vec *gy, *hv, *fy, *fx, *jv; /* scratch */
} heavy_ball;

static blv_error heavy_ball_open(blv_run *run, void *state) {
    heavy_ball *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v)); /* moves with blv_move */
    BLV_CHECK(blv_state_vec(run, "w", BLV_LEVEL_X, &s->w));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->gy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->hv));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, &s->fy));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &s->fx));
    return blv_scratch_vec(run, BLV_LEVEL_X, &s->jv);
}

static blv_flow heavy_ball_step(blv_run *run, void *state) {
    heavy_ball *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = s->hv, *d = s->fx;
    blv_metrics *m = blv_run_metrics(run); /* what the run stops by and traces */

    for (int64_t i = 0; i < s->inner; i++) {
        BLV_TRY(blv_oracle_lower(run, NULL, x, y, NULL, NULL, s->gy));
        m->gy_norm = blv_vec_norm(s->gy);
        BLV_TRY(blv_move(run, y, s->step_y, s->gy));
    }
    BLV_TRY(blv_oracle_upper(run, NULL, x, y, NULL, s->fx, s->fy));
    for (int64_t i = 0; i < s->inner; i++) {
        BLV_TRY(blv_oracle_hvp(run, NULL, x, y, s->v, s->hv));
        blv_vec_combine(r, 1.0, s->hv, -1.0, s->fy);
        m->r_norm = blv_vec_norm(r);
        BLV_TRY(blv_move(run, s->v, s->step_y, r));
    }
    BLV_TRY(blv_oracle_cross(run, NULL, x, y, s->v, s->jv));
    blv_vec_combine(d, 1.0, s->fx, -1.0, s->jv);
    m->d_norm = blv_vec_norm(d);
    blv_vec_combine(s->w, s->momentum, s->w, 1.0, d);
    m->step_x = s->step_x;
    m->step_y = m->step_v = s->step_y;
    return blv_move(run, x, s->step_x, s->w);
}

#define FIELD(name) offsetof(heavy_ball, name)

static const blv_param heavy_ball_params[] = {
    {"step_x", BLV_REAL, FIELD(step_x), "0.2", DBL_MIN, DBL_MAX, NULL, "x-step"},
    {"step_y", BLV_REAL, FIELD(step_y), "0.1", DBL_MIN, DBL_MAX, NULL, "y-step and v-step"},
    {"momentum", BLV_REAL, FIELD(momentum), "0.5", 0, 1, NULL, "share of the last direction"},
    {"inner", BLV_INT, FIELD(inner), "5", 1, 1e6, NULL, "y-steps and v-steps in an iteration"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static const blv_solver heavy_ball_solver = {
    BLV_SIZED(blv_solver),
    .name = "heavy-ball",
    .summary = "alternating implicit gradient steps with a heavy ball in x",
    .citation = "examples/own_solver.c",
    .group = "double-loop",
    .hint = "lower step_x or step_y",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE,
    .state_size = sizeof(heavy_ball),
    .params = heavy_ball_params,
    .open = heavy_ball_open,
    .step = heavy_ball_step,
};

/* ---- Running it ---- */

static int complain(const char *text) {
    fprintf(stderr, "%s\n", text);
    return 1;
}

static int solve(const blv_problem *problem, const blv_registry *registry, const char *solver,
                 const char *momentum) {
    blv_message why = {""};
    blv_solution *s = NULL;
    const char *const settings[] = {"momentum", momentum, NULL};
    const blv_solve_options options = {.size = sizeof options,
                                       .solver = solver,
                                       .registry = registry,
                                       .tol = 1e-6,
                                       .settings = momentum ? settings : NULL};
    if (blv_solve(&s, problem, &options, &why) != BLV_OK)
        return complain(why.text);
    printf("%-10s %-8s %-9s %10" PRIu64 " %6" PRIu64 " %6" PRIu64 " %9.6f  %s\n", solver,
           momentum ? momentum : "default", blv_outcome_word(s->outcome), s->iterations,
           s->counts.g_grad, s->counts.hvp, s->phi, s->grad_norm < 1e-5 ? "yes" : "no");
    blv_solution_destroy(s);
    return 0;
}

int main(void) {
    blv_message why = {""};
    blv_problem *problem = NULL;
    const char *const settings[] = {"dx", "20", "dy", "20", "kappa", "10", NULL};
    const blv_problem_family *family = blv_family_find(NULL, "quadratic", &why);
    if (!family || blv_problem_from_family(family, settings, NULL, &problem, &why) != BLV_OK)
        return complain(why.text);

    blv_registry *registry = NULL;
    int code = blv_registry_create(&registry) != BLV_OK ||
               blv_registry_add_solver(registry, &heavy_ball_solver, &why) != BLV_OK;
    if (code == 0) {
        printf("%-10s %-8s %-9s %10s %6s %6s %9s  %s\n", "solver", "momentum", "outcome",
               "iterations", "g grad", "Hv", "Phi", "|grad Phi| < 1e-5");
        code = solve(problem, registry, "heavy-ball", NULL) ||
               solve(problem, registry, "heavy-ball", "0") ||
               solve(problem, registry, "s-tfbo", NULL);
    }
    blv_registry_destroy(registry);
    blv_problem_destroy(problem);
    return code;
}
