/* The lists of built-in solvers and problem families. */
#ifndef BLV_REGISTRY_BUILTIN_H
#define BLV_REGISTRY_BUILTIN_H

#include "bilevel/run.h"

/* Both end with NULL. */
extern const blv_solver *const blv_builtin_solvers[];
extern const blv_problem_family *const blv_builtin_problems[];

#endif
