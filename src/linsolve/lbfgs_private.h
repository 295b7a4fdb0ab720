/* The insides of L-BFGS, for its own sources. */
#ifndef BLV_LINSOLVE_LBFGS_PRIVATE_H
#define BLV_LINSOLVE_LBFGS_PRIVATE_H

#include "linsolve/lbfgs.h"
#include "linsolve/operator.h"

struct blv_lbfgs {
    const blv_space *space;
    blv_linear_work *vectors; /* s and y of the pairs, then these five */
    blv_vec *g, *d, *trial, *trial_g, *work;
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

#endif
