#include "blocks/accelerated.h"
#include "base/precision.h"
#include "core/workspace.h"

#include <math.h>

blv_error blv_agd_open(blv_run *run, blv_level level, bool learns, blv_agd *agd) {
    BLV_CHECK(blv_scratch_vecs(run, level, &agd->point, &agd->gradient, &agd->before, NULL));
    return learns ? blv_curvature_open(run, NULL, level, &agd->curvature) : BLV_OK;
}

double blv_agd_momentum(double L, double mu) {
    double a = sqrt(L), b = sqrt(fmin(mu, L));
    return (a - b) / (a + b);
}

static void learn(blv_agd *agd, double *L) {
    *L = fmax(*L, blv_curvature_met(&agd->curvature, agd->point, agd->gradient, NULL));
}

/* Whether the gradient at agd->point is small enough. *first: its norm in step 0. */
static bool enough(const blv_agd *agd, const blv_agd_rule *rule, size_t j, double *first) {
    if (rule->reduce == 0.0 && rule->tol == 0.0)
        return false;
    double norm, point_norm;
    blv_reduce(BLV_SCALARS(BLV_NORM(&norm, agd->gradient), BLV_NORM(&point_norm, agd->point)));
    *first = j == 0 ? norm : *first;
    double rounding = 16.0 * blv_epsilon_of(agd->point) * rule->L * point_norm;
    return norm <= fmax(fmax(rule->reduce * *first, rule->tol), rounding);
}

blv_flow blv_agd_steps(blv_run *run, blv_agd *agd, blv_gradient_fn gradient, void *context,
                       blv_vec *z, blv_agd_rule *rule) {
    const double b = rule->momentum;
    double first = 0.0;
    bool last = false;
    size_t j = 0;
    blv_vec_copy(agd->point, z);
    blv_curvature_forget(&agd->curvature);
    for (; j < rule->steps && !last; j++) {
        BLV_TRY(gradient(context, agd->point, agd->gradient));
        if (rule->learns)
            learn(agd, &rule->L);
        last = enough(agd, rule, j, &first);
        blv_vec_copy(agd->before, z);
        BLV_TRY(blv_move_to(run, z, 2, (const double[]){1.0, -1.0 / rule->L},
                            (const blv_vec *const[]){agd->point, agd->gradient}));
        blv_vec_combine(agd->point, 1.0 + b, z, -b, agd->before);
    }
    rule->steps = j;
    return BLV_GO;
}

blv_flow blv_agd_minimize(blv_agd *agd, blv_gradient_fn gradient, void *context, blv_vec *z,
                          double reduce, double tol, size_t max_steps, double *L) {
    blv_vec_copy(agd->point, z);
    blv_curvature_forget(&agd->curvature);
    double age = 0.0; /* steps since the momentum was begun */
    for (size_t j = 0; j < max_steps; j++) {
        BLV_TRY(gradient(context, agd->point, agd->gradient));
        double gradient_norm = blv_vec_norm(agd->gradient);
        if (!isfinite(gradient_norm))
            return BLV_NONFINITE;
        tol = j == 0 ? fmax(tol, reduce * gradient_norm) : tol;
        if (gradient_norm <= tol) {
            blv_vec_copy(z, agd->point);
            return BLV_GO;
        }
        learn(agd, L);
        blv_vec_copy(agd->before, z);
        blv_vec_combine(z, 1.0, agd->point, -1.0 / *L, agd->gradient);
        double here, before, z_norm;
        if (!blv_reduce(BLV_SCALARS(BLV_DOT(&here, agd->gradient, z), BLV_NORM(&z_norm, z),
                                    BLV_DOT(&before, agd->gradient, agd->before))))
            return BLV_NONFINITE;
        double uphill = here - before;
        age = uphill > 0.0 ? 0.0 : age + 1.0;
        double b = age > 0.0 ? (age - 1.0) / (age + 2.0) : 0.0;
        blv_vec_combine(agd->point, 1.0 + b, z, -b, agd->before);
    }
    return BLV_GO;
}
