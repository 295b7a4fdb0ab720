/* Runs that learn: every run of `bilevel clean` and `bilevel tune` goes through cli_drive. */
#ifndef CLI_DRIVE_H
#define CLI_DRIVE_H

#include "cli_learning.h"

typedef struct cli_drive_plan {
    const blv_problem *problem;
    const char *label;     /* at the head of the progress line */
    uint64_t iterations;   /* where the command line sets no limit */
    const double *start_y; /* NULL: zero */
    const char *trace;     /* NULL: none */
    blv_monitor_fn look;   /* called after every `every` iterations; NULL: none */
    void *context;
    uint64_t every;
} cli_drive_plan;

typedef struct cli_driven {
    double *x, *y; /* where it ended */
    size_t dim_x, dim_y;
    blv_outcome outcome;
    uint64_t iterations;
    double seconds; /* on the solver's clock */
} cli_driven;

/* Creates the run, sets it up, runs it to its end and reads x and y. Returns an exit code, after a
 * message; a run that a signal stopped is no failure. */
int cli_drive(const cli_learning *learning, const cli_drive_plan *plan, cli_driven *end);
void cli_driven_free(cli_driven *end);

/* Whether the solver is one that makes few and costly iterations. */
bool cli_drive_is_exact(const cli_learning *learning);

#endif
