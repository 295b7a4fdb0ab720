/* Problems that no solver was developed on, in two groups: one that may be looked at while a solver
 * is changed, and one that is kept aside until it is done. */
#pragma once

#include "bilevel/bilevel.h"

typedef enum unseen_group { UNSEEN_DEVELOPMENT, UNSEEN_KEPT_ASIDE } unseen_group;

/* The i-th problem of the group and its name; NULL after the last. blv_problem_destroy frees all of
 * it. */
blv_problem *unseen_problem(unseen_group group, size_t i, const char **name);

double unseen_processor_seconds(void);
/* From so many seconds on the oracles of all problems fail; INFINITY: never. A certificate where x
 * has run off could take minutes. */
void unseen_fail_after(double seconds);
