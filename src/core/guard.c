#include "core/guard.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

blv_error blv_guard_open(blv_run *run, const char *name, blv_level level, blv_guard *guard) {
    char of_largest[32];
    snprintf(of_largest, sizeof of_largest, "%.20s, largest", name);
    blv_guard_reset(guard);
    guard->largest = 0.0;
    BLV_CHECK(blv_state_scalar(run, of_largest, &guard->largest));
    return blv_state_vec(run, name, level, &guard->before);
}

void blv_guard_reset(blv_guard *guard) {
    guard->before_norm = 0.0;
}

void blv_guard_limit(blv_guard *guard, const blv_vec *x) {
    if (guard->before)
        guard->longest = 0.5 * (1.0 + blv_vec_norm(x));
}

static bool is_rounding(const blv_guard *guard, double norm) {
    bool single = blv_space_precision(blv_vec_space(guard->before)) == BLV_F32;
    return norm <= pow(single ? (double)FLT_EPSILON : DBL_EPSILON, 2.0 / 3.0) * guard->largest;
}

double blv_guard_step(blv_guard *guard, double *step, double decay, const blv_batch *batch,
                      const blv_vec *direction, double norm) {
    if (!guard->before || batch)
        return *step * decay;
    double limit = guard->longest > 0.0 ? guard->longest / norm : INFINITY;
    guard->largest = fmax(guard->largest, norm);
    if (guard->before_norm > 0.0 && !is_rounding(guard, norm)) {
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
