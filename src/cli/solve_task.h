/* What `bilevel solve` does once its command line is read, and `bilevel resume` with what the store
 * has kept of it: set up, run, certify, report, save, record. */
#pragma once

#include "cli/problem_choice.h"
#include "cli/task_hooks.h"
#include "store/run_execution.h"

typedef struct cli_solve_task {
    cli_instance instance;
    cli_settings settings; /* parameters of the solver and options of the run, as typed */
    const char *solver;    /* NAME, NAME,NAME,... or all */
    const char *start, *trace, *out;
    cli_task_options options;

    /* of a run that is resumed: */
    bool is_one_of_several; /* it was one of the runs of several solvers */
    const void *checkpoint; /* NULL: it starts again */
    size_t checkpoint_size;

    /* while it is solved: */
    bool several; /* solvers are compared */
    blv_vectors loaded;
    blv_values problem_parameters;
    int code;        /* the worst so far */
    bool printed;    /* the error of the last run has been */
    json_t *reports; /* of several: by the name of the solver */

    blv_recorder recorder; /* of the present run, as the following */
    blv_execution execution;
    const char *run_trace, *run_out;
    char *request;
} cli_solve_task;

/* Solves with one or several; returns the exit code. */
int cli_solve(cli_solve_task *task);

/* The task of a request that the store has kept; the command ends where that fails. */
void cli_solve_restore(cli_solve_task *task, const cli_resume *resume);

/* ---- As text ---- */

void cli_print_report(const cli_instance *instance, const blv_execution *execution);
void cli_print_comparison(const cli_instance *instance, const blv_comparison *comparison);
/* How a run ended, in one line that begins with the outcome's word. */
enum { CLI_ENDING_SIZE = 768 };
void cli_ending_text(const blv_execution *execution, char text[CLI_ENDING_SIZE]);
