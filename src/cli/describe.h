/* The command line as its option tables tell it: for completion and for the manual. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli_common.h"

/* Parses the command line of a subcommand, as argp_parse does, and returns true. False when the
 * command is not to run but only described: it has nothing more to do. */
bool cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/* Whether commands are described now; one with actions then calls each of them. */
bool cli_is_described(void);

typedef struct cli_described_option {
    char *name, *argument, *help; /* argument: NULL when it takes none */
    int letter;                   /* 0: none */
} cli_described_option;

typedef struct cli_description {
    char *name;           /* "solve", or "data split" */
    char *arguments;      /* "PROBLEM" */
    char *before, *after; /* what stands before and after the options in the help */
    size_t count;
    cli_described_option *options;
} cli_description;

typedef struct cli_descriptions {
    size_t count;
    cli_description *items;
} cli_descriptions;

/* Every command that is listed in the help, in its order. */
cli_descriptions cli_describe_all(void);
void cli_descriptions_free(cli_descriptions *all);

#endif
