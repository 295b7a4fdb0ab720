/* An instance of the quadratic family: data, and the answer in closed form. */
#ifndef BLV_PROBLEMS_QUADRATIC_H
#define BLV_PROBLEMS_QUADRATIC_H

#include "bilevel/problem.h"
#include "kernels/kernel_table.h"

typedef struct quadratic_params {
    int64_t dx, dy;
    double kappa;
    int64_t terms;
    double scale, ridge, eigen_min;
    int64_t seed;
} quadratic_params;

/* Matrices row by row. Those with the suffix _real are copies in the memory and precision of the
 * kernels.
 *
 *   g = mean_i  y'A_i y/2 + y'(C_i x + c_i)
 *   f = mean_j  |y-b|^2/2 - y'(b_j - b) + ridge |x|^2/2
 *
 *   A_i = Q diag(lambda (1 + delta_i)) Q'      the delta_i have mean zero
 *   C_i = C - M + p_i q_i'                     M = mean_i p_i q_i'
 *   c_i = c + noise, b_j = b + noise           noise of mean zero
 *
 * so A, C, c, b are the exact means. With one term there is no noise. */
typedef struct quadratic {
    quadratic_params params;
    size_t dx, dy, terms;
    double ridge;
    const blv_kernels *kernels;

    double *q_transposed; /* eigenvectors of A as rows */
    double *lambda;
    double *A, *C, *c, *b; /* dy x dy, dy x dx, dy, dy */

    void *A_real, *C_real, *C_transposed_real, *c_real, *b_real;
    void *q_transposed_real, *C_less_mean_real, *C_less_mean_transposed_real;
    double *delta;                     /* terms x dy */
    void *p_real, *q_real;             /* terms x dy, terms x dx */
    void *c_noise_real, *b_noise_real; /* terms x dy */

    blv_named_array arrays[6];
} quadratic;

blv_error quadratic_create(quadratic **instance, const quadratic_params *params,
                           const blv_kernels *kernels);
void quadratic_destroy(void *instance);

int quadratic_known_phi(void *user, const blv_vec *x, double *phi, blv_vec *gradient);
int quadratic_known_solution(void *user, blv_vec *x, blv_vec *y);

#endif
