/* Estimates Hm of H = d2g/dy2 and G of J = d2g/dxdy that are carried from one iteration to the
 * next, for solvers that average them or correct them recursively (the two rules are in
 * hessian_history.h).
 *
 * explicit: dense matrices. operator: the terms of the last iterations, and products by oracles.
 * Both are the same mathematics, as long as no term has dropped out of the window.
 *
 * An iteration puts its point in, solves and multiplies, and then keeps the result; if it is tried
 * again before that, nothing has been counted twice. */
#pragma once

#include "blocks/dense_derivatives.h"
#include "blocks/hessian_history.h"
#include "core/point.h"

enum { BLV_CARRIED_EXPLICIT, BLV_CARRIED_OPERATOR, BLV_CARRIED_AUTO };
#define BLV_CARRIED_WORDS "explicit|operator|auto"

typedef struct blv_hessian_average {
    /* fields for parameter tables */
    int form;
    int64_t slots; /* of the window */
    blv_adjoint_limits limits;

    bool recursive;
    bool singular; /* Hm of the present iteration */
    double singular_in_a_row;
    /* explicit: estimates (state), those of the present iteration, and room for one batch's */
    double *H, *G, *H_now, *G_now, *H_at, *G_at;
    blv_matrices matrices;
    blv_dense_system system;
    double *host; /* room for a vector of either size */
    /* operator */
    blv_hessian_history *window;
    blv_linear_work *minres;
} blv_hessian_average;

/* In `open`; afterwards `form` is not AUTO. dense: explicit or not at all. */
blv_error blv_hessian_average_open(blv_run *run, blv_hessian_average *carried, bool recursive,
                                   bool dense, const blv_sampler *batches);

/* The estimates of the present iteration from those of the last one. c_H, c_J: coefficients, 1 in
 * the first iteration. old: the last point, for the recursive rule; NULL in the first iteration. */
blv_flow blv_hessian_average_put(blv_run *run, blv_hessian_average *carried, const blv_batch *batch,
                                 const blv_point *at, const blv_point *old, double c_H, double c_J);
/* explicit: eigenvalues of Hm into [mu, L] in size, singular values of G to at most C. room as in
 * linsolve/dense_symmetric.h: blv_hessian_average_clip_room numbers. */
void blv_hessian_average_clip(blv_run *run, blv_hessian_average *carried, double mu, double L,
                              double C, double *room);
size_t blv_hessian_average_clip_room(const blv_run *run);
/* explicit: |G|, Frobenius */
double blv_hessian_average_cross_norm(blv_run *run, const blv_hessian_average *carried);

/* v = Hm \ h. Where Hm is singular for once, v is a solution of least squares (operator) or stays
 * as it is (explicit). batch: that of the iteration. */
blv_flow blv_hessian_average_solve(blv_run *run, blv_hessian_average *carried,
                                   const blv_batch *batch, const blv_vec *h, blv_vec *v,
                                   double *r_norm);
/* explicit, after that: out = Hm \ b; zero where Hm is singular. */
blv_flow blv_hessian_average_solve_more(blv_hessian_average *carried, const blv_vec *b,
                                        blv_vec *out);
/* out = G v */
blv_flow blv_hessian_average_cross(blv_run *run, blv_hessian_average *carried, const blv_vec *v,
                                   blv_vec *out);
/* explicit: out = G'd */
void blv_hessian_average_cross_transposed(blv_run *run, const blv_hessian_average *carried,
                                          const blv_vec *d, blv_vec *out);
/* The present estimates become the last ones. */
void blv_hessian_average_keep(blv_run *run, blv_hessian_average *carried);
