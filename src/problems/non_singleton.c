/* A lower level with many solutions: y2 is free, so d2g/dy2 is singular. Value-function methods
 * solve it; implicit ones reject it. */
#include "problems/builtin_problems.h"
#include "problems/problem_memory.h"

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    double gap = blv_vec_at(x, 0) - blv_vec_at(y, 1), off = blv_vec_at(y, 0) - 1.0;
    if (f)
        *f = 0.5 * gap * gap + 0.5 * off * off;
    blv_vec_put(fx, 0, gap);
    blv_vec_put(fy, 0, off);
    blv_vec_put(fy, 1, -gap);
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    (void)user;
    (void)batch;
    double y1 = blv_vec_at(y, 0), x1 = blv_vec_at(x, 0);
    if (g)
        *g = 0.5 * y1 * y1 - x1 * y1;
    blv_vec_put(gx, 0, -y1);
    blv_vec_put(gy, 0, y1 - x1);
    blv_vec_put(gy, 1, 0.0);
    return 0;
}

static int lower_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *hv) {
    (void)user;
    (void)batch;
    (void)x;
    (void)y;
    blv_vec_put(hv, 0, blv_vec_at(v, 0));
    blv_vec_put(hv, 1, 0.0);
    return 0;
}

static int lower_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *jv) {
    (void)user;
    (void)batch;
    (void)x;
    (void)y;
    blv_vec_put(jv, 0, -blv_vec_at(v, 0));
    return 0;
}

static int known_solution(void *user, blv_vec *x, blv_vec *y) {
    (void)user;
    blv_vec_put(x, 0, 1.0);
    blv_vec_put(y, 0, 1.0);
    blv_vec_put(y, 1, 1.0);
    return 0;
}

static blv_error create(const void *params, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    (void)params;
    blv_error error = problem_on_host(options, "non-singleton", why);
    if (error != BLV_OK)
        return error;
    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = "non-singleton",
                           .dim_x = 1,
                           .dim_y = 2,
                           .precision = options->precision,
                           .threads = options->threads,
                           .singular_lower = true,
                           .upper = upper,
                           .lower = lower,
                           .lower_hvp = lower_hvp,
                           .lower_cross = lower_cross,
                           .known_solution = known_solution};
    return blv_problem_create(problem, &def, why);
}

static const blv_param no_params[] = {PARAMS_END};

const blv_problem_family blv_problem_non_singleton = {
    BLV_SIZED(blv_problem_family),
    .name = "non-singleton",
    .summary = "lower level with many solutions (singular Hessian): x = 1, y = (1, 1), Phi = 0",
    .formula = "f = (x-y2)^2/2 + (y1-1)^2/2\ng = y1^2/2 - x y1",
    .params = no_params,
    .create = create,
};
