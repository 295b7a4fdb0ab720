/* Choose x so that the answer of the lower level suits the upper one:
 *
 *   minimize over x   f = (y-1)^2 + x^2/10,   where y minimizes   g = y^4/4 + y^2/2 - x y */
#include <bilevel/bilevel.h>
#include <stdio.h>

static int upper(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                 double *f, blv_vec *fx, blv_vec *fy) {
    double x = blv_vec_at(xv, 0), y = blv_vec_at(yv, 0);
    (void)user, (void)batch;
    if (f) /* outputs that are not needed are NULL; blv_vec_put passes them over */
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
    blv_problem *problem;
    blv_run *run;
    blv_certificate c;
    if (blv_problem_create(&problem, &def, NULL) ||
        blv_run_create(&run, problem, blv_solver_find(NULL, "s-tfbo", NULL), NULL) ||
        blv_run_set(run, "tol", "1e-8") || blv_run_solve(run) || blv_run_certify(run, &c))
        return 1;
    printf("%s: x = %.5f, y = %.5f\n", blv_outcome_word(blv_run_result(run)->outcome),
           blv_vec_at(blv_run_x(run), 0), blv_vec_at(blv_run_y(run), 0));
    printf("certified: Phi(x) = %.5f, |grad Phi(x)| = %.5f\n", c.phi, c.grad_norm);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return 0;
}
