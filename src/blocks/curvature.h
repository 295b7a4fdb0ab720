/* The curvature of a function along the way that an iterate goes: |change of gradient|/|change of
 * point| from one gradient to the next. For constants that were estimated at another place. */
#pragma once

#include "bilevel/solver.h"

typedef struct blv_curvature {
    blv_vec *point, *gradient; /* the last ones */
    double known;              /* not 0: they are set */
} blv_curvature;

/* In `open`. name: of the state in which it is kept from step to step, at most 10 letters; NULL: it
 * is not kept. */
blv_error blv_curvature_open(blv_run *run, const char *name, blv_level level, blv_curvature *c);
/* The next gradient belongs to another function. */
void blv_curvature_forget(blv_curvature *c);
/* 0 when there was no gradient before this one, or the two are too near each other to tell. *way:
 * how far apart they are; may be NULL. */
double blv_curvature_met(blv_curvature *c, const blv_vec *point, const blv_vec *gradient,
                         double *way);

/* Between points that are nearer than this to v, differences of gradients are rounding. unit: of
 * lengths of v. */
double blv_shortest_way(const blv_vec *v, double unit);
