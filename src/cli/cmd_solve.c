/* bilevel solve PROBLEM: parse, set up, run, certify, report, save. */
#include "cli_commands.h"
#include "cli_report.h"
#include "cli_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct request {
    cli_instance instance;
    cli_settings settings; /* parameters of the solver and options of the run, as typed */
    const char *solver, *start, *trace, *out;
    bool json, quiet;
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
    KEY_RUN_OPTION /* and the ones behind it: positions in run_options */
};

static const struct argp_option own_options[] = {
    {"solver", KEY_SOLVER, "NAME", 0,
     "Solver to use (default s-tfbo; 'bilevel solvers' lists them)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "Set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of the run",
     0},
    {"start", KEY_START, "zero|random|FILE.npz", 0,
     "Where to start (default zero); a file gives x, y and v as far as it has them", 0},
    {"trace", KEY_TRACE, "FILE", 0, "Write the trace while it runs, JSON lines", 0},
    {"out", KEY_OUT, "FILE.npz", 0, "Write x, y, v and the start x0, y0, v0", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object on standard output", 0},
    {"quiet", KEY_QUIET, NULL, 0, "No progress line and no summary", 0},
};

/* Options of the run that have a name of their own here. What they mean is in the library's table.
 */
static const struct {
    const char *key, *value_name;
} run_options[] = {
    {"iters", "N"}, {"seconds", "S"}, {"budget", "N"},     {"tol", "E"},   {"target", "V"},
    {"seed", "N"},  {"batch", "N"},   {"sampler", "NAME"}, {"every", "N"},
};

enum {
    OWN_OPTIONS = sizeof own_options / sizeof own_options[0],
    RUN_OPTIONS = sizeof run_options / sizeof run_options[0]
};

static void fill_options(struct argp_option *options) {
    memcpy(options, own_options, sizeof own_options);
    for (int i = 0; i < RUN_OPTIONS; i++) {
        const blv_param *param = blv_params_find(blv_run_options(), run_options[i].key);
        options[OWN_OPTIONS + i] = (struct argp_option){.name = run_options[i].key,
                                                        .key = KEY_RUN_OPTION + i,
                                                        .arg = run_options[i].value_name,
                                                        .doc = param ? param->help : NULL};
    }
    options[OWN_OPTIONS + RUN_OPTIONS] = (struct argp_option){0};
}

static bool has_own_name(const char *key) {
    for (size_t i = 0; i < RUN_OPTIONS; i++)
        if (strcmp(run_options[i].key, key) == 0)
            return true;
    return false;
}

/* At the end of the help: the options of the run that are set with --set. */
static char *add_help(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)(uintptr_t)text; /* the type that argp wants; it is handed back as it came */
    char *list = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    if (!out)
        return NULL;
    const char *title = "Options of the run that are set with --set KEY=VALUE:\n";
    for (const blv_param *p = blv_run_options(); p && p->key; p++) {
        if (has_own_name(p->key))
            continue;
        char range[256] = "";
        blv_params_range(p, range, sizeof range);
        fprintf(out, "%s  %s: %s (%s; default %s)\n", title, p->key, p->help, range, p->value);
        title = "";
    }
    fclose(out);
    return list;
}

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
    default:
        if (key < KEY_RUN_OPTION || key >= KEY_RUN_OPTION + RUN_OPTIONS)
            return ARGP_ERR_UNKNOWN;
        cli_settings_add(&asked->settings, run_options[key - KEY_RUN_OPTION].key, arg);
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
static int run_and_certify(const request *asked, cli_report *report) {
    bool display = !asked->json && !asked->quiet && isatty(STDERR_FILENO);
    blv_error error = cli_watch_begin(report->run, display);
    if (error == BLV_OK)
        error = blv_run_solve(report->run);
    const char *message = blv_run_message(report->run);
    snprintf(report->message, sizeof report->message, "%s", message ? message : "");
    cli_watch_say("certifying");
    certify(report);
    cli_watch_end();

    cli_vectors_read(&report->end, report->run);
    report->solution_known = cli_known_distance(asked->instance.problem, &report->end,
                                                &report->distance_x, &report->distance_y);
    blv_outcome outcome = blv_run_result(report->run)->outcome;
    if (error != BLV_OK)
        return cli_refuse(error, report->message);
    if (outcome <= BLV_DIVERGED) {
        cli_complain("%s: %s", blv_outcome_word(outcome),
                     *report->message ? report->message : blv_outcome_text(outcome));
        return CLI_FAILED;
    }
    if (!report->certified) {
        cli_complain("no certificate: %s", report->no_certificate);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static int solve(const request *asked, cli_report *report) {
    int code = set_up(asked, report);
    if (code != CLI_DONE)
        return code;
    code = run_and_certify(asked, report);
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
    struct argp_option options[OWN_OPTIONS + RUN_OPTIONS + 1];
    fill_options(options);
    const struct argp_child children[] = {{&cli_instance_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM",
        .doc = "Solve PROBLEM, certify the result and explain it.\v"
               "Exit status: 0 solved or stopped at a limit as asked, 1 diverged or failed, "
               "2 bad usage or input. Ctrl-C ends the run with its result so far; a second one "
               "ends at once.",
        .children = children,
        .help_filter = add_help};
    request asked = {.solver = "s-tfbo", .start = "zero"};
    argp_parse(&argp, argc, argv, 0, NULL, &asked);
    int code = create_and_solve(&asked);
    cli_settings_free(&asked.settings);
    cli_instance_free(&asked.instance);
    return code;
}
