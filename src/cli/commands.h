/* The commands. */
#pragma once

#include "cli/arguments.h"

extern const cli_command cmd_solve, cmd_resume, cmd_runs, cmd_plot, cmd_report, cmd_solvers,
    cmd_problems, cmd_check, cmd_data, cmd_clean, cmd_coreset, cmd_continual, cmd_tune, cmd_predict,
    cmd_bench, cmd_version, cmd_completion, cmd_manual;

extern const cli_command *const cli_commands[]; /* all of them; the last is followed by NULL */
/* NULL where there is none of that name. */
const cli_command *cli_command_find(const cli_command *const *list, const char *name);
