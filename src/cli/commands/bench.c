/* bilevel bench list|SUITE: experiments of the literature with many solvers. */
#include "base/message.h"
#include "bench/results.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/progress_line.h"
#include "cli/signals.h"
#include "cli/store_options.h"
#include "cli/text.h"

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
    const char *name, *suites, *progress_word;
    bool markdown;
    double limits[3]; /* of each kind; 0: not given */
    cli_progress progress;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, name, "list|SUITE",
                 "no suite is named; 'bilevel bench list' lists them"),
    CLI_OPTION("solvers", TEXT, request, bench.solvers, "NAME,NAME,...|all|papers",
               "solvers that run (default papers: those of the suite); one that the suite does not "
               "have runs with its defaults; all: the suite's, and all others with their defaults"),
    CLI_OPTION("seeds", WHOLE, request, bench.seeds, "N",
               "runs of each solver, with seeds 0 to N-1", .from = 1, .to = 1000),
    CLI_OPTION("seconds", POSITIVE, request, limits[BENCH_SECONDS], "S",
               "time of each run on the solver's clock"),
    CLI_OPTION("budget", POSITIVE, request, limits[BENCH_CALLS], "CALLS",
               "oracle calls of each run, in place of a time"),
    CLI_OPTION("iters", POSITIVE, request, limits[BENCH_ITERATIONS], "N",
               "iterations of each run, in place of a time"),
    CLI_OPTION("grid", TEXT, request, bench.grid, "default|none|FILE",
               "what tuned solvers are tuned over (default: what the suite says); none: nothing is "
               "tuned; FILE: {\"SOLVER\": {\"KEY\": [VALUE, ...]}}"),
    CLI_OPTION("quick", FLAG, request, bench.quick, NULL,
               "the suite's quick form: seconds, small data"),
    CLI_OPTION("jobs", WHOLE, request, bench.jobs, "N",
               "processes that run at the same time (default 1)", .from = 1, .to = 1024),
    CLI_OPTION("threads", WHOLE, request, bench.threads, "N", "threads of each run (default 1)",
               .from = 1, .to = 4096),
    CLI_OPTION("data", TEXT, request, bench.data_folders[0], "DIR",
               "folder of the data (default: BILEVEL_DATA)", .section = CLI_SECTION_DATA),
    CLI_OPTION("suites", TEXT, request, suites, "DIR",
               "folder of the suites (default: those that are installed)",
               .section = CLI_SECTION_DATA),
    CLI_OPTION("out", TEXT, request, bench.out, "DIR",
               "folder of what is written (default bench-SUITE); runs that are finished there are "
               "not made again",
               .letter = 'o', .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("markdown", FLAG, request, markdown, NULL, "print the results as Markdown",
               .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("no-plots", FLAG, request, bench.no_plots, NULL,
               "a page without plots; gnuplot is not needed", .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("progress", TEXT, request, progress_word, "lines|none",
               "a line on standard error for each run (default: on a terminal)",
               .section = CLI_SECTION_OUTPUT),
    CLI_INCLUDE(cli_store_table, request, store, CLI_SECTION_STORE),
    CLI_END};

static blv_error check(void *field, blv_message *why) {
    request *asked = field;
    static const char *const options[] = {"seconds", "budget", "iters"};
    for (int kind = BENCH_SECONDS; kind <= BENCH_ITERATIONS; kind++) {
        if (asked->limits[kind] == 0.0)
            continue;
        if (asked->bench.has_limit)
            return blv_explain(why, BLV_E_ARGUMENT,
                               "--%s: one of --seconds, --budget and --iters, not two",
                               options[kind]);
        asked->bench.has_limit = true;
        asked->bench.limit = (bench_limit){(bench_limit_kind)kind, asked->limits[kind]};
    }
    if (!cli_progress_choose(asked->progress_word, false, &asked->progress))
        return blv_explain(why, BLV_E_ARGUMENT, "--progress '%s': expected lines or none",
                           asked->progress_word);
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

static blv_error list_one(report_table *lines, const char *path, blv_message *why) {
    bench_suite suite;
    char limit[64], count[64];
    blv_error error = bench_suite_read(&suite, path, false, why);
    if (error != BLV_OK)
        return error;
    bench_limit_text(&suite.limit, limit);
    snprintf(count, sizeof count, "%zu x %zu x %llu", suite.variant_count, suite.entry_count,
             (unsigned long long)suite.seeds);
    report_table_row(
        lines, (const char *[]){suite.name, count,
                                suite.has_command ? bench_command_words[suite.command] : limit,
                                suite.title});
    bench_suite_free(&suite);
    return BLV_OK;
}

static int list_suites(const char *folder, bool is_named) {
    report_table lines = {.align = "lrll"};
    blv_message why = {0};
    size_t count = 0;
    char **paths = bench_suite_list(folder, &count);
    blv_error error = paths ? BLV_OK : BLV_E_MEMORY;
    report_table_row(&lines, (const char *[]){"SUITE", "RUNS", "EACH", "TITLE"});
    for (size_t i = 0; paths && i < count; i++) {
        if (error == BLV_OK)
            error = list_one(&lines, paths[i], &why);
        free(paths[i]);
    }
    free(paths);
    if (error == BLV_OK && count == 0)
        error = blv_explain(&why, BLV_E_FILE,
                            "there are no suites%s%s; --suites DIR names their folder",
                            is_named ? " in " : "", is_named ? folder : "");
    if (error == BLV_OK)
        error = report_table_print(&lines, REPORT_AS_TEXT, 0, stdout);
    report_table_free(&lines);
    if (error != BLV_OK)
        return cli_reject(error, why.text);
    puts("\nRuns: variants x solvers with settings x seeds. 'bilevel bench SUITE' runs one.");
    return CLI_DONE;
}

/* ---- A suite ---- */

static blv_error open_store(void *context, blv_store **store, blv_message *why) {
    const request *asked = context;
    (void)why;
    return cli_store_open(store, &asked->store) == CLI_DONE ? BLV_OK : BLV_E_FILE;
}

static void follow(void *context, blv_run *run) {
    (void)context;
    cli_signals_watch(run);
}

static bool stopped(void *context) {
    (void)context;
    return cli_signalled();
}

static void print_line(void *context, const char *text) {
    (void)context;
    fprintf(stderr, "%s\n", text);
}

static void remark(void *context, const char *text) {
    (void)context;
    cli_complain("%s", text);
}

/* All files are there, or none is changed. */
static int write_files(const bench_results *results) {
    cli_outputs outputs = {0};
    int code = CLI_DONE;
    for (const bench_file *f = bench_files; f->name && code == CLI_DONE; f++) {
        cli_text text;
        blv_message why = {0};
        blv_error error = f->put(results, cli_text_begin(&text), &why);
        char *whole = cli_text_end(&text);
        char *path = cli_print("%s/%s", results->bench->folder, f->name);
        code = error == BLV_OK ? cli_outputs_bytes(&outputs, path, whole, text.size)
                               : cli_reject(error, why.text);
        free(whole);
        free(path);
    }
    return cli_outputs_finish(&outputs, code);
}

static int show_results(const bench *b, report_form form) {
    bench_results results;
    blv_error error = bench_results_make(&results, b);
    int code = error == BLV_OK ? write_files(&results) : cli_reject(error, NULL);
    if (code == CLI_DONE) {
        error = bench_results_print(&results, form, stdout);
        code = error == BLV_OK ? CLI_DONE : cli_reject(error, NULL);
    }
    bench_results_free(&results);
    return code;
}

static int run_suite(request *asked, const char *folder) {
    bench b = {0};
    char *path = NULL;
    blv_message why = {0};
    blv_error error = bench_suite_find(asked->name, folder, &path, &why);
    asked->bench.suite = path;
    if (error == BLV_OK)
        error = bench_open(&b, &asked->bench, &why);
    if (error == BLV_OK) {
        cli_signals_begin();
        error = bench_run_all(&b, &why);
        cli_signals_end();
    }
    if (error == BLV_E_STOPPED)
        blv_explain(&why, error, "stopped; the same command resumes it");
    int code = error == BLV_OK
                   ? show_results(&b, asked->markdown ? REPORT_AS_MARKDOWN : REPORT_AS_TEXT)
                   : cli_reject(error, why.text);
    bench_close(&b);
    free(path);
    return code;
}

int cmd_bench(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .check = check,
        .doc = "Run an experiment of the literature with many solvers, and print the results.\v"
               "SUITE is the name of one that 'bilevel bench list' shows, or a file of yours. The "
               "folder gets index.html with the plots, points.csv and points.json with every "
               "point. An interrupted benchmark resumes when it is called again. docs/bench.md has "
               "the protocol. Exit status: 0 done, 1 stopped or failed, 2 bad usage or input, or "
               "data that are not there."};
    char own[PATH_MAX];
    request asked = {.bench = {.solvers = "papers",
                               .grid = "default",
                               .jobs = 1,
                               .threads = 1,
                               .data_folders = {NULL, getenv("BILEVEL_DATA")},
                               .command = argv,
                               .command_count = (size_t)argc,
                               .context = &asked,
                               .open_store = open_store,
                               .follow = follow,
                               .stopped = stopped,
                               .remark = remark}};
    if (!cli_read_arguments(&arguments, argc, argv, &asked))
        return CLI_DONE;
    asked.bench.store_must_work = cli_store_is_named(&asked.store);
    asked.bench.progress = asked.progress == CLI_PROGRESS_NONE ? NULL : print_line;
    const char *folder = asked.suites ? asked.suites : own_suites(own);
    return strcmp(asked.name, "list") == 0 ? list_suites(folder, asked.suites != NULL)
                                           : run_suite(&asked, folder);
}
