#include "cli_commands.h"
#include "cli_common.h"

#include <stdio.h>

int cmd_version(int argc, char **argv) {
    const struct argp argp = {.doc = "Print the version."};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    printf("bilevel %s\n", blv_version());
    return CLI_DONE;
}
