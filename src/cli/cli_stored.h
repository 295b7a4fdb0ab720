/* Runs of the store with their traces, and which of them belong together. */
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include "cli_store.h"

typedef struct cli_stored_run {
    int64_t id;
    json_t *run, *rows;    /* as the store gives them */
    double best;           /* least certified Phi that is known of its problem; NaN: none */
    size_t group, problem; /* the numbers of its group and of its problem */
} cli_stored_run;

/* Runs that differ in the seed only. */
typedef struct cli_stored_group {
    json_t *key; /* what they have in common */
    size_t problem;
    char *label; /* the solver, and what tells it from the other groups */
} cli_stored_group;

typedef struct cli_stored {
    size_t count, groups, problems; /* problems: how many different ones */
    cli_stored_run *runs;
    cli_stored_group *group;
} cli_stored;

/* Reads runs, each once. Returns an exit code, after a message. */
int cli_stored_load(cli_stored *stored, blv_store *store, const int64_t *ids, size_t count);
void cli_stored_free(cli_stored *stored);

#endif
