#include "blocks/inner.h"
#include "blocks/constants.h"
#include "core/workspace.h"

#include <math.h>

enum { STEPS_MOST = 1000, STEPS_OF_LARGE = 40 };

static double reduction(const blv_inner *inner) {
    return inner->accelerated ? 1e-3 : 0.1;
}

blv_flow blv_lower_gradient(void *lower_level, const blv_vec *z, blv_vec *gradient) {
    const blv_lower_level *g = lower_level;
    return blv_oracle_lower(g->run, g->batch, g->x, z, NULL, NULL, gradient);
}

blv_error blv_inner_open(blv_run *run, blv_inner *inner, bool accelerated) {
    inner->accelerated = accelerated;
    inner->most = (size_t)fmin(STEPS_MOST, STEPS_OF_LARGE * blv_effort(run));
    inner->L_auto = isnan(inner->L);
    inner->mu_auto = isnan(inner->mu);
    BLV_CHECK(blv_agd_open(run, BLV_LEVEL_Y, inner->L_auto, &inner->agd));
    return blv_state_scalars(run, "Lg", &inner->L, "mu", &inner->mu, "inner_steps", &inner->taken,
                             NULL);
}

void blv_inner_set(blv_inner *inner, double L, double mu) {
    if (inner->L_auto)
        inner->L = L;
    if (inner->mu_auto)
        inner->mu = fmin(fmax(mu, 1e-6 * inner->L), inner->L);
}

double blv_inner_covered(const blv_inner *inner) {
    double ratio = inner->mu / inner->L;
    if (inner->steps > 0)
        return blv_covered(ratio, (double)inner->steps);
    return fmin(blv_covered(ratio, (double)inner->most), 1.0 - reduction(inner));
}

blv_flow blv_inner_solve(blv_run *run, blv_inner *inner, blv_gradient_fn gradient, void *context,
                         double tol, blv_vec *z) {
    bool automatic = inner->steps < 0;
    blv_agd_rule rule = {.L = inner->L,
                         .momentum =
                             inner->accelerated ? blv_agd_momentum(inner->L, inner->mu) : 0.0,
                         .learns = inner->L_auto,
                         .steps = automatic ? inner->most : (size_t)inner->steps,
                         .reduce = automatic && tol == 0.0 ? reduction(inner) : 0.0,
                         .tol = automatic ? tol : 0.0};
    BLV_TRY(blv_agd_steps(run, &inner->agd, gradient, context, z, &rule));
    inner->taken = (double)rule.steps;
    if (inner->L_auto)
        inner->L = rule.L;
    double condition = sqrt(inner->L / inner->mu), met = inner->taken / -log(reduction(inner));
    bool learns = automatic && tol == 0.0 && inner->mu_auto && inner->accelerated;
    if (learns && met > 2.0 * condition)
        inner->mu = inner->L / (met * met);
    return BLV_GO;
}
