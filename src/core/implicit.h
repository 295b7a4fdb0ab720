/* The lower level solved tightly: y*(x), v = H^-1 fy, and from them Phi(x) and its gradient. Used
 * by the certificate, the automatic constants and the solver `exact`. */
#pragma once

#include "bilevel/certificate.h"
#include "core/eval.h"
#include "linsolve/operator.h"

typedef struct blv_implicit blv_implicit;

/* What a linear solve means to its caller when the operator returns flows. */
static inline blv_flow blv_linear_flow(blv_linear_end end, int code) {
    return end == BLV_LINEAR_OPERATOR    ? (blv_flow)code
           : end == BLV_LINEAR_NONFINITE ? BLV_NONFINITE
                                         : BLV_GO;
}

/* eval is borrowed and must outlive it. */
blv_error blv_implicit_create(blv_implicit **implicit, blv_eval *eval);
void blv_implicit_destroy(blv_implicit *implicit);
size_t blv_implicit_bytes(const blv_implicit *implicit);

/* Ends the two solves of one blv_implicit_gradient after about this many products with H, however
 * far they are: for estimates. 0: no such limit. */
void blv_implicit_budget(blv_implicit *implicit, size_t products);

/* Products with H precondition the systems that follow. Borrowed. */
blv_error blv_implicit_recycle(blv_implicit *implicit, blv_recycled *recycled);

/* H becomes the preconditioner where solves with it are long, or it seems singular: from 10 samples
 * for each dimension of y where there are at least 40, else from all. Without effect where it may
 * not be formed. */
blv_error blv_implicit_form(blv_implicit *implicit);
/* Forgets H: what follows does not depend on what was before. */
void blv_implicit_forget(blv_implicit *implicit);

/* Whether H may be formed as a matrix: it is not large, and its elements are at hand. */
bool blv_implicit_may_form(const blv_problem_def *def);

/* y becomes a minimizer of g(x, .), from the y handed in: |gy| <= tol, or as small as rounding
 * allows. */
blv_flow blv_implicit_inner(blv_implicit *implicit, const blv_vec *x, blv_vec *y, double tol,
                            double *gy_norm);

/* Whether H is positive definite, as far as the last adjoint solve has seen: no where a direction
 * curves down, yes where CG came to its end, which it does not otherwise. blv_implicit_follow,
 * which solves loosely, says no or nothing. */
blv_answer blv_implicit_minimum(const blv_implicit *implicit);

/* v becomes H(x,y)^-1 b, from the v handed in: |H v - b| <= tol, or as small as rounding allows.
 * BLV_NO_INVERSE when there is no solution. */
blv_flow blv_implicit_adjoint(blv_implicit *implicit, const blv_vec *x, const blv_vec *y,
                              const blv_vec *b, blv_vec *v, double tol, double *r_norm);

/* A random vector, for Lanczos and for a right-hand side that is in no subspace. */
blv_error blv_vec_normals(blv_vec *vec, uint64_t seed, const char *purpose);

typedef struct blv_implicit_result {
    double phi;
    double gy_norm, r_norm;
    double corrected; /* blv_implicit_follow: by how much phi differs from f(x, y), */
    double left;      /* and the share of the residuals that is left, the larger of the two */
    bool tight;       /* both solves came down to what the precision allows */
} blv_implicit_result;

/* Phi(x) and, in fx, the gradient of f in x at y*(x); y comes in as start and goes out as y*(x).
 * scale: what |gy| is small against. */
blv_flow blv_implicit_value(blv_implicit *implicit, const blv_vec *x, blv_vec *y, double rel,
                            blv_vec *fx, double *scale, blv_implicit_result *result);

/* Phi(x) and, in gradient, fx - J v at y*(x). y and v come in as starts and go out as y*(x) and
 * H^-1 fy. rel: tolerance of both solves relative to their data; 0: as small as can be. With
 * BLV_NO_INVERSE, phi and gy_norm are still valid. */
blv_flow blv_implicit_gradient(blv_implicit *implicit, const blv_vec *x, blv_vec *y, blv_vec *v,
                               double rel, blv_vec *gradient, blv_implicit_result *result);

/* The same for a y and v that come from a point near x: |gy| and |H v - fy| fall to the share
 * `reduce` of what they are there, so that what is wrong with the gradient is that share of its
 * change. phi is f - v'gy, in which what y still lacks counts by its square alone. BLV_NO_INVERSE
 * where g does not curve up in every direction that CG meets; result->tight is not set. A budget
 * counts here too. */
blv_flow blv_implicit_follow(blv_implicit *implicit, const blv_vec *x, blv_vec *y, blv_vec *v,
                             double reduce, blv_vec *gradient, blv_implicit_result *result);
