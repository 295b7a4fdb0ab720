/* What the tasks (clean.h, tune.h, select.h, continual.h) have in common: progress, a wish to stop,
 * and hooks that follow the runs that a task makes, so that they can be recorded and resumed.
 *
 * A task never prints, exits, reads the environment or installs a signal handler. */
#ifndef BILEVEL_TASK_H
#define BILEVEL_TASK_H

#include "bilevel/certificate.h"
#include "bilevel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run of a task. Runs come in an order that depends on the task's input alone. */
typedef struct blv_task_run {
    size_t number;        /* from 0 */
    const char *label;    /* "fold 2 of 5" */
    size_t piece, pieces; /* of runs that are alike, for estimates of time; pieces 0: not known */
    const char
        *part_name; /* what its rows in a trace are marked with, such as "fold"; NULL: nothing */
    double part;
    double *carried; /* numbers that the task keeps while the run is made: part of a checkpoint */
    size_t carried_count;
} blv_task_run;

/* How a run of a task ended. x and y are from malloc. */
typedef struct blv_run_end {
    size_t dim_x, dim_y;
    double *x, *y;
    blv_outcome outcome;
    uint64_t iterations;
    double seconds; /* on the solver's clock */
    bool certified;
    blv_certificate certificate; /* NaN where it is not certified */
    blv_counts counts, setup_counts;
} blv_run_end;

typedef struct blv_task_progress {
    const char *activity;         /* "comparing"; during a run its label */
    const blv_task_run *which;    /* NULL: between runs */
    const blv_progress *progress; /* of that run; NULL where none is at hand */
} blv_task_progress;

/* All functions may be NULL. */
typedef struct blv_task_hooks {
    size_t size; /* sizeof(blv_task_hooks) */
    void *context;
    /* Called now and then, at least once for each run and each activity between runs. Non-zero asks
     * the task to stop: it then returns BLV_E_STOPPED. */
    int (*progress)(void *context, const blv_task_progress *progress);
    /* Before a run is made: true when it has been made before and *end tells how it ended. */
    bool (*recall)(void *context, const blv_task_run *which, blv_run_end *end);
    /* The run is created and set, and not opened: time to follow its trace, to save it now and then
     * and to load a checkpoint (which fills `carried` too). An error ends the task. */
    blv_error (*begin)(void *context, const blv_task_run *which, blv_run *run, blv_message *why);
    /* The run has ended; it was not stopped. */
    void (*end)(void *context, const blv_task_run *which, const blv_run_end *end);
} blv_task_hooks;

#ifdef __cplusplus
}
#endif
#endif
