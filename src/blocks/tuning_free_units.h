/* Units of gy, r and d for the tuning-free pair with scale = auto, from tight solves at the start;
 * with scale = off all are 1, which is the published rule. */
#pragma once

#include "blocks/constants.h"

typedef struct blv_tuning_free_units {
    double gy, r, d;               /* by which norms are divided */
    double step_y, step_v, step_x; /* by which steps are multiplied */
    blv_constants_work *work;
} blv_tuning_free_units;

/* In `open` and in `prepare`. */
blv_error blv_tuning_free_open(blv_run *run, bool measured, blv_tuning_free_units *units);
blv_flow blv_tuning_free_prepare(blv_run *run, blv_tuning_free_units *units);
