/* The command line that `bilevel clean` and `bilevel tune` share: the files, how they are read and
 * scaled, and the run that learns from them. */
#ifndef CLI_LEARNING_H
#define CLI_LEARNING_H

#include "bilevel/dataset.h"
#include "bilevel/run.h"
#include "cli_common.h"
#include "cli_store.h"
#include "cli_watch.h"

typedef enum cli_scaling {
    CLI_SCALING_AUTO, /* unit where the rows are dense, rows where they are sparse */
    CLI_SCALING_UNIT,
    CLI_SCALING_STANDARD,
    CLI_SCALING_ROWS,
    CLI_SCALING_NONE
} cli_scaling;

typedef struct cli_learning {
    const char *train, *val, *test; /* files; val and test may be NULL */
    double val_share;               /* NaN: not given */
    blv_read_options reading;
    cli_scaling scaling;
    int threads;
    const char *solver_name;
    const blv_solver *solver; /* once checked */
    cli_settings settings;    /* parameters of the solver and options of the run, as typed */
    const char *progress_word;
    cli_progress progress;
    uint64_t seed; /* of the run, and of everything that is drawn */
    bool json, quiet;
    cli_store_choice store;
    double checkpoint_seconds; /* between checkpoints; 0: none */
    bool all_rows;             /* of the trace go to the store */
    bool no_certificate;
    struct cli_work *work; /* of the command, once it is opened */
} cli_learning;

/* Parses TRAIN and all of the above; a child of a subcommand's own parser. */
const struct argp *cli_learning_argp(void);
cli_learning cli_learning_begin(void);
/* Finds the solver and reads the seed. Returns an exit code, after a message. */
int cli_learning_check(cli_learning *learning);
void cli_learning_end(cli_learning *learning);
/* The files and how they are read, for the store. A new reference. */
json_t *cli_learning_files(const cli_learning *learning);

/* A share: above 0 and below 1. Ends the command with a message when it is none. */
double cli_parse_share(const char *option, const char *text, const struct argp_state *state);
/* A number above 0, likewise. */
double cli_parse_positive(const char *option, const char *text, const struct argp_state *state);

#endif
