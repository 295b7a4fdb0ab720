/* Which run store a command uses: entries of its argument table, and opening it. */
#pragma once

#include "bilevel/store.h"
#include "cli/arguments.h"

/* As the command line says. Both unset: the file that BILEVEL_STORE names (none at all where that
 * is "none"), else bilevel/runs.db in the user's state folder. */
typedef struct cli_store_choice {
    const char *path;
    bool off;
} cli_store_choice;

/* --store and --no-store of a cli_store_choice, for a command that records its run. */
extern const cli_argument cli_store_table[];
/* --store of a cli_store_choice, for a command that looks at runs. */
extern const cli_argument cli_store_file_table[];

/* Notes the store that is used where none is named on the command line, for cli/outputs.h. */
void cli_store_note(void);

/* Whether the user named a store: then it must open, and take everything. */
bool cli_store_is_named(const cli_store_choice *choice);

/* Opens the store, and creates it where there is none. Returns an exit code, after a message.
 * *store is NULL where none is wanted; also, after a warning, where the user's usual store cannot
 * be opened: that is no reason not to run. */
int cli_store_try(blv_store **store, const cli_store_choice *choice);

/* ---- The command ends where these fail ---- */

/* These are to be called once; the store is closed however the command ends. With checkpoints
 * (seconds above 0) there must be one. */
blv_store *cli_store_open(const cli_store_choice *choice, double checkpoint_seconds);
/* A store that is there, to look at. */
blv_store *cli_store_look(const cli_store_choice *choice);
/* Ends the command, with the store's message, where there is an error. */
void cli_store_expect(const blv_store *store, blv_error error);
/* A run that must be there; to be freed. */
blv_run_info *cli_store_find(blv_store *store, int64_t id);
