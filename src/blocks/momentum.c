#include "blocks/momentum.h"
#include "blocks/curvature.h"
#include "core/workspace.h"
#include "space/distance.h"

#include <math.h>

blv_error blv_momentum_open(blv_run *run, blv_vec *x, blv_momentum *m) {
    m->x = x;
    m->L_auto = isnan(m->L);
    BLV_CHECK(blv_state_iterate(run, "w", BLV_LEVEL_X, &m->w));
    BLV_CHECK(blv_state_vec(run, "x before", BLV_LEVEL_X, &m->x_before));
    BLV_CHECK(blv_state_vec(run, "w before", BLV_LEVEL_X, &m->w_before));
    BLV_CHECK(blv_state_vec(run, "G before", BLV_LEVEL_X, &m->G_before));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &m->room));
    BLV_CHECK(
        blv_state_scalars(run, "L", &m->L, "k", &m->k, "S", &m->S, "restarts", &m->restarts, NULL));
    BLV_CHECK(blv_state_hidden(run, "unit", &m->unit));
    return blv_state_scalar(run, "known", &m->known);
}

/* The power method comes to L_phi from below. */
void blv_momentum_set(blv_momentum *m, const blv_constants *c) {
    if (!m->L_auto)
        return;
    m->L = 1.2 * c->L_phi;
    m->unit = blv_move_unit(c);
}

bool blv_momentum_begins(blv_momentum *m) {
    if (m->k > 0.0)
        return false;
    blv_vec_copy(m->w, m->x);
    return true;
}

static blv_flow descend(blv_run *run, blv_momentum *m, const blv_vec *from, const blv_vec *G,
                        double step) {
    blv_vec_combine(m->room, 1.0, from, -step, G);
    if (m->x != blv_run_x(run)) /* else the move projects */
        BLV_TRY(blv_oracle_project(run, m->room));
    return blv_move_to(run, m->x, 1, (const double[]){1.0}, (const blv_vec *const[]){m->room});
}

blv_flow blv_momentum_check(blv_run *run, blv_momentum *m, const blv_vec *G, const blv_batch *batch,
                            bool *again) {
    *again = false;
    if (!m->L_auto || batch || m->known == 0.0)
        return BLV_GO;
    double way, here, before;
    blv_vec_combine(m->room, 1.0, m->w, -1.0, m->w_before);
    BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&way, m->room), BLV_DOT(&here, G, m->room),
                                            BLV_DOT(&before, m->G_before, m->room))));
    double curvature = (here - before) / (way * way);
    if (!(curvature > m->L) || way <= blv_shortest_way(m->w, m->unit))
        return BLV_GO;
    *again = true;
    m->L = fmax(1.25 * m->L, fmin(curvature, 2.0 * m->L));
    BLV_TRY(descend(run, m, m->w_before, m->G_before, 1.0 / m->L));
    blv_momentum_restart(m);
    return BLV_GO;
}

blv_flow blv_momentum_step(blv_run *run, blv_momentum *m, const blv_vec *G, const blv_batch *batch,
                           double theta, blv_momentum_move *move) {
    double L = m->L, G_norm, w_norm, length, slope;
    if (m->L_auto) {
        BLV_TRY(blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&G_norm, G), BLV_NORM(&w_norm, m->w))));
        L = fmax(L, 2.0 * G_norm / (m->unit + w_norm));
    }
    move->step = 1.0 / L;
    blv_vec_copy(m->x_before, m->x);
    blv_vec_copy(m->w_before, m->w);
    blv_vec_copy(m->G_before, G);
    BLV_TRY(descend(run, m, m->w, G, move->step));
    move->mapping = blv_distance(m->room, m->w, m->x) / move->step;
    blv_vec_combine(m->room, 1.0, m->x, -1.0, m->x_before);
    BLV_TRY(
        blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&length, m->room), BLV_DOT(&slope, G, m->room))));
    move->uphill = slope > 0.0;
    blv_vec_combine(m->room, 1.0 + theta, m->x, -theta, m->x_before);
    BLV_TRY(blv_oracle_project(run, m->room));
    BLV_TRY(blv_move_to(run, m->w, 1, (const double[]){1.0}, (const blv_vec *const[]){m->room}));
    m->known = batch ? 0.0 : 1.0;
    m->k += 1.0;
    m->S += length * length;
    return BLV_GO;
}

void blv_momentum_restart(blv_momentum *m) {
    m->k = 0.0;
    m->S = 0.0;
    m->restarts += 1.0;
}
