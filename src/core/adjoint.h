/* The linear system H(x,y) v = fy, solved to within a number of products through the run's counted
 * oracles, all on one batch. */
#ifndef BLV_CORE_ADJOINT_H
#define BLV_CORE_ADJOINT_H

#include "bilevel/solver.h"
#include "linsolve/cg.h"

/* v comes in as the start and costs one product there; r_norm: |fy - H v| at the end. Where g
 * curves down CG stops, and the run gets a note. */
blv_flow blv_adjoint_cg(blv_run *run, blv_cg *cg, const blv_batch *batch, const blv_vec *x,
                        const blv_vec *y, const blv_vec *fy, blv_vec *v, size_t products,
                        double *r_norm);

#endif
