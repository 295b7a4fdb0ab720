/* What `bilevel completion` and `bilevel manual` print, from the descriptions of the commands. */
#ifndef CLI_SHELL_COMPLETION_H
#define CLI_SHELL_COMPLETION_H

#include "cli_describe.h"

#include <stdio.h>

void cli_completion_bash(FILE *out, const cli_descriptions *all);
void cli_completion_zsh(FILE *out, const cli_descriptions *all);
/* A page for man(1). */
void cli_manual_put(FILE *out, const cli_descriptions *all);

/* The names of a command's actions, one after the other; NULL behind the last. "data": "info", ...
 * A command without actions has none. */
const char *cli_action_at(const cli_descriptions *all, const char *command, size_t i);

#endif
