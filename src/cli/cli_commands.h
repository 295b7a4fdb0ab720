/* The subcommands. argv[0] is "bilevel NAME"; the return value is the exit code. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_solve(int argc, char **argv);
int cmd_solvers(int argc, char **argv);
int cmd_problems(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
