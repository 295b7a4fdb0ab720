/* bilevel solve PROBLEM: the command line. */
#include "base/message.h"
#include "bilevel/registry.h"
#include "cli/store_options.h"
#include "cli_commands.h"
#include "cli_record.h"
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

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, task.instance.name, "PROBLEM", "no problem is named"),
    CLI_INCLUDE(cli_problem_table, request, task.instance, CLI_SECTION_PROBLEM),
    CLI_OPTION("solver", TEXT, request, solver, "NAME|NAME,NAME,...|all",
               "solver to use (default " BLV_DEFAULT_SOLVER
               "; 'bilevel solvers' lists them); several, or all that suit, are run one after the "
               "other and compared",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("set", SETTING, request, task.settings, "KEY=VALUE",
               "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of "
               "the run; with several, of those that have it; SOLVER.KEY=VALUE: of one of them",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("start", TEXT, request, task.start, "zero|random|FILE.npz",
               "where to start (default zero, or what the problem says instead); a file gives x, y "
               "and v as far as it has them",
               .section = CLI_SECTION_SOLVER),
    CLI_INCLUDE(cli_run_option_table, request, task.settings, CLI_SECTION_OWN),
    CLI_OPTION("trace", TEXT, request, task.trace, "FILE",
               "write the trace while it runs, JSON lines; with several solvers FILE gets their "
               "names",
               .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("out", TEXT, request, task.out, "FILE.npz",
               "write x, y, v and the start x0, y0, v0; likewise", .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("json", FLAG, request, task.json, NULL, "print one JSON object on standard output",
               .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("quiet", FLAG, request, task.quiet, NULL, "no progress and no summary",
               .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("progress", WORD, request, progress_word, "bar|lines|none",
               "how progress is shown on standard error (default: a bar on a terminal)",
               .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("checkpoint", POSITIVE, request, task.checkpoint_seconds, "SECONDS",
               "keep a checkpoint in the run store this often, for 'bilevel resume'",
               .section = CLI_SECTION_STORE, .expected = "a number of seconds > 0"),
    CLI_INCLUDE(cli_store_table, request, store, CLI_SECTION_STORE),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    cli_task *task = &asked->task;
    task->all_rows = task->trace || cli_settings_has(&task->settings, "every");
    cli_progress_choose(asked->progress_word, task->json || task->quiet, &task->progress);
    if (task->checkpoint_seconds > 0.0 && asked->store.off)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--checkpoint needs the store that --no-store leaves out");
    return BLV_OK;
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
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Solve PROBLEM, certify the result and explain it.\v"
               "Exit status: 0 solved or stopped at a limit as asked, 1 diverged or failed, "
               "2 bad usage or input. Ctrl-C ends the run with its result so far; a second one "
               "ends at once.",
        .check = check};
    request asked = {.task.start = "zero", .solver = BLV_DEFAULT_SOLVER};
    json_t *command = cli_record_command(argc, argv);
    asked.task.command = command;
    bool wanted = cli_read_arguments(&arguments, argc, argv, &asked);
    int code = wanted ? solve(&asked) : CLI_DONE;
    blv_store_close(asked.task.store);
    json_decref(command);
    cli_selection_free(&asked.task.selection);
    cli_settings_free(&asked.task.settings);
    cli_instance_free(&asked.task.instance);
    return code;
}
