/* bilevel solve PROBLEM: the command line. */
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_record.h"
#include "cli_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_task task;
    const char *solver; /* as typed */
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
    KEY_RUN_OPTION /* and the ones behind it: positions in run_options */
};

enum { GROUP_PROBLEM = 1, GROUP_SOLVER, GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT, GROUP_STORE };

static const struct argp_option own_options[] = {
    {NULL, 0, NULL, 0, "The solver:", GROUP_SOLVER},
    {"solver", KEY_SOLVER, "NAME|NAME,NAME,...|all", 0,
     "solver to use (default s-tfbo; 'bilevel solvers' lists them); several, or all that suit, are "
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
    {"quiet", KEY_QUIET, NULL, 0, "no progress line and no summary", GROUP_OUTPUT},
    {"checkpoint", KEY_CHECKPOINT, "SECONDS", 0,
     "keep a checkpoint in the run store this often, so that 'bilevel resume' can go on",
     GROUP_STORE},
};

/* Options of the run that have a name of their own here. What they mean is in the library's table.
 */
static const struct {
    const char *key, *value_name;
    int group;
} run_options[] = {
    {"iters", "N", GROUP_STOP},    {"seconds", "S", GROUP_STOP},       {"budget", "N", GROUP_STOP},
    {"tol", "E", GROUP_STOP},      {"target", "V", GROUP_STOP},        {"seed", "N", GROUP_SAMPLES},
    {"batch", "N", GROUP_SAMPLES}, {"sampler", "NAME", GROUP_SAMPLES}, {"every", "N", GROUP_OUTPUT},
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
                                                        .doc = param ? param->help : NULL,
                                                        .group = run_options[i].group};
    }
    options[OWN_OPTIONS + RUN_OPTIONS] = (struct argp_option){0};
}

static bool has_own_name(const char *key) {
    for (size_t i = 0; i < RUN_OPTIONS; i++)
        if (strcmp(run_options[i].key, key) == 0)
            return true;
    return false;
}

static char *help_with_default(const char *key, const char *text) {
    const blv_param *param = blv_params_find(blv_run_options(), key);
    char *full = NULL;
    if (!param || asprintf(&full, "%s (default %s)", text, param->value) < 0)
        return NULL;
    return full;
}

static char *list_other_run_options(void) {
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
        fprintf(out, "%s  %s: %s; %s (default %s)\n", title, p->key, p->help, range, p->value);
        title = "";
    }
    fclose(out);
    return list;
}

static bool is_run_option(int key) {
    return key >= KEY_RUN_OPTION && key < KEY_RUN_OPTION + RUN_OPTIONS;
}

/* What argp asks for each part of the help. */
static char *complete_help(int key, const char *text, void *input) {
    (void)input;
    if (key == ARGP_KEY_HELP_EXTRA)
        return list_other_run_options();
    if (is_run_option(key) && text)
        return help_with_default(run_options[key - KEY_RUN_OPTION].key, text);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): handed back as it came, in the type argp wants
    return (char *)(uintptr_t)text;
}

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
    case ARGP_KEY_END:
        if (asked->task.checkpoint_seconds > 0.0 && asked->store.off)
            argp_error(state, "--checkpoint needs the store that --no-store leaves out");
        return 0;
    default:
        if (!is_run_option(key))
            return ARGP_ERR_UNKNOWN;
        if (strcmp(run_options[key - KEY_RUN_OPTION].key, "every") == 0)
            asked->task.all_rows = true;
        cli_settings_add(&asked->task.settings, run_options[key - KEY_RUN_OPTION].key, arg);
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
    struct argp_option options[OWN_OPTIONS + RUN_OPTIONS + 1];
    fill_options(options);
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
        .help_filter = complete_help};
    request asked = {.task.start = "zero", .solver = "s-tfbo"};
    json_t *command = cli_record_command(argc, argv);
    asked.task.command = command;
    bool wanted = cli_parse(&argp, argc, argv, &asked);
    int code = wanted ? solve(&asked) : CLI_DONE;
    cli_store_close(asked.task.store);
    json_decref(command);
    cli_selection_free(&asked.task.selection);
    cli_settings_free(&asked.task.settings);
    cli_instance_free(&asked.task.instance);
    return code;
}
