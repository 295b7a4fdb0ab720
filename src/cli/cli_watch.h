/* While runs are under way: Ctrl-C, and progress on standard error. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "bilevel/run.h"

#include <stdbool.h>

typedef enum cli_progress {
    CLI_PROGRESS_NONE,
    CLI_PROGRESS_BAR,  /* one line that is redrawn */
    CLI_PROGRESS_LINES /* a line now and then, for logs */
} cli_progress;

/* How progress is shown: as the word says ("bar", "lines" or "none"), or without one a bar on a
 * terminal. silent: not at all. False when the word is none of these. */
bool cli_progress_choose(const char *word, bool silent, cli_progress *progress);

/* From here on the first SIGINT or SIGTERM asks the watched run to stop, and a second one ends the
 * command at once. */
void cli_watch_begin(cli_progress progress);
/* The runs from here on are piece number `piece`, from 0, of so many alike: for the time that is
 * left. Without it a run is all there is. */
void cli_watch_piece(size_t piece, size_t pieces);
/* Watches a run; a signal that has come before stops it at once. label stands at the head of the
 * line, where it is not NULL; borrowed until cli_watch_leave. */
blv_error cli_watch_run(blv_run *run, const char *label);
/* The same, with a monitor of the caller's that is called after every `every` iterations. */
blv_error cli_watch_run_with(blv_run *run, const char *label, blv_monitor_fn monitor, void *context,
                             uint64_t every);
/* Shows what is being done outside of runs. */
void cli_watch_say(const char *text);
/* Clears the line, so that something else can be said; it is drawn again. */
void cli_watch_clear(void);
/* Clears the line. No run is watched until the next one. */
void cli_watch_leave(void);
/* Whether a signal has come. */
bool cli_watch_signalled(void);
/* Puts the signals back. */
void cli_watch_end(void);

#endif
