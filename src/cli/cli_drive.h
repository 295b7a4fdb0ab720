/* Runs that learn: every run of `bilevel clean` and `bilevel tune` goes through cli_drive. */
#ifndef CLI_DRIVE_H
#define CLI_DRIVE_H

#include "bilevel/certificate.h"
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
    const char *products; /* products with H at most, for solvers that can be told; NULL: any */
    double *carried;      /* numbers that `look` keeps from call to call; NULL: none */
    size_t carried_count;
    const char *row_head; /* members of the rows in the store, "\"fold\":1,"; NULL: none */
} cli_drive_plan;

typedef struct cli_driven {
    double *x, *y; /* where it ended */
    size_t dim_x, dim_y;
    blv_outcome outcome;
    uint64_t iterations;
    double seconds; /* on the solver's clock */
    bool certified;
    blv_certificate certificate;
    blv_counts counts, setup_counts;
} cli_driven;

/* Creates the run, sets it up, runs it to its end, certifies it and reads x and y. Returns an exit
 * code, after a message; a run that a signal stopped is no failure. */
int cli_drive(const cli_learning *learning, const cli_drive_plan *plan, cli_driven *end);
void cli_driven_free(cli_driven *end);

/* Sets what the command line says, and suggestions where it says nothing; no limit. */
blv_error cli_drive_set(const cli_learning *learning, blv_run *run);

/* Whether the solver is one that makes few and costly iterations. */
bool cli_drive_is_exact(const cli_learning *learning);

#endif
