/* bilevel COMMAND ...: picks the command, and sees to it that lost output is noticed. */
#include "bilevel/arithmetic.h"
#include "cli/arguments.h"
#include "cli/printing.h"
#include "cli/progress_line.h"
#include "cli/rank_start.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_command *const cli_commands[] = {
    &cmd_solve,   &cmd_resume,     &cmd_runs,   &cmd_plot,    &cmd_report,
    &cmd_solvers, &cmd_problems,   &cmd_check,  &cmd_data,    &cmd_clean,
    &cmd_coreset, &cmd_continual,  &cmd_tune,   &cmd_predict, &cmd_bench,
    &cmd_version, &cmd_completion, &cmd_manual, NULL};

static int print_version(void *request) {
    (void)request;
    printf("bilevel %s\n", blv_version());
    return CLI_DONE;
}

const cli_command cmd_version = {.name = "version",
                                 .arguments = "",
                                 .summary = "print the version",
                                 .doc = "Print the version.",
                                 .run = print_version};

/* ---- Help ---- */

static bool asks_for_help(const char *word) {
    static const char *const words[] = {"--help", "-h", "-?", "help"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static void print_list(FILE *out, const cli_command *const *list) {
    report_table lines = {.align = "lll"};
    for (; *list; list++)
        if ((*list)->summary)
            report_table_add(&lines, "%s\t%s\t%s", (*list)->name, (*list)->arguments,
                             (*list)->summary);
    cli_table_print(&lines, 2, out);
}

static int print_help(FILE *out) {
    fputs("Usage: bilevel COMMAND [ARGUMENT...]\n"
          "Optimization with two levels: find x that minimizes f(x, y*(x)),\n"
          "where y*(x) minimizes g(x, .).\n\n",
          out);
    print_list(out, cli_commands);
    fputs("\n'bilevel COMMAND --help' lists the options of a command. For a start:\n"
          "  bilevel solve quadratic\n",
          out);
    return out == stdout ? CLI_DONE : CLI_REJECTED;
}

static int print_actions(FILE *out, const cli_command *command) {
    fprintf(out, "Usage: bilevel %s %s [ARGUMENT...]\n%s\n\n", command->name, command->arguments,
            command->doc);
    print_list(out, command->actions);
    fprintf(out, "\n'bilevel %s ACTION --help' lists the options of an action.\n", command->name);
    return out == stdout ? CLI_DONE : CLI_REJECTED;
}

/* ---- Picking ---- */

const cli_command *cli_command_find(const cli_command *const *list, const char *name) {
    while (*list && strcmp(name, (*list)->name) != 0)
        list++;
    return *list;
}

/* Ends the command where there is none of that name. */
static const cli_command *find(const cli_command *const *list, const char *what, const char *name) {
    const cli_command *command = cli_command_find(list, name);
    if (command)
        return command;
    blv_nearest nearest = {.name = name};
    for (; *list; list++)
        blv_nearest_try(&nearest, (*list)->name);
    const char *guess = blv_nearest_guess(&nearest);
    if (guess)
        cli_die("there is no %s '%s'; did you mean '%s'?", what, name, guess);
    cli_die("there is no %s '%s'; '%s --help' lists them", what, name, program_invocation_name);
}

/* From here on the program is called "bilevel data", "bilevel data info", ... */
static int run_as(const cli_command *command, int argc, char **argv) {
    static char title[64] = "bilevel"; /* outlives argp, which keeps the name */
    static void *request;
    size_t length = strlen(title);
    snprintf(title + length, sizeof title - length, " %s", command->name);
    program_invocation_name = argv[0] = title;
    if (command->run && !command->spreads && cli_ranks() && cli_ranks()->count > 1)
        cli_die("does not work on several ranks; start it without mpirun");
    if (command->run) {
        request = cli_alloc(1, command->size);
        if (command->defaults)
            memcpy(request, command->defaults, command->size);
        cli_typed = (cli_words){(size_t)argc, cli_alloc((size_t)argc + 1, sizeof *argv)};
        memcpy(cli_typed.items, argv, (size_t)argc * sizeof *argv);
        cli_read_arguments(command, argc, argv, request);
        return command->run(request);
    }
    if (argc > 1 && asks_for_help(argv[1]))
        return print_actions(stdout, command);
    bool optional = command->arguments[0] == '[';
    if (optional && (argc < 2 || argv[1][0] == '-'))
        return run_as(command->actions[0], argc, argv);
    if (argc < 2)
        return print_actions(stderr, command);
    return run_as(find(command->actions, "action", argv[1]), argc - 1, argv + 1);
}

static int run_named(int argc, char **argv) {
    return run_as(find(cli_commands, "command", argv[0]), argc, argv);
}

/* ---- The program ---- */

/* --isa NAME before the command, or BILEVEL_ISA. Returns how many words that took. */
static int use_instructions(int argc, char **argv) {
    const char *name = getenv("BILEVEL_ISA");
    int taken = 0;
    if (argc > 1 && strncmp(argv[1], "--isa=", 6) == 0) {
        name = argv[1] + 6;
        taken = 1;
    } else if (argc > 1 && strcmp(argv[1], "--isa") == 0) {
        name = argc > 2 ? argv[2] : "";
        taken = argc > 2 ? 2 : 1;
    }
    blv_message why;
    if (name && blv_instructions_use(name, &why) != BLV_OK)
        cli_die("%s: %s", taken ? "--isa" : "BILEVEL_ISA", why.text);
    return taken;
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

static int run(int argc, char **argv) {
    char help_option[] = "--help", version_word[] = "version";
    const int taken = use_instructions(argc, argv);
    argc -= taken;
    argv += taken;
    if (argc < 2)
        return print_help(stderr);
    if (asks_for_help(argv[1]))
        return argc > 2 ? run_named(2, (char *[]){argv[2], help_option, NULL}) : print_help(stdout);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return run_named(1, (char *[]){version_word, NULL});
    return run_named(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
    occupy_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of that file */
    signal(SIGBUS, on_lost_page);
    program_invocation_name = "bilevel";
    cli_ranks_start(argc, argv);
    cli_terminal_begin();
    cli_signals_install();
    atexit(finish_stdout);
    cli_json_begin();
    argp_err_exit_status = CLI_REJECTED;
    return cli_rank_exit(run(argc, argv)); /* of ranks none leaves while the first still writes */
}
