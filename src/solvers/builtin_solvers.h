/* The solvers of this folder. */
#ifndef BLV_SOLVERS_BUILTIN_SOLVERS_H
#define BLV_SOLVERS_BUILTIN_SOLVERS_H

#include "bilevel/solver.h"

#define SOLVER(name) extern const blv_solver blv_solver_##name;
#include "solvers/solver_list.h"
#undef SOLVER

#endif
