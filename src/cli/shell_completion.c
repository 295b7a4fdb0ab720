#include "cli/shell_completion.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "cli_commands.h"
#include "cli_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *cli_action_at(const cli_descriptions *all, const char *command, size_t i) {
    size_t length = strlen(command);
    for (size_t k = 0; k < all->count; k++) {
        const char *name = all->items[k].name;
        if (strncmp(name, command, length) == 0 && name[length] == ' ' && i-- == 0)
            return name + length + 1;
    }
    return NULL;
}

/* ---- What may stand in a place ---- */

typedef struct place {
    const char *command, *option; /* option NULL: an argument of the command */
    int letter;                   /* of the option; 0: it has none */
    const char *argument;         /* as the help names it: "zero|random|FILE.npz" */
} place;

static bool is(const char *text, const char *word) {
    return text && strcmp(text, word) == 0;
}

static bool wants_solver(const place *p) {
    return is(p->option, "solver") || (!p->option && is(p->command, "solvers"));
}

static bool wants_problem(const place *p) {
    return is(p->option, "problem") || strcmp(p->argument, "PROBLEM") == 0 ||
           (!p->option && is(p->command, "problems"));
}

static bool wants_file(const place *p) {
    return strstr(p->argument, "FILE") || strstr(p->argument, "OUT") ||
           (is(p->option, "out") && is(p->argument, "NAME"));
}

static void put_word(FILE *out, const char **joint, const char *word, int length) {
    fprintf(out, "%s%.*s", *joint, length, word);
    *joint = " ";
}

/* Words in small letters stand for themselves, those in capitals for something. */
static void put_literals(FILE *out, const char **joint, const char *argument) {
    while (*argument) {
        int length = (int)strcspn(argument, "|");
        bool literal = length > 0;
        for (int i = 0; i < length; i++)
            literal = literal && (islower((unsigned char)argument[i]) ||
                                  (i > 0 && isdigit((unsigned char)argument[i])));
        if (literal)
            put_word(out, joint, argument, length);
        argument += length + (argument[length] == '|');
    }
}

static void put_words(FILE *out, const place *p) {
    const char *joint = "";
    const blv_solver *solver;
    const blv_problem_family *family;
    put_literals(out, &joint, p->argument);
    for (size_t i = 0; wants_solver(p) && (solver = blv_solver_at(NULL, i)); i++)
        put_word(out, &joint, solver->name, (int)strlen(solver->name));
    for (size_t i = 0; wants_problem(p) && (family = blv_family_at(NULL, i)); i++)
        put_word(out, &joint, family->name, (int)strlen(family->name));
}

static void put_actions(FILE *out, const cli_descriptions *all, const char *command) {
    const char *joint = "", *action;
    for (size_t i = 0; (action = cli_action_at(all, command, i)); i++)
        put_word(out, &joint, action, (int)strlen(action));
}

static void put_commands(FILE *out) {
    const char *joint = "";
    for (const cli_command *c = cli_commands; c->name; c++)
        if (c->summary)
            put_word(out, &joint, c->name, (int)strlen(c->name));
    put_word(out, &joint, "help", 4);
}

/* Without an action the first one is meant. */
static bool action_is_optional(const cli_command *command) {
    return command->arguments[0] == '[';
}

/* ---- bash ---- */

static void put_bash_place(FILE *out, const place *p) {
    fprintf(out, "    '%s%s%s'", p->command, p->option ? " --" : "", p->option ? p->option : "");
    if (p->letter)
        fprintf(out, " | '%s -%c'", p->command, p->letter);
    fputs(")\n        words='", out);
    put_words(out, p);
    fprintf(out, "'\n        files=%s\n        ;;\n", wants_file(p) ? "yes" : "");
}

static void put_bash_options(FILE *out, const cli_description *d) {
    fprintf(out, "    '%s') options='", d->name);
    for (size_t i = 0; i < d->count; i++)
        fprintf(out, "%s--%s", i ? " " : "", d->options[i].argument->name);
    fputs("' ;;\n", out);
}

static void put_bash_actions(FILE *out, const cli_descriptions *all) {
    fputs("    case $command in\n", out);
    for (const cli_command *c = cli_commands; c->name; c++) {
        const char *first = cli_action_at(all, c->name, 0);
        if (!first)
            continue;
        fprintf(out, "    %s)\n        case $COMP_CWORD,${COMP_WORDS[2]} in\n", c->name);
        if (action_is_optional(c))
            fprintf(out, "        *,-*) command='%s %s' ;;\n", c->name, first);
        fputs("        2,*) words='", out);
        put_actions(out, all, c->name);
        fputs(
            "' ;;\n        *) command=\"$command ${COMP_WORDS[2]}\" ;;\n        esac\n        ;;\n",
            out);
    }
    fputs("    esac\n", out);
}

void cli_completion_bash(FILE *out, const cli_descriptions *all) {
    fputs("# Completion of bilevel for bash; written by 'bilevel completion bash'.\n"
          "_bilevel() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} options= words= files=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ] || [ \"$command\" = help ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    put_commands(out);
    fputs("' -- \"$current\")\n        return\n    fi\n", out);
    put_bash_actions(out, all);
    fputs("    case $command in\n", out);
    for (size_t i = 0; i < all->count; i++)
        put_bash_options(out, &all->items[i]);
    fputs("    esac\n"
          "    [ -n \"$words\" ] || case \"$command $previous\" in\n",
          out);
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->items[i].count; k++) {
            const cli_argument *o = all->items[i].options[k].argument;
            if (o->value)
                put_bash_place(out, &(place){all->items[i].name, o->name, o->letter, o->value});
        }
    fputs("    *)\n        case $command in\n", out);
    for (size_t i = 0; i < all->count; i++)
        put_bash_place(out, &(place){all->items[i].name, NULL, 0, all->items[i].positions});
    fputs("        esac\n"
          "        [ \"${current:0:1}\" != - ] || words=$options files=\n"
          "        ;;\n"
          "    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "    if [ -n \"$files\" ]; then\n"
          "        local names\n"
          "        mapfile -t names < <(compgen -f -- \"$current\")\n"
          "        COMPREPLY+=(\"${names[@]}\")\n"
          "        compopt -o filenames 2>/dev/null\n"
          "    fi\n"
          "}\n"
          "complete -F _bilevel bilevel\n",
          out);
}

/* ---- zsh ---- */

/* Inside of '...', in a text of _arguments or _describe. */
static void put_zsh_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text == '\n' ? ' ' : *text, out);
    }
}

/* "MESSAGE:what completes it" */
static void put_zsh_place(FILE *out, const place *p) {
    cli_text list;
    put_words(cli_text_begin(&list), p);
    char *words = cli_text_end(&list);
    put_zsh_text(out, p->argument);
    if (*words && wants_file(p))
        fprintf(out, ":{compadd -- %s; _files}", words);
    else if (*words)
        fprintf(out, ":(%s)", words);
    else
        fputs(wants_file(p) ? ":_files" : ": ", out);
    free(words);
}

static void put_zsh_spec(FILE *out, const cli_description *d, const cli_argument *o,
                         const char *spelling) {
    fprintf(out, " \\\n        '*%s[", spelling);
    char *help = cli_argument_help(o);
    put_zsh_text(out, help);
    free(help);
    fputc(']', out);
    if (o->value) {
        fputc(':', out);
        put_zsh_place(out, &(place){d->name, o->name, 0, o->value});
    }
    fputc('\'', out);
}

static void put_zsh_option(FILE *out, const cli_description *d, const cli_argument *o) {
    char spelling[64];
    snprintf(spelling, sizeof spelling, "--%.50s%s", o->name, o->value ? "=" : "");
    put_zsh_spec(out, d, o, spelling);
    snprintf(spelling, sizeof spelling, "-%c", o->letter);
    if (isalpha(o->letter))
        put_zsh_spec(out, d, o, spelling);
}

static void put_zsh_arguments(FILE *out, const cli_description *d) {
    fprintf(out, "    ('%s')\n        _arguments", d->name);
    for (size_t i = 0; i < d->count; i++)
        put_zsh_option(out, d, d->options[i].argument);
    if (*d->positions) {
        fputs(" \\\n        '*:", out);
        put_zsh_place(out, &(place){d->name, NULL, 0, d->positions});
        fputc('\'', out);
    }
    fputs("\n        ;;\n", out);
}

static void put_zsh_actions(FILE *out, const cli_descriptions *all) {
    fputs("    case $command in\n", out);
    for (const cli_command *c = cli_commands; c->name; c++) {
        const char *first = cli_action_at(all, c->name, 0);
        if (!first)
            continue;
        fprintf(out, "    (%s)\n", c->name);
        if (action_is_optional(c))
            fprintf(out,
                    "        [[ $words[2] != -* ]] || words=($words[1] %s $words[2,-1]) "
                    "CURRENT=$((CURRENT + 1))\n",
                    first);
        fputs("        if (( CURRENT == 2 )); then\n            compadd -- ", out);
        put_actions(out, all, c->name);
        fputs("\n            return\n        fi\n"
              "        command=\"$command $words[2]\"\n"
              "        shift words\n        (( CURRENT-- ))\n        ;;\n",
              out);
    }
    fputs("    esac\n", out);
}

void cli_completion_zsh(FILE *out, const cli_descriptions *all) {
    fputs("#compdef bilevel\n"
          "# Completion of bilevel for zsh; written by 'bilevel completion zsh'.\n"
          "_bilevel() {\n"
          "    local command=$words[2]\n"
          "    local -a commands\n"
          "    commands=(",
          out);
    for (const cli_command *c = cli_commands; c->name; c++) {
        if (!c->summary)
            continue;
        fprintf(out, "\n        '%s:", c->name);
        put_zsh_text(out, c->summary);
        fputc('\'', out);
    }
    fputs(")\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n",
          out);
    put_zsh_actions(out, all);
    fputs("    case $command in\n", out);
    for (size_t i = 0; i < all->count; i++)
        put_zsh_arguments(out, &all->items[i]);
    fputs("    esac\n}\n_bilevel \"$@\"\n", out);
}
