/* bilevel solve PROBLEM: parse, set up, run, certify, report, save. */
#include "cli_commands.h"
#include "cli_report.h"
#include "cli_run_options.h"
#include "cli_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_instance instance;
    cli_settings settings; /* parameters of the solver and options of the run, as typed */
    const char *solver, *start, *trace, *out;
    bool json, quiet;
    const char *progress_word;
    cli_progress progress;
} request;

/* ---- Options ---- */

enum {
    KEY_SOLVER = CLI_KEY_FIRST,
    KEY_SET,
    KEY_START,
    KEY_TRACE,
    KEY_OUT,
    KEY_JSON,
    KEY_QUIET,
    KEY_PROGRESS
};

enum { GROUP_PROBLEM = 1, GROUP_SOLVER, GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT };

static const struct argp_option own_options[] = {
    {NULL, 0, NULL, 0, "The solver:", GROUP_SOLVER},
    {"solver", KEY_SOLVER, "NAME", 0,
     "solver to use (default s-tfbo; 'bilevel solvers' lists them)", GROUP_SOLVER},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of the run",
     GROUP_SOLVER},
    {"start", KEY_START, "zero|random|FILE.npz", 0,
     "where to start (default zero); a file gives x, y and v as far as it has them", GROUP_SOLVER},
    {NULL, 0, NULL, 0, "When to stop:", GROUP_STOP},
    {NULL, 0, NULL, 0, "Randomness:", GROUP_SAMPLES},
    {NULL, 0, NULL, 0, "What is shown and written:", GROUP_OUTPUT},
    {"trace", KEY_TRACE, "FILE", 0, "write the trace while it runs, JSON lines", GROUP_OUTPUT},
    {"out", KEY_OUT, "FILE.npz", 0, "write x, y, v and the start x0, y0, v0", GROUP_OUTPUT},
    {"json", KEY_JSON, NULL, 0, "print one JSON object on standard output", GROUP_OUTPUT},
    {"quiet", KEY_QUIET, NULL, 0, "no progress and no summary", GROUP_OUTPUT},
    {"progress", KEY_PROGRESS, "bar|lines|none", 0,
     "how progress is shown on standard error (default: a bar on a terminal)", GROUP_OUTPUT},
};

enum { OWN_OPTIONS = sizeof own_options / sizeof own_options[0] };

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->instance;
        return 0;
    case KEY_SOLVER:
        asked->solver = arg;
        return 0;
    case KEY_SET:
        cli_settings_split(&asked->settings, "set", arg, state);
        return 0;
    case KEY_START:
        asked->start = arg;
        return 0;
    case KEY_TRACE:
        asked->trace = arg;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case KEY_QUIET:
        asked->quiet = true;
        return 0;
    case KEY_PROGRESS:
        asked->progress_word = arg;
        return 0;
    case ARGP_KEY_END:
        if (!cli_progress_choose(asked->progress_word, asked->json || asked->quiet,
                                 &asked->progress))
            argp_error(state, "--progress '%s': expected bar, lines or none", asked->progress_word);
        return 0;
    default:
        if (!cli_run_option_name(key))
            return ARGP_ERR_UNKNOWN;
        cli_settings_add(&asked->settings, cli_run_option_name(key), arg);
        return 0;
    }
}

/* ---- Run ---- */

static int refused_by(const blv_run *run, blv_error error) {
    return cli_refuse(error, blv_run_message(run));
}

static blv_error set_and_trace(const request *asked, blv_run *run) {
    for (size_t i = 0; i < asked->settings.count; i++)
        BLV_CHECK(blv_run_set(run, asked->settings.items[i].key, asked->settings.items[i].value));
    return asked->trace ? blv_run_trace(run, asked->trace) : BLV_OK;
}

static int open_at_start(const request *asked, blv_run *run, const cli_vectors *loaded) {
    blv_error error = blv_run_open(run);
    return error == BLV_OK ? cli_start_apply(run, asked->start, loaded) : refused_by(run, error);
}

/* What can be refused is refused before a step is made, and before the trace is opened. */
static int set_up(const request *asked, cli_report *report) {
    blv_error error = set_and_trace(asked, report->run);
    if (error != BLV_OK)
        return refused_by(report->run, error);
    int code = asked->out ? cli_expect_writable(asked->out) : CLI_DONE;
    if (code != CLI_DONE)
        return code;
    cli_vectors loaded = {0};
    code = cli_start_load(&loaded, report->run, asked->start, asked->instance.options.precision);
    if (code == CLI_DONE)
        code = open_at_start(asked, report->run, &loaded);
    cli_vectors_free(&loaded);
    if (code == CLI_DONE)
        cli_vectors_read(&report->start, report->run);
    return code;
}

static void certify(cli_report *report) {
    blv_error error = blv_run_certify(report->run, &report->certificate);
    report->certified = error == BLV_OK;
    if (error == BLV_OK)
        return;
    const char *message = blv_run_message(report->run);
    snprintf(report->no_certificate, sizeof report->no_certificate, "%s",
             message && *message ? message : blv_error_text(error));
}

/* Runs to the end and certifies where it ended. The exit code says what went wrong, if anything. */
static blv_error run_to_end(const request *asked, cli_report *report) {
    cli_watch_begin(asked->progress);
    blv_error error = cli_watch_run(report->run, NULL);
    if (error == BLV_OK)
        error = blv_run_solve(report->run);
    const char *message = blv_run_message(report->run);
    snprintf(report->message, sizeof report->message, "%s", message ? message : "");
    return error;
}

/* What the problem itself can tell about the end: accuracies and the like. */
static void measure(cli_report *report) {
    const blv_problem_def *def = blv_problem_definition(report->instance->problem);
    if (!def->measure)
        return;
    if (def->measure(def->user, blv_run_x(report->run), blv_run_y(report->run), report->measures))
        return;
    while (report->measure_count < BLV_MEASURES_MAX && def->measures[report->measure_count])
        report->measure_count++;
}

/* The result in full, and the exit code that it deserves; error: what the run returned. */
static int certify_and_judge(const request *asked, cli_report *report, blv_error error) {
    cli_watch_say("certifying");
    certify(report);
    measure(report);
    cli_watch_end();
    cli_vectors_read(&report->end, report->run);
    report->solution_known = cli_known_distance(asked->instance.problem, &report->end,
                                                &report->distance_x, &report->distance_y);
    if (error != BLV_OK)
        return cli_refuse(error, report->message);
    if (blv_run_result(report->run)->outcome <= BLV_DIVERGED) {
        char ending[CLI_ENDING_SIZE];
        cli_report_ending(report, ending);
        cli_complain("%s", ending);
        return CLI_FAILED;
    }
    if (!report->certified) {
        cli_complain("no certificate could be made: %s", report->no_certificate);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static int solve(const request *asked, cli_report *report) {
    int code = set_up(asked, report);
    if (code != CLI_DONE)
        return code;
    blv_error error = run_to_end(asked, report);
    if (error != BLV_OK && blv_run_result(report->run)->outcome == BLV_RUNNING) {
        cli_watch_end(); /* it never began: there is nothing to report */
        return cli_refuse(error, report->message);
    }
    code = certify_and_judge(asked, report, error);
    if (asked->json)
        cli_report_json(report);
    else if (!asked->quiet)
        cli_report_text(report);
    if (asked->out) {
        int saved = cli_save(asked->out, &report->end, &report->start);
        code = saved == CLI_DONE ? code : saved;
    }
    return code;
}

static int create_and_solve(request *asked) {
    blv_message why = {0};
    const blv_solver *solver = blv_solver_find(NULL, asked->solver, &why);
    if (!solver)
        return cli_refuse(BLV_E_NAME, why.text);
    int code = cli_instance_create(&asked->instance);
    if (code != CLI_DONE)
        return code;
    cli_report report = {.instance = &asked->instance};
    blv_error error = blv_run_create(&report.run, asked->instance.problem, solver, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    code = solve(asked, &report);
    cli_vectors_free(&report.start);
    cli_vectors_free(&report.end);
    blv_run_destroy(report.run);
    return code;
}

int cmd_solve(int argc, char **argv) {
    struct argp_option options[OWN_OPTIONS + CLI_RUN_OPTIONS + 1] = {{0}};
    memcpy(options, own_options, sizeof own_options);
    cli_run_options_fill(options + OWN_OPTIONS,
                         (cli_run_groups){GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT});
    const struct argp_child children[] = {{&cli_instance_argp, 0, "The problem:", GROUP_PROBLEM},
                                          {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM",
        .doc = "Solve PROBLEM, certify the result and explain it.\v"
               "Exit status: 0 solved or stopped at a limit as asked, 1 diverged or failed, "
               "2 bad usage or input. Ctrl-C ends the run with its result so far; a second one "
               "ends at once.",
        .children = children,
        .help_filter = cli_run_options_help};
    request asked = {.solver = "s-tfbo", .start = "zero"};
    argp_parse(&argp, argc, argv, 0, NULL, &asked);
    int code = create_and_solve(&asked);
    cli_settings_free(&asked.settings);
    cli_instance_free(&asked.instance);
    return code;
}
