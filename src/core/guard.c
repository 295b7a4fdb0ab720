#include "core/guard.h"

#include <math.h>

static const double share_on_batches = 0.05;

blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard) {
    blv_guard_reset(guard);
    return blv_state_vec(run, name, level, &guard->before);
}

void blv_guard_reset(blv_guard *guard) {
    guard->before_norm = 0.0;
}

void blv_guard_limit(blv_guard *guard, const blv_vec *x) {
    if (guard->before)
        guard->longest = 0.5 * (1.0 + blv_vec_norm(x));
}

double blv_guard_step(blv_guard *guard, double *step, double decay, const blv_batch *batch,
                      const blv_vec *direction, double norm) {
    if (!guard->before)
        return *step * decay;
    double limit = guard->longest > 0.0 ? guard->longest / norm : INFINITY;
    if (batch)
        return fmin(*step * decay, share_on_batches * limit);
    if (guard->before_norm > 0.0) {
        double product = blv_vec_dot(guard->before, direction), before = guard->before_norm;
        if (product < -0.5 * norm * before)
            *step *= 0.5;
        if (norm > 2.0 * before)
            limit = fmin(limit, 0.5 * guard->before_move /
                                    sqrt(norm * norm - 2.0 * product + before * before));
    }
    double taken = fmin(*step * decay, limit);
    blv_vec_copy(guard->before, direction);
    guard->before_norm = norm;
    guard->before_move = taken * norm;
    return taken;
}
