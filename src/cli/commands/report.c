/* bilevel report RUN...: a page about stored runs. */
#include "cli/outputs.h"
#include "cli/store_options.h"
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
    CLI_OPTION("out", WRITES, request, out, "FILE.html",
               "write the page to this file (default report.html)", .letter = 'o'),
    CLI_OPTION("title", TEXT, request, title, "TEXT", "title of the page"),
    CLI_OPTION("no-plots", FLAG, request, no_figures, NULL,
               "leave the curves out, so that gnuplot is not needed"),
    CLI_INCLUDE(cli_store_file_table, request, store),
    CLI_END};

static int report(void *of) {
    const request *asked = of;
    blv_store *store = cli_store_look(&asked->store);
    blv_run_groups groups;
    cli_text text;
    cli_expect(blv_run_groups_load(&groups, store, asked->runs.items, asked->runs.count, &cli_why));
    const report_run_page page = {&groups, store, asked->title, asked->no_figures};
    cli_expect(report_run_page_put(&page, cli_text_begin(&text), &cli_why));
    char *whole = cli_text_end(&text);
    cli_output_whole(asked->out, whole, text.size);
    free(whole);
    blv_run_groups_free(&groups);
    return CLI_DONE;
}

static const request defaults = {.out = "report.html"};

const cli_command cmd_report = CLI_COMMAND(
    "report", "RUN...", "write a page about runs: answer, curves, tables", request, table, report,
    "Write a page about runs that were made: the answer, curves, a table of the "
    "solvers, the problem, and everything that is known about each run.\v"
    "The page needs no other file and no script. Images and HTML that are attached to a run "
    "are shown with it.",
    .defaults = &defaults);
