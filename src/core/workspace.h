/* Workspaces that the run owns, for `open`. */
#pragma once

#include "core/implicit.h"
#include "linsolve/lbfgs.h"
#include "linsolve/operator.h"

/* For systems with H. vectors: BLV_CG_VECTORS or BLV_MINRES_VECTORS. */
blv_error blv_run_linear_work(blv_run *run, size_t vectors, blv_linear_work **work);
blv_error blv_run_lbfgs(blv_run *run, blv_level level, size_t memory, blv_lbfgs **lbfgs);
/* Makes its memory part of the state, for a solver that iterates across steps. In `open`, bind it
 * as well. */
blv_error blv_state_lbfgs(blv_run *run, const char *name, blv_lbfgs *lbfgs);
/* Tight solves of the lower level, through the run's counted oracles. */
blv_error blv_run_implicit(blv_run *run, blv_implicit **implicit);
/* An array whose content does not survive a step, all zero: the block to blv_scratch_vec. */
blv_error blv_scratch_block(blv_run *run, size_t count, double **numbers);

/* Several at once, up to NULL: blv_vec ** of scratch vectors of one level; names and double * of
 * scalars, with and without a column in the trace. */
#define BLV_UP_TO_NULL __attribute__((sentinel))
blv_error blv_scratch_vecs(blv_run *run, blv_level level, ...) BLV_UP_TO_NULL;
blv_error blv_state_scalars(blv_run *run, ...) BLV_UP_TO_NULL;
blv_error blv_state_hiddens(blv_run *run, ...) BLV_UP_TO_NULL;

/* x = P_X(x); where the projection fails, x stays as it was. room: of the size of x. */
blv_flow blv_project_or_keep(blv_run *run, blv_vec *x, blv_vec *room);
