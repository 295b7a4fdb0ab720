/* A task of `solve` as the store keeps it, so that it can be done again. */
#ifndef CLI_TASK_H
#define CLI_TASK_H

#include "cli_json.h"
#include "cli_solve.h"

/* The value of --checkpoint. Ends the command with a message when it is none. */
double cli_task_parse_checkpoint(const char *text, const struct argp_state *state);

/* Opens the store for the task; returns an exit code, after a message. Checkpoints need one. */
int cli_task_open_store(cli_task *task, const cli_store_choice *choice);

/* Where a command was typed: files are named from there. And going there again; returns an exit
 * code, after a message. */
void cli_task_describe_place(json_t *object);
int cli_task_enter_place(const json_t *description);

/* What is needed to make this run of the task again. A new reference. */
json_t *cli_task_describe(const cli_task *task, const blv_run *run);
/* The other way round, and into the folder that the task was done in; all but the problem itself.
 * The texts stay with the description. Returns an exit code, after a message. */
int cli_task_restore(cli_task *task, const json_t *description);

/* The facts of a run that an instance and a run tell; what hangs on them is to be freed. */
typedef struct cli_facts {
    cli_run_facts run;
    json_t *problem_parameters, *parameters, *options;
} cli_facts;
cli_facts cli_facts_of(const cli_instance *instance, const blv_run *run);
void cli_facts_free(cli_facts *facts);

#endif
