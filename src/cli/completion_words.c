#include "cli/completion_words.h"
#include "bilevel/registry.h"
#include "cli/commands.h"
#include "cli/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *text, const char *word) {
    return text && strcmp(text, word) == 0;
}

static void put_word(FILE *out, const char *word, const char *help) {
    fprintf(out, "%s\t", word);
    for (; help && *help; help++)
        fputc(*help == '\n' ? ' ' : *help, out);
    fputc('\n', out);
}

static void put_commands(FILE *out, const cli_command *list) {
    for (const cli_command *c = list; c->name; c++)
        if (c->summary)
            put_word(out, c->name, c->summary);
}

/* ---- Values ---- */

/* Words in small letters are meant literally: "zero|random|FILE.npz". */
static void put_literals(FILE *out, const char *value) {
    while (*value) {
        int length = (int)strcspn(value, "|");
        bool literal = length > 0;
        for (int i = 0; i < length; i++)
            literal = literal && (islower((unsigned char)value[i]) ||
                                  (i > 0 && isdigit((unsigned char)value[i])));
        if (literal)
            fprintf(out, "%.*s\t\n", length, value);
        value += length + (value[length] == '|');
    }
}

/* What an option takes, or without one the command; value: as the help names it. */
static void put_values(FILE *out, const char *command, const char *option, const char *value) {
    const blv_solver *solver;
    const blv_problem_family *family;
    bool of_solver = is(option, "solver") || (!option && is(command, "solvers"));
    bool of_problem = is(option, "problem") || strcmp(value, "PROBLEM") == 0 ||
                      (!option && is(command, "problems"));
    bool of_file =
        strstr(value, "FILE") || strstr(value, "OUT") || (is(option, "out") && is(value, "NAME"));
    put_literals(out, value);
    for (size_t i = 0; of_solver && (solver = blv_solver_at(NULL, i)); i++)
        put_word(out, solver->name, solver->summary);
    for (size_t i = 0; of_problem && (family = blv_family_at(NULL, i)); i++)
        put_word(out, family->name, family->summary);
    if (of_file)
        fputs("/files\n", out);
}

/* ---- Options ---- */

static void put_options(FILE *out, const cli_description *d) {
    for (size_t i = 0; i < d->count; i++) {
        const cli_argument *option = d->options[i].argument;
        char *help = cli_argument_help(option), *word = cli_print("--%s", option->name);
        put_word(out, word, help);
        free(word);
        free(help);
    }
}

/* The option that takes the word behind this one as its value, or NULL. */
static const cli_argument *option_at(const cli_description *d, const char *word) {
    for (size_t i = 0; word[0] == '-' && i < d->count; i++) {
        const cli_argument *option = d->options[i].argument;
        bool letter = option->letter && word[1] == option->letter && !word[2];
        if (option->value && (letter || (word[1] == '-' && is(option->name, word + 2))))
            return option;
    }
    return NULL;
}

/* Words from number `first` on belong to the command that is described. */
static void put_next(FILE *out, const cli_description *d, const cli_texts *words, size_t first) {
    const char *last = words->items[words->count - 1];
    const cli_argument *option =
        words->count >= first + 2 ? option_at(d, words->items[words->count - 2]) : NULL;
    if (option)
        put_values(out, d->name, option->name, option->value);
    else if (last[0] == '-')
        put_options(out, d);
    else
        put_values(out, d->name, NULL, d->positions);
}

void cli_completion_put(FILE *out, const cli_descriptions *all, const cli_texts *words) {
    if (words->count < 2 || is(words->items[0], "help")) {
        put_commands(out, cli_commands);
        put_word(out, "help", "show the help of a command");
        return;
    }
    const cli_command *command = cli_commands;
    while (command->name && !is(words->items[0], command->name))
        command++;
    const char *action = "";
    size_t first = 1;
    if (command->actions && command->arguments[0] == '[' && words->items[1][0] == '-') {
        action = command->actions[0].name;
    } else if (command->actions && words->count == 2) {
        put_commands(out, command->actions);
        return;
    } else if (command->actions) {
        action = words->items[first++];
    }
    char *name = cli_print("%s%s%s", words->items[0], *action ? " " : "", action);
    for (size_t i = 0; i < all->count; i++)
        if (is(name, all->items[i].name))
            put_next(out, &all->items[i], words, first);
    free(name);
}
