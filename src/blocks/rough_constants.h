/* Automatic constants of large problems, for the price of some twenty gradients of the lower level,
 * whatever its condition. In place of solving both levels tightly (see constants.c):
 *
 *   L, mu, L_f   Lanczos steps on a seeded sample of the rows
 *   y            a few accelerated steps from the start;   v: a few CG steps on H v = fy
 *   L_phi        the change of d = fx - J v along d itself, where y and v follow x by a few CG
 *                steps on the equations of their changes,
 *                  H dy = gy(x, y) - gy(x1, y)
 *                  H dv = fy(x1, y + dy) - fy(x, y) - (H(x1, y + dy) - H(x, y)) v
 *
 * What y and v lack at the start cancels in these changes. What the few steps miss of them makes
 * L_phi too small, and the guards shorten the steps then. Solvers that use neither Hv nor Jv get
 * both from differences of gradients.
 *
 * The numbers of steps grow with the effort, from 1 to 4, that the size of the problem allows. */
#pragma once

#include "blocks/constants.h"

typedef struct blv_rough blv_rough;

/* In `open`: memory for the estimates, owned by the run. */
blv_error blv_rough_open(blv_run *run, blv_rough **sketch);
/* In `prepare`. lambda: L_f, mu_f and, when it is wanted, L_x of f + lambda (g - min g) as well, as
 * in blv_constants_penalized; NULL: none of them. */
blv_flow blv_rough_estimate(blv_run *run, blv_rough *sketch, double *lambda, double factor,
                            bool want_L_x, blv_constants *constants);
