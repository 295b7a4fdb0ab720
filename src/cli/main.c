/* bilevel COMMAND ...: picks the command, and sees to it that lost output is noticed. */
#include "base/message.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/text_table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command data_actions[] = {
    {"info", "FILE", "format, size, classes and range", .run = cmd_data_info},
    {"stats", "FILE", "mean, deviation and range of every column", .run = cmd_data_stats},
    {"convert", "IN OUT", "write in another format, scaled or not", .run = cmd_data_convert},
    {"split", "IN OUT...", "split the rows into several files", .run = cmd_data_split},
    {"corrupt", "IN OUT", "change a share of the labels", .run = cmd_data_corrupt},
    {0}};

static const cli_command run_actions[] = {
    {"list", "", "list runs, the newest last", .run = cmd_runs_list},
    {"show", "RUN...", "show all that is known about runs", .run = cmd_runs_show},
    {"rm", "RUN...", "remove runs with their traces and checkpoints", .run = cmd_runs_rm},
    {"export", "RUN", "write the trace as CSV and everything as JSON", .run = cmd_runs_export},
    {0}};

const cli_command cli_commands[] = {
    {"solve", "PROBLEM", "solve a problem with one solver or several, certify the result",
     .run = cmd_solve},
    {"resume", "RUN", "resume a run that was interrupted", .run = cmd_resume},
    {"runs", "[ACTION]", "list, show, export and remove the runs that were made",
     .actions = run_actions,
     .about = "Look at the runs that were made, in the run store. Without an action: list."},
    {"plot", "RUN...", "draw curves of runs: Phi, gradient, accuracy over time", .run = cmd_plot},
    {"report", "RUN...", "write a page about runs: question, answer, curves, tables",
     .run = cmd_report},
    {"solvers", "[NAME]", "list the solvers, or the parameters of one", .run = cmd_solvers},
    {"problems", "[NAME]", "list the problems, or the parameters of one", .run = cmd_problems},
    {"check", "PROBLEM", "compare a problem's derivatives with differences", .run = cmd_check},
    {"data", "ACTION", "look at data files, convert, split and corrupt them",
     .actions = data_actions,
     .about = "Look at data files and make others from them. Formats are detected from the\n"
              "content: libsvm, CSV or TSV, NPY, NPZ, IDX, CIFAR binary, each also with gzip."},
    {"clean", "TRAIN", "find wrong labels in a data file", .run = cmd_clean},
    {"coreset", "DATA", "choose few rows that represent all", .run = cmd_coreset},
    {"continual", "DATA", "learn task by task with a memory of few rows", .run = cmd_continual},
    {"tune", "TRAIN", "learn a linear classifier and its penalties", .run = cmd_tune},
    {"predict", "MODEL", "predict classes with a model of tune", .run = cmd_predict},
    {"bench", "SUITE", "run an experiment of the literature with many solvers", .run = cmd_bench},
    {"version", "", "print the version", .run = cmd_version},
    {"completion", "SHELL", NULL, .run = cmd_completion},
    {"manual", "", NULL, .run = cmd_manual},
    {0}};

/* ---- Help ---- */

static bool asks_for_help(const char *word) {
    static const char *const words[] = {"--help", "-h", "-?", "help"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static void print_list(FILE *out, const cli_command *list) {
    report_table lines = {.align = "lll"};
    for (const cli_command *c = list; c->name; c++)
        if (c->summary)
            report_table_add(&lines, "%s\t%s\t%s", c->name, c->arguments, c->summary);
    cli_table_print(&lines, 2, out);
}

static void print_help(FILE *out) {
    fputs("Usage: bilevel COMMAND [ARGUMENT...]\n"
          "Optimization with two levels: find x that minimizes f(x, y*(x)),\n"
          "where y*(x) minimizes g(x, .).\n\n",
          out);
    print_list(out, cli_commands);
    fputs("\n'bilevel COMMAND --help' lists the options of a command. For a start:\n"
          "  bilevel solve quadratic\n",
          out);
}

static void print_actions(FILE *out, const cli_command *command) {
    fprintf(out, "Usage: bilevel %s %s [ARGUMENT...]\n%s\n\n", command->name, command->arguments,
            command->about);
    print_list(out, command->actions);
    fprintf(out, "\n'bilevel %s ACTION --help' lists the options of an action.\n", command->name);
}

/* ---- Picking ---- */

/* Complains where there is none of that name. */
static const cli_command *find(const cli_command *list, const char *what, const char *name) {
    blv_nearest nearest = {.name = name};
    for (const cli_command *c = list; c->name; c++) {
        if (strcmp(name, c->name) == 0)
            return c;
        blv_nearest_try(&nearest, c->name);
    }
    const char *guess = blv_nearest_guess(&nearest);
    if (guess)
        cli_complain("there is no %s '%s'; did you mean '%s'?", what, name, guess);
    else
        cli_complain("there is no %s '%s'; '%s --help' lists them", what, name,
                     program_invocation_name);
    return NULL;
}

/* From here on the program is called "bilevel data", "bilevel data info", ... */
static int run_as(const cli_command *command, int argc, char **argv) {
    static char title[64] = "bilevel"; /* outlives argp, which keeps the name */
    size_t length = strlen(title);
    snprintf(title + length, sizeof title - length, " %s", command->name);
    program_invocation_name = argv[0] = title;
    if (command->run)
        return command->run(argc, argv);
    if (argc > 1 && asks_for_help(argv[1])) {
        print_actions(stdout, command);
        return CLI_DONE;
    }
    bool optional = command->arguments[0] == '[';
    if (optional && (argc < 2 || argv[1][0] == '-'))
        return run_as(command->actions, argc, argv);
    if (argc < 2) {
        print_actions(stderr, command);
        return CLI_REJECTED;
    }
    const cli_command *action = find(command->actions, "action", argv[1]);
    return action ? run_as(action, argc - 1, argv + 1) : CLI_REJECTED;
}

static int run_named(int argc, char **argv) {
    const cli_command *command = find(cli_commands, "command", argv[0]);
    if (!command)
        return CLI_REJECTED;
    char *bare_name = argv[0];
    int code = run_as(command, argc, argv);
    argv[0] = bare_name;
    program_invocation_name = "bilevel";
    return code;
}

/* ---- The program ---- */

/* A file that is opened while a standard stream is closed would get its number, and then its text.
 */
static void occupy_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static void finish_stdout(void) {
    int flushed = fflush(stdout);
    if (flushed == 0 && !ferror(stdout))
        return;
    fprintf(stderr, "bilevel: standard output cannot be written%s%s\n", flushed ? ": " : "",
            flushed ? strerror(errno) : "");
    _exit(CLI_REJECTED);
}

/* Data files are mapped; where one is cut under a running command, its pages are gone. */
static void on_lost_page(int number) {
    static const char text[] = "bilevel: a file that is in use was cut by another program\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        /* nobody to tell */
    }
    _exit(CLI_REJECTED);
}

int main(int argc, char **argv) {
    char help_option[] = "--help", version_word[] = "version";
    occupy_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of that file */
    signal(SIGBUS, on_lost_page);
    atexit(finish_stdout);
    cli_json_begin();
    argp_err_exit_status = CLI_REJECTED;
    program_invocation_name = "bilevel";
    if (argc < 2) {
        print_help(stderr);
        return CLI_REJECTED;
    }
    if (asks_for_help(argv[1]) && argc > 2)
        return run_named(2, (char *[]){argv[2], help_option, NULL});
    if (asks_for_help(argv[1])) {
        print_help(stdout);
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return run_named(1, (char *[]){version_word, NULL});
    return run_named(argc - 1, argv + 1);
}
