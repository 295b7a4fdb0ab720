/* What `bilevel solve` does once its command line is read, and `bilevel resume` with what the store
 * has kept of it: set up, run, certify, report, save, record. */
#ifndef CLI_SOLVE_TASK_H
#define CLI_SOLVE_TASK_H

#include "cli/problem_choice.h"
#include "cli/progress_line.h"
#include "cli/store_options.h"
#include "store/run_execution.h"

typedef struct cli_solve_task {
    cli_instance instance;
    cli_settings settings; /* parameters of the solver and options of the run, as typed */
    const char *solver;    /* NAME, NAME,NAME,... or all */
    const char *start, *trace, *out;
    bool json, quiet;
    cli_progress progress;

    blv_store *store; /* NULL: none */
    bool store_is_named;
    size_t command_count;
    char **command;            /* as typed */
    double checkpoint_seconds; /* between checkpoints; 0: none */
    bool all_rows;             /* of the trace go to the store */

    /* of a run that is resumed: */
    bool is_one_of_several;      /* it was one of the runs of several solvers */
    const blv_run_info *resumed; /* NULL: a new run */
    const void *checkpoint;      /* NULL: it starts again */
    size_t checkpoint_size;
} cli_solve_task;

/* The solvers exist, and are named once. Returns an exit code, after a message. */
int cli_solve_check_solvers(const char *solver);
bool cli_solve_is_with_several(const cli_solve_task *task);
/* Solves with one or several; returns the exit code. */
int cli_solve(cli_solve_task *task);

/* ---- As the store keeps it ---- */

/* What is needed to make one of the task's runs again. Files have absolute paths. */
typedef struct cli_solve_request {
    char *folder; /* where the command was typed */
    char *problem;
    blv_values problem_settings;
    blv_precision precision;
    int threads;
    bool gradients_only;
    char *solver;
    bool several;        /* it is one of several solvers */
    blv_values settings; /* every parameter with the value in effect: defaults may change */
    char *start, *trace, *out;
    double checkpoint;
    bool all_rows;
} cli_solve_request;
extern const blv_field cli_solve_request_fields[];

/* As JSON, to be freed. */
char *cli_solve_request_text(const cli_solve_task *task, const blv_run *run, const char *trace,
                             const char *out);
/* Fills the task, whose texts stay with the request. Returns an exit code, after a message. */
int cli_solve_request_read(cli_solve_request *request, const char *text, cli_solve_task *task);

/* ---- As text ---- */

void cli_print_report(const cli_instance *instance, const blv_execution *execution);
void cli_print_comparison(const cli_instance *instance, const blv_comparison *comparison);
/* How a run ended, in one line that begins with the outcome's word. */
enum { CLI_ENDING_SIZE = 768 };
void cli_ending_text(const blv_execution *execution, char text[CLI_ENDING_SIZE]);

#endif
