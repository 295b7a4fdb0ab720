/* The manual, in the language of man pages. */
#include "bilevel/status.h"
#include "cli/commands.h"
#include "cli/completion_words.h"
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

/* A line that begins with a dot or a quote would be a command, a backslash an escape. */
static void put_text(FILE *out, const char *text) {
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        at_start = *text == '\n';
    }
}

static void put_line(FILE *out, const char *text) {
    if (!*text)
        return;
    put_text(out, text);
    fputc('\n', out);
}

static void put_option(FILE *out, const cli_argument *option) {
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    put_text(out, option->name);
    fputs("\\fR", out);
    if (option->value) {
        fputs("=\\fI", out);
        put_text(out, option->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    char *help = cli_argument_help(option);
    put_line(out, *help ? help : "see the text above");
    free(help);
}

static void put_command(FILE *out, const cli_description *d) {
    char *doc = cli_print("%s", d->arguments->doc), *after = doc, *before = strsep(&after, "\v");
    fprintf(out, ".SS bilevel %s ", d->name);
    put_line(out, *d->positions ? d->positions : " ");
    put_line(out, before);
    for (size_t i = 0; i < d->count; i++)
        put_option(out, d->options[i].argument);
    if (after)
        fputs(".PP\n", out);
    put_line(out, after ? after : "");
    free(doc);
}

static void put_summaries(FILE *out) {
    for (const cli_command *c = cli_commands; c->name; c++) {
        if (!c->summary)
            continue;
        fprintf(out, ".TP\n\\fBbilevel %s\\fR \\fI", c->name);
        put_text(out, c->arguments);
        fputs("\\fR\n", out);
        put_line(out, c->summary);
    }
}

static const char ending[] =
    ".SH EXIT STATUS\n"
    ".TP\n0\nsolved, or stopped at a limit as asked\n"
    ".TP\n1\ndiverged or failed, or no certificate could be made\n"
    ".TP\n2\nbad usage or input, or a file that cannot be read or written\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBBILEVEL_DATA\\fR\n"
    "folder in which data files are looked up that are not there as they are named\n"
    ".TP\n\\fBBILEVEL_STORE\\fR\n"
    "run store to use; \\fBnone\\fR: none at all\n"
    ".SH FILES\n"
    ".TP\n\\fI$XDG_STATE_HOME/bilevel/runs.db\\fR, or \\fI~/.local/state/bilevel/runs.db\\fR\n"
    "the run store\n"
    ".SH SEE ALSO\n\\fBgnuplot\\fR(1), \\fBsqlite3\\fR(1)\n";

void cli_manual_put(FILE *out, const cli_descriptions *all) {
    fprintf(out, ".TH BILEVEL 1 \"\" \"bilevel %s\" \"User Commands\"\n", blv_version());
    fputs(".SH NAME\nbilevel \\- optimization with two levels\n"
          ".SH SYNOPSIS\n\\fBbilevel\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
          ".SH DESCRIPTION\n"
          "Finds x that minimizes f(x, y*(x)), where y*(x) minimizes g(x, .).\n",
          out);
    put_summaries(out);
    fputs(".PP\nFor a start: \\fBbilevel solve quadratic\\fR\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < all->count; i++)
        put_command(out, &all->items[i]);
    fputs(ending, out);
}
