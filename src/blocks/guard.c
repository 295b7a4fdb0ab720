#include "blocks/guard.h"
#include "base/precision.h"

#include <stdio.h>

static const double share_on_batches = 0.025;

blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard) {
    const struct {
        const char *what;
        double *scalar;
    } parts[] = {{"norm", &guard->before_norm},
                 {"move", &guard->before_move},
                 {"largest", &guard->largest},
                 {"unit", &guard->unit},
                 {"mean", &guard->mean}};
    blv_guard_reset(guard);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char of_part[32];
        snprintf(of_part, sizeof of_part, "%.20s, %s", name, parts[i].what);
        BLV_CHECK(blv_state_hidden(run, of_part, parts[i].scalar));
    }
    return blv_state_vec(run, name, level, &guard->before);
}

void blv_guard_reset(blv_guard *guard) {
    guard->before_norm = 0.0;
}

/* Halves the step where a whole sum shows that it is too long; returns the longest step allowed. */
static double look_at_sum(blv_guard *guard, double *step, double norm) {
    double before = guard->before_norm, product = guard->product;
    double rounding = pow(blv_epsilon_of(guard->before), 2.0 / 3.0);
    guard->largest = fmax(guard->largest, norm);
    guard->cosine = 0.0;
    if (before == 0.0 || norm <= rounding * guard->largest)
        return INFINITY;
    guard->cosine = product / (norm * before);
    if (blv_guard_turned(guard, norm))
        *(guard->mover ? guard->mover : step) *= 0.5;
    if (norm <= 2.0 * before || guard->mover)
        return INFINITY;
    return 0.5 * guard->before_move / sqrt(norm * norm - 2.0 * product + before * before);
}

/* The same for y and v on batches. */
static void look_at_batch(blv_guard *guard, double *step, double norm) {
    bool sign = blv_guard_turned(guard, norm) && norm > 2.0 * guard->largest;
    if (sign)
        *step *= 0.5;
    if (sign || guard->largest == 0.0)
        guard->largest = norm;
}

/* The part of a step of x on a batch that is taken. */
static double clip(blv_guard *guard, double norm) {
    double mean = guard->mean > 0.0 ? guard->mean : norm, clipped = fmin(norm, 2.0 * mean);
    guard->mean = mean + 0.05 * (clipped - mean);
    return norm > 0.0 ? clipped / norm : 1.0;
}

double blv_guard_step(blv_guard *guard, double *step, double decay, const blv_batch *batch,
                      const blv_vec *direction, double norm) {
    if (!guard->before)
        return *step * decay;
    bool is_x = !isnan(guard->x_norm);
    double limit = INFINITY, part = 1.0;
    if (is_x)
        limit = (batch ? share_on_batches : 0.5) * (guard->unit + guard->x_norm) / norm;
    if (!batch)
        limit = fmin(limit, look_at_sum(guard, step, norm));
    else if (is_x)
        part = guard->unclipped ? 1.0 : clip(guard, norm);
    else
        look_at_batch(guard, step, norm);
    double taken = fmin(*step * decay * part, limit);
    blv_vec_copy(guard->before, direction);
    guard->before_norm = norm;
    guard->before_move = taken * norm;
    return taken;
}
