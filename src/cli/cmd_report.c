/* bilevel report RUN...: a page about stored runs. */
#include "cli/store_options.h"
#include "cli_commands.h"
#include "cli_outputs.h"
#include "cli_report_page.h"
#include "cli_text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct request {
    cli_store_choice store;
    cli_run_numbers runs;
    const char *out, *title;
    bool no_figures;
} request;

static const cli_argument table[] = {
    CLI_POSITION(RUNS, request, runs, "RUN...", "no run is named; 'bilevel runs' lists them"),
    CLI_OPTION("out", TEXT, request, out, "FILE.html",
               "write the page to this file (default report.html)", .letter = 'o'),
    CLI_OPTION("title", TEXT, request, title, "TEXT", "title of the page"),
    CLI_OPTION("no-plots", FLAG, request, no_figures, NULL,
               "leave the curves out, so that gnuplot is not needed"),
    CLI_INCLUDE(cli_store_file_table, request, store, CLI_SECTION_OWN),
    CLI_END};

static int report(const request *asked, blv_store *store) {
    cli_stored stored = {0};
    int code = cli_stored_load(&stored, store, asked->runs.items, asked->runs.count);
    if (code == CLI_DONE) {
        const cli_report_page page = {&stored, store, asked->title, asked->no_figures};
        cli_text whole;
        code = cli_report_page_put(&page, cli_text_begin(&whole));
        char *text = cli_text_end(&whole);
        if (code == CLI_DONE)
            code = cli_write_file(asked->out, text, whole.size);
        free(text);
    }
    cli_stored_free(&stored);
    return code;
}

int cmd_report(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Write a page about runs that were made: the question, the answer, curves, a table "
               "of the solvers, and all that is known of each run.\v"
               "The page stands alone: one file, no script, nothing from elsewhere. Images and "
               "HTML that are attached to a run are shown with it."};
    request asked = {.out = "report.html"};
    if (!cli_read_arguments(&arguments, argc, argv, &asked))
        return CLI_DONE;
    blv_store *store = NULL;
    int code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = report(&asked, store);
    blv_store_close(store);
    free(asked.runs.items);
    return code;
}
