/* bilevel bench list|SUITE: experiments of the literature with many solvers. */
#include "bench/results.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/progress_line.h"
#include "cli/rank_start.h"
#include "cli/store_options.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct request {
    bench_request bench;
    cli_store_choice store;
    const char *name, *suites, *progress_word, *page;
    bool markdown;
    double limits[3]; /* of each kind; 0: not given */
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, name, "list|SUITE",
                 "no suite is named; 'bilevel bench list' lists them"),
    CLI_OPTION("solvers", TEXT, request, bench.solvers, "NAMES|all|papers",
               "solvers that run, with commas (default papers: those of the suite); one that the "
               "suite does not "
               "have runs with its defaults; all: the suite's, and all others with their defaults"),
    CLI_OPTION("seeds", WHOLE, request, bench.seeds, "N",
               "runs of each solver, with seeds 0 to N-1", .from = 1, .to = 1000),
    CLI_OPTION("seconds", POSITIVE, request, limits[BENCH_SECONDS], "S",
               "time of each run on the solver's clock"),
    CLI_OPTION("budget", POSITIVE, request, limits[BENCH_CALLS], "CALLS",
               "oracle calls of each run, in place of a time"),
    CLI_OPTION("iters", POSITIVE, request, limits[BENCH_ITERATIONS], "N",
               "iterations of each run, in place of a time"),
    CLI_OPTION("grid", READS, request, bench.grid, "default|none|FILE",
               "what tuned solvers are tuned over (default: what the suite says); none: nothing is "
               "tuned; FILE: {\"SOLVER\": {\"KEY\": [VALUE, ...]}}"),
    CLI_OPTION("quick", FLAG, request, bench.quick, NULL,
               "the suite's quick form: seconds, small data"),
    CLI_OPTION("jobs", WHOLE, request, bench.jobs, "N",
               "processes that run at the same time (default 1)", .from = 1, .to = 1024),
    CLI_OPTION("threads", WHOLE, request, bench.threads, "N", "threads of each run (default 1)",
               .from = 1, .to = 4096),
    CLI_HEADING(DATA),
    CLI_OPTION("data", TEXT, request, bench.data_folders[0], "DIR",
               "folder of the data (default: BILEVEL_DATA)"),
    CLI_OPTION("suites", TEXT, request, suites, "DIR",
               "folder of the suites (default: those that are installed)"),
    CLI_OPTION("from", READS, request, bench.from, "FILE",
               "stored points (stored.jsonl of a folder) in place of runs; needs no data"),
    CLI_HEADING(OUTPUT),
    CLI_OPTION("out", TEXT, request, bench.out, "DIR",
               "folder of what is written (default bench-SUITE); runs that are finished there are "
               "not made again",
               .letter = 'o'),
    CLI_OPTION("markdown", FLAG, request, markdown, NULL, "print the results as Markdown"),
    CLI_OPTION("page", WRITES, request, page, "FILE.html",
               "also write the page with tables and figures to this file"),
    CLI_OPTION("figures", TEXT, request, bench.figures, "DIR",
               "also write the figures to this folder, as SVG; --markdown names them"),
    CLI_OPTION("paper", TEXT, request, bench.paper, "NAME",
               "of Markdown and figures, what belongs to the claims of this paper"),
    CLI_OPTION("no-plots", FLAG, request, bench.no_plots, NULL,
               "a page without plots; gnuplot is not needed"),
    CLI_OPTION("progress", WORD, request, progress_word, "lines|none",
               "a line on standard error for each run (default: on a terminal)"),
    CLI_HEADING(STORE),
    CLI_INCLUDE(cli_store_table, request, store),
    CLI_END};

static blv_error check(void *field, blv_message *why) {
    request *asked = field;
    for (int kind = BENCH_SECONDS; kind <= BENCH_ITERATIONS; kind++) {
        if (asked->limits[kind] == 0.0)
            continue;
        if (asked->bench.has_limit)
            return blv_explain(why, BLV_E_ARGUMENT,
                               "--%s: one of --seconds, --budget and --iters, not two",
                               bench_limit_options[kind]);
        asked->bench.has_limit = true;
        asked->bench.limit = (bench_limit){(bench_limit_kind)kind, asked->limits[kind]};
    }
    const bench_request *b = &asked->bench;
    if (b->from && (b->has_limit || b->seeds || b->quick || strcmp(b->solvers, "papers") != 0 ||
                    strcmp(b->grid, "default") != 0))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--from: the runs are made; it goes with no option that changes them");
    return BLV_OK;
}

/* The folder of the suites that come with the command: in the source tree that it was built in, or
 * where it is installed. NULL where there is none. */
static const char *own_suites(char folder[PATH_MAX]) {
    static const char *const folders[] = {"../../bench/suites", "../share/bilevel/bench/suites"};
    char program[PATH_MAX / 2];
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    const char *beside = dirname(program);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(folder, PATH_MAX, "%s/%s", beside, folders[i]);
        if (stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
            return folder;
    }
    return NULL;
}

/* ---- The list ---- */

static int list_suites(const char *folder, bool is_named) {
    report_table lines = {.align = "lrll"};
    size_t count = 0;
    blv_arena arena = {0};
    char **paths = bench_suite_list(&arena, folder, &count);
    cli_expect(paths ? BLV_OK : BLV_E_MEMORY);
    report_table_add(&lines, "SUITE\tRUNS\tEACH\tTITLE");
    for (size_t i = 0; i < count; i++) {
        bench_suite suite;
        char limit[64];
        cli_expect(bench_suite_read(&suite, paths[i], false, &cli_why));
        bench_limit_text(&suite.limit, limit);
        report_table_add(&lines, "%s\t%zu x %zu x %llu\t%s\t%s", suite.name, suite.variant_count,
                         suite.entry_count, (unsigned long long)suite.seeds,
                         suite.has_command ? bench_command_words[suite.command] : limit,
                         suite.title);
        bench_suite_free(&suite);
    }
    blv_arena_free(&arena);
    if (count == 0)
        cli_die("there are no suites%s%s; --suites DIR names their folder", is_named ? " in " : "",
                is_named ? folder : "");
    cli_table_print(&lines, 0, stdout);
    puts("\nRuns: variants x solvers with settings x seeds. 'bilevel bench SUITE' runs one.");
    return CLI_DONE;
}

/* ---- A suite ---- */

static blv_error open_store(void *context, blv_store **store, blv_message *why) {
    const request *asked = context;
    (void)why;
    return cli_store_try(store, &asked->store) == CLI_DONE ? BLV_OK : BLV_E_FILE;
}

static void follow(void *context, blv_run *run) {
    (void)context;
    cli_signals_watch(run);
}

static bool stopped(void *context) {
    (void)context;
    return cli_signalled();
}

static void add_figures(const bench_results *results, cli_outputs *outputs) {
    const bench_request *asked = results->bench->request;
    for (size_t v = 0; v < results->view_count; v++) {
        char name[BENCH_NAME_SIZE];
        report_bytes svg;
        cli_expect(bench_figure_draw(results, asked->paper, v, &svg));
        bench_figure_name(results, asked->paper, v, name);
        if (svg.data)
            cli_outputs_bytes(outputs, cli_print("%s/%s", asked->figures, name), svg.data,
                              svg.size);
        free(svg.data);
    }
}

/* All files are there, or none is changed. */
static void write_files(const bench_results *results, const char *page) {
    cli_outputs outputs = {0};
    for (const bench_file *f = bench_files; f->name; f++) {
        cli_text text;
        cli_expect(f->put(results, cli_text_begin(&text)));
        char *whole = cli_text_end(&text);
        cli_outputs_bytes(&outputs, cli_print("%s/%s", results->bench->folder, f->name), whole,
                          text.size);
        if (page && f == bench_files)
            cli_outputs_bytes(&outputs, page, whole, text.size);
        free(whole);
    }
    if (results->bench->request->figures)
        add_figures(results, &outputs);
    cli_outputs_commit(&outputs);
}

/* Before the runs, which may take long. */
static void try_outputs(const request *asked) {
    const char *figure = NULL;
    if (asked->bench.figures && cli_rank_writes()) {
        cli_make_folder(asked->bench.figures);
        figure = cli_print("%s/figure.svg", asked->bench.figures);
    }
    cli_outputs_try(asked->page, figure);
}

static void expect_paper(const bench_suite *suite, const char *paper) {
    size_t i = 0;
    while (i < suite->claim_count && !bench_claim_is_of(&suite->claims[i], paper))
        i++;
    if (paper && i == suite->claim_count)
        cli_die("--paper: no claim of suite %s is of '%s'", suite->name, paper);
}

static int run_suite(request *asked, const char *folder) {
    static char *path;
    static bench b;
    bench_results results;
    cli_expect(bench_suite_find(asked->name, folder, &path, &cli_why));
    asked->bench.suite = path;
    cli_file_reads(path);
    cli_expect(bench_open(&b, &asked->bench, &cli_why));
    for (size_t v = 0; v < b.suite.variant_count; v++)
        for (size_t i = 0; i < b.suite.variants[v].files.count; i++)
            cli_file_reads(b.suite.variants[v].files.items[i].text);
    cli_file_writes(asked->bench.from ? NULL : b.points_path);
    try_outputs(asked);
    expect_paper(&b.suite, asked->bench.paper);
    cli_signals_begin();
    blv_error error = bench_run_all(&b, &cli_why);
    cli_signals_end();
    if (error == BLV_E_STOPPED)
        blv_explain(&cli_why, error, "stopped; the same command resumes it");
    cli_expect(error);
    cli_expect(bench_results_make(&results, &b));
    write_files(&results, asked->page);
    cli_expect(bench_results_print(&results, asked->markdown ? REPORT_AS_MARKDOWN : REPORT_AS_TEXT,
                                   stdout));
    bench_results_free(&results);
    bench_close(&b);
    return CLI_DONE;
}

static int run(void *of) {
    request *asked = of;
    bench_request *b = &asked->bench;
    char own[PATH_MAX];
    const char *folder = asked->suites ? asked->suites : own_suites(own);
    if (strcmp(asked->name, "list") == 0)
        return list_suites(folder, asked->suites != NULL);
    b->ranks = cli_ranks();
    if (b->ranks && b->ranks->count > 1 && b->jobs > 1)
        cli_die("--jobs: the ranks share the runs");
    b->data_folders[1] = getenv("BILEVEL_DATA");
    b->command = cli_typed.items;
    b->command_count = cli_typed.count;
    b->context = asked;
    b->store_must_work = cli_store_is_named(&asked->store);
    if (cli_progress_choose(asked->progress_word, false) != CLI_PROGRESS_NONE)
        b->progress = cli_say;
    return run_suite(asked, folder);
}

static const request defaults = {.bench = {.solvers = "papers",
                                           .grid = "default",
                                           .jobs = 1,
                                           .threads = 1,
                                           .open_store = open_store,
                                           .follow = follow,
                                           .stopped = stopped,
                                           .remark = cli_note}};

const cli_command cmd_bench = CLI_COMMAND(
    "bench", "SUITE", "run an experiment of the literature with many solvers", request, table, run,
    "Run an experiment of the literature with many solvers, and print the results.\v"
    "SUITE is the name of one that 'bilevel bench list' shows, or a file of yours. The "
    "folder gets index.html with the plots, points.csv and points.json with every point, and "
    "stored.jsonl, from which --from makes all of it again. An "
    "interrupted benchmark resumes when it is called again. docs/bench.md has the protocol. "
    "Exit status: 0 done, 1 stopped or failed, 2 bad usage or input, or data that are not "
    "there.",
    .defaults = &defaults, .check = check, .spreads = true);
