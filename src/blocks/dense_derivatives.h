/* H = d2g/dy2 and J = d2g/dxdy as dense arrays, row by row, and systems with such an H: for
 * problems that are small enough. */
#pragma once

#include "blocks/adjoint.h"

/* The largest sizes that are served. A system of 1000 unknowns takes tenths of a second. */
enum { BLV_MATRICES_DIM_MAX = 1000, BLV_MATRICES_ENTRIES_MAX = 4000000 };

/* Whether H fits, and with_cross J too; if not, why not is left as the run's message. */
blv_error blv_matrices_fit(blv_run *run, bool with_cross);

typedef struct blv_matrices {
    blv_vec *unit, *hv, *jv; /* scratch */
    double *host;            /* room for one vector */
} blv_matrices;

/* In `open`. */
blv_error blv_matrices_open(blv_run *run, blv_matrices *matrices);
/* At one point, on one batch: by the problem's own matrices where it has them, else by products
 * with unit vectors, dim_y of them. H is made symmetric. J may be NULL. */
blv_flow blv_matrices_fill(blv_run *run, blv_matrices *matrices, const blv_batch *batch,
                           const blv_vec *x, const blv_vec *y, double *H, double *J);

typedef struct blv_dense_system {
    size_t n;
    double *factors, *host, *work; /* scratch */
    size_t *order;
} blv_dense_system;

/* In `open`. */
blv_error blv_dense_system_open(blv_run *run, blv_dense_system *system);
/* v = H^-1 fy by factors of H, which stay for the solves that follow; where H is singular, v stays
 * as it is. */
blv_flow blv_dense_system_factor(blv_dense_system *system, const double *H, const blv_vec *fy,
                                 blv_vec *v, blv_adjoint_result *result);
/* v = H^-1 fy. r_norm: |fy - H v|. BLV_NONFINITE leaves v as it is. */
blv_flow blv_dense_system_solve(blv_dense_system *system, const double *H, const blv_vec *fy,
                                blv_vec *v, double *r_norm);
