/* An instance of the quadratic family: data, and the answer in closed form. */
#pragma once

#include "problems/family.h"

typedef struct quadratic_params {
    int64_t dx, dy;
    double kappa;
    int64_t terms;
    double scale, ridge, eigen_min;
    int64_t seed;
} quadratic_params;

/* What oracles read, in the memory and precision of the kernels. Matrices row by row. */
typedef enum quadratic_array {
    Q_A,
    Q_C,
    Q_C_TRANSPOSED,
    Q_c,
    Q_b,
    Q_EIGENVECTORS, /* as rows; from here on: where there are terms */
    Q_C_LESS_MEAN,
    Q_C_LESS_MEAN_TRANSPOSED,
    Q_P, /* terms x dy, as the noise, and terms x dx */
    Q_Q,
    Q_C_NOISE,
    Q_B_NOISE,
    Q_ARRAYS
} quadratic_array;

/*   g = mean_i  y'A_i y/2 + y'(C_i x + c_i)
 *   f = mean_j  |y-b|^2/2 - y'(b_j - b) + ridge |x|^2/2
 *
 *   A_i = Q diag(lambda (1 + delta_i)) Q'      the delta_i have mean zero
 *   C_i = C - M + p_i q_i'                     M = mean_i p_i q_i'
 *   c_i = c + noise, b_j = b + noise           noise of mean zero
 *
 * so A, C, c, b are the exact means. With one term there is no noise. */
typedef struct quadratic {
    size_t dx, dy, terms;
    double ridge;
    const blv_kernels *kernels;
    const blv_ranks *ranks; /* NULL: none; else they share the terms of a batch */
    blv_space *space_x, *space_y;
    double *shared;                /* what ranks add up */
    double *eigenvectors, *lambda; /* of A, one in a row; the beginning of one block of numbers */
    double *A, *C, *c, *b;         /* dy x dy, dy x dx, dy, dy */
    double *delta;                 /* terms x dy */
    void *array[Q_ARRAYS];
    blv_named_array named[6];
} quadratic;

/* NULL when memory is short. */
quadratic *quadratic_create(const quadratic_params *params, const blv_kernels *kernels);
void quadratic_destroy(void *instance); /* NULL is allowed */

int quadratic_known_phi(void *user, const blv_vec *x, double *phi, blv_vec *gradient);
int quadratic_known_solution(void *user, blv_vec *x, blv_vec *y);
