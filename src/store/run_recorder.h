/* Records a run in the store while it is made: its start, rows, checkpoints and end. Trouble with
 * the store is reported once and does not stop the run. */
#pragma once

#include "bilevel/store.h"
#include "bilevel/task.h"

typedef struct blv_recorder {
    blv_store *store;          /* NULL: the run is not recorded, and nothing below does anything */
    int64_t id;                /* 0: it has not begun */
    double checkpoint_seconds; /* between checkpoints; 0: none */
    void (*warn)(void *context, const char *text); /* gets a warning; may be NULL */
    void *context;
    bool failed; /* the store could not take everything */

    /* where one stored run is made of several, one after the other */
    uint64_t rows_before; /* what is added to the iteration of a row, for its place in the trace */
    const blv_task_run *part; /* whose marks are added to rows, and what it carries; or NULL */
} blv_recorder;

/* Before the run is opened. all_rows: as many as the trace file would have. */
void blv_recorder_follow(blv_recorder *recorder, blv_run *run, bool all_rows);
/* Once the run is set up: a new one, or a stored one that is resumed from an iteration. That one
 * must be free. facts: kind, command, request, problem, problem_parameters, fingerprint; the rest
 * is found from the run, dimensions where they are 0. The record of a new run that cannot be stored
 * is a warning. */
blv_error blv_recorder_begin(blv_recorder *recorder, const blv_run_info *facts, const blv_run *run,
                             blv_message *why);
blv_error blv_recorder_resume(blv_recorder *recorder, int64_t id, uint64_t iteration,
                              blv_message *why);
/* A row of the trace, a JSON object. */
void blv_recorder_row(blv_recorder *recorder, uint64_t iteration, double seconds, const char *text);
/* After the certificate, where the record is one run: keeps a checkpoint where a limit ended it, so
 * that it can be resumed with another limit; removes it where it converged or failed. */
void blv_recorder_settle(blv_recorder *recorder, blv_run *run);
/* Bytes with a name. */
void blv_recorder_attach(blv_recorder *recorder, const char *name, const void *bytes, size_t size,
                         const char *otherwise);
void blv_recorder_finish(blv_recorder *recorder, const blv_run_info *end);
/* Takes note of the result of a call that writes to the store; otherwise: "a row was not stored" */
void blv_recorder_expect(blv_recorder *recorder, blv_error error, const char *otherwise);

/* The values in effect of a run that is set, to be freed. */
blv_error blv_run_settings(const blv_run *run, blv_values *parameters, blv_values *options);
