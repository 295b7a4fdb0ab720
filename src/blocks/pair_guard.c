#include "blocks/pair_guard.h"

#include <math.h>

blv_error blv_pair_guard_open(blv_run *run, blv_pair_guard *g) {
    BLV_CHECK(blv_state_hidden(run, "ceiling_x", &g->x_ceiling));
    BLV_CHECK(blv_state_hidden(run, "ceiling_y", &g->y_ceiling));
    BLV_CHECK(blv_state_hidden(run, "first_step_y", &g->y_first));
    BLV_CHECK(blv_state_hidden(run, "moved_x", &g->x_moved));
    BLV_CHECK(blv_state_hidden(run, "moved_y", &g->y_moved));
    return blv_state_hidden(run, "mean_gy", &g->gy_mean);
}

void blv_pair_guard_begin(blv_pair_guard *g, const blv_steps *steps) {
    g->x_ceiling = steps->x;
    g->y_ceiling = g->y_first = steps->y;
    g->x_moved = g->y_moved = 0.0;
}

double blv_cross_size(const blv_vec *v, const blv_vec *jv) {
    double v_norm = blv_vec_norm(v);
    return v_norm > 0.0 ? blv_vec_norm(jv) / v_norm : 0.0;
}

static void take_over(double *step, double judged, double *ceiling) {
    if (judged < *step) {
        *step = judged;
        *ceiling *= 0.9;
    } else {
        *step = fmin(*ceiling, 1.02 * *step);
    }
}

static bool has_turned(const blv_guard *guard, const blv_vec *direction, double norm) {
    return blv_vec_dot(guard->before, direction) < -0.5 * norm * guard->before_norm;
}

/* On whole sums: each guard judges a copy of its step, and what counts of that is taken over. */
static void judge_together(blv_pair_guard *g, blv_steps *s, double decay, const blv_pair *p,
                           double *step_x, double *step_y) {
    double by_x = p->cross * g->x_moved, by_y = g->y_moved / g->y_first;
    double judged_x = s->x, judged_y = s->y;
    *step_x = blv_guard_step(&s->guard_x, &judged_x, decay, NULL, p->w, p->w_norm);
    if (p->gy_norm > 2.0 * by_x)
        judged_x = s->x;
    if (s->guard_y.before && s->guard_y.before_norm > 0.0 && by_x > 0.5 * by_y) {
        if (s->guard_x.before && has_turned(&s->guard_y, p->gy, p->gy_norm)) {
            judged_x *= 0.5;
            *step_x *= 0.5;
            s->guard_x.before_move *= 0.5;
        }
        blv_guard_reset(&s->guard_y);
    }
    *step_y = blv_guard_step(&s->guard_y, &judged_y, decay, NULL, p->gy, p->gy_norm);
    take_over(&s->x, judged_x, &g->x_ceiling);
    take_over(&s->y, judged_y, &g->y_ceiling);
}

/* On batches: where |gy| is more than a few times its running mean y has got lost, and x waits. */
static double trust(blv_pair_guard *g, double gy_norm) {
    double mean = g->gy_mean > 0.0 ? g->gy_mean : gy_norm;
    g->gy_mean = mean + 0.05 * (fmin(gy_norm, 2.0 * mean) - mean);
    return gy_norm > 4.0 * mean ? 4.0 * mean / gy_norm : 1.0;
}

void blv_pair_guard_steps(blv_pair_guard *g, blv_steps *s, double decay, const blv_batch *batch,
                          const blv_pair *p, double *step_x, double *step_y) {
    blv_guard_limit(&s->guard_x, p->x);
    if (!batch) {
        judge_together(g, s, decay, p, step_x, step_y);
        return;
    }
    *step_x = blv_guard_step(&s->guard_x, &s->x, decay, batch, p->w, p->w_norm);
    if (s->guard_x.before)
        *step_x *= trust(g, p->gy_norm);
    double y_before = s->y;
    *step_y = blv_guard_step(&s->guard_y, &s->y, decay, batch, p->gy, p->gy_norm);
    if (s->guard_x.before)
        s->x *= s->y / y_before;
}

void blv_pair_guard_moved(blv_pair_guard *g, double x_moved, double y_moved) {
    g->x_moved = x_moved;
    g->y_moved = y_moved;
}
