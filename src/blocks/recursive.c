#include "blocks/recursive.h"
#include "core/run_private.h"

#include <math.h>

blv_error blv_old_point_open(blv_run *run, blv_old_point *old) {
    BLV_CHECK(blv_state_vec(run, "x before", BLV_LEVEL_X, &old->x));
    return blv_state_vec(run, "y before", BLV_LEVEL_Y, &old->y);
}

void blv_old_point_keep(blv_run *run, blv_old_point *old) {
    blv_vec_copy(old->x, blv_run_x(run));
    blv_vec_copy(old->y, blv_run_y(run));
}

blv_error blv_recursive_open(blv_run *run, const char *name, blv_level level, bool watched,
                             blv_recursive *r) {
    char scalar[NAME_SIZE];
    snprintf(scalar, sizeof scalar, "longest_%s", name);
    r->watched = watched;
    BLV_CHECK(blv_state_vec(run, name, level, &r->estimate));
    BLV_CHECK(blv_state_scalar(run, scalar, &r->longest));
    BLV_CHECK(blv_scratch_vec(run, level, &r->at[0]));
    return blv_scratch_vec(run, level, &r->at[1]);
}

static double start_anew(blv_recursive *r) {
    blv_vec_copy(r->estimate, r->at[0]);
    return blv_vec_norm(r->estimate);
}

double blv_recursive_update(blv_recursive *r, double c) {
    if (r->watched)
        r->longest = fmax(0.99 * r->longest, blv_vec_norm(r->at[0]));
    if (c == 1.0)
        return start_anew(r);
    double norm = blv_vec_lincomb(r->estimate, 3, (const double[]){1.0 - c, 1.0, c - 1.0},
                                  (const blv_vec *const[]){r->estimate, r->at[0], r->at[1]});
    return r->watched && norm > 2.0 * r->longest ? start_anew(r) : norm;
}
