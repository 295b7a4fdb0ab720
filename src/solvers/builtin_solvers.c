/* The built-in solvers: a new one is one line here. */
#include "solvers/builtin_solvers.h"
#include "core/builtin.h"

const blv_solver *const blv_builtin_solvers[] = {
    &blv_solver_s_tfbo, &blv_solver_d_tfbo, &blv_solver_aid_cg,
    &blv_solver_soba,   &blv_solver_exact,  NULL,
};
