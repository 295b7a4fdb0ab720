#include "linsolve/stationarity.h"
#include "space/distance.h"

#include <math.h>

static const double share = 1.0 / 64.0;

/* The length of t g. Without any unit to be had every length is as good. */
static double reach(double norm_x, double value, double norm_g) {
    double by_value = share * fabs(value) / norm_g;
    return norm_x > 0.0 ? share * norm_x : by_value > 0.0 && isfinite(by_value) ? by_value : norm_g;
}

int blv_stationarity(const blv_vec *x, double value, const blv_vec *g, blv_projection_fn project,
                     void *context, blv_vec *work, double *stationarity) {
    double norm_x, norm_g;
    *stationarity = NAN;
    blv_reduce(BLV_SCALARS(BLV_NORM(&norm_x, x), BLV_NORM(&norm_g, g)));
    if (!project || norm_g == 0.0) {
        *stationarity = norm_g;
        return 0;
    }
    double t = reach(norm_x, value, norm_g) / norm_g;
    if (!isnormal(t))
        t = 1.0;
    blv_vec_combine(work, 1.0, x, -t, g);
    int code = project(context, work);
    if (code == 0)
        *stationarity = blv_distance(work, x, work) / t;
    return code;
}
