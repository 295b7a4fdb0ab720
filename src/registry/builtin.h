/* The lists of built-in solvers and problem families. */
#pragma once

#include "bilevel/run.h"

/* Both end with NULL. */
extern const blv_solver *const blv_builtin_solvers[];
extern const blv_problem_family *const blv_builtin_problems[];
