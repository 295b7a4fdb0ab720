/* The solvers of this folder. */
#pragma once

#include "bilevel/solver.h"

#define SOLVER(name) extern const blv_solver blv_solver_##name;
#include "solvers/solver_list.h"
#undef SOLVER
