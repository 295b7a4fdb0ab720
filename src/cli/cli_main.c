/* bilevel COMMAND ...: picks the subcommand, and sees to it that lost output is noticed. */
#include "cli_commands.h"
#include "cli_common.h"
#include "cli_json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_command cli_commands[] = {
    {"solve", "PROBLEM", "solve a problem with one solver or several, certify the result",
     cmd_solve},
    {"resume", "RUN", "go on with a run that was interrupted", cmd_resume},
    {"runs", "[ACTION]", "list, show, export and remove the runs that were made", cmd_runs},
    {"plot", "RUN...", "draw curves of runs: Phi, gradient, accuracy over time", cmd_plot},
    {"report", "RUN...", "write a page about runs: question, answer, curves, tables", cmd_report},
    {"solvers", "[NAME]", "list the solvers, or the parameters of one", cmd_solvers},
    {"problems", "[NAME]", "list the problems, or the parameters of one", cmd_problems},
    {"check", "PROBLEM", "compare a problem's derivatives with differences", cmd_check},
    {"data", "ACTION", "look at data files, convert, split and corrupt them", cmd_data},
    {"clean", "TRAIN", "find wrong labels in a data file", cmd_clean},
    {"coreset", "DATA", "choose few rows that stand for all", cmd_coreset},
    {"continual", "DATA", "learn task by task with a memory of few rows", cmd_continual},
    {"tune", "TRAIN", "learn a linear classifier and its penalties", cmd_tune},
    {"predict", "MODEL", "predict classes with a model of tune", cmd_predict},
    {"bench", "SUITE", "run an experiment of the literature with many solvers", cmd_bench},
    {"version", "", "print the version", cmd_version},
    {"completion", "SHELL", NULL, cmd_completion},
    {"manual", "", NULL, cmd_manual},
    {0}};
enum { COMMANDS = sizeof cli_commands / sizeof cli_commands[0] - 1, LONGEST_WORD = 31 };

static void print_help(FILE *out) {
    fputs("Usage: bilevel COMMAND [ARGUMENT...]\n"
          "Optimization with two levels: find x that minimizes f(x, y*(x)),\n"
          "where y*(x) minimizes g(x, .).\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        if (cli_commands[i].summary)
            fprintf(out, "  %-9s %-9s %s\n", cli_commands[i].name, cli_commands[i].arguments,
                    cli_commands[i].summary);
    fputs("\n'bilevel COMMAND --help' lists the options of a command. For a start:\n"
          "  bilevel solve quadratic\n",
          out);
}

static int refuse_command(const char *name) {
    cli_nearest nearest = {.word = name};
    for (size_t i = 0; i < COMMANDS; i++)
        cli_nearest_try(&nearest, cli_commands[i].name);
    if (nearest.best)
        cli_complain("there is no command '%s'; did you mean '%s'?", name, nearest.best);
    else
        cli_complain("there is no command '%s'; 'bilevel --help' lists them", name);
    return CLI_REFUSED;
}

static int run_command(int argc, char **argv) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[0], cli_commands[i].name) != 0)
            continue;
        char title[LONGEST_WORD + 1], *bare_name = argv[0];
        snprintf(title, sizeof title, "bilevel %s", cli_commands[i].name);
        program_invocation_name = argv[0] = title;
        int code = cli_commands[i].run(argc, argv);
        argv[0] = bare_name;
        program_invocation_name = "bilevel";
        return code;
    }
    return refuse_command(argv[0]);
}

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
    _exit(CLI_REFUSED);
}

/* Data files are mapped; where one is cut under a running command, its pages are gone. */
static void on_lost_page(int number) {
    static const char text[] = "bilevel: a file that is in use was cut by another program\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
        /* nobody to tell */
    }
    _exit(CLI_REFUSED);
}

static bool is_any(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

int main(int argc, char **argv) {
    static const char *const help_words[] = {"--help", "-h", "-?", "help", NULL};
    static const char *const version_words[] = {"--version", "-V", NULL};
    occupy_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of that file */
    signal(SIGBUS, on_lost_page);
    atexit(finish_stdout);
    cli_json_begin();
    argp_err_exit_status = CLI_REFUSED;
    program_invocation_name = "bilevel";
    if (argc < 2) {
        print_help(stderr);
        return CLI_REFUSED;
    }
    if (is_any(argv[1], help_words) && argc > 2) {
        char help_option[] = "--help";
        char *help_for[] = {argv[2], help_option, NULL};
        return run_command(2, help_for);
    }
    if (is_any(argv[1], help_words)) {
        print_help(stdout);
        return CLI_DONE;
    }
    if (is_any(argv[1], version_words)) {
        char version_word[] = "version";
        char *version[] = {version_word, NULL};
        return run_command(1, version);
    }
    return run_command(argc - 1, argv + 1);
}
