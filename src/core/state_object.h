/* State that lies inside an object of the run: vectors of its own, and a fixed number of doubles
 * that are copied out and put back. */
#pragma once

#include "bilevel/solver.h"

typedef struct blv_state_object {
    const char *kind; /* "sampler", "lbfgs", ...: static */
    void *object;
    size_t count;
    void (*get)(const void *object, double *values);
    bool (*fits)(const void *object, const double *values); /* whether they can be put */
    void (*put)(void *object, const double *values);
    /* or nothing but vectors of one space, one after the other; all else but kind is 0 */
    blv_vec *const *vectors;
    size_t vector_count;
} blv_state_object;

/* In `open`. The object must live as long as the run. */
blv_error blv_state_object_add(blv_run *run, const char *name, const blv_state_object *kept);
/* A vector of such an object; the run saves and restores it, but does not own it. */
blv_error blv_state_object_vec(blv_run *run, const char *name, blv_vec *vec);
