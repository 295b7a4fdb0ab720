/* bilevel completion bash|zsh: what packages install. The scripts ask 'bilevel completion words --
 * WORD...' what the last of the words may become: a line for each, with a tab and an explanation
 * behind the word where there is one; "/files" for the names of files. The shell leaves out what
 * does not begin as the last word does. */
#include "bilevel/registry.h"
#include "cli/arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BASH, ZSH, WORDS };

typedef struct request {
    int shell;
    cli_texts words;
} request;

static const char *const scripts[] = {[BASH] =
#include "cli/completion.bash.inc"
                                          , [ZSH] =
#include "cli/completion.zsh.inc"
};

/* ---- Words ---- */

static bool is(const char *text, const char *word) {
    return text && strcmp(text, word) == 0;
}

static void put_word(const char *before, const char *word, const char *help) {
    printf("%s%s\t", before, word);
    for (; help && *help; help++)
        putchar(*help == '\n' ? ' ' : *help);
    putchar('\n');
}

static void put_commands(const cli_command *const *list) {
    for (; *list; list++)
        if ((*list)->summary)
            put_word("", (*list)->name, (*list)->summary);
}

/* Words in small letters are meant literally: "zero|random|FILE.npz". */
static void put_literals(const char *value) {
    while (*value) {
        int length = (int)strcspn(value, "|");
        bool literal = length > 0;
        for (int i = 0; i < length; i++)
            literal = literal && (islower((unsigned char)value[i]) ||
                                  (i > 0 && isdigit((unsigned char)value[i])));
        if (literal)
            printf("%.*s\t\n", length, value);
        value += length + (value[length] == '|');
    }
}

/* What an option takes, or without one the command; value: as the help names it. */
static void put_values(const cli_command *command, const char *option, const char *value) {
    const blv_solver *solver;
    const blv_problem_family *family;
    bool of_solver = is(option, "solver") || (!option && command == &cmd_solvers);
    bool of_problem =
        is(option, "problem") || is(value, "PROBLEM") || (!option && command == &cmd_problems);
    bool of_file =
        strstr(value, "FILE") || strstr(value, "OUT") || (is(option, "out") && is(value, "NAME"));
    put_literals(value);
    for (size_t i = 0; of_solver && (solver = blv_solver_at(NULL, i)); i++)
        put_word("", solver->name, solver->summary);
    for (size_t i = 0; of_problem && (family = blv_family_at(NULL, i)); i++)
        put_word("", family->name, family->summary);
    if (of_file)
        puts("/files");
}

static void put_options(const cli_placed_argument *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (all[i].argument->name)
            put_word("--", all[i].argument->name, cli_argument_help(all[i].argument));
    put_word("--", "help", "give this help list");
    put_word("--", "usage", "give a short usage message");
}

/* The option that takes the word behind this one as its value, or NULL. */
static const cli_argument *option_at(const cli_placed_argument *all, size_t count,
                                     const char *word) {
    for (size_t i = 0; word[0] == '-' && i < count; i++) {
        const cli_argument *option = all[i].argument;
        bool letter = option->letter && word[1] == option->letter && !word[2];
        if (option->value && (letter || (word[1] == '-' && is(option->name, word + 2))))
            return option;
    }
    return NULL;
}

/* Words from number `first` on belong to the command. */
static void put_next(const cli_command *command, const cli_texts *words, size_t first) {
    const char *last = words->items[words->count - 1];
    size_t count;
    cli_placed_argument *all = cli_arguments_list(command->table, NULL, &count);
    const cli_argument *option =
        words->count >= first + 2 ? option_at(all, count, words->items[words->count - 2]) : NULL;
    if (option)
        put_values(command, option->name, option->value);
    else if (last[0] == '-')
        put_options(all, count);
    else
        put_values(command, NULL, cli_arguments_positions(command->table));
    free(all);
}

static void put_words(const cli_texts *words) {
    if (words->count < 2 || is(words->items[0], "help")) {
        put_commands(cli_commands);
        put_word("", "help", "show the help of a command");
        return;
    }
    const cli_command *command = cli_command_find(cli_commands, words->items[0]);
    const cli_command *const *actions = command ? command->actions : NULL;
    if (actions && command->arguments[0] == '[' && words->items[1][0] == '-')
        put_next(actions[0], words, 1);
    else if (actions && words->count == 2)
        put_commands(actions);
    else if (actions && (command = cli_command_find(actions, words->items[1])))
        put_next(command, words, 2);
    else if (command && command->summary)
        put_next(command, words, 1);
}

/* ---- The command ---- */

static const cli_argument table[] = {
    CLI_POSITION(CHOICE, request, shell, "bash|zsh|words", "no shell is named: bash or zsh",
                 .expected = "bash or zsh"),
    CLI_POSITION(TEXTS, request, words, "[WORD...]", NULL), CLI_END};

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    if (asked->shell != WORDS && asked->words.count > 0)
        return blv_explain(why, BLV_E_ARGUMENT, "'%s' is one argument too many",
                           asked->words.items[0]);
    return BLV_OK;
}

static int complete(void *of) {
    const request *asked = of;
    if (asked->shell == WORDS)
        put_words(&asked->words);
    else
        fputs(scripts[asked->shell], stdout);
    return CLI_DONE;
}

const cli_command cmd_completion =
    CLI_COMMAND("completion", "SHELL", NULL, request, table, complete,
                "Print the completion of commands and options for a shell.", .check = check);
