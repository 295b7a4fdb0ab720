/* The families of this folder; builtin_problems.c lists them. */
#ifndef BLV_PROBLEMS_BUILTIN_H
#define BLV_PROBLEMS_BUILTIN_H

#include "bilevel/problem.h"

extern const blv_problem_family blv_problem_quadratic;
extern const blv_problem_family blv_problem_scalar_penalty;
extern const blv_problem_family blv_problem_parabola;
extern const blv_problem_family blv_problem_saddle;
extern const blv_problem_family blv_problem_pl_sine;
extern const blv_problem_family blv_problem_pl_shift;
extern const blv_problem_family blv_problem_non_singleton;
extern const blv_problem_family blv_problem_l2reg;
extern const blv_problem_family blv_problem_synthetic_logistic;
extern const blv_problem_family blv_problem_hyperclean;
extern const blv_problem_family blv_problem_hyperclean_nn;
extern const blv_problem_family blv_problem_decay_nn;
extern const blv_problem_family blv_problem_coreset;

#endif
