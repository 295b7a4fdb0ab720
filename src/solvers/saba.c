/* SABA: SOBA with SAGA tables, so that constant steps converge.
 *
 *   S[q] = (q_i - table_i) + mean of the table, then table_i = q_i, on the block i that is drawn
 *
 *   y -= step_y S[gy];   v -= step_v (S[H v] - S[fy]);   x = P_X(x - step_x (S[fx] - S[J v]))
 *
 * all at the old point; the blocks of f and g are drawn independently, and all are visited once
 * before the first step. blocks/saga.h has the weights for a short block at the end.
 * M. Dagreou, P. Ablin, S. Vaiter, T. Moreau, "A framework for bilevel optimization that enables
 * stochastic and global variance reduction algorithms", NeurIPS 2022. */
#include "blocks/pair_guard.h"
#include "blocks/param_rows.h"
#include "blocks/saga.h"
#include "core/workspace.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

enum { FX, FY };
enum { GY, HV, JV };

typedef struct saba {
    blv_steps steps;
    blv_pair_guard guard;
    blv_saga f, g;
    blv_vec *v, *fx, *fy, *gy, *hv, *r, *jv;
} saba;

static blv_error saba_open(blv_run *run, void *state) {
    saba *s = state;
    BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->fx, &s->jv, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &s->fy, &s->gy, &s->hv, &s->r, NULL));
    BLV_CHECK(blv_saga_open(run, "f batch", BLV_LEVEL_X, 2,
                            (const blv_level[]){[FX] = BLV_LEVEL_X, [FY] = BLV_LEVEL_Y}, &s->f));
    BLV_CHECK(blv_saga_open(
        run, "g batch", BLV_LEVEL_Y, 3,
        (const blv_level[]){[GY] = BLV_LEVEL_Y, [HV] = BLV_LEVEL_Y, [JV] = BLV_LEVEL_X}, &s->g));
    const size_t bytes = blv_saga_bytes(&s->f) + blv_saga_bytes(&s->g);
    if (bytes > 0)
        blv_run_note(run, "tables of %zu blocks of f and %zu of g take %.1f MiB", s->f.blocks,
                     s->g.blocks, (double)bytes / 1048576.0);
    BLV_CHECK(blv_pair_guard_open(run, &s->guard));
    return blv_steps_open(run, &s->steps, BLV_STEPS_XYV, false);
}

static blv_flow fill_tables(blv_run *run, saba *s) {
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    for (size_t i = 0; i < s->f.blocks; i++) {
        const blv_batch *batch = blv_sampler_next(s->f.batches);
        BLV_TRY(blv_oracle_upper(run, batch, x, y, NULL, s->fx, s->fy));
        blv_saga_put(&s->f, FX, batch, s->fx);
        blv_saga_put(&s->f, FY, batch, s->fy);
    }
    for (size_t i = 0; i < s->g.blocks; i++) {
        const blv_batch *batch = blv_sampler_next(s->g.batches);
        BLV_TRY(blv_oracle_all(run, batch, x, y, s->v, s->gy, s->hv, s->jv));
        blv_saga_put(&s->g, GY, batch, s->gy);
        blv_saga_put(&s->g, HV, batch, s->hv);
        blv_saga_put(&s->g, JV, batch, s->jv);
    }
    return BLV_GO;
}

/* Automatic steps on blocks are a third of those on whole sums, as SAGA's are. */
static blv_flow saba_prepare(blv_run *run, void *state) {
    saba *s = state;
    double part = s->g.table ? 1.0 / 3.0 : 1.0;
    bool auto_x = isnan(s->steps.x), auto_y = isnan(s->steps.y), auto_v = isnan(s->steps.v);
    BLV_TRY(blv_steps_prepare(run, &s->steps, 1.0));
    s->steps.x *= auto_x ? part : 1.0;
    s->steps.y *= auto_y ? part : 1.0;
    s->steps.v *= auto_v ? part : 1.0;
    blv_pair_guard_begin(&s->guard, &s->steps);
    return fill_tables(run, s);
}

static blv_flow saba_step(blv_run *run, void *state) {
    saba *s = state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run), *r = s->r, *d = s->fx;
    blv_metrics *m = blv_run_metrics(run);
    const blv_batch *bf = blv_sampler_next(s->f.batches), *bg = blv_sampler_next(s->g.batches);

    BLV_TRY(blv_oracle_upper(run, bf, x, y, NULL, s->fx, s->fy));
    BLV_TRY(blv_oracle_all(run, bg, x, y, s->v, s->gy, s->hv, s->jv));
    blv_saga_visit(&s->f, FX, bf, s->fx);
    blv_saga_visit(&s->f, FY, bf, s->fy);
    blv_saga_visit(&s->g, GY, bg, s->gy);
    blv_saga_visit(&s->g, HV, bg, s->hv);
    blv_saga_visit(&s->g, JV, bg, s->jv);
    blv_vec_combine(r, 1.0, s->hv, -1.0, s->fy);
    blv_vec_combine(d, 1.0, s->fx, -1.0, s->jv);
    const blv_pair pair = {x, d, s->gy, s->v, s->jv, r, s->hv};
    BLV_TRY(blv_pair_guard_steps(run, &s->guard, &s->steps, 1.0, bg ? bg : bf, &pair));
    m->step_v = blv_steps_v(&s->steps, 1.0, bg, r, m->r_norm);
    blv_pair_guard_moved(&s->guard, m->step_x * m->d_norm, m->step_y * m->gy_norm);
    BLV_TRY(blv_move(run, y, m->step_y, s->gy));
    BLV_TRY(blv_move(run, s->v, m->step_v, r));
    return blv_move(run, x, m->step_x, d);
}

#define FIELD(name) offsetof(saba, name)

static const blv_param params[] = {
    BLV_POSITIVE_AUTO("step_x", steps.x, "x-step"),
    BLV_POSITIVE_AUTO("step_y", steps.y, "y-step; auto: 1/(3 L), 1/L on whole sums"),
    BLV_POSITIVE_AUTO("step_v", steps.v, "v-step; auto: 1/(3 L), 1/L on whole sums"),
    BLV_LAST_PARAM,
};

const blv_solver blv_solver_saba = {
    BLV_SIZED(blv_solver),
    .name = "saba",
    .summary = "soba with tables of past gradients: constant steps and no noise at the end",
    .citation = "M. Dagreou, P. Ablin, S. Vaiter, T. Moreau, NeurIPS 2022 (SABA)",
    .group = "variance-reduced",
    .hint = "lower step_x, step_y or step_v",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_USES_INVERSE | BLV_IS_STOCHASTIC,
    .state_size = sizeof(saba),
    .params = params,
    .open = saba_open,
    .prepare = saba_prepare,
    .step = saba_step,
};
