/* Workspaces that the run owns, for `open`. */
#ifndef BLV_CORE_WORKSPACE_H
#define BLV_CORE_WORKSPACE_H

#include "core/implicit.h"
#include "linsolve/cg.h"
#include "linsolve/lbfgs.h"

blv_error blv_run_cg(blv_run *run, blv_level level, blv_cg **cg);
blv_error blv_run_lbfgs(blv_run *run, blv_level level, size_t memory, blv_lbfgs **lbfgs);
/* Makes its memory part of the state, for a solver that iterates across steps. In `open`, bind it
 * as well. */
blv_error blv_state_lbfgs(blv_run *run, const char *name, blv_lbfgs *lbfgs);
/* Tight solves of the lower level, through the run's counted oracles. */
blv_error blv_run_implicit(blv_run *run, blv_implicit **implicit);

#endif
