#include "cli/arguments.h"
#include "cli/commands.h"

int cmd_version(int argc, char **argv) {
    static const cli_argument table[] = {CLI_END};
    static const cli_arguments arguments = {.table = table, .doc = "Print the version."};
    if (cli_read_arguments(&arguments, argc, argv, NULL))
        printf("bilevel %s\n", blv_version());
    return CLI_DONE;
}
