/* Scalars of a step that can come later, and what is made of them.
 *
 * On a GPU a small step takes as long as waiting for its scalars does. In most steps only the check
 * that they are finite needs them: no row of the trace, no test of the run. A solver whose step
 * does not depend on a scalar, or only by the rules below, asks for it here: in such steps it stays
 * on the GPU, named by the double that it goes to, and is put there before anybody looks. Until
 * then the double means nothing. In all other steps, and in host memory, it is there at once. */
#pragma once

#include "core/run_private.h"

/* As blv_run_reduce; the doubles must live as long as the state of the solver. */
blv_flow blv_run_reduce_ahead(blv_run *run, size_t count, const blv_scalar *scalars);
static inline blv_flow blv_run_reduce_later(blv_run *run, size_t count, const blv_scalar *scalars) {
    return run->ahead.ops ? blv_run_reduce_ahead(run, count, scalars)
                          : blv_run_reduce(run, count, scalars);
}

/* *result = the rule of scalars that may have been asked for above; likewise. */
void blv_run_compute_there(blv_run *run, blv_later_rule rule, double *result, double c,
                           const double *a, const double *b);
static inline void blv_run_compute_later(blv_run *run, blv_later_rule rule, double *result,
                                         double c, const double *a, const double *b) {
    if (run->ahead.ops)
        blv_run_compute_there(run, rule, result, c, a, b);
    else
        *result = blv_later_value(rule, c, *a, *b);
}
static inline void blv_hypot_later(blv_run *run, double *result, const double *a, const double *b,
                                   double unit) { /* hypot(a, b / unit) */
    blv_run_compute_later(run, BLV_LATER_HYPOT, result, unit, a, b);
}
static inline void blv_larger_later(blv_run *run, double *result, const double *a,
                                    const double *b) {
    blv_run_compute_later(run, BLV_LATER_LARGER, result, 1.0, a, b);
}
static inline void blv_product_later(blv_run *run, double *result, const double *a,
                                     const double *b) {
    blv_run_compute_later(run, BLV_LATER_PRODUCT, result, 1.0, a, b);
}
static inline void blv_quotient_later(blv_run *run, double *result, double c, const double *a) {
    blv_run_compute_later(run, BLV_LATER_QUOTIENT, result, c, a, a); /* c / a */
}
static inline void blv_copy_later(blv_run *run, double *result, const double *a) {
    blv_run_compute_later(run, BLV_LATER_LARGER, result, 1.0, a, a);
}

/* As blv_move, by such a step. */
blv_flow blv_move_ahead(blv_run *run, blv_vec *iterate, const double *step,
                        const blv_vec *direction);
static inline blv_flow blv_move_later(blv_run *run, blv_vec *iterate, const double *step,
                                      const blv_vec *direction) {
    return run->ahead.now ? blv_move_ahead(run, iterate, step, direction)
                          : blv_move(run, iterate, *step, direction);
}
