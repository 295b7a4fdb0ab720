/* SIGINT and SIGTERM while runs are under way. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "bilevel/run.h"

/* From here on the first signal asks the watched run to stop, and a second one ends the command at
 * once. */
void cli_signals_begin(void);
/* A signal that has come before stops the run at once. NULL: none is watched. */
void cli_signals_watch(blv_run *run);
/* Whether a signal has come. */
bool cli_signalled(void);
/* Restores the former handlers. */
void cli_signals_end(void);

#endif
