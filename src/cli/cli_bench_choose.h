/* The runs of a suite with a command: a method chooses rows, and a network that is trained on them
 * is tested. `coreset`: once, of all rows. `continual`: for the memory of tasks that come one after
 * the other. Settings are chosen by rows that are held out, the test rows being out of reach. */
#ifndef CLI_BENCH_CHOOSE_H
#define CLI_BENCH_CHOOSE_H

#include "cli_bench.h"

typedef struct cli_chooser cli_chooser;

/* Those that return a number return an exit code, after a message. */

/* The metric, what is shown and what tuned settings are chosen by are what the command has. */
int cli_choose_check_suite(const cli_bench *bench);
/* The data of a variant are there. */
int cli_choose_check_data(const cli_bench *bench, size_t variant);
/* The settings of a job are right. */
int cli_choose_check_job(const cli_bench *bench, const cli_job *job);

/* Keeps the rows of a variant until the next. */
cli_chooser *cli_chooser_new(const cli_bench *bench);
void cli_chooser_free(cli_chooser *chooser); /* NULL is allowed */
/* Makes a run and appends its points. */
int cli_chooser_run(cli_chooser *chooser, const cli_job *job, json_t *points);

#endif
