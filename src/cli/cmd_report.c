/* bilevel report RUN...: a page about stored runs. */
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_outputs.h"
#include "cli_report_page.h"
#include "cli_text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct request {
    cli_store_choice store;
    const char *out, *title;
    bool no_figures;
    size_t count;
    int64_t *ids;
} request;

enum { KEY_TITLE = CLI_KEY_FIRST, KEY_NO_PLOTS };

static const struct argp_option options[] = {
    {"out", 'o', "FILE.html", 0, "write the page to this file (default report.html)", 0},
    {"title", KEY_TITLE, "TEXT", 0, "title of the page", 0},
    {"no-plots", KEY_NO_PLOTS, NULL, 0, "leave the curves out, so that gnuplot is not needed", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->store;
        return 0;
    case 'o':
        asked->out = arg;
        return 0;
    case KEY_TITLE:
        asked->title = arg;
        return 0;
    case KEY_NO_PLOTS:
        asked->no_figures = true;
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

static int write_page(const request *asked, const char *text, size_t size) {
    cli_outputs outputs = {0};
    int code = cli_outputs_bytes(&outputs, asked->out, text, size);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

static int report(const request *asked, blv_store *store) {
    cli_stored stored = {0};
    int code = cli_stored_load(&stored, store, asked->ids, asked->count);
    if (code == CLI_DONE) {
        const cli_report_page page = {&stored, store, asked->title, asked->no_figures};
        cli_text whole;
        code = cli_report_page_put(&page, cli_text_begin(&whole));
        char *text = cli_text_end(&whole);
        if (code == CLI_DONE)
            code = write_page(asked, text, whole.size);
        free(text);
    }
    cli_stored_free(&stored);
    return code;
}

int cmd_report(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_store_file_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "RUN...",
        .doc = "Write a page about runs that were made: the question, the answer, curves, a table "
               "of the solvers, and all that is known of each run.\v"
               "The page stands alone: one file, no script, nothing from elsewhere. Images and "
               "HTML that are attached to a run are shown with it.",
        .children = children};
    request asked = {.out = "report.html"};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    blv_store *store = NULL;
    int code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = report(&asked, store);
    blv_store_close(store);
    free(asked.ids);
    return code;
}
