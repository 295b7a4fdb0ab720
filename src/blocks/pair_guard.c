#include "blocks/pair_guard.h"
#include "core/workspace.h"

#include <math.h>

blv_error blv_pair_guard_open(blv_run *run, blv_pair_guard *g) {
    return blv_state_hiddens(run, "ceiling_x", &g->x_ceiling, "ceiling_y", &g->y_ceiling,
                             "first_step_y", &g->y_first, "moved_x", &g->x_moved, "moved_y",
                             &g->y_moved, "mean_gy", &g->gy_mean, NULL);
}

void blv_pair_guard_begin(blv_pair_guard *g, const blv_steps *steps) {
    g->x_ceiling = steps->x;
    g->y_ceiling = g->y_first = steps->y;
    g->x_moved = g->y_moved = 0.0;
}

static void take_over(double *step, double judged, double *ceiling) {
    if (judged < *step) {
        *step = judged;
        *ceiling *= 0.9;
    } else {
        *step = fmin(*ceiling, 1.02 * *step);
    }
}

/* On whole sums: each guard judges a copy of its step, and what counts of that is taken over. */
static void judge_together(blv_pair_guard *g, blv_steps *s, double decay, const blv_pair *p,
                           double cross, blv_metrics *m) {
    double by_x = cross * g->x_moved, by_y = g->y_moved / g->y_first;
    double judged_x = s->x, judged_y = s->y;
    m->step_x = blv_guard_step(&s->guard_x, &judged_x, decay, NULL, p->w, m->d_norm);
    if (m->gy_norm > 2.0 * by_x)
        judged_x = s->x;
    if (s->guard_y.before && s->guard_y.before_norm > 0.0 && by_x > 0.5 * by_y) {
        if (s->guard_x.before && blv_guard_turned(&s->guard_y, m->gy_norm)) {
            judged_x *= 0.5;
            m->step_x *= 0.5;
            s->guard_x.before_move *= 0.5;
        }
        blv_guard_reset(&s->guard_y);
    }
    m->step_y = blv_guard_step(&s->guard_y, &judged_y, decay, NULL, p->gy, m->gy_norm);
    take_over(&s->x, judged_x, &g->x_ceiling);
    take_over(&s->y, judged_y, &g->y_ceiling);
}

/* On batches: where |gy| is more than a few times its running mean y has got lost, and x waits. */
static double trust(blv_pair_guard *g, double gy_norm) {
    double mean = g->gy_mean > 0.0 ? g->gy_mean : gy_norm;
    g->gy_mean = mean + 0.05 * (fmin(gy_norm, 2.0 * mean) - mean);
    return gy_norm > 4.0 * mean ? 4.0 * mean / gy_norm : 1.0;
}

/* cross: |J v|/|v|, 0 where v is. */
static blv_flow measure(blv_run *run, blv_steps *s, const blv_pair *p, double *cross) {
    blv_metrics *m = blv_run_metrics(run);
    double v_norm, jv_norm;
    blv_scalar list[BLV_STEP_SCALARS], *end = list;
    const blv_directions of = {.gy = p->gy, .r = p->r, .v = p->v, .hv = p->hv};
    BLV_TRY(blv_steps_renew(run, s));
    end = blv_steps_ask(run, s, &of, end);
    end = blv_ask_norm(end, &m->d_norm, p->w);
    end = blv_guard_ask(&s->guard_x, p->x, p->w, end);
    end = blv_ask_norm(end, &v_norm, p->v);
    end = blv_ask_norm(end, &jv_norm, p->jv);
    BLV_TRY(blv_run_reduce(run, (size_t)(end - list), list));
    blv_steps_watch(s, &of);
    *cross = v_norm > 0.0 ? jv_norm / v_norm : 0.0;
    return BLV_GO;
}

blv_flow blv_pair_guard_steps(blv_run *run, blv_pair_guard *g, blv_steps *s, double decay,
                              const blv_batch *batch, const blv_pair *p) {
    blv_metrics *m = blv_run_metrics(run);
    double cross;
    BLV_TRY(measure(run, s, p, &cross));
    s->noisy = batch ? 1.0 : 0.0;
    if (!batch) {
        judge_together(g, s, decay, p, cross, m);
        return BLV_GO;
    }
    m->step_x = blv_guard_step(&s->guard_x, &s->x, decay, batch, p->w, m->d_norm);
    if (s->guard_x.before)
        m->step_x *= trust(g, m->gy_norm);
    double y_before = s->y;
    m->step_y = blv_guard_step(&s->guard_y, &s->y, decay, batch, p->gy, m->gy_norm);
    if (s->guard_x.before)
        s->x *= s->y / y_before;
    return BLV_GO;
}

void blv_pair_guard_moved(blv_pair_guard *g, double x_moved, double y_moved) {
    g->x_moved = x_moved;
    g->y_moved = y_moved;
}
