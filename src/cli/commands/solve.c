/* bilevel solve PROBLEM: the command line. */
#include "cli/commands.h"
#include "cli/solve_task.h"
#include "cli/store_options.h"

#include "base/message.h"

#include <string.h>

typedef struct request {
    cli_solve_task task;
    const char *progress_word;
    cli_store_choice store;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, task.instance.name, "PROBLEM", "no problem is named"),
    CLI_OPTION("solver", TEXT, request, task.solver, "NAME|NAME,NAME,...|all",
               "solver to use (default s-tfbo; 'bilevel solvers' lists them); several, or all that "
               "suit, are run one after the other and compared",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("set", SETTING, request, task.settings, "KEY=VALUE",
               "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of "
               "the run; with several, of those that have it; SOLVER.KEY=VALUE: of one of them",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("start", TEXT, request, task.start, "zero|random|FILE.npz",
               "where to start (default zero, or what the problem says instead); a file gives x, y "
               "and v as far as it has them",
               .section = CLI_SECTION_SOLVER),
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
               "keep a checkpoint in the run store this often, so that 'bilevel resume' can resume "
               "the run",
               .expected = "a number of seconds > 0", .section = CLI_SECTION_STORE),
    CLI_INCLUDE(cli_run_option_table, request, task.settings, CLI_SECTION_OWN),
    CLI_INCLUDE(cli_problem_table, request, task.instance, CLI_SECTION_PROBLEM),
    CLI_INCLUDE(cli_store_table, request, store, CLI_SECTION_STORE),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    cli_solve_task *task = &asked->task;
    if (task->checkpoint_seconds > 0.0 && asked->store.off)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--checkpoint needs the store that --no-store leaves out");
    cli_progress_choose(asked->progress_word, task->json || task->quiet, &task->progress);
    task->all_rows = task->trace != NULL;
    for (size_t i = 0; i < task->settings.count; i++)
        if (strcmp(task->settings.items[i].key, "every") == 0)
            task->all_rows = true;
    return BLV_OK;
}

static const cli_arguments arguments = {
    .table = table,
    .doc = "Solve PROBLEM, certify the result and explain it.\v"
           "Exit status: 0 solved or stopped at a limit as asked, 1 diverged or failed, 2 bad "
           "usage or input. Ctrl-C ends the run with its result so far; a second one ends at once.",
    .check = check};

static int solve(request *asked) {
    cli_solve_task *task = &asked->task;
    task->store_is_named = cli_store_is_named(&asked->store);
    int code = cli_solve_check_solvers(task->solver);
    if (code == CLI_DONE)
        code = cli_instance_create(&task->instance);
    if (code == CLI_DONE)
        code =
            cli_store_open_for_checkpoints(&task->store, &asked->store, task->checkpoint_seconds);
    return code == CLI_DONE ? cli_solve(task) : code;
}

int cmd_solve(int argc, char **argv) {
    request asked = {.task = {.start = "zero", .solver = BLV_DEFAULT_SOLVER}};
    cli_solve_task *task = &asked.task;
    task->command = cli_copy_command(argc, argv);
    task->command_count = (size_t)argc;
    bool wanted = cli_read_arguments(&arguments, argc, argv, &asked);
    int code = wanted ? solve(&asked) : CLI_DONE;
    blv_store_close(task->store);
    cli_free_command(task->command, task->command_count);
    cli_settings_free(&task->settings);
    cli_instance_free(&task->instance);
    return code;
}
