/* bilevel report RUN...: a page about stored runs. */
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/store_options.h"
#include "cli/text.h"
#include "report/run_page.h"

#include <stdlib.h>

typedef struct request {
    cli_store_choice store;
    const char *out, *title;
    bool no_figures;
    cli_run_numbers runs;
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
    blv_run_groups groups;
    blv_message why = {0};
    cli_text text;
    blv_error error =
        blv_run_groups_load(&groups, store, asked->runs.items, asked->runs.count, &why);
    if (error != BLV_OK)
        return cli_reject(error, why.text);
    const report_run_page page = {&groups, store, asked->title, asked->no_figures};
    error = report_run_page_put(&page, cli_text_begin(&text), &why);
    char *whole = cli_text_end(&text);
    int code = error == BLV_OK ? cli_write_file(asked->out, whole, text.size)
                               : cli_reject(error, why.text);
    free(whole);
    blv_run_groups_free(&groups);
    return code;
}

int cmd_report(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Write a page about runs that were made: the question, the answer, curves, a table "
               "of the solvers, and everything that is known about each run.\v"
               "The page needs no other file and no script. Images and HTML that are attached to a "
               "run are shown with it."};
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
