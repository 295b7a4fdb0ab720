#include "blocks/averaged_move.h"
#include "core/run_private.h"

/* On a set X the gradient mapping stands for d when the run is tested for its tolerance. */
blv_flow blv_look_ahead(blv_run *run, const blv_vec *x, double step, const blv_vec *d,
                        blv_vec *ahead, double *mapping) {
    if (!run->def->project_x) {
        *mapping = blv_vec_norm(d);
        return BLV_GO;
    }
    blv_vec_combine(ahead, 1.0, x, -step, d);
    BLV_TRY(blv_oracle_project(run, ahead));
    blv_vec_combine(run->x_displacement, 1.0 / step, x, -1.0 / step, ahead);
    BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(mapping, run->x_displacement))));
    run->mapping_norm = *mapping;
    return BLV_GO;
}

blv_flow blv_move_part(blv_run *run, blv_vec *x, double eta, double step, const blv_vec *d,
                       const blv_vec *ahead) {
    if (!run->def->project_x)
        return blv_move(run, x, eta * step, d);
    return blv_move_to(run, x, 2, (const double[]){1.0 - eta, eta},
                       (const blv_vec *const[]){x, ahead});
}
