/* What the outer cross-validation of blv_tune finds. */
#pragma once

#include "learn/tune_work.h"

enum { BLV_OUTER_NONE, BLV_OUTER_ONE, BLV_OUTER_MANY };

typedef struct blv_outer {
    size_t rows;       /* of the set that is judged: val or train */
    blv_judged judged; /* models x rows, NaN where a row was not judged; models as above, the
                          last with one row for each shrinkage */
    double *cautious;  /* likewise: losses that decide */
    size_t chosen;     /* of these; 0: nothing was compared */
    double shrinkage;  /* of the chosen one */
    double gain, gain_error;
    bool clear; /* the gain is, beside its standard error */
} blv_outer;

/* all: the learner of all rows, whose single penalty is known. The table is in the tuning's arena.
 * Stopped on request: chosen is 0. */
blv_error blv_outer_judge(blv_outer *table, const blv_learner *all);
/* Shrinkages on the way to the chosen one: step 0, 1, ... until NaN. */
double blv_outer_shrinkage(size_t step, const blv_outer *table);
