/* A solver inside another one: its state becomes part of the run's, its oracle calls are counted
 * there, and its steps are taken when the outer solver says. */
#pragma once

#include "bilevel/solver.h"

typedef struct blv_nested {
    const blv_solver *solver; /* NULL: not open */
    void *state;
    bool rough; /* rough automatic constants will do: what follows will correct them */
} blv_nested;

/* In `open`, with the solver's defaults. What it registers is named "SOLVER: NAME" and has no
 * column in the trace; but its "v" is the run's v. */
blv_error blv_nested_open(blv_run *run, const blv_solver *solver, bool rough, blv_nested *nested);
/* In a step: what comes before its first step, and a step of it. */
blv_flow blv_nested_prepare(blv_run *run, blv_nested *nested);
blv_flow blv_nested_step(blv_run *run, blv_nested *nested);
/* A scalar that it has registered under this name. */
double *blv_nested_scalar(const blv_run *run, const blv_nested *nested, const char *name);
/* The run's v. */
blv_vec *blv_nested_v(const blv_run *run);
/* Samples in a batch of a stochastic solver on a sum of that many: 0: it takes the whole sum. */
size_t blv_nested_batch(const blv_run *run, size_t samples);
/* Oracle calls of the steps so far, counted for each sample. */
double blv_nested_work(const blv_run *run);
/* The tolerance that the user has set; 0: none. */
double blv_nested_tol(const blv_run *run);
