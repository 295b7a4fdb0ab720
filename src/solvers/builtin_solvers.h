/* The solvers of this folder; builtin_solvers.c lists them. */
#ifndef BLV_SOLVERS_BUILTIN_H
#define BLV_SOLVERS_BUILTIN_H

#include "bilevel/solver.h"

extern const blv_solver blv_solver_s_tfbo;
extern const blv_solver blv_solver_d_tfbo;
extern const blv_solver blv_solver_aid_cg;
extern const blv_solver blv_solver_soba;
extern const blv_solver blv_solver_exact;

#endif
