/* SIGINT, SIGTERM and SIGHUP. One that comes while runs are under way asks them to stop; any other
 * removes unfinished files and ends the command. Those that are ignored when the command starts
 * (nohup, the background of a script) stay ignored. */
#pragma once

#include "bilevel/run.h"

#include <stdatomic.h>
#include <stdbool.h>

#define CLI_CLEAR_LINE "\r\033[K"
extern atomic_bool cli_line_drawn; /* on the terminal: cleared when a signal ends the command */

/* To be called once, at the start of the program. */
void cli_signals_install(void);

/* From here on the first signal asks the watched run to stop, and a second one ends the command at
 * once. */
void cli_signals_begin(void);
/* A signal that has come before stops the run at once. NULL: none is watched. */
void cli_signals_watch(blv_run *run);
/* Whether a signal has come since the beginning. */
bool cli_signalled(void);
void cli_signals_end(void);

/* A file that a signal removes when it ends the command, until all of them are forgotten. */
void cli_signals_remove(const char *path);
void cli_signals_forget(void);
