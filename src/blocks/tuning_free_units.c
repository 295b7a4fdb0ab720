#include "blocks/tuning_free_units.h"
#include "core/workspace.h"

blv_error blv_tuning_free_open(blv_run *run, bool measured, blv_tuning_free_units *u) {
    u->gy = u->r = u->d = u->step_y = u->step_v = u->step_x = 1.0;
    if (!measured)
        return BLV_OK;
    BLV_CHECK(blv_state_hiddens(run, "unit of gy", &u->gy, "unit of r", &u->r, "unit of d", &u->d,
                                "unit of step_y", &u->step_y, "unit of step_v", &u->step_v,
                                "unit of step_x", &u->step_x, NULL));
    return blv_constants_open(run, &u->work);
}

/* A distance to go, or what stands for it where the start is at the end already. */
static double first_positive(double reach, double otherwise) {
    return reach > 0.0 ? reach : otherwise > 0.0 ? otherwise : 1.0;
}

blv_flow blv_tuning_free_prepare(blv_run *run, blv_tuning_free_units *u) {
    if (!u->work)
        return BLV_GO;
    blv_constants c;
    BLV_TRY(blv_constants_estimate(run, u->work, &c));
    double y = first_positive(c.reach_y, blv_vec_norm(blv_run_y(run)));
    double v = first_positive(c.reach_v, 0.0), x = first_positive(c.reach_x, c.length_x);
    u->gy = c.L * y;
    u->r = c.L * v;
    u->d = x * c.L_phi;
    u->step_y = y / u->gy;
    u->step_v = v / u->r;
    u->step_x = x / u->d;
    blv_run_note(run, "scale = auto: distances to go %.4g in x, %.4g in y, %.4g in v", x, y, v);
    return BLV_GO;
}
