/* bilevel plot RUN...: curves of stored runs, in a file or in the terminal. */
#include "base/message.h"
#include "cli/store_options.h"
#include "cli_commands.h"
#include "cli_gnuplot.h"
#include "cli_outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct picture_file {
    const char *path;
    cli_drawing kind;
} picture_file;

typedef struct request {
    cli_store_choice store;
    cli_run_numbers runs;
    picture_file out;
    const char *what;
    cli_axis over;
    bool in_terminal;
} request;

static blv_error take_file(void *field, const char *path, blv_message *why) {
    static const struct {
        const char *end;
        cli_drawing kind;
    } formats[] = {{".svg", CLI_SVG}, {".png", CLI_PNG}, {".pdf", CLI_PDF}};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t end = strlen(formats[i].end);
        if (length > end && strcasecmp(path + length - end, formats[i].end) == 0) {
            *(picture_file *)field = (picture_file){path, formats[i].kind};
            return BLV_OK;
        }
    }
    return blv_explain(why, BLV_E_ARGUMENT, "expected a name that ends in .svg, .png or .pdf");
}

static const cli_argument table[] = {
    CLI_POSITION(RUNS, request, runs, "RUN...", "no run is named; 'bilevel runs' lists them"),
    CLI_OPTION("out", CUSTOM, request, out, "FILE.svg|.png|.pdf",
               "write the picture; its name tells the format", .letter = 'o', .take = take_file),
    CLI_OPTION("y", TEXT, request, what, "phi|grad|accuracy|COLUMN",
               "what is drawn: the distance of Phi to the best that is known (the default), the "
               "norm of its gradient, an accuracy, or any column of the trace"),
    CLI_OPTION("x", CHOICE, request, over, "time|iterations|calls",
               "over the seconds of the solver's clock (the default), iterations, or oracle calls"),
    CLI_OPTION("term", FLAG, request, in_terminal, NULL,
               "draw in the terminal; so is what is not written to a file"),
    CLI_INCLUDE(cli_store_file_table, request, store, CLI_SECTION_OWN),
    CLI_END};
_Static_assert(CLI_OVER_TIME == 0 && CLI_OVER_ITERATIONS == 1 && CLI_OVER_CALLS == 2,
               "--x has them in this order");

/* ---- Drawing ---- */

static int write_file(const picture_file *to, const cli_figure *figure) {
    cli_bytes bytes = {0};
    int code = cli_gnuplot_draw(&bytes, figure, to->kind, 0, 0);
    if (code == CLI_DONE)
        code = cli_write_file(to->path, bytes.data, bytes.size);
    free(bytes.data);
    return code;
}

static void terminal_size(int *columns, int *lines) {
    struct winsize size;
    *columns = 79;
    *lines = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 && size.ws_row >= 12) {
        *columns = size.ws_col - 1;
        *lines = size.ws_row - 1;
    }
}

static int print_figure(const cli_figure *figure) {
    int columns, lines;
    cli_bytes bytes = {0};
    terminal_size(&columns, &lines);
    int code = cli_gnuplot_draw(&bytes, figure, CLI_TEXT, columns, lines);
    if (code == CLI_DONE) {
        size_t start = strspn(bytes.data, "\f\n"); /* a new page and a blank line */
        fwrite(bytes.data + start, 1, bytes.size - start, stdout);
    }
    free(bytes.data);
    return code;
}

static int plot(const request *asked, blv_store *store) {
    cli_stored stored = {0};
    cli_figure figure = {0};
    int code = cli_stored_load(&stored, store, asked->runs.items, asked->runs.count);
    if (code == CLI_DONE)
        code = cli_figure_make(&figure, &stored, asked->over, asked->what, false);
    if (code == CLI_DONE && asked->out.path)
        code = write_file(&asked->out, &figure);
    if (code == CLI_DONE && (asked->in_terminal || !asked->out.path))
        code = print_figure(&figure);
    cli_figure_free(&figure);
    cli_stored_free(&stored);
    return code;
}

int cmd_plot(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Draw curves of runs that were made.\v"
               "'bilevel runs' lists the runs. Those that differ in the seed only become one "
               "curve, their median, with a band from 20 to 80 percent of them."};
    request asked = {.what = "phi"};
    if (!cli_read_arguments(&arguments, argc, argv, &asked))
        return CLI_DONE;
    blv_store *store = NULL;
    int code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = plot(&asked, store);
    blv_store_close(store);
    free(asked.runs.items);
    return code;
}
