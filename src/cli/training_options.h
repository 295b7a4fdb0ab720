/* The command line that `bilevel clean` and `bilevel tune` share: the files, how they are read and
 * scaled, and the runs that learn from them; and the record of it, so that it can be resumed. */
#ifndef CLI_TRAINING_OPTIONS_H
#define CLI_TRAINING_OPTIONS_H

#include "cli/arguments.h"
#include "cli/task_hooks.h"
#include "store/record.h"

typedef struct cli_training {
    const char *train, *val, *test; /* files; val and test may be NULL */
    double val_share;               /* 0: not given */
    blv_read_options reading;
    bool may_be_real, classes; /* targets may be real, unless they are said to be classes */
    blv_task_scaling scaling;
    int threads;
    const char *solver_name; /* NULL: exact */
    const blv_solver *solver;
    cli_settings settings; /* parameters of the solver and options of the run, as typed */
    uint64_t seed;         /* one of them; also of everything that is drawn */
    bool no_certificate;
    cli_task_options task;
} cli_training;

/* TRAIN and all of the above. */
extern const cli_argument cli_training_table[];
extern const blv_read_options cli_training_reading; /* to begin with */
/* What is kept in the run store; and train, val and test alone. */
extern const blv_field cli_training_fields[], cli_training_files[];

/* To be called where the whole request is checked; finds the solver. */
blv_error cli_training_check(cli_training *training, blv_message *why);

/* Reads a request from the store and checks it. table: of the request, which the
 * training is a part of; to be freed with blv_record_free. Returns an exit code, after a message.
 */
int cli_training_restore(const blv_field *table, void *request, cli_training *training,
                         const cli_resume *resume);

/* Reads the files; truth as in blv_task_files. Returns an exit code, after a message. */
int cli_training_read(const cli_training *training, const char *truth, blv_task_sets **sets);

/* What a new stored run begins with. To be freed. */
typedef struct cli_task_facts {
    int count;
    char **command; /* the command line, before it was parsed */
    char *request;
    blv_values values; /* what it is known by, beside solver and options */
} cli_task_facts;
cli_task_facts cli_task_facts_begin(int argc, char **argv);
void cli_task_facts_free(cli_task_facts *facts);

/* Values that a run is known by. usual_val_share: where none is given; 0: there is
 * none then. */
void cli_facts_training(cli_task_facts *facts, const cli_training *training,
                        double usual_val_share);
void cli_facts_text(cli_task_facts *facts, const char *name, const char *text);
/* word: in place of the number where it is 0 */
void cli_facts_number(cli_task_facts *facts, const char *name, double number, const char *word);
void cli_facts_whole(cli_task_facts *facts, const char *name, uint64_t number);
/* The facts of the session; table: of the request, which is kept. */
blv_run_info cli_task_facts_info(cli_task_facts *facts, const char *kind, const blv_field *table,
                                 const void *request);

/* The end of a task that has a result: message (freed here), the result as JSON, and the numbers of
 * end. Returns the exit code of the command. */
int cli_task_report(cli_task_hooks *task, char *message, const json_t *result, blv_run_info end);
/* "Stored as run 7; ..."; nothing for 0. */
void cli_print_stored(int64_t run);
/* A share or a loss for a table; "-" where it is not known. */
enum { CLI_CELL = 24 };
void cli_format_share(double value, char text[CLI_CELL]);

/* `bilevel resume` of a run of these commands. */
int cli_clean_resume(const cli_resume *resume);
int cli_tune_resume(const cli_resume *resume);

#endif
