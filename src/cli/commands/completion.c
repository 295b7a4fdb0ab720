/* bilevel completion bash|zsh, and bilevel manual: what packages install. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/shell_completion.h"

typedef struct request {
    int shell;
} request;

static int print(void (*put)(FILE *out, const cli_descriptions *all)) {
    cli_descriptions all = cli_describe_all();
    put(stdout, &all);
    cli_descriptions_free(&all);
    return CLI_DONE;
}

int cmd_completion(int argc, char **argv) {
    static const cli_argument table[] = {
        CLI_POSITION(CHOICE, request, shell, "bash|zsh", "no shell is named: bash or zsh"),
        CLI_END};
    static const cli_arguments arguments = {
        .table = table, .doc = "Print the completion of commands and options for a shell."};
    request asked = {0};
    if (!cli_read_arguments(&arguments, argc, argv, &asked))
        return CLI_DONE;
    return print(asked.shell == 0 ? cli_completion_bash : cli_completion_zsh);
}

int cmd_manual(int argc, char **argv) {
    static const cli_argument table[] = {CLI_END};
    static const cli_arguments arguments = {.table = table,
                                            .doc = "Print the manual as a page for man(1)."};
    return cli_read_arguments(&arguments, argc, argv, NULL) ? print(cli_manual_put) : CLI_DONE;
}
