/* The extreme eigenvalues of a symmetric operator, by a few Lanczos steps. */
#pragma once

#include "linsolve/operator.h"

#define BLV_LANCZOS_MAX 64

/* Within `bound` of each value lies an eigenvalue of A, up to rounding. Ritz values approach the
 * spectrum's ends from inside, so largest + largest_bound and smallest - smallest_bound are what to
 * take for safe ends; a start vector that misses an end's eigenvector can still hide it. */
typedef struct blv_lanczos_result {
    /* LIMIT: all steps were taken. CONVERGED: an invariant subspace was found and its eigenvalues
     * are exact to rounding. OPERATOR, NONFINITE: the values are those of the steps before.
     * SINGULAR: the start vector is zero. */
    blv_linear_end end;
    int code;        /* the operator's, when end is OPERATOR, else 0 */
    size_t products; /* calls of the operator, one that failed included */
    size_t steps;    /* size of the subspace that the values come from; 0: the values are NaN */
    double smallest, smallest_bound;
    double largest, largest_bound;
} blv_lanczos_result;

/* A workspace for up to max_steps (1 to BLV_LANCZOS_MAX) steps: max_steps + 1 vectors, fewer when
 * the dimension is smaller. All are kept for full reorthogonalization. */
blv_error blv_lanczos_create(blv_linear_work **work, const blv_space *space, size_t max_steps);

/* start is any vector but zero; a random one is a good choice. At most `steps` steps, fewer when
 * the workspace or the dimension is smaller. */
blv_lanczos_result blv_lanczos_run(blv_linear_work *work, blv_operator_fn apply, void *context,
                                   const blv_vec *start, size_t steps);
