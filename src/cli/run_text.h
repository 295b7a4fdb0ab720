/* Runs of the store, as text on stdout and as files. */
#ifndef CLI_RUN_TEXT_H
#define CLI_RUN_TEXT_H

#include "bilevel/store.h"

void cli_print_runs(blv_run_info *const *runs, size_t count);
void cli_print_run(const blv_run_info *run);

/* Writes the trace as NAME.csv and everything as NAME.json (name NULL: "run-ID") and, where
 * checkpoint is not NULL, that file: all of them or none. Returns an exit code, after a message. */
int cli_export_run(blv_store *store, const blv_run_info *run, const char *name,
                   const char *checkpoint);

#endif
