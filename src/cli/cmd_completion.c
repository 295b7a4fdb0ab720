/* bilevel completion bash|zsh, and bilevel manual: what packages install. */
#include "cli_commands.h"
#include "cli_completion.h"

#include <string.h>

typedef void (*put_fn)(FILE *out, const cli_descriptions *all);

static int print(put_fn put) {
    cli_descriptions all = cli_describe_all();
    put(stdout, &all);
    cli_descriptions_free(&all);
    return CLI_DONE;
}

static error_t parse_shell(int key, char *arg, struct argp_state *state) {
    put_fn *put = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*put)
            argp_error(state, "one shell at a time");
        if (strcmp(arg, "bash") == 0)
            *put = cli_completion_bash;
        else if (strcmp(arg, "zsh") == 0)
            *put = cli_completion_zsh;
        else
            argp_error(state, "'%s': expected bash or zsh", arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no shell is named: bash or zsh");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cmd_completion(int argc, char **argv) {
    const struct argp argp = {.parser = parse_shell,
                              .args_doc = "bash|zsh",
                              .doc = "Print the completion of commands and options for a shell."};
    put_fn put = NULL;
    return cli_parse(&argp, argc, argv, &put) ? print(put) : CLI_DONE;
}

int cmd_manual(int argc, char **argv) {
    const struct argp argp = {.doc = "Print the manual as a page for man(1)."};
    return cli_parse(&argp, argc, argv, NULL) ? print(cli_manual_put) : CLI_DONE;
}
