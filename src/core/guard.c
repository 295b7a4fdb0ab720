#include "core/guard.h"

blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard) {
    guard->before_norm = 0.0;
    return blv_state_vec(run, name, level, &guard->before);
}

void blv_guard_reset(blv_guard *guard) {
    guard->before_norm = 0.0;
}

double blv_guard_step(blv_guard *guard, double step, const blv_batch *batch,
                      const blv_vec *direction, double norm) {
    if (!guard->before || batch)
        return step;
    double product = guard->before_norm > 0.0 ? blv_vec_dot(guard->before, direction) : 0.0;
    bool turned = product < -0.5 * norm * guard->before_norm;
    blv_vec_copy(guard->before, direction);
    guard->before_norm = norm;
    return turned ? 0.5 * step : step;
}
