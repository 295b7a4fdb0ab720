/* bilevel manual [COMMAND]: the argument tables, in the language of man pages. */
#include "cli/arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A line that begins with a dot or a quote would be a command, a backslash an escape. */
static void put_text(const char *text) {
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        at_start = *text == '\n';
    }
}

static void put_line(const char *text) {
    if (!*text)
        return;
    put_text(text);
    putchar('\n');
}

static void put_option(int letter, const char *name, const char *value, const char *help) {
    fputs(".TP\n", stdout);
    if (letter)
        printf("\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", stdout);
    put_text(name);
    fputs("\\fR", stdout);
    if (value) {
        fputs("=\\fI", stdout);
        put_text(value);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_line(*help ? help : "see the text above");
}

static void put_options(const cli_argument *table) {
    size_t count;
    cli_placed_argument *all = cli_arguments_list(table, NULL, &count);
    for (size_t i = 0; i < count; i++)
        if (all[i].argument->name)
            put_option(all[i].argument->letter, all[i].argument->name, all[i].argument->value,
                       cli_argument_help(all[i].argument));
    put_option('?', "help", NULL, "give this help list");
    put_option(0, "usage", NULL, "give a short usage message");
    free(all);
}

/* Text, options, text below them. */
static void put_body(const cli_command *c, const char *heading) {
    char *after = cli_print("%s", c->doc);
    put_line(strsep(&after, "\v"));
    fputs(heading, stdout);
    put_options(c->table);
    if (after)
        puts(".PP");
    put_line(after ? after : "");
}

/* owner: the command that it is an action of, with a blank; or "" */
static void put_commands(const cli_command *const *list, const char *owner) {
    for (; *list; list++) {
        const cli_command *c = *list;
        const char *name = cli_print("%s%s ", owner, c->name);
        if (c->actions) {
            put_commands(c->actions, name);
        } else if (c->summary) {
            const char *positions = cli_arguments_positions(c->table);
            printf(".SS bilevel %s", name);
            put_line(*positions ? positions : " ");
            put_body(c, "");
        }
    }
}

static void put_summaries(void) {
    for (const cli_command *const *c = cli_commands; *c; c++) {
        if (!(*c)->summary)
            continue;
        printf(".TP\n\\fBbilevel %s\\fR \\fI", (*c)->name);
        put_text((*c)->arguments);
        fputs("\\fR\n", stdout);
        put_line((*c)->summary);
    }
}

static const char ending[] =
#include "cli/manual_end.man.inc"
    ;

static void put_page_of_all(void) {
    printf(".TH BILEVEL 1 \"\" \"bilevel %s\" \"User Commands\"\n"
           ".SH NAME\nbilevel \\- optimization with two levels\n"
           ".SH SYNOPSIS\n\\fBbilevel\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
           ".SH DESCRIPTION\n"
           "Finds x that minimizes f(x, y*(x)), where y*(x) minimizes g(x, .).\n",
           blv_version());
    put_summaries();
    fputs(".PP\nFor a start: \\fBbilevel solve quadratic\\fR\n.SH COMMANDS\n", stdout);
    put_commands(cli_commands, "");
    printf("%sThe page of each command, such as \\fBbilevel\\-solve\\fR(1);\n"
           "\\fBgnuplot\\fR(1), \\fBsqlite3\\fR(1)\n",
           ending);
}

static void put_page_of(const cli_command *c) {
    printf(".TH BILEVEL\\-");
    for (const char *letter = c->name; *letter; letter++)
        putchar(toupper((unsigned char)*letter));
    printf(" 1 \"\" \"bilevel %s\" \"User Commands\"\n.SH NAME\nbilevel\\-%s \\- ", blv_version(),
           c->name);
    put_line(c->summary);
    printf(".SH SYNOPSIS\n\\fBbilevel %s\\fR %s", c->name,
           c->actions ? "" : "[\\fIOPTION\\fR...] ");
    const char *positions = c->actions ? cli_print("%s [ARGUMENT...]", c->arguments)
                                       : cli_arguments_positions(c->table);
    put_line(*positions ? positions : " ");
    puts(".SH DESCRIPTION");
    if (c->actions) {
        put_line(c->doc);
        puts(".SH ACTIONS");
        put_commands(c->actions, cli_print("%s ", c->name));
    } else {
        put_body(c, ".SH OPTIONS\n");
    }
    printf("%s\\fBbilevel\\fR(1)\n", ending);
}

typedef struct request {
    const char *command;
} request;

static const cli_argument table[] = {CLI_POSITION(TEXT, request, command, "[COMMAND]", NULL),
                                     CLI_END};

static int print_manual(void *of) {
    const char *name = ((const request *)of)->command;
    const cli_command *command = name ? cli_command_find(cli_commands, name) : NULL;
    if (!name)
        put_page_of_all();
    else if (command && command->summary)
        put_page_of(command);
    else
        cli_die("there is no command '%s'; 'bilevel --help' lists them", name);
    return CLI_DONE;
}

const cli_command cmd_manual =
    CLI_COMMAND("manual", "[COMMAND]", NULL, request, table, print_manual,
                "Print the manual, or the page of one command, for man(1).");
