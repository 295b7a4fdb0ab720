/* Choose x so that the answer of the lower level suits the upper one:
 *
 *   minimize over x   f = (y-1)^2 + x^2/10,   where y minimizes   g = y^4/4 + y^2/2 - x y */
#include <bilevel/bilevel.h>
#include <stdio.h>

static int upper(void *user, const blv_batch *batch, const blv_vec *x_vec, const blv_vec *y_vec,
                 double *f, blv_vec *fx, blv_vec *fy) {
    double x = *blv_vec_f64(x_vec), y = *blv_vec_f64(y_vec);
    (void)user, (void)batch;
    if (f) /* a NULL output is not needed */
        *f = (y - 1) * (y - 1) + x * x / 10;
    if (fx)
        *blv_vec_f64_mut(fx) = x / 5;
    if (fy)
        *blv_vec_f64_mut(fy) = 2 * (y - 1);
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x_vec, const blv_vec *y_vec,
                 double *g, blv_vec *gx, blv_vec *gy) {
    double x = *blv_vec_f64(x_vec), y = *blv_vec_f64(y_vec);
    (void)user, (void)batch;
    if (g)
        *g = y * y * y * y / 4 + y * y / 2 - x * y;
    if (gx)
        *blv_vec_f64_mut(gx) = -y;
    if (gy)
        *blv_vec_f64_mut(gy) = y * y * y + y - x;
    return 0;
}

int main(void) {
    blv_problem_def def = {.dim_x = 1, .dim_y = 1, .upper = upper, .lower = lower};
    blv_problem *problem = NULL;
    blv_run *run = NULL;
    blv_certificate c;
    blv_message why = {""};
    const blv_solver *solver = blv_solver_find(NULL, "s-tfbo", &why);
    double x, y;

    if (!solver || blv_problem_create(&problem, &def, &why) ||
        blv_run_create(&run, problem, solver, &why) || blv_run_set(run, "tol", "1e-8") ||
        blv_run_solve(run) || blv_run_certify(run, &c) || blv_run_read(run, "x", &x) ||
        blv_run_read(run, "y", &y)) {
        fprintf(stderr, "%s\n", run ? blv_run_message(run) : why.text);
        return 1;
    }
    printf("%s: x = %.5f, y = %.5f\n", blv_outcome_word(blv_run_result(run)->outcome), x, y);
    printf("certified: Phi(x) = %.5f, |grad Phi(x)| = %.5f\n", c.phi, c.grad_norm);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return 0;
}
