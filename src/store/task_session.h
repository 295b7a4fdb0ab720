/* A task in the run store: one stored run for all the runs that the task makes, one after the
 * other. How each of them ended is kept until the task is done, so that it can be resumed.
 *
 *     session.facts: kind, command, request, problem_parameters
 *     the task's hooks call blv_task_session_start, _recall, _begin and _end
 *     blv_task_session_finish(&session, &end);
 *
 * Without a store all of it does nothing. */
#pragma once

#include "store/run_recorder.h"

typedef struct blv_task_session {
    blv_recorder recorder;
    blv_run_info facts;          /* what the caller knows of a new run; borrowed */
    const blv_run_info *resumed; /* a stored run that is resumed; NULL: a new one */
    bool all_rows;               /* of the trace; without it few, except of the solver exact */

    size_t ended;        /* runs that have ended */
    size_t remembered;   /* those of them that are in the store, of a run that is resumed */
    bool has_checkpoint; /* of the first run after those */
} blv_task_session;

/* As the functions of blv_task_hooks. */
blv_error blv_task_session_start(void *session, const blv_task_start *start, blv_message *why);
bool blv_task_session_recall(void *session, const blv_task_run *which, blv_run_end *end);
blv_error blv_task_session_begin(blv_task_session *session, const blv_task_run *which, blv_run *run,
                                 blv_message *why);
void blv_task_session_end(blv_task_session *session, const blv_task_run *which,
                          const blv_run_end *end);

/* Where the task was not interrupted, what was kept for resuming it is removed. */
void blv_task_session_finish(blv_task_session *session, const blv_run_info *end);
