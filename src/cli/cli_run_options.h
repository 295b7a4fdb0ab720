/* Options of the run that have a name of their own on the command line. What they mean is in the
 * library's table, and so is what is left to --set KEY=VALUE. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include "cli_common.h"

enum { CLI_RUN_OPTIONS = 9, CLI_KEY_RUN_OPTION = 4000 };

/* Where they stand in a subcommand's help. */
typedef struct cli_run_groups {
    int stop, samples, output;
} cli_run_groups;

/* Fills CLI_RUN_OPTIONS entries. */
void cli_run_options_fill(struct argp_option *options, cli_run_groups groups);
/* The option behind an argp key, NULL when it is another's. */
const char *cli_run_option_name(int key);
/* A help filter: adds the defaults, and at the end the options that --set takes. */
char *cli_run_options_help(int key, const char *text, void *input);

#endif
