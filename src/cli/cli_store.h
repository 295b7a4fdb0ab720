/* Which run store the command uses, and its records as JSON. */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include "bilevel/store.h"
#include "cli_common.h"

#include <jansson.h>

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

/* Whether the user named a store: then it must open, and take everything. */
bool cli_store_is_named(const cli_store_choice *choice);

/* Opens the store, and creates it where there is none. Returns an exit code, after a message.
 * *store is NULL where none is wanted; also, after a warning, where the user's usual store cannot
 * be opened: that is no reason not to run. */
int cli_store_open(blv_store **store, const cli_store_choice *choice);
/* The same; with checkpoints there must be one. */
int cli_store_open_for_checkpoints(blv_store **store, const cli_store_choice *choice,
                                   double checkpoint_seconds);
/* Opens a store that is there, to look at it. */
int cli_store_open_existing(blv_store **store, const cli_store_choice *choice);

/* Prints the store's message, and returns the exit code. */
int cli_store_refuse(const blv_store *store, blv_error error);

/* A run that must be there. Returns an exit code, after a message. */
int cli_store_find(blv_store *store, int64_t id, blv_run_info **run);

/* The words of a command line, for the record: reading the options changes them. */
char **cli_copy_command(int argc, char **argv);
void cli_free_command(char **command, size_t count);

/* What is known when a run begins and when it ends, with JSON values that are borrowed. */
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
blv_error cli_store_begin(blv_store *store, const cli_run_facts *facts, int64_t *id);

typedef struct cli_run_end {
    const char *status;  /* "finished", "interrupted" or "failed" */
    const char *outcome; /* the library's word; NULL: none */
    const char *message;
    uint64_t iterations;
    double seconds;
    double phi, grad_norm; /* NaN: not certified */
    const json_t *result;  /* everything, as --json prints it; NULL: nothing */
} cli_run_end;
blv_error cli_store_finish(blv_store *store, int64_t id, const cli_run_end *end);

#endif
