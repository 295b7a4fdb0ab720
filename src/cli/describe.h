/* The command line as its argument tables describe it: for completion and for the manual. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli/arguments.h"

typedef struct cli_description {
    char *name; /* "solve", or "data split" */
    const cli_arguments *arguments;
    char *positions; /* "IN OUT..." */
    size_t count;
    cli_placed_argument *options; /* those with a name, and --help and --usage */
} cli_description;

typedef struct cli_descriptions {
    size_t count;
    cli_description *items;
} cli_descriptions;

/* Every command that is listed in the help, in its order. */
cli_descriptions cli_describe_all(void);
void cli_descriptions_free(cli_descriptions *all);

/* Whether commands are described now, and do not run: then the arguments are noted. title: "bilevel
 * data split". */
bool cli_is_described(const cli_arguments *arguments, const char *title);

#endif
