/* bilevel plot RUN...: curves of stored runs, in a file or in the terminal. */
#include "cli/outputs.h"
#include "cli/store_options.h"
#include "report/figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct request {
    cli_store_choice store;
    const char *out, *what;
    report_drawing kind; /* of the file */
    report_axis over;
    bool in_terminal;
    cli_run_numbers runs;
} request;

static const cli_argument table[] = {
    CLI_POSITION(RUNS, request, runs, "RUN...", "no run is named; 'bilevel runs' lists them"),
    CLI_OPTION("out", WRITES, request, out, "FILE.svg|.png|.pdf",
               "write the picture; its format is detected from the name", .letter = 'o'),
    CLI_OPTION("y", TEXT, request, what, "phi|grad|accuracy|COLUMN",
               "what is drawn: the distance of Phi to the best that is known (the default), the "
               "norm of its gradient, an accuracy, or any column of the trace"),
    CLI_OPTION("x", CHOICE, request, over, "time|iterations|calls",
               "over the seconds of the solver's clock (the default), iterations, or oracle calls"),
    CLI_OPTION("term", FLAG, request, in_terminal, NULL,
               "draw in the terminal; so is what is not written to a file"),
    CLI_INCLUDE(cli_store_file_table, request, store),
    CLI_END};

static blv_error check(void *field, blv_message *why) {
    static const char *const ends[] = {
        [REPORT_SVG] = ".svg", [REPORT_PNG] = ".png", [REPORT_PDF] = ".pdf"};
    request *asked = field;
    size_t length = asked->out ? strlen(asked->out) : 0;
    for (int kind = REPORT_SVG; kind <= REPORT_PDF && asked->out; kind++) {
        asked->kind = (report_drawing)kind;
        if (length > 4 && strcasecmp(asked->out + length - 4, ends[kind]) == 0)
            return BLV_OK;
    }
    return asked->out ? blv_explain(why, BLV_E_ARGUMENT,
                                    "--out '%s': expected a name that ends in .svg, .png or .pdf",
                                    asked->out)
                      : BLV_OK;
}

static void report_left_out(const blv_run_groups *groups, const report_figure *figure) {
    for (size_t i = 0; i < groups->count; i++)
        if (!report_has_column(&groups->runs[i], figure->column))
            cli_complain("run %lld (%s) has no %s and is left out",
                         (long long)groups->runs[i].info->id,
                         groups->group[groups->runs[i].group].label, figure->column);
}

/* kind REPORT_TEXT: on standard output. */
static void draw(const report_figure *figure, report_drawing kind, const char *path) {
    int columns = 79, lines = 24;
    struct winsize size;
    report_bytes drawn;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 && size.ws_row >= 12) {
        columns = size.ws_col - 1;
        lines = size.ws_row - 1;
    }
    cli_expect(report_gnuplot_draw(figure, kind, columns, lines, &drawn, &cli_why));
    size_t start = strspn(drawn.data, "\f\n"); /* of a text: a new page and a blank line */
    if (kind == REPORT_TEXT)
        fwrite(drawn.data + start, 1, drawn.size - start, stdout);
    else
        cli_output_whole(path, drawn.data, drawn.size);
    free(drawn.data);
}

static int plot(void *of) {
    const request *asked = of;
    blv_run_groups groups;
    report_figure figure;
    cli_expect(blv_run_groups_load(&groups, cli_store_look(&asked->store), asked->runs.items,
                                   asked->runs.count, &cli_why));
    cli_expect(report_figure_make(&figure, &groups, asked->over, asked->what, &cli_why));
    report_left_out(&groups, &figure);
    if (asked->out)
        draw(&figure, asked->kind, asked->out);
    if (asked->in_terminal || !asked->out)
        draw(&figure, REPORT_TEXT, NULL);
    report_figure_free(&figure);
    blv_run_groups_free(&groups);
    return CLI_DONE;
}

static const request defaults = {.what = "phi"};

const cli_command cmd_plot =
    CLI_COMMAND("plot", "RUN...", "draw curves of runs: Phi, gradient, accuracy over time", request,
                table, plot,
                "Draw curves of runs that were made.\v"
                "'bilevel runs' lists the runs. Those that differ in the seed only become one "
                "curve, their median, with a band from 20 to 80 percent of them.",
                .defaults = &defaults, .check = check);
