#include "blocks/penalty.h"
#include "base/precision.h"
#include "core/workspace.h"

#include <math.h>

blv_error blv_penalty_open(blv_run *run, blv_penalty *p) {
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &p->fy, &p->gy, &p->gy_z, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &p->gx_y, &p->gx_z, NULL));
    BLV_CHECK(blv_state_sampler(run, "f batch", BLV_LEVEL_X, 0, &p->f_batches));
    return blv_state_sampler(run, "g batch", BLV_LEVEL_Y, 0, &p->g_batches);
}

blv_batches blv_penalty_draw(blv_penalty *p) {
    const blv_batch *f = blv_sampler_next(p->f_batches);
    return (blv_batches){f, blv_sampler_next(p->g_batches)};
}

blv_flow blv_penalty_gradient(blv_run *run, blv_penalty *p, blv_batches b, double lambda,
                              const blv_vec *x, const blv_vec *y, blv_vec *out) {
    BLV_TRY(blv_oracle_upper(run, b.f, x, y, NULL, NULL, p->fy));
    BLV_TRY(blv_oracle_lower(run, b.g, x, y, NULL, NULL, p->gy));
    blv_vec_combine(out, 1.0, p->fy, lambda, p->gy);
    return BLV_GO;
}

blv_flow blv_penalty_direction(blv_run *run, blv_penalty *p, blv_batches b, double lambda,
                               const blv_vec *x, const blv_vec *y, const blv_vec *z,
                               bool with_value, blv_vec *G, blv_guard *guard,
                               blv_penalty_look *look) {
    double f = NAN, g_y = NAN, g_z = NAN;
    BLV_TRY(blv_oracle_upper(run, b.f, x, y, with_value ? &f : NULL, G, p->fy));
    BLV_TRY(blv_oracle_lower(run, b.g, x, y, with_value ? &g_y : NULL, p->gx_y, p->gy));
    BLV_TRY(blv_oracle_lower(run, b.g, x, z, with_value ? &g_z : NULL, p->gx_z, p->gy_z));
    blv_vec_combine(p->fy, 1.0, p->fy, lambda, p->gy);
    /* the two are near each other: the difference first */
    blv_vec_combine(p->gx_y, 1.0, p->gx_y, -1.0, p->gx_z);
    blv_vec_combine(G, 1.0, G, lambda, p->gx_y);
    look->value = f + lambda * (g_y - g_z);
    look->noise = 8.0 * blv_epsilon_of(x) * (fabs(f) + lambda * (fabs(g_y) + fabs(g_z)));
    look->batch = b.g ? b.g : b.f;
    blv_scalar list[BLV_STEP_SCALARS], *end = list;
    end = blv_ask_norm(end, &look->r_norm, p->fy);
    end = blv_ask_norm(end, &look->gy_norm, p->gy_z);
    end = blv_ask_norm(end, &look->G_norm, G);
    if (guard)
        end = blv_guard_ask(guard, x, G, end);
    return blv_run_reduce(run, (size_t)(end - list), list);
}

void blv_penalty_report(blv_metrics *metrics, const blv_penalty_look *look) {
    metrics->gy_norm = look->gy_norm;
    metrics->r_norm = look->r_norm;
}
