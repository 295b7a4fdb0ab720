/* Automatic constants: L and mu of g in y, and the Lipschitz constant of the gradient of Phi or of
 * the penalized function, estimated at the start of a run. One piece for all solvers that are not
 * tuning-free. Solvers that use neither Hv nor Jv get theirs from differences of gradients. */
#pragma once

#include "blocks/penalty.h"
#include "linsolve/lanczos.h"

typedef struct blv_constants {
    double L, mu; /* of g in y: largest and smallest eigenvalue of H at the start */
    double L_phi; /* |grad Phi(x1) - grad Phi(x0)| / |x1 - x0| */
    bool rough;   /* on samples of a large problem, see blocks/rough_constants.h */
    double doubt; /* by which L_phi may be too small: from 1, and up to 4 where it is rough */
    double reach_x, reach_y, reach_v; /* |grad Phi|/L_phi, |y* - y0|, |v* - v0|: distances to go */
    double length_x; /* over which f or y*(x) changes by its own size, see blv_length_of_x */

    /* of the penalized function only, whose L_phi has y and z at their minimizers */
    double L_f,
        mu_f;   /* of f in y: the largest |eigenvalue| of d2f/dy2, and its smallest eigenvalue */
    double L_x; /* of f + lambda (g - min g) in x, y being held */
    double lambda_unit; /* of penalties: L_f/mu; where f does not curve: |fy|/|gy| */
} blv_constants;

typedef struct blv_constants_work blv_constants_work;

/* In `open`: memory for the estimates, owned by the run. */
blv_error blv_constants_open(blv_run *run, blv_constants_work **work);
/* In `prepare`: the estimates at the run's x and y, which stay as they are. */
blv_flow blv_constants_estimate(blv_run *run, blv_constants_work *work, blv_constants *constants);
/* The same for f + lambda (g - min g), from gradients alone: for solvers that use neither Hv nor
 * Jv. *lambda: NaN becomes factor times lambda_unit. reach_v is not set, and L_x when it is wanted.
 */
blv_flow blv_constants_penalized(blv_run *run, blv_constants_work *work, blv_penalty *penalty,
                                 double *lambda, double factor, bool want_L_x,
                                 blv_constants *constants);

/* How much work between two x-steps suits the problem's size: INFINITY, or from 4 down to 1 where
 * it is so large that steps from where the last ones ended get farther than tight solves. */
double blv_effort(const blv_run *run);

/* What `auto` means. A number given by the user (not NaN) is returned as it is.
 *
 * y-step, v-step and the eta of Neumann sums: 1/L.
 * x-step: 1/(2 L_phi), times min(1, 2 e) where e is the share of the distance to y*(x) that the
 * solver covers between two x-steps: 1 - e = (1 - mu/L)^n for n inner steps. The second factor is
 * ours: with y and v both lagging at rate e, the linear loop x -> y -> v -> x is stable for x-steps
 * below 4 e/(2 L_phi) whatever the coupling (Routh-Hurwitz), and can diverge above. Half of that
 * leaves room for the errors of the estimates. */
double blv_auto_inner_step(double given, const blv_constants *constants);
double blv_auto_outer_step(double given, const blv_constants *constants, double inner_steps);
/* Terms of a Neumann sum, or gradient steps: the smallest n with (1 - mu eta)^n <= 0.05, at most
 * `most`, and at least 10, since mu and L are those of the start. */
double blv_auto_terms(double mu, double eta, double most);
/* Its parts: e for steps of 1/L with a ratio mu/L, and the x-step for an e. */
double blv_covered(double ratio, double steps);
double blv_covering_step(double L_phi, double covered);

/* A length in x, from what f is there: (|f| + |fy| (|y| + reach_y))/|d|, at the run's x and this y.
 * Where d is 0: |x|, or 1 where that is 0 too. room: of the size of y. */
blv_flow blv_length_of_x(blv_run *run, const blv_vec *y, double reach_y, double d_norm,
                         blv_vec *room, double *length);
/* Probes of the curvature of Phi. The first is a small part of that length: f may hardly depend on
 * x. y shows whether it was short: where y*(x) moved by more than a tenth of its size, the probe is
 * of no use, and *length becomes a shorter one. Else *length_x is corrected to what y shows. */
double blv_first_probe(const blv_run *run, bool first_order, double length_x);
bool blv_probe_was_long(double y_moved, double y_size, double distance, double *length,
                        double *length_x);
/* What counts as curvature where none was met: the whole length in one step. */
double blv_straight(double d_norm, double length_x);
/* See lambda_unit. Where mu is less than a thousandth of L it may be anything: L_f/L. */
double blv_penalty_unit(double L_f, double L, double mu, double fy_norm, double gy_norm);
/* Moves of x are measured by this and |x|: length_x, but at most 20 times the distance to go. */
double blv_move_unit(const blv_constants *constants);
/* For those who estimate: the run's random vector to start Lanczos from, and what its result says
 * about the largest and the smallest eigenvalue. */
blv_error blv_random_start(blv_run *run, blv_vec *start);
blv_flow blv_spectrum_of(const blv_lanczos_result *result, double *largest, double *smallest);
