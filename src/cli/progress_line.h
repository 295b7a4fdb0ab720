/* Progress on standard error while runs are under way. */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H

#include "bilevel/task.h"

#include <stdbool.h>

typedef enum cli_progress {
    CLI_PROGRESS_NONE,
    CLI_PROGRESS_BAR,  /* one line that is redrawn */
    CLI_PROGRESS_LINES /* a line now and then, for logs */
} cli_progress;

/* How progress is shown: as the word says ("bar", "lines" or "none"), or without one a bar on a
 * terminal. silent: not at all. False when the word is none of these. */
bool cli_progress_choose(const char *word, bool silent, cli_progress *progress);

/* From here on progress is shown and signals stop the watched run (cli/signals.h). */
void cli_progress_begin(cli_progress progress);
/* Seconds between two reports, as blv_task_hooks has them. */
double cli_progress_interval(void);
/* The runs from here on are piece number `piece`, from 0, of so many alike: for the time that is
 * left. Without it a run is all there is. */
void cli_progress_piece(size_t piece, size_t pieces);
/* Watches a run. label is at the head of the line, where it is not NULL; borrowed until
 * cli_progress_leave. */
blv_error cli_progress_run(blv_run *run, const char *label);
/* The same, with a monitor of the caller's that is called after every `every` iterations. */
blv_error cli_progress_run_with(blv_run *run, const char *label, blv_monitor_fn monitor,
                                void *context, uint64_t every);
/* Shows what a task reports. */
void cli_progress_task(const blv_task_progress *progress);
/* Shows what is being done outside of runs. */
void cli_progress_say(const char *text);
/* Clears the line, so that something else can be printed; it is drawn again. */
void cli_progress_clear(void);
/* The same, from a signal handler. */
void cli_progress_erase(void);
/* Clears the line. No run is watched until the next one. */
void cli_progress_leave(void);
/* Ends it, and restores the handlers of signals. */
void cli_progress_end(void);

#endif
