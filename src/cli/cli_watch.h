/* Former names of cli/progress_line.h and cli/signals.h. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/progress_line.h"
#include "cli/signals.h"

#define cli_watch_begin cli_progress_begin
#define cli_watch_piece cli_progress_piece
#define cli_watch_run cli_progress_run
#define cli_watch_run_with cli_progress_run_with
#define cli_watch_say cli_progress_say
#define cli_watch_clear cli_progress_clear
#define cli_watch_leave cli_progress_leave
#define cli_watch_signalled cli_signalled
#define cli_watch_end cli_progress_end

#endif
