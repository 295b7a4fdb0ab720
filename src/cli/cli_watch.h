/* While a run is under way: Ctrl-C, and the progress line on a terminal. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "bilevel/run.h"

#include <stdbool.h>

/* From here on the first SIGINT or SIGTERM asks the run to stop, and a second one ends the command
 * at once. With display, stderr shows the progress on a line that is redrawn. */
blv_error cli_watch_begin(blv_run *run, bool display);
/* Shows what is being done after the steps. */
void cli_watch_say(const char *text);
/* Clears the line and puts the signals back. */
void cli_watch_end(void);

#endif
