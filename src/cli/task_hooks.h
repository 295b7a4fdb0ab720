/* What a command needs to run a task (bilevel/task.h): hooks that show progress, stop it on a
 * signal and record it in the run store, new or resumed.
 *
 *     cli_task_hooks task = {0};
 *     blv_values_add_int(&task.facts, "folds", 5);           what a new run is known by
 *     cli_task_begin(&task, "clean", request_fields, &asked, &asked.task);
 *     blv_error error = blv_clean(..., &task.hooks, &why);
 *     cli_progress_end();
 *     ... write files ...
 *     code = cli_task_fail(&task, code, why.text); or cli_task_report
 *     cli_task_close(&task); */
#pragma once

#include "cli/progress_line.h"
#include "cli/store_options.h"
#include "store/record.h"
#include "store/task_session.h"

/* How it is shown and recorded, from the command line. */
typedef struct cli_task_options {
    cli_store_choice store;
    double checkpoint_seconds; /* between checkpoints; 0: none */
    bool json, quiet;
    const char *progress_word;
    cli_progress progress; /* once they are checked */
    bool all_rows;         /* of the trace go to the store */

    blv_store *opened; /* NULL: none */
    bool store_is_named;
    const blv_run_info *resumed; /* a stored run; NULL: a new one */
} cli_task_options;
/* --json, --quiet, --progress, --checkpoint, --store and --no-store. */
extern const cli_argument cli_task_table[];
/* To be called where the whole request is checked. settings: options of the run, as typed. */
blv_error cli_task_check(cli_task_options *options, const cli_settings *settings, blv_message *why);

/* Opens the store, unless a run is resumed. The command ends where that fails. */
void cli_task_open(cli_task_options *options);

/* A stored run that is resumed: the task is done again with its request. */
typedef struct cli_resume {
    cli_task_options task; /* store, run, json and quiet; checkpoint_seconds 0: as it was */
    cli_settings limits;   /* in place of those of the request; of solve alone */
    const char *out;       /* in place of the output of that name; a folder: for all of them */
    bool allow_outputs;    /* outside the current folder */
} cli_resume;
/* The files of a request that was read from the store, which may come from anywhere: notes and
 * shows them, and ends the command where an output is outside the current folder and that was not
 * allowed. */
void cli_resume_files(const blv_field *table, void *request, const cli_resume *resume);
extern const blv_field cli_setting_fields[]; /* of a blv_setting, in requests */
/* Completes the options of a request that was read from the store. */
void cli_task_resume(cli_task_options *options, const cli_resume *resume);

/* Adds a number to what a run is known by; word: in place of the number where it is 0 */
void cli_facts_number(blv_values *facts, const char *name, double number, const char *word);

typedef struct cli_task_hooks {
    blv_task_session session; /* first: hooks take either */
    blv_values facts;         /* what a new stored run is known by, beside solver and options */
    char *request;
    blv_task_hooks hooks; /* for the task */
    const char *trace;    /* file that gets the trace of its runs; NULL: none */
    bool store_is_named, json;
} cli_task_hooks;

/* Begins a run whose request has this table, new or resumed. The command ends where that fails.
 * From here on signals stop the task and progress is shown, until cli_progress_end. */
void cli_task_begin(cli_task_hooks *task, const char *kind, const blv_field *table,
                    const void *request, cli_task_options *options);
/* The task has failed, or was stopped with nothing to show: its exit code, and why (NULL: that is
 * said). Returns the code. */
int cli_task_fail(cli_task_hooks *task, int code, const char *why);
/* The work is done, files are written: result for the store, and for standard output with --json,
 * and released; with message, iterations, seconds, phi and grad_norm of end. end.status may be
 * BLV_STATUS_INTERRUPTED where a signal ended it with something to show. Returns the exit code of
 * the command. */
int cli_task_report(cli_task_hooks *task, json_t *result, blv_run_info end);
void cli_task_close(cli_task_hooks *task);
