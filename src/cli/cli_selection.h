/* Which solvers run, and what --set means for each of them. */
#ifndef CLI_SELECTION_H
#define CLI_SELECTION_H

#include "bilevel/run.h"
#include "cli_common.h"

typedef struct cli_choice {
    const blv_solver *solver;
    bool runs;
    blv_message reason; /* why it does not */
} cli_choice;

typedef struct cli_selection {
    bool all;     /* as many as suit the problem, rather than those that were named */
    bool several; /* a list was given, be it of one */
    size_t count;
    cli_choice *items;
} cli_selection;

/* NAME, NAME,NAME,... or all. These return an exit code, after a message. */
int cli_selection_parse(cli_selection *selection, const char *text);
/* Leaves out those that do not suit the problem. A solver that was named runs with differences as
 * well. Refused when none is left. */
int cli_selection_fit(cli_selection *selection, const blv_problem *problem);
/* Complains that none of them could run. */
int cli_selection_refuse(const cli_selection *selection, const blv_problem *problem);
/* Every key must mean something to a solver that runs. */
int cli_selection_check(const cli_selection *selection, const cli_settings *settings);
void cli_selection_free(cli_selection *selection);

/* Sets KEY=VALUE where the run's solver has the key, or whatever the key where it runs alone; then
 * SOLVER.KEY=VALUE, so that the more special one wins. */
blv_error cli_settings_apply(const cli_settings *settings, blv_run *run, bool alone);

/* "run.jsonl" for soba: "run.soba.jsonl". To be freed. */
char *cli_path_for(const char *path, const char *solver);

#endif
