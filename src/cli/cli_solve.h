/* What `bilevel solve` does once its command line is read: set up, run, certify, report, save. */
#ifndef CLI_SOLVE_H
#define CLI_SOLVE_H

#include "cli_instance.h"
#include "cli_selection.h"
#include "cli_store.h"
#include "cli_watch.h"

/* A run of the store that goes on. */
typedef struct cli_resumption {
    int64_t id;
    uint64_t iteration;
    const void *checkpoint; /* NULL: it starts again */
    size_t size;
} cli_resumption;

typedef struct cli_task {
    cli_instance instance;
    cli_settings settings;   /* parameters of the solver and options of the run, as typed */
    cli_selection selection; /* of solvers */
    const char *start, *trace, *out;
    bool json, quiet;
    cli_progress progress;

    blv_store *store; /* NULL: none */
    bool store_is_named;
    const json_t *command;            /* as typed */
    double checkpoint_seconds;        /* between checkpoints; 0: none */
    bool all_rows;                    /* of the trace go to the store */
    const cli_resumption *resumption; /* NULL: a new run */
} cli_task;

/* Both return the exit code. */
int cli_solve_with_one(const cli_task *task);
/* Runs those that suit one after the other, and compares them. */
int cli_solve_with_several(cli_task *task);

#endif
