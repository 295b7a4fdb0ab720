/* The commands and their actions. argv[0] is "bilevel NAME"; the return value is the exit code. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

typedef struct cli_command {
    const char *name, *arguments;
    const char *summary; /* NULL: not listed in the help */
    int (*run)(int argc, char **argv);
    /* In place of run: what it can do. Arguments in brackets: the first one unless it is named. */
    const struct cli_command *actions;
    const char *about; /* above the list of actions */
} cli_command;
extern const cli_command cli_commands[]; /* ends with one that has no name, as actions do */

int cmd_solve(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_runs_list(int argc, char **argv);
int cmd_runs_show(int argc, char **argv);
int cmd_runs_rm(int argc, char **argv);
int cmd_runs_export(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_solvers(int argc, char **argv);
int cmd_problems(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_data_info(int argc, char **argv);
int cmd_data_stats(int argc, char **argv);
int cmd_data_convert(int argc, char **argv);
int cmd_data_split(int argc, char **argv);
int cmd_data_corrupt(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_manual(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_continual(int argc, char **argv);
int cmd_coreset(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
