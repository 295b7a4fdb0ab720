#include "blocks/adam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

blv_error blv_adam_open(blv_run *run, const char *name, blv_level level, blv_adam *adam) {
    char of_m[32], of_s[32], of_t[32];
    snprintf(of_m, sizeof of_m, "%.10s, mean", name);
    snprintf(of_s, sizeof of_s, "%.10s, mean square", name);
    snprintf(of_t, sizeof of_t, "%.10s_count", name);
    BLV_CHECK(blv_state_vec(run, of_m, level, &adam->m));
    BLV_CHECK(blv_state_vec(run, of_s, level, &adam->s));
    BLV_CHECK(blv_state_scalar(run, of_t, &adam->t));
    size_t bytes = 3 * blv_vec_dim(adam->m) * sizeof *adam->room;
    adam->room = malloc(bytes);
    if (!adam->room)
        return blv_run_fail(run, BLV_E_MEMORY, "adam: out of memory");
    return blv_run_own(run, adam->room, free, bytes);
}

double blv_adam_direction(blv_adam *adam, double beta1, double beta2, double eps, blv_vec *d) {
    size_t dim = blv_vec_dim(d);
    double *m = adam->room, *s = m + dim, *out = s + dim;
    blv_vec_read(adam->m, m);
    blv_vec_read(adam->s, s);
    blv_vec_read(d, out);
    adam->t += 1.0;
    double of_m = 1.0 - pow(beta1, adam->t), of_s = 1.0 - pow(beta2, adam->t);
    for (size_t i = 0; i < dim; i++) {
        m[i] = beta1 * m[i] + (1.0 - beta1) * out[i];
        s[i] = beta2 * s[i] + (1.0 - beta2) * out[i] * out[i];
        out[i] = m[i] / of_m / (sqrt(s[i] / of_s) + eps);
    }
    blv_vec_write(adam->m, m);
    blv_vec_write(adam->s, s);
    blv_vec_write(d, out);
    return blv_vec_norm(d);
}
