/* bilevel plot RUN...: curves of stored runs, in a file or in the terminal. */
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_gnuplot.h"
#include "cli_outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct request {
    cli_store_choice store;
    const char *out, *what;
    cli_drawing kind; /* of the file */
    cli_axis over;
    bool in_terminal;
    size_t count;
    int64_t *ids;
} request;

/* ---- Options ---- */

enum { KEY_Y = CLI_KEY_FIRST, KEY_X, KEY_TERM };

static const struct argp_option options[] = {
    {"out", 'o', "FILE.svg|.png|.pdf", 0, "write the picture; its format is told from the name", 0},
    {"y", KEY_Y, "phi|grad|accuracy|COLUMN", 0,
     "what is drawn: the distance of Phi to the best that is known (the default), the norm of its "
     "gradient, an accuracy, or any column of the trace",
     0},
    {"x", KEY_X, "time|iterations|calls", 0,
     "over the seconds of the solver's clock (the default), iterations, or oracle calls", 0},
    {"term", KEY_TERM, NULL, 0, "draw in the terminal; so is what is not written to a file", 0},
    {0}};

static void take_file(request *asked, const char *path, const struct argp_state *state) {
    static const struct {
        const char *end;
        cli_drawing kind;
    } formats[] = {{".svg", CLI_SVG}, {".png", CLI_PNG}, {".pdf", CLI_PDF}};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t end = strlen(formats[i].end);
        if (length > end && strcasecmp(path + length - end, formats[i].end) == 0) {
            asked->out = path;
            asked->kind = formats[i].kind;
            return;
        }
    }
    argp_error(state, "--out '%s': expected a name that ends in .svg, .png or .pdf", path);
}

static void take_axis(request *asked, const char *word, const struct argp_state *state) {
    static const char *const words[] = {
        [CLI_OVER_TIME] = "time", [CLI_OVER_ITERATIONS] = "iterations", [CLI_OVER_CALLS] = "calls"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0) {
            asked->over = (cli_axis)i;
            return;
        }
    argp_error(state, "--x '%s': expected time, iterations or calls", word);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->store;
        return 0;
    case 'o':
        take_file(asked, arg, state);
        return 0;
    case KEY_Y:
        asked->what = arg;
        return 0;
    case KEY_X:
        take_axis(asked, arg, state);
        return 0;
    case KEY_TERM:
        asked->in_terminal = true;
        return 0;
    case ARGP_KEY_ARG:
        asked->ids = cli_grow(asked->ids, asked->count + 1, sizeof *asked->ids);
        asked->ids[asked->count++] = cli_parse_id(arg, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no run is named; 'bilevel runs' lists them");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Drawing ---- */

static int write_file(const request *asked, const cli_figure *figure) {
    cli_outputs outputs = {0};
    cli_bytes bytes = {0};
    int code = cli_gnuplot_draw(&bytes, figure, asked->kind, 0, 0);
    if (code == CLI_DONE)
        code = cli_outputs_bytes(&outputs, asked->out, bytes.data, bytes.size);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
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
    int code = cli_stored_load(&stored, store, asked->ids, asked->count);
    if (code == CLI_DONE)
        code = cli_figure_make(&figure, &stored, asked->over, asked->what, false);
    if (code == CLI_DONE && asked->out)
        code = write_file(asked, &figure);
    if (code == CLI_DONE && (asked->in_terminal || !asked->out))
        code = print_figure(&figure);
    cli_figure_free(&figure);
    cli_stored_free(&stored);
    return code;
}

int cmd_plot(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_store_file_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "RUN...",
        .doc = "Draw curves of runs that were made.\v"
               "'bilevel runs' lists the runs. Those that differ in the seed only become one "
               "curve, their median, with a band from 20 to 80 percent of them.",
        .children = children};
    request asked = {.what = "phi"};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    blv_store *store = NULL;
    int code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = plot(&asked, store);
    blv_store_close(store);
    free(asked.ids);
    return code;
}
