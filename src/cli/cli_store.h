/* The run store: every run of the command, in one SQLite file. docs/store.md has its tables.
 *
 *     cli_store *store = NULL;
 *     int code = cli_store_open(&store, &choice);     NULL and CLI_DONE: none is wanted
 *     if (store && cli_store_begin(store, &facts, &id))
 *         ...
 *     cli_store_finish(store, id, &end);
 *     cli_store_close(store);
 *
 * Several processes may use one file at a time. What a call writes is there as a whole or not at
 * all, whenever the process is killed. */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include "bilevel/run.h"
#include "cli_common.h"

#include <jansson.h>

typedef struct cli_store cli_store;

/* ---- Opening ---- */

/* As the command line says. Both unset: the file that BILEVEL_STORE names (none at all where that
 * is "none"), else bilevel/runs.db in the user's state folder. */
typedef struct cli_store_choice {
    const char *path;
    bool off;
} cli_store_choice;

/* Parses --store and --no-store into a cli_store_choice. It is used as a child of a subcommand's
 * own parser. */
extern const struct argp cli_store_argp;
/* The same without --no-store, for commands that read. */
extern const struct argp cli_store_file_argp;

/* Opens the store, and makes it where there is none. Returns an exit code, after a message. *store
 * is NULL where none is wanted; also, after a warning, where the user's usual store cannot be
 * opened: that is no reason not to run. One that was asked for by name must open. */
int cli_store_open(cli_store **store, const cli_store_choice *choice);
/* Opens a store that is there, to look at it. */
int cli_store_open_existing(cli_store **store, const cli_store_choice *choice);
void cli_store_close(cli_store *store); /* NULL is allowed */
const char *cli_store_path(const cli_store *store);
/* Whether it was asked for by name. */
bool cli_store_was_named(const cli_store *store);
/* Why the last call failed: "store FILE: ...". */
const char *cli_store_problem(const cli_store *store);

/* ---- Writing: false when it failed, and then nothing of the call is stored ---- */

/* What is known when a run begins. JSON values are borrowed; what does not apply is NULL or 0. */
typedef struct cli_run_facts {
    const char *kind;      /* "solve", ... */
    const json_t *command; /* the arguments, an array */
    const json_t *task;    /* what is needed to do it again; of the kind's own form */
    const char *problem;
    const json_t *problem_parameters;
    const char *precision;
    size_t dim_x, dim_y;
    uint64_t fingerprint; /* of the data */
    const char *solver;
    const json_t *parameters; /* of the solver */
    const json_t *options;    /* of the run */
} cli_run_facts;

/* From here on the run is listed as running, as long as this process lives. *id: its number, 0 when
 * it failed. */
bool cli_store_begin(cli_store *store, const cli_run_facts *facts, int64_t *id);
/* The same for a run that is there: it goes on, and rows after this iteration are dropped. Refused
 * when another process of this machine is at it. */
bool cli_store_begin_again(cli_store *store, int64_t id, uint64_t iteration);

/* Keeps a row of the trace, a JSON object, until about a second has passed since the last ones were
 * written; cli_store_flush writes what is left. */
bool cli_store_row(cli_store *store, int64_t id, uint64_t iteration, double seconds,
                   const char *row);
bool cli_store_flush(cli_store *store);

/* Bytes of a name, in place of those that had it. */
bool cli_store_attach(cli_store *store, int64_t id, const char *name, const void *bytes,
                      size_t size);
bool cli_store_detach(cli_store *store, int64_t id, const char *name);
/* Attaches a checkpoint of the run as "checkpoint", and what its maker carries beside it, if
 * anything, as "carried". Both go when "checkpoint" is detached. */
bool cli_store_checkpoint(cli_store *store, int64_t id, blv_run *run, const void *carried,
                          size_t carried_size);
/* Attaches how one of several runs ended, in place of its checkpoint. */
bool cli_store_attach_end(cli_store *store, int64_t id, const char *name, const void *bytes,
                          size_t size);

typedef struct cli_run_end {
    const char *status;  /* "finished", "interrupted" or "failed" */
    const char *outcome; /* the library's word; NULL: none */
    const char *message;
    uint64_t iterations;
    double seconds;
    double phi, grad_norm; /* NaN: not certified */
    const json_t *result;  /* everything, as --json prints it; NULL: nothing */
} cli_run_end;
bool cli_store_finish(cli_store *store, int64_t id, const cli_run_end *end);

bool cli_store_remove(cli_store *store, int64_t id);

/* ---- Reading: false when it failed; JSON values are new references ---- */

/* NULL: any. */
typedef struct cli_run_filter {
    const char *kind, *status, *problem, *solver;
    uint64_t limit; /* the newest ones; 0: all */
} cli_run_filter;

/* An array of objects, the oldest first, with the fields of `bilevel runs list --json`. */
bool cli_store_list(cli_store *store, const cli_run_filter *filter, json_t **runs);
/* All fields of one run; NULL when there is none of that number. Rows and attached bytes are read
 * apart. Its "status" tells what is so now: a run whose process is gone is "interrupted". */
bool cli_store_find(cli_store *store, int64_t id, json_t **run);
/* The rows of the trace, an array of objects. */
bool cli_store_rows(cli_store *store, int64_t id, json_t **rows);
/* What is attached: an array of objects with name and size, in the order of the names. */
bool cli_store_attachments(cli_store *store, int64_t id, json_t **list);
/* The least certified Phi of all runs on the problem of this one, with its parameters and its data;
 * NaN where none is certified. */
bool cli_store_best(cli_store *store, int64_t id, double *phi);
/* To be freed; NULL when nothing of that name is attached. */
bool cli_store_read(cli_store *store, int64_t id, const char *name, void **bytes, size_t *size);

#endif
