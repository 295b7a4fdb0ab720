/* Adam: directions divided by running root mean squares, element by element.
 *
 *   m = beta1 m + (1-beta1) d;   s = beta2 s + (1-beta2) d^2
 *   d = (m/(1-beta1^t)) / (sqrt(s/(1-beta2^t)) + eps)
 *
 * D. P. Kingma, J. Ba, ICLR 2015. */
#pragma once

#include "bilevel/solver.h"

typedef struct blv_adam {
    blv_vec *m, *s;
    blv_vec *room; /* scratch */
    double t;      /* directions so far */
} blv_adam;

/* In `open`. name: of its state, at most 10 letters. */
blv_error blv_adam_open(blv_run *run, const char *name, blv_level level, blv_adam *adam);
/* d becomes Adam's direction. */
void blv_adam_direction(blv_adam *adam, double beta1, double beta2, double eps, blv_vec *d);
