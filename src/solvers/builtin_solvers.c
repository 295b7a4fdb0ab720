#include "solvers/builtin_solvers.h"
#include "core/builtin.h"

const blv_solver *const blv_builtin_solvers[] = {
#define SOLVER(name) &blv_solver_##name,
#include "solvers/solver_list.h"
#undef SOLVER
    NULL,
};
