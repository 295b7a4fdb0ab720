/* While runs are under way: Ctrl-C, and the progress line on a terminal. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "bilevel/run.h"

#include <stdbool.h>

/* From here on the first SIGINT or SIGTERM asks the watched run to stop, and a second one ends the
 * command at once. With display, stderr shows the progress on a line that is redrawn. */
void cli_watch_begin(bool display);
/* Watches a run; a signal that has come before stops it at once. label stands at the head of the
 * line, where it is not NULL; borrowed. */
blv_error cli_watch_run(blv_run *run, const char *label);
/* Shows what is being done after the steps. */
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
