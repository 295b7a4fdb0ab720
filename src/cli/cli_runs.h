/* Runs of the store, as text on stdout. */
#ifndef CLI_RUNS_H
#define CLI_RUNS_H

#include "cli_store.h"

/* A field of a run that is a text; NULL when there is none. */
const char *cli_run_text(const json_t *run, const char *key);

/* A field of a run that is a number, written to text; NULL when there is none. format: for a real
 * number. */
const char *cli_run_number(const json_t *run, const char *key, const char *format, char *text,
                           size_t size);
/* The words of a command with blanks between them, to be freed. */
char *cli_run_command(const json_t *command);
/* A run that must be there. Returns an exit code, after a message. */
int cli_runs_find(blv_store *store, int64_t id, json_t **run);

#endif
