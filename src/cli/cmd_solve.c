/* bilevel solve PROBLEM: the command line. */
#include "bilevel/registry.h"
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_record.h"
#include "cli_run_options.h"
#include "cli_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_task task;
    const char *solver; /* as typed */
    const char *progress_word;
    cli_store_choice store;
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
    KEY_CHECKPOINT,
    KEY_PROGRESS
};

enum { GROUP_PROBLEM = 1, GROUP_SOLVER, GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT, GROUP_STORE };

static const struct argp_option own_options[] = {
    {NULL, 0, NULL, 0, "The solver:", GROUP_SOLVER},
    {"solver", KEY_SOLVER, "NAME|NAME,NAME,...|all", 0,
     "solver to use (default " BLV_DEFAULT_SOLVER
     "; 'bilevel solvers' lists them); several, or all that suit, are "
     "run one after the other and compared",
     GROUP_SOLVER},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of the run; "
     "with several, of those that have it; SOLVER.KEY=VALUE: of one of them",
     GROUP_SOLVER},
    {"start", KEY_START, "zero|random|FILE.npz", 0,
     "where to start (default zero, or what the problem says instead); a file gives x, y and v as "
     "far as it has them",
     GROUP_SOLVER},
    {NULL, 0, NULL, 0, "When to stop:", GROUP_STOP},
    {NULL, 0, NULL, 0, "Randomness:", GROUP_SAMPLES},
    {NULL, 0, NULL, 0, "What is shown and written:", GROUP_OUTPUT},
    {"trace", KEY_TRACE, "FILE", 0,
     "write the trace while it runs, JSON lines; with several solvers FILE gets their names",
     GROUP_OUTPUT},
    {"out", KEY_OUT, "FILE.npz", 0, "write x, y, v and the start x0, y0, v0; likewise",
     GROUP_OUTPUT},
    {"json", KEY_JSON, NULL, 0, "print one JSON object on standard output", GROUP_OUTPUT},
    {"quiet", KEY_QUIET, NULL, 0, "no progress and no summary", GROUP_OUTPUT},
    {"progress", KEY_PROGRESS, "bar|lines|none", 0,
     "how progress is shown on standard error (default: a bar on a terminal)", GROUP_OUTPUT},
    {"checkpoint", KEY_CHECKPOINT, "SECONDS", 0,
     "keep a checkpoint in the run store this often, so that 'bilevel resume' can go on",
     GROUP_STORE},
};

enum { OWN_OPTIONS = sizeof own_options / sizeof own_options[0] };

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->task.instance;
        state->child_inputs[1] = &asked->store;
        return 0;
    case KEY_SOLVER:
        asked->solver = arg;
        return 0;
    case KEY_SET:
        cli_settings_split(&asked->task.settings, "set", arg, state);
        return 0;
    case KEY_START:
        asked->task.start = arg;
        return 0;
    case KEY_TRACE:
        asked->task.trace = arg;
        asked->task.all_rows = true;
        return 0;
    case KEY_OUT:
        asked->task.out = arg;
        return 0;
    case KEY_JSON:
        asked->task.json = true;
        return 0;
    case KEY_QUIET:
        asked->task.quiet = true;
        return 0;
    case KEY_CHECKPOINT:
        asked->task.checkpoint_seconds = cli_task_parse_checkpoint(arg, state);
        return 0;
    case KEY_PROGRESS:
        asked->progress_word = arg;
        return 0;
    case ARGP_KEY_END:
        if (asked->task.checkpoint_seconds > 0.0 && asked->store.off)
            argp_error(state, "--checkpoint needs the store that --no-store leaves out");
        if (!cli_progress_choose(asked->progress_word, asked->task.json || asked->task.quiet,
                                 &asked->task.progress))
            argp_error(state, "--progress '%s': expected bar, lines or none", asked->progress_word);
        return 0;
    default:
        if (!cli_run_option_name(key))
            return ARGP_ERR_UNKNOWN;
        if (strcmp(cli_run_option_name(key), "every") == 0)
            asked->task.all_rows = true;
        cli_settings_add(&asked->task.settings, cli_run_option_name(key), arg);
        return 0;
    }
}

/* ---- The command ---- */

static int solve(request *asked) {
    cli_task *task = &asked->task;
    int code = cli_selection_parse(&task->selection, asked->solver);
    if (code == CLI_DONE)
        code = cli_instance_create(&task->instance);
    if (code == CLI_DONE)
        code = cli_task_open_store(task, &asked->store);
    if (code != CLI_DONE)
        return code;
    return task->selection.several ? cli_solve_with_several(task) : cli_solve_with_one(task);
}

int cmd_solve(int argc, char **argv) {
    struct argp_option options[OWN_OPTIONS + CLI_RUN_OPTIONS + 1] = {{0}};
    memcpy(options, own_options, sizeof own_options);
    cli_run_options_fill(options + OWN_OPTIONS,
                         (cli_run_groups){GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT});
    const struct argp_child children[] = {{&cli_instance_argp, 0, "The problem:", GROUP_PROBLEM},
                                          {&cli_store_argp, 0, "The run store:", GROUP_STORE},
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
    request asked = {.task.start = "zero", .solver = BLV_DEFAULT_SOLVER};
    json_t *command = cli_record_command(argc, argv);
    asked.task.command = command;
    bool wanted = cli_parse(&argp, argc, argv, &asked);
    int code = wanted ? solve(&asked) : CLI_DONE;
    blv_store_close(asked.task.store);
    json_decref(command);
    cli_selection_free(&asked.task.selection);
    cli_settings_free(&asked.task.settings);
    cli_instance_free(&asked.task.instance);
    return code;
}
