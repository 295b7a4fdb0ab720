#include "blocks/curvature.h"
#include "base/precision.h"
#include "core/workspace.h"

#include <math.h>
#include <stdio.h>

blv_error blv_curvature_open(blv_run *run, const char *name, blv_level level, blv_curvature *c) {
    if (!name)
        return blv_scratch_vecs(run, level, &c->point, &c->gradient, NULL);
    char of_point[32], of_gradient[32], of_known[32];
    snprintf(of_point, sizeof of_point, "%.10s, last point", name);
    snprintf(of_gradient, sizeof of_gradient, "%.10s, last gradient", name);
    snprintf(of_known, sizeof of_known, "%.10s_known", name);
    BLV_CHECK(blv_state_scalar(run, of_known, &c->known));
    BLV_CHECK(blv_state_vec(run, of_point, level, &c->point));
    return blv_state_vec(run, of_gradient, level, &c->gradient);
}

void blv_curvature_forget(blv_curvature *c) {
    c->known = 0.0;
}

static double shortest_part(const blv_vec *v) {
    return cbrt(blv_epsilon_of(v));
}

double blv_shortest_way(const blv_vec *v, double unit) {
    return shortest_part(v) * (unit + blv_vec_norm(v));
}

double blv_curvature_met(blv_curvature *c, const blv_vec *point, const blv_vec *gradient,
                         double *way) {
    double curvature = 0.0, length = 0.0;
    if (c->known > 0.0) {
        double change, norm;
        blv_vec_combine(c->point, 1.0, point, -1.0, c->point);
        blv_vec_combine(c->gradient, 1.0, gradient, -1.0, c->gradient);
        blv_reduce(BLV_SCALARS(BLV_NORM(&length, c->point), BLV_NORM(&change, c->gradient),
                               BLV_NORM(&norm, point)));
        if (length > shortest_part(point) * norm && isfinite(change))
            curvature = change / length;
    }
    blv_vec_copy(c->point, point);
    blv_vec_copy(c->gradient, gradient);
    c->known = 1.0;
    if (way)
        *way = length;
    return curvature;
}
