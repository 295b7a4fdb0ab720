/* Progress on standard error, and signals, while runs are under way. */
#pragma once

#include "bilevel/run.h"
#include "bilevel/task.h"

#include <stdbool.h>

typedef enum cli_progress {
    CLI_PROGRESS_NONE,
    CLI_PROGRESS_BAR,  /* one line that is redrawn */
    CLI_PROGRESS_LINES /* a line now and then, for logs */
} cli_progress;

/* How progress is shown: as the word says ("bar", "lines" or "none"), or without one a bar on a
 * terminal. silent: not at all. */
cli_progress cli_progress_choose(const char *word, bool silent);

/* From here on progress is shown and signals stop the watched run. */
void cli_progress_begin(cli_progress progress);
/* Seconds between two reports, as blv_task_hooks has them. */
double cli_progress_interval(void);
/* Watches a run. label is at the head of the line, where it is not NULL; borrowed until
 * cli_progress_leave. */
blv_error cli_progress_run(blv_run *run, const char *label);
/* Shows what a task reports. */
void cli_progress_task(const blv_task_progress *progress);
/* Complains, after the line is cleared. context is not used. */
void cli_note(void *context, const char *text);
/* Clears the line. No run is watched until the next one. */
void cli_progress_leave(void);
/* Ends it; signals end the command again. May be called again. */
void cli_progress_end(void);

/* ---- SIGINT, SIGTERM and SIGHUP ---- */

/* One that comes while runs are under way asks them to stop; any other removes unfinished files and
 * ends the command. Those that are ignored when the command starts (nohup, the background of a
 * script) stay ignored. */

/* To be called once, at the start of the program. */
void cli_signals_install(void);

/* From here on the first signal asks the watched run to stop, and one that comes later than 0.2
 * seconds after it ends the command at once. */
void cli_signals_begin(void);
/* A signal that has come before stops the run at once. NULL: none is watched. */
void cli_signals_watch(blv_run *run);
/* Whether a signal has come since the beginning. */
bool cli_signalled(void);
void cli_signals_end(void);

/* A file that a signal removes when it ends the command, until all of them are forgotten. */
void cli_signals_remove(const char *path);
void cli_signals_forget(void);
