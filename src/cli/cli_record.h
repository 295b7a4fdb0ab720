/* A run in the store while it is made: its facts, rows, checkpoints and end. Trouble with the store
 * is complained of and does not stop the run. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli_report.h"
#include "cli_store.h"

typedef struct cli_record {
    blv_store *store;          /* NULL: the run is not kept, and nothing below does anything */
    int64_t id;                /* 0: it has not begun */
    double checkpoint_seconds; /* between checkpoints; 0: none */
    bool store_is_named;       /* by the user: it must take everything */
    bool failed;               /* the store could not take everything */

    /* where one stored run is made of several, one after the other */
    uint64_t rows_before;  /* what is added to the iteration of a row, for its place in the trace */
    const char *row_head;  /* members of every row, "\"fold\":1,"; NULL: none */
    const double *carried; /* numbers that are saved beside a checkpoint; NULL: none */
    size_t carried_count;
} cli_record;

/* Before the run is opened. all_rows: as many as the trace file would have. */
void cli_record_listen(cli_record *record, blv_run *run, bool all_rows);
/* Once the run is set up. id: of a run that goes on, 0: a new one; iteration: from where. Returns
 * an exit code: one that goes on must be free to do so. */
int cli_record_begin(cli_record *record, const cli_run_facts *facts, int64_t id,
                     uint64_t iteration);
/* After the certificate. */
void cli_record_end(cli_record *record, const cli_report *report);
/* The same for what is no single run. */
void cli_record_finish(cli_record *record, const cli_run_end *end);
/* Takes note of what became of a call that writes to the store; complains once. */
void cli_record_expect(cli_record *record, bool well, const char *what);
/* A row of the trace, as one JSON object. */
void cli_record_row(cli_record *record, uint64_t iteration, double seconds, const char *text);
/* CLI_REFUSED when a store that was asked for by name could not take everything. */
int cli_record_code(const cli_record *record);

/* [argument, ...] for the facts; to be taken before options are parsed, which changes them. */
json_t *cli_record_command(int argc, char **argv);

#endif
