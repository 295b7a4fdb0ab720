/* bilevel data ACTION ...: picks what is done with data files. */
#include "cli_commands.h"
#include "cli_common.h"
#include "cli_describe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv);
} actions[] = {
    {"info", "FILE", "format, size, classes and range", cmd_data_info},
    {"stats", "FILE", "mean, deviation and range of every column", cmd_data_stats},
    {"convert", "IN OUT", "write in another format, scaled or not", cmd_data_convert},
    {"split", "IN OUT...", "deal the rows out to several files", cmd_data_split},
    {"corrupt", "IN OUT", "change a share of the labels", cmd_data_corrupt},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static void print_help(FILE *out) {
    fputs("Usage: bilevel data ACTION FILE...\n"
          "Look at data files and make others from them. Formats are told from the content:\n"
          "libsvm, CSV or TSV, NPY, NPZ, IDX, CIFAR binary, each also with gzip.\n\n",
          out);
    for (size_t i = 0; i < ACTIONS; i++)
        fprintf(out, "  %-8s %-10s %s\n", actions[i].name, actions[i].arguments,
                actions[i].summary);
    fputs("\n'bilevel data ACTION --help' lists the options of an action.\n", out);
}

int cmd_data(int argc, char **argv) {
    static char title[32]; /* outlives argp, which keeps the name */
    for (size_t i = 0; i < ACTIONS && cli_is_described(); i++) {
        char *described[] = {title, NULL};
        snprintf(title, sizeof title, "bilevel data %s", actions[i].name);
        actions[i].run(1, described);
    }
    if (cli_is_described())
        return CLI_DONE;
    if (argc < 2) {
        print_help(stderr);
        return CLI_REFUSED;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return CLI_DONE;
    }
    for (size_t i = 0; i < ACTIONS; i++) {
        if (strcmp(argv[1], actions[i].name) != 0)
            continue;
        snprintf(title, sizeof title, "bilevel data %s", actions[i].name);
        program_invocation_name = argv[1] = title;
        return actions[i].run(argc - 1, argv + 1);
    }
    cli_complain("there is no action '%s'; expected info, stats, convert, split or corrupt",
                 argv[1]);
    return CLI_REFUSED;
}
