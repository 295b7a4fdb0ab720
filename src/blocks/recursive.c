#include "blocks/recursive.h"
#include "core/run_private.h"
#include "core/workspace.h"

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
    return blv_scratch_vecs(run, level, &r->at[0], &r->at[1], NULL);
}

void blv_recursive_update(blv_recursive *r, double c) {
    if (c != 1.0)
        blv_vec_lincomb(r->estimate, 3, (const double[]){1.0 - c, 1.0, c - 1.0},
                        (const blv_vec *const[]){r->estimate, r->at[0], r->at[1]});
    double norm = 0.0, shown;
    if (r->watched) {
        blv_reduce(BLV_SCALARS(BLV_NORM(&shown, r->at[0]), BLV_NORM(&norm, r->estimate)));
        r->longest = fmax(0.99 * r->longest, shown);
    }
    if (c == 1.0 || norm > 2.0 * r->longest)
        blv_vec_copy(r->estimate, r->at[0]);
}
