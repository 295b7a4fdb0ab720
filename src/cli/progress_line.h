/* Progress on standard error, and signals, while runs are under way. */
#pragma once

#include "bilevel/task.h"
#include "cli/signals.h"

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
