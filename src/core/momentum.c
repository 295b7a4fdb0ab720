#include "core/momentum.h"

#include <math.h>

blv_error blv_momentum_open(blv_run *run, blv_vec *x, blv_momentum *m) {
    m->x = x;
    BLV_CHECK(blv_state_iterate(run, "w", BLV_LEVEL_X, &m->w));
    BLV_CHECK(blv_state_vec(run, "x before", BLV_LEVEL_X, &m->x_before));
    BLV_CHECK(blv_state_vec(run, "w before", BLV_LEVEL_X, &m->w_before));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &m->next));
    BLV_CHECK(blv_state_scalar(run, "k", &m->k));
    BLV_CHECK(blv_state_scalar(run, "S", &m->S));
    return blv_state_scalar(run, "restarts", &m->restarts);
}

bool blv_momentum_begins(blv_momentum *m) {
    if (m->k > 0.0)
        return false;
    blv_vec_copy(m->w, m->x);
    return true;
}

blv_flow blv_momentum_descend(blv_run *run, blv_momentum *m, const blv_vec *from, const blv_vec *G,
                              double step) {
    blv_vec_combine(m->next, 1.0, from, -step, G);
    if (m->x != blv_run_x(run)) /* else the move projects */
        BLV_TRY(blv_oracle_project(run, m->next));
    return blv_move_to(run, m->x, 1, (const double[]){1.0}, (const blv_vec *const[]){m->next});
}

blv_flow blv_momentum_step(blv_run *run, blv_momentum *m, const blv_vec *G, double step,
                           double theta, blv_momentum_move *move) {
    blv_vec_copy(m->x_before, m->x);
    blv_vec_copy(m->w_before, m->w);
    BLV_TRY(blv_momentum_descend(run, m, m->w, G, step));
    move->mapping = blv_vec_combine(m->next, 1.0, m->w, -1.0, m->x) / step;
    double length = blv_vec_combine(m->next, 1.0, m->x, -1.0, m->x_before);
    move->uphill = blv_vec_dot(G, m->next) > 0.0;
    blv_vec_combine(m->next, 1.0 + theta, m->x, -theta, m->x_before);
    BLV_TRY(blv_oracle_project(run, m->next));
    BLV_TRY(blv_move_to(run, m->w, 1, (const double[]){1.0}, (const blv_vec *const[]){m->next}));
    m->k += 1.0;
    m->S += length * length;
    return BLV_GO;
}

void blv_momentum_restart(blv_momentum *m) {
    m->k = 0.0;
    m->S = 0.0;
    m->restarts += 1.0;
}
