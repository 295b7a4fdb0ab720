/* What the tasks (clean.h, tune.h, select.h, continual.h) have in common: progress, a request to
 * stop, and hooks that follow the runs that a task makes, so that they can be recorded and resumed.
 *
 * A task never prints, exits, reads the environment or installs a signal handler. */
#ifndef BILEVEL_TASK_H
#define BILEVEL_TASK_H

#include "bilevel/certificate.h"
#include "bilevel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a task is about to do. */
typedef struct blv_task_start {
    const char *task;    /* "clean", "tune" */
    const char *problem; /* name of the problem family */
    size_t dim_x, dim_y; /* of its runs */
    blv_precision precision;
    uint64_t fingerprint; /* of the data */
    const blv_run *run; /* set as the task's runs are and never solved: for the values in effect */
} blv_task_start;

/* What the rows of a run's trace are marked with: {"fold", 2}. */
typedef struct blv_task_mark {
    const char *name;
    double value;
} blv_task_mark;

/* A run of a task. Runs come in an order that depends on the task's input alone. */
typedef struct blv_task_run {
    size_t number;        /* from 0 */
    const char *label;    /* "fold 2/5" */
    size_t piece, pieces; /* of runs that are alike, for estimates of time; pieces 0: not known */
    const blv_task_mark *marks;
    size_t mark_count;
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

/* All functions may be NULL. They are called from the thread that called the task. */
typedef struct blv_task_hooks {
    size_t size; /* sizeof(blv_task_hooks) */
    void *context;
    /* Seconds between two calls of `progress` during a run, at least: the values that it shows are
     * evaluated for it. 0: 0.1; negative: not during runs. Where that would take more than a tenth
     * of the time it is called less often. */
    double interval;
    /* Called now and then, at least once for each activity between runs. Non-zero asks the task to
     * stop: it then returns BLV_E_STOPPED. */
    int (*progress)(void *context, const blv_task_progress *progress);
    /* The input is checked and the work begins. An error ends the task. */
    blv_error (*start)(void *context, const blv_task_start *start, blv_message *why);
    /* Before a run is made: true when it has been made before and *end tells how it ended;
     * `carried` is filled too. */
    bool (*recall)(void *context, const blv_task_run *which, blv_run_end *end);
    /* The run is created and set, and not opened: time to follow its trace, to save it now and then
     * and to load a checkpoint (which fills `carried` too). blv_run_stop on it, from a signal
     * handler or another thread, stops the task. An error ends the task. */
    blv_error (*begin)(void *context, const blv_task_run *which, blv_run *run, blv_message *why);
    /* The run is about to be destroyed; follows every `begin`. end: how it ended, NULL where it
     * failed or was stopped. */
    void (*end)(void *context, const blv_task_run *which, const blv_run_end *end);
    /* A remark: something went wrong that does not end the task. */
    void (*note)(void *context, const char *text);
} blv_task_hooks;

/* Frees x and y. */
BLV_API void blv_run_end_free(blv_run_end *end);

#ifdef __cplusplus
}
#endif
#endif
