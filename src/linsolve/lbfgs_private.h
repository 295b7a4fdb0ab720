/* The insides of L-BFGS: its limited memory, pairs (s, y) and products with the matrices that they
 * stand for, and how the descent stands. */
#pragma once

#include "linsolve/lbfgs.h"
#include "linsolve/operator.h"

typedef struct blv_lbfgs_pairs {
    const blv_space *space;
    size_t capacity, count, first; /* pair i, oldest first, lies in slot (first + i) % capacity */
    double theta;                  /* B starts from theta I, its inverse from I / theta */
    blv_vec *const *s, *const *y;  /* capacity of each, borrowed as all of these */
    double *ss, *sy;               /* by slot: ss[i,j] = s_i's_j, sy[i,j] = s_i'y_j */
    double *factor; /* by age: lower Cholesky factor of the middle matrix, row after row */
    bool factored;
} blv_lbfgs_pairs;

/* Drops all pairs; theta stays. */
void blv_lbfgs_pairs_forget(blv_lbfgs_pairs *pairs);

/* Takes the contents of s and y (and leaves others in them) when s'y is safely positive; says
 * whether it did. A full memory loses its oldest pair. Sets theta to y'y/s'y. */
bool blv_lbfgs_pairs_add(blv_lbfgs_pairs *pairs, blv_vec *s, blv_vec *y);

/* v = B^-1 v, by the two-loop recursion. */
void blv_lbfgs_pairs_solve(const blv_lbfgs_pairs *pairs, blv_vec *v);

/* Prepares multiplications. False: the pairs have become dependent to rounding; forget them. */
bool blv_lbfgs_pairs_factor(blv_lbfgs_pairs *pairs);
/* out = B v, for out other than v, after blv_lbfgs_pairs_factor. */
void blv_lbfgs_pairs_multiply(const blv_lbfgs_pairs *pairs, const blv_vec *v, blv_vec *out);

struct blv_lbfgs {
    const blv_space *space;
    blv_linear_work *vectors; /* s and y of the pairs, then these seven */
    blv_vec *g, *d, *trial, *trial_g, *work, *spare, *spare_g;
    blv_lbfgs_pairs pairs;
    blv_lbfgs_problem problem;
    blv_vec *x; /* the caller's */
    double tolerance;
    blv_lbfgs_result state;
    double largest_value; /* largest |value| so far: the scale of its rounding */
    double best_value, best_stationarity;
    int idle_iterations; /* without a new best of either */
    double products[];   /* of the pairs: ss, sy and factor */
};
