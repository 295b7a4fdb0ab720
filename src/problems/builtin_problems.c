/* The built-in problems: a new family is one line here. */
#include "problems/builtin_problems.h"
#include "core/builtin.h"

// clang-format off: it would make columns of them
const blv_problem_family *const blv_builtin_problems[] = {
    &blv_problem_quadratic,
    &blv_problem_scalar_penalty,
    &blv_problem_parabola,
    &blv_problem_saddle,
    &blv_problem_pl_sine,
    &blv_problem_pl_shift,
    &blv_problem_non_singleton,
    &blv_problem_l2reg,
    &blv_problem_synthetic_logistic,
    &blv_problem_hyperclean,
    &blv_problem_hyperclean_nn,
    &blv_problem_decay_nn,
    &blv_problem_coreset,
    NULL,
};
// clang-format on
