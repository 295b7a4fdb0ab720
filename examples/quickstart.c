/* minimize over x   f = (y-1)^2 + x^2/10,   where y minimizes   g = y^4/4 + y^2/2 - x y */
#include <bilevel/bilevel.h>
#include <stdio.h>

static int upper(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                 double *f, blv_vec *fx, blv_vec *fy) {
    double x = blv_vec_at(xv, 0), y = blv_vec_at(yv, 0);
    (void)user, (void)batch;
    if (f) /* an output that is not needed is NULL; blv_vec_put ignores it */
        *f = (y - 1) * (y - 1) + x * x / 10;
    blv_vec_put(fx, 0, x / 5);
    blv_vec_put(fy, 0, 2 * (y - 1));
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                 double *g, blv_vec *gx, blv_vec *gy) {
    double x = blv_vec_at(xv, 0), y = blv_vec_at(yv, 0);
    (void)user, (void)batch;
    if (g)
        *g = y * y * y * y / 4 + y * y / 2 - x * y;
    blv_vec_put(gx, 0, -y);
    blv_vec_put(gy, 0, y * y * y + y - x);
    return 0;
}

int main(void) {
    blv_problem_def def = {BLV_SIZED(blv_problem_def), .dim_x = 1, .dim_y = 1, .upper = upper,
                           .lower = lower};
    blv_solve_options options = {BLV_SIZED(blv_solve_options), .tol = 1e-8};
    blv_problem *problem;
    blv_solution *s;
    if (blv_problem_create(&problem, &def, NULL) || blv_solve(&s, problem, &options, NULL))
        return 1;
    printf("%s: x = %.5f, y = %.5f\n", blv_outcome_word(s->outcome), s->x[0], s->y[0]);
    printf("certified: Phi(x) = %.5f, |grad Phi(x)| = %.5f\n", s->phi, s->grad_norm);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
    return 0;
}
