/* A run in the store while it is made: its facts, rows, checkpoints and end. Trouble with the store
 * is complained of and does not stop the run. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli_report.h"
#include "cli_store.h"

typedef struct cli_record {
    cli_store *store;          /* NULL: the run is not kept, and nothing below does anything */
    int64_t id;                /* 0: it has not begun */
    double checkpoint_seconds; /* between checkpoints; 0: none */
    bool failed;               /* the store could not take everything */
} cli_record;

/* Before the run is opened. all_rows: as many as the trace file would have. */
void cli_record_listen(cli_record *record, blv_run *run, bool all_rows);
/* Once the run is set up. id: of a run that goes on, 0: a new one; iteration: from where. Returns
 * an exit code: one that goes on must be free to do so. */
int cli_record_begin(cli_record *record, const cli_run_facts *facts, int64_t id,
                     uint64_t iteration);
/* After the certificate. */
void cli_record_end(cli_record *record, const cli_report *report);
/* CLI_REFUSED when a store that was asked for by name could not take everything. */
int cli_record_code(const cli_record *record);

/* [argument, ...] for the facts; to be taken before options are parsed, which changes them. */
json_t *cli_record_command(int argc, char **argv);

#endif
