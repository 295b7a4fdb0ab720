/* A run of the store as files: the trace as CSV, everything as JSON, the checkpoint as NPZ. */
#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

#include "cli_store.h"

/* Writes NAME.csv and NAME.json (name NULL: "run-ID") and, where checkpoint is not NULL, that file:
 * all of them or none. Returns an exit code, after a message. */
int cli_export(blv_store *store, json_t *run, int64_t id, const char *name, const char *checkpoint);

#endif
