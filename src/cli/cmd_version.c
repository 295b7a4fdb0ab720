#include "cli_commands.h"
#include "cli_common.h"
#include "cli_describe.h"

#include <stdio.h>

int cmd_version(int argc, char **argv) {
    const struct argp argp = {.doc = "Print the version."};
    if (!cli_parse(&argp, argc, argv, NULL))
        return CLI_DONE;
    printf("bilevel %s\n", blv_version());
    return CLI_DONE;
}
