/* A problem of your own whose rows are spread over ranks: ridge regression with a penalty to
 * choose.
 *
 *   g(x, y) = mean over training rows of (a'y - b)^2 / 2 + exp(x)/2 |y|^2
 *   f(x, y) = mean over validation rows of the same loss
 *
 * Every rank makes its rows and sums over them; blv_ranks_sum adds up value, gradient and products,
 * and what went wrong on any rank, in one exchange. x and y are replicated. Nothing else differs
 * from a program of one process.
 *
 *     mpicc mpi_own_problem.c -lbilevel-mpi -lbilevel -lm && mpirun -n 2 ./a.out
 */
#include <bilevel/bilevel.h>
#include <bilevel/mpi.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 600, COLUMNS = 8, TRAINING = 400 };

typedef struct regression {
    const blv_ranks *ranks;
    double a[ROWS][COLUMNS], b[ROWS]; /* only the rows i with i % count == rank are used */
} regression;

/* Sums over this rank's rows from first to end: loss, then its gradient, and the Hessian times v
 * where there is a v. Then the sums over all ranks. */
static int sums(const regression *r, int first, int end, const double *y, const double *v,
                double sum[1 + 2 * COLUMNS]) {
    for (int k = 0; k < 1 + 2 * COLUMNS; k++)
        sum[k] = 0.0;
    for (int i = first; i < end; i++) {
        if (i % r->ranks->count != r->ranks->rank)
            continue;
        double residual = -r->b[i], slope = 0.0;
        for (int j = 0; j < COLUMNS; j++) {
            residual += r->a[i][j] * y[j];
            slope += v ? r->a[i][j] * v[j] : 0.0;
        }
        sum[0] += residual * residual / 2.0 / (end - first);
        for (int j = 0; j < COLUMNS; j++) {
            sum[1 + j] += residual * r->a[i][j] / (end - first);
            sum[1 + COLUMNS + j] += slope * r->a[i][j] / (end - first);
        }
    }
    return blv_ranks_sum(r->ranks, 0, 1 + 2 * COLUMNS, sum);
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    double sum[1 + 2 * COLUMNS];
    (void)batch;
    (void)x;
    const int code = sums(user, TRAINING, ROWS, blv_vec_f64(y), NULL, sum);
    if (f)
        *f = sum[0];
    blv_vec_put(fx, 0, 0.0);
    for (size_t j = 0; j < COLUMNS; j++)
        blv_vec_put(fy, j, sum[1 + j]);
    return code;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    const double penalty = exp(blv_vec_at(x, 0)), square = blv_vec_dot(y, y);
    double sum[1 + 2 * COLUMNS];
    (void)batch;
    const int code = sums(user, 0, TRAINING, blv_vec_f64(y), NULL, sum);
    if (g)
        *g = sum[0] + penalty * square / 2.0;
    blv_vec_put(gx, 0, penalty * square / 2.0);
    for (size_t j = 0; j < COLUMNS; j++)
        blv_vec_put(gy, j, sum[1 + j] + penalty * blv_vec_at(y, j));
    return code;
}

static int lower_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *hv) {
    const double penalty = exp(blv_vec_at(x, 0));
    double sum[1 + 2 * COLUMNS];
    (void)batch;
    const int code = sums(user, 0, TRAINING, blv_vec_f64(y), blv_vec_f64(v), sum);
    for (size_t j = 0; j < COLUMNS; j++)
        blv_vec_put(hv, j, sum[1 + COLUMNS + j] + penalty * blv_vec_at(v, j));
    return code;
}

static int lower_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *jv) {
    (void)user;
    (void)batch;
    blv_vec_put(jv, 0, exp(blv_vec_at(x, 0)) * blv_vec_dot(y, v));
    return 0;
}

static void make_rows(regression *r) {
    for (int i = 0; i < ROWS; i++) {
        r->b[i] = 2.0 * sin(i * 12.9898);
        for (int j = 0; j < COLUMNS; j++) {
            r->a[i][j] = sin(i * 78.233 + j * 37.719);
            r->b[i] += j < 3 ? r->a[i][j] : 0.0;
        }
    }
}

int main(int argc, char **argv) {
    static regression r;
    blv_space *space_x = NULL, *space_y = NULL;
    blv_problem *problem = NULL;
    blv_solution *solution = NULL;
    blv_ranks *ranks = NULL;
    blv_message why = {""};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    blv_error error = blv_mpi_open(&ranks, MPI_COMM_WORLD, &why);
    if (error == BLV_OK)
        error = blv_space_create_replicated(&space_x, ranks, 1, BLV_F64, 1);
    if (error == BLV_OK)
        error = blv_space_create_replicated(&space_y, ranks, COLUMNS, BLV_F64, 1);
    if (error == BLV_OK) {
        r.ranks = ranks;
        make_rows(&r);
        const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                     .name = "ridge on ranks",
                                     .user = &r,
                                     .upper = upper,
                                     .lower = lower,
                                     .lower_hvp = lower_hvp,
                                     .lower_cross = lower_cross,
                                     .space_x = space_x,
                                     .space_y = space_y};
        error = blv_problem_create(&problem, &def, &why);
    }
    const blv_solve_options options = {BLV_SIZED(blv_solve_options), .tol = 1e-8};
    if (error == BLV_OK)
        error = blv_solve(&solution, problem, &options, &why);
    if (error != BLV_OK)
        fprintf(stderr, "%s\n", why.text);
    else if (ranks->rank == 0)
        printf("%s: Phi = %.6f, penalty exp(x) = %.4f\n",
               solution->converged ? "converged" : blv_outcome_text(solution->outcome),
               solution->phi, exp(solution->x[0]));
    blv_solution_destroy(solution);
    blv_problem_destroy(problem);
    blv_space_destroy(space_x);
    blv_space_destroy(space_y);
    blv_mpi_close(ranks);
    MPI_Finalize();
    return error != BLV_OK;
}
