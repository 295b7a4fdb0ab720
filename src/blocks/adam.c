#include "blocks/adam.h"

#include <math.h>
#include <stdio.h>

blv_error blv_adam_open(blv_run *run, const char *name, blv_level level, blv_adam *adam) {
    char of_m[32], of_s[32], of_t[32];
    snprintf(of_m, sizeof of_m, "%.10s, mean", name);
    snprintf(of_s, sizeof of_s, "%.10s, mean square", name);
    snprintf(of_t, sizeof of_t, "%.10s_count", name);
    BLV_CHECK(blv_state_vec(run, of_m, level, &adam->m));
    BLV_CHECK(blv_state_vec(run, of_s, level, &adam->s));
    BLV_CHECK(blv_state_scalar(run, of_t, &adam->t));
    return blv_scratch_vec(run, level, &adam->room);
}

void blv_adam_direction(blv_adam *adam, double beta1, double beta2, double eps, blv_vec *d) {
    adam->t += 1.0;
    double of_m = 1.0 - pow(beta1, adam->t), of_s = 1.0 - pow(beta2, adam->t);
    blv_vec_combine(adam->m, beta1, adam->m, 1.0 - beta1, d);
    blv_vec_apply(adam->room, BLV_PRODUCT, 1.0, d, d);
    blv_vec_combine(adam->s, beta2, adam->s, 1.0 - beta2, adam->room);
    blv_vec_apply(adam->room, BLV_SQRT, 1.0 / of_s, adam->s, NULL);
    blv_vec_apply(d, BLV_QUOTIENT, eps, adam->m, adam->room);
    blv_vec_scale(d, 1.0 / of_m);
}
