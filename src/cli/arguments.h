/* The command line of a subcommand as a table: one entry for each option and each positional
 * argument, which says where in the request its value goes. Parsing, checks of values, help,
 * completion and the manual come from it.
 *
 *     static const cli_argument table[] = {
 *         CLI_POSITION(READS, request, file, "FILE", "no file is named"),
 *         CLI_OPTION("threads", WHOLE, request, threads, "N", "threads to use", .to = 256),
 *         CLI_HEADING(READING),
 *         CLI_INCLUDE(cli_reading_table, request, reading),
 *         CLI_END};
 *
 * A bad value ends the command with exit code 2 and "--threads 'x': expected a whole number from 0
 * to 256". */
#pragma once

#include "cli/common.h"

#include <stdio.h>

typedef enum cli_argument_kind {
    CLI_ARG_END,
    CLI_ARG_HEADING,    /* where in the help the entries below it are */
    CLI_ARG_INCLUDE,    /* all entries of another table */
    CLI_ARG_FLAG,       /* bool: becomes true */
    CLI_ARG_TEXT,       /* const char *: as typed, borrowed from the command line */
    CLI_ARG_TEXTS,      /* cli_texts: one more each time */
    CLI_ARG_READS,      /* const char *: a file that is read, or a word in place of one */
    CLI_ARG_WRITES,     /* const char *: a file that is written; not one that is read */
    CLI_ARG_WRITE_ALL,  /* cli_texts: the same, one more each time */
    CLI_ARG_WHOLE,      /* uint64_t, int64_t, size_t or int: .from to .to (0: no end) */
    CLI_ARG_REAL,       /* double: .from to .to */
    CLI_ARG_SHARE,      /* double: above 0 and below 1 */
    CLI_ARG_POSITIVE,   /* double: above 0 */
    CLI_ARG_CHOICE,     /* enum: which of the words of the value name, "auto|none": 0, 1, ... */
    CLI_ARG_WORD,       /* const char *: one of the words of the value name */
    CLI_ARG_PRECISION,  /* blv_precision */
    CLI_ARG_SETTING,    /* cli_settings: KEY=VALUE, one more each time */
    CLI_ARG_RUN_OPTION, /* cli_settings: an option of the run, its name as key; without help it has
                         * that of the library, with the default */
    CLI_ARG_RUNS,       /* cli_run_numbers: one more each time */
    CLI_ARG_CUSTOM      /* what .take makes of it */
} cli_argument_kind;

/* Parts of the help, in this order. */
typedef enum cli_section {
    CLI_SECTION_OWN, /* what is special to the command; has no heading */
    CLI_SECTION_PROBLEM,
    CLI_SECTION_DATA,
    CLI_SECTION_SOLVER,
    CLI_SECTION_METHOD,
    CLI_SECTION_STOP,
    CLI_SECTION_RANDOMNESS,
    CLI_SECTION_OUTPUT,
    CLI_SECTION_STORE,
    CLI_SECTION_READING
} cli_section;

/* Parses the text into the field. An error is reported as "--name 'text': " and the message; that
 * of an option without a value (text is NULL) as the message alone. */
typedef blv_error (*cli_take_fn)(void *field, const char *text, blv_message *why);

typedef struct cli_argument {
    const char *name; /* of the option; NULL: a positional argument */
    cli_argument_kind kind;
    size_t offset, size; /* of the field */
    const char *value;   /* as the help names it; NULL: the option takes none */
    /* Of a positional argument: the message where it is missing; NULL: it may be. */
    const char *help;
    int letter;          /* 'o': also -o */
    cli_section section; /* of a heading */
    double from, to;
    const char *expected; /* in messages, in place of what the kind says */
    cli_take_fn take;
    const struct cli_argument *table; /* to be included */
} cli_argument;

/* clang-format off */
#define CLI_FIELD(type, member)                                                                    \
    .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
/* name, kind without CLI_ARG_, type and field of the request, value name or NULL, help; then any
 * other member of cli_argument. */
#define CLI_OPTION(name_, kind_, type, member, value_, ...)                                        \
    {.name = name_, .kind = CLI_ARG_##kind_, CLI_FIELD(type, member), .value = value_,             \
     .help = __VA_ARGS__}
/* Positional arguments are taken in the order of the table. value: "FILE", "[NAME]", "OUT...". */
#define CLI_POSITION(kind_, type, member, value_, ...)                                             \
    {.kind = CLI_ARG_##kind_, CLI_FIELD(type, member), .value = value_, .help = __VA_ARGS__}
/* The entries of table, whose request is the member. */
#define CLI_INCLUDE(table_, type, member)                                                          \
    {.kind = CLI_ARG_INCLUDE, CLI_FIELD(type, member), .table = table_}
/* The entries of another table for the same request. */
#define CLI_ALSO(table_) {.kind = CLI_ARG_INCLUDE, .table = table_}
/* The entries below it, also those that are included, are in this part of the help (without
 * CLI_SECTION_). */
#define CLI_HEADING(section_) {.kind = CLI_ARG_HEADING, .section = CLI_SECTION_##section_}
#define CLI_END {.kind = CLI_ARG_END}
/* clang-format on */

typedef struct cli_run_numbers {
    size_t count;
    int64_t *items;
} cli_run_numbers;

/* A command, or one of the actions of a command. */
typedef struct cli_command {
    const char *name, *arguments; /* as the list of commands shows it */
    const char *summary;          /* NULL: not listed in the help */
    const char *doc;              /* above the options; after a '\v': below them */
    void (*more_help)(FILE *out); /* writes more text below that; may be NULL */
    const cli_argument *table;
    size_t size;          /* of the request */
    const void *defaults; /* a request in which no argument is set; NULL: all zero */
    /* Looks at the whole request, where several options have to agree. May be NULL. */
    blv_error (*check)(void *request, blv_message *why);
    /* Returns the exit code. The request lives until the program ends. */
    int (*run)(void *request);
    bool spreads; /* works on several ranks */
    /* In place of all that: what it can do; the last one is followed by NULL. Arguments in
     * brackets: the first one unless it is named. doc is above their list. */
    const struct cli_command *const *actions;
} cli_command;

/* clang-format off */
/* name, arguments, summary, type of the request, table, run, doc; then any other member. */
#define CLI_COMMAND(name_, arguments_, summary_, type, table_, run_, ...)                          \
    {.name = name_, .arguments = arguments_, .summary = summary_, .size = sizeof(type),            \
     .table = table_, .run = run_, .doc = __VA_ARGS__}
/* clang-format on */

/* Fills the request of the command; to be called once. */
void cli_read_arguments(const cli_command *command, int argc, char **argv, void *request);

/* An entry of the table, or of one that it includes. */
typedef struct cli_placed_argument {
    const cli_argument *argument;
    char *field; /* in the request */
    cli_section section;
} cli_placed_argument;

/* All of them, in the order of the table, which may be NULL; to be freed. request may be NULL. */
cli_placed_argument *cli_arguments_list(const cli_argument *table, void *request, size_t *count);
/* The help of an option, with the default of an option of the run. */
const char *cli_argument_help(const cli_argument *argument);
/* The positional arguments, "IN OUT...". */
const char *cli_arguments_positions(const cli_argument *table);

/* Puts the value into the field; text is NULL where the option takes none. Where the text is not
 * what is expected, why says what is: "expected a whole number from 1 to 9". */
blv_error cli_value_take(const cli_placed_argument *to, const char *text, blv_message *why);

/* The options of a run that have a name of their own: --iters, --seconds, --seed, ...; the request
 * is a cli_settings. Those that are set with --set KEY=VALUE are listed at the end of the help. */
extern const cli_argument cli_run_option_table[];

/* ---- The commands: cli/commands/ ---- */

extern const cli_command cmd_solve, cmd_resume, cmd_runs, cmd_plot, cmd_report, cmd_solvers,
    cmd_problems, cmd_check, cmd_data, cmd_clean, cmd_coreset, cmd_continual, cmd_tune, cmd_predict,
    cmd_bench, cmd_version, cmd_completion, cmd_manual;

extern const cli_command *const cli_commands[]; /* all of them; the last is followed by NULL */
/* NULL where there is none of that name. */
const cli_command *cli_command_find(const cli_command *const *list, const char *name);
