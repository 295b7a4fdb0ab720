/* bilevel bench list|SUITE: the command line. */
#include "bilevel/select.h"
#include "cli_bench.h"
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_json.h"
#include "cli_record.h"
#include "cli_selection.h"
#include "cli_table.h"
#include "cli_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Options ---- */

enum {
    KEY_SOLVERS = CLI_KEY_FIRST,
    KEY_SEEDS,
    KEY_SECONDS,
    KEY_BUDGET,
    KEY_ITERS,
    KEY_GRID,
    KEY_JOBS,
    KEY_THREADS,
    KEY_QUICK,
    KEY_DATA,
    KEY_SUITES,
    KEY_MARKDOWN,
    KEY_NO_PLOTS,
    KEY_PROGRESS
};

enum { MOST_SEEDS = 1000, MOST_JOBS = 1024, MOST_THREADS = 4096 };

static const struct argp_option options[] = {
    {"solvers", KEY_SOLVERS, "NAME,NAME,...|all|papers", 0,
     "solvers that run (default papers: those of the suite); one that the suite does not have runs "
     "with its defaults; all: the suite's, and all others with their defaults",
     1},
    {"seeds", KEY_SEEDS, "N", 0, "runs of each solver, with seeds 0 to N-1", 1},
    {"seconds", KEY_SECONDS, "S", 0, "time of each run on the solver's clock", 1},
    {"budget", KEY_BUDGET, "CALLS", 0, "oracle calls of each run, in place of a time", 1},
    {"iters", KEY_ITERS, "N", 0, "iterations of each run, in place of a time", 1},
    {"grid", KEY_GRID, "default|none|FILE", 0,
     "what tuned solvers are tuned over (default: what the suite says); none: nothing is tuned; "
     "FILE: {\"SOLVER\": {\"KEY\": [VALUE, ...]}}",
     1},
    {"quick", KEY_QUICK, NULL, 0, "the suite's quick form: seconds, small data", 1},
    {"jobs", KEY_JOBS, "N", 0, "processes that run at a time (default 1)", 2},
    {"threads", KEY_THREADS, "N", 0, "threads of each run (default 1)", 2},
    {"data", KEY_DATA, "DIR", 0, "folder of the data (default: BILEVEL_DATA)", 3},
    {"suites", KEY_SUITES, "DIR", 0, "folder of the suites (default: those that come along)", 3},
    {"out", 'o', "DIR", 0,
     "folder of what is written (default bench-SUITE); runs that are finished there are not made "
     "again",
     4},
    {"markdown", KEY_MARKDOWN, NULL, 0, "print the findings as Markdown", 4},
    {"no-plots", KEY_NO_PLOTS, NULL, 0, "a page without plots; gnuplot is not needed", 4},
    {"progress", KEY_PROGRESS, "lines|none", 0,
     "a line on standard error for each run (default: on a terminal)", 4},
    {0}};

typedef struct request {
    cli_bench_request bench;
    const char *progress_word;
} request;

static uint64_t parse_count(const char *option, const char *text, uint64_t most,
                            const struct argp_state *state) {
    uint64_t value = 0;
    if (!cli_parse_whole(text, most, &value) || value == 0)
        argp_error(state, "--%s '%s': expected a whole number from 1 to %llu", option, text,
                   (unsigned long long)most);
    return value;
}

static void take_limit(cli_bench_request *asked, cli_limit_kind kind, const char *option,
                       const char *text, const struct argp_state *state) {
    double amount = 0.0;
    if (!cli_parse_real(text, &amount) || !(amount > 0.0))
        argp_error(state, "--%s '%s': expected a number above 0", option, text);
    if (asked->has_limit)
        argp_error(state, "--%s: one of --seconds, --budget and --iters, not two", option);
    asked->has_limit = true;
    asked->limit = (cli_limit){kind, amount};
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *all = state->input;
    cli_bench_request *asked = &all->bench;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->store;
        return 0;
    case KEY_SOLVERS:
        asked->solvers = arg;
        return 0;
    case KEY_SEEDS:
        asked->seeds = parse_count("seeds", arg, MOST_SEEDS, state);
        return 0;
    case KEY_SECONDS:
        take_limit(asked, CLI_SECONDS, "seconds", arg, state);
        return 0;
    case KEY_BUDGET:
        take_limit(asked, CLI_CALLS, "budget", arg, state);
        return 0;
    case KEY_ITERS:
        take_limit(asked, CLI_ITERATIONS, "iters", arg, state);
        return 0;
    case KEY_GRID:
        asked->grid = arg;
        return 0;
    case KEY_QUICK:
        asked->quick = true;
        return 0;
    case KEY_JOBS:
        asked->jobs = parse_count("jobs", arg, MOST_JOBS, state);
        return 0;
    case KEY_THREADS:
        asked->threads = (int)parse_count("threads", arg, MOST_THREADS, state);
        return 0;
    case KEY_DATA:
        asked->data = arg;
        return 0;
    case KEY_SUITES:
        asked->suites = arg;
        return 0;
    case 'o':
        asked->out = arg;
        return 0;
    case KEY_MARKDOWN:
        asked->markdown = true;
        return 0;
    case KEY_NO_PLOTS:
        asked->no_plots = true;
        return 0;
    case KEY_PROGRESS:
        all->progress_word = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->suite)
            argp_error(state, "'%s' is one argument too many", arg);
        asked->suite = arg;
        return 0;
    case ARGP_KEY_END:
        if (!asked->suite)
            argp_error(state, "no suite is named; 'bilevel bench list' lists them");
        if (!cli_progress_choose(all->progress_word, false, &asked->progress))
            argp_error(state, "--progress '%s': expected lines or none", all->progress_word);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The list ---- */

static int list_one(cli_table *table, const char *path) {
    cli_suite suite;
    int code = cli_suite_read(&suite, path, false);
    if (code == CLI_DONE) {
        char limit[64], count[64];
        if (suite.command)
            snprintf(limit, sizeof limit, "%s", suite.command);
        else
            cli_limit_text(&suite.limit, limit);
        snprintf(count, sizeof count, "%zu x %zu x %llu", suite.variant_count, suite.entry_count,
                 (unsigned long long)suite.seeds);
        cli_table_row(table, (const char *[]){suite.name, count, limit, suite.title});
    }
    cli_suite_free(&suite);
    return code;
}

static int list_suites(const char *folder) {
    cli_table table = {.align = "lrll"};
    char **paths = cli_suite_list(folder);
    int code = CLI_DONE;
    cli_table_row(&table, (const char *[]){"SUITE", "RUNS", "EACH", "TITLE"});
    for (size_t i = 0; paths[i] && code == CLI_DONE; i++)
        code = list_one(&table, paths[i]);
    if (code == CLI_DONE && !paths[0]) {
        cli_complain("there are no suites%s%s; --suites DIR names their folder",
                     folder ? " in " : "", folder ? folder : "");
        code = CLI_REFUSED;
    }
    for (size_t i = 0; paths[i]; i++)
        free(paths[i]);
    free(paths);
    if (code != CLI_DONE) {
        cli_table_free(&table);
        return code;
    }
    cli_table_print(&table, 0, stdout);
    fputs("\nRuns: variants x solvers with settings x seeds. 'bilevel bench SUITE' runs one.\n",
          stdout);
    return CLI_DONE;
}

/* ---- Which solvers ---- */

static char *text_of(const char *first, const char *second) {
    char *text = NULL;
    if (asprintf(&text, "%s%s", first, second) < 0)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return text;
}

static bool is_selected(const cli_entry *entry, const void *context) {
    const json_t *names = context;
    return json_object_get(names, entry->solver) != NULL;
}

static bool has_entry(const cli_suite *suite, const char *solver) {
    for (size_t i = 0; i < suite->entry_count; i++)
        if (strcmp(suite->entries[i].solver, solver) == 0)
            return true;
    return false;
}

static int name_solvers(json_t *names, const char *text) {
    cli_selection selection = {0};
    int code = cli_selection_parse(&selection, text);
    for (size_t i = 0; code == CLI_DONE && i < selection.count; i++)
        cli_json_set(names, selection.items[i].solver->name, json_true());
    cli_selection_free(&selection);
    return code;
}

static int name_methods(json_t *names, const char *text) {
    const blv_selection_method *method;
    for (size_t i = 0; strcmp(text, "all") == 0 && (method = blv_selection_method_at(i)); i++)
        cli_json_set(names, method->name, json_true());
    char *copy = text_of(text, ""), *rest = strcmp(text, "all") == 0 ? NULL : copy;
    int code = CLI_DONE;
    for (char *word; code == CLI_DONE && (word = strsep(&rest, ","));) {
        blv_message why = {0};
        if (blv_selection_method_find(word, &why))
            cli_json_set(names, word, json_true());
        else
            code = cli_refuse(BLV_E_NAME, why.text);
    }
    free(copy);
    return code;
}

static int select_solvers(cli_suite *suite, const char *text) {
    if (strcmp(text, "papers") == 0)
        return CLI_DONE;
    json_t *names = cli_json_object(), *ignored;
    const char *name;
    int code = suite->command ? name_methods(names, text) : name_solvers(names, text);
    if (code == CLI_DONE) {
        cli_suite_keep(suite, is_selected, names);
        json_object_foreach(names, name, ignored) {
            if (!has_entry(suite, name))
                cli_suite_add_untuned(suite, cli_suite_solver(suite, name, NULL));
        }
    }
    json_decref(names);
    return code;
}

static int apply_request(cli_suite *suite, const cli_bench_request *asked) {
    if (asked->seeds)
        suite->seeds = asked->seeds;
    if (asked->has_limit && suite->command) {
        cli_complain("suite %s runs %s, which has no limit", suite->name, suite->command);
        return CLI_REFUSED;
    }
    if (asked->has_limit)
        suite->limit = asked->limit;
    int code = CLI_DONE;
    if (strcmp(asked->grid, "default") != 0)
        code = cli_suite_replace_grids(suite, strcmp(asked->grid, "none") ? asked->grid : NULL);
    if (code == CLI_DONE)
        code = select_solvers(suite, asked->solvers);
    return code == CLI_DONE ? cli_suite_check_choice(suite) : code;
}

/* ---- The bench ---- */

static int make_folder(const char *path) {
    struct stat status;
    if (mkdir(path, 0777) == 0 ||
        (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
        return CLI_DONE;
    cli_complain("%s: cannot be made a folder: %s", path, strerror(errno));
    return CLI_REFUSED;
}

static int run_all(cli_bench *bench) {
    int code = cli_bench_load(bench);
    if (code == CLI_DONE)
        code = cli_bench_execute(bench);
    if (code == CLI_DONE) {
        cli_bench_plan_tuned(bench);
        code = cli_bench_execute(bench);
    }
    return code;
}

static int tell(const cli_bench *bench) {
    cli_findings findings;
    cli_findings_make(&findings, bench);
    cli_findings_judge(&findings);
    int code = cli_findings_write(&findings);
    if (code == CLI_DONE && bench->asked->markdown)
        cli_findings_markdown(&findings);
    else if (code == CLI_DONE)
        cli_findings_print(&findings);
    cli_findings_free(&findings);
    return code;
}

static int run_suite(cli_bench_request *asked, cli_bench *bench) {
    int code = cli_bench_check(bench);
    if (code != CLI_DONE)
        return code;
    cli_bench_plan(bench);
    code = cli_bench_rehearse(bench);
    if (code != CLI_DONE)
        return code;
    char *folder =
        asked->out ? cli_print("%s", asked->out) : cli_print("bench-%s", bench->suite.name);
    asked->out = folder;
    bench->points_path = cli_print("%s/points.jsonl", folder);
    code = make_folder(folder);
    if (code == CLI_DONE)
        code = run_all(bench);
    if (code == CLI_DONE)
        code = tell(bench);
    free(folder);
    return code;
}

static int bench_suite(cli_bench_request *asked) {
    char *path = cli_suite_find(asked->suite, asked->suites);
    if (!path)
        return CLI_REFUSED;
    cli_bench bench = {.asked = asked};
    int code = cli_suite_read(&bench.suite, path, asked->quick);
    free(path);
    if (code == CLI_DONE)
        code = apply_request(&bench.suite, asked);
    if (code == CLI_DONE)
        code = run_suite(asked, &bench);
    cli_bench_free(&bench);
    return code;
}

int cmd_bench(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_store_argp, 0, "The run store:", 5}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "list|SUITE",
        .doc = "Run an experiment of the literature with many solvers, and say what came out.\v"
               "SUITE is the name of one that 'bilevel bench list' shows, or a file of yours. "
               "The folder gets index.html with the plots, points.csv and points.json with every "
               "point. A bench that was stopped goes on when it is called again. docs/bench.md "
               "has the protocol. Exit status: 0 done, 1 stopped or failed, 2 bad usage or input, "
               "or data that are not there.",
        .children = children};
    request all = {.bench = {.solvers = "papers", .grid = "default", .jobs = 1, .threads = 1}};
    json_t *command = cli_record_command(argc, argv);
    all.bench.command = command;
    bool wanted = cli_parse(&argp, argc, argv, &all);
    int code = CLI_DONE;
    if (wanted)
        code = strcmp(all.bench.suite, "list") == 0 ? list_suites(all.bench.suites)
                                                    : bench_suite(&all.bench);
    json_decref(command);
    return code;
}
