/* bilevel solve PROBLEM: the command line. */
#include "cli/commands.h"
#include "cli/solve_task.h"
#include "cli/store_options.h"

static const cli_argument table[] = {
    CLI_POSITION(TEXT, cli_solve_task, instance.name, "PROBLEM", "no problem is named"),
    CLI_OPTION("solver", TEXT, cli_solve_task, solver, "NAME|NAME,NAME,...|all",
               "solver to use (default s-tfbo; 'bilevel solvers' lists them); several, or all that "
               "suit, are run one after the other and compared",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("set", SETTING, cli_solve_task, settings, "KEY=VALUE",
               "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of "
               "the run; with several, of those that have it; SOLVER.KEY=VALUE: of one of them",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("start", TEXT, cli_solve_task, start, "zero|random|FILE.npz",
               "where to start (default zero, or what the problem says instead); a file gives x, y "
               "and v as far as it has them",
               .section = CLI_SECTION_SOLVER),
    CLI_OPTION("trace", TEXT, cli_solve_task, trace, "FILE",
               "write the trace while it runs, JSON lines; with several solvers FILE gets their "
               "names",
               .section = CLI_SECTION_OUTPUT),
    CLI_OPTION("out", TEXT, cli_solve_task, out, "FILE.npz",
               "write x, y, v and the start x0, y0, v0; likewise", .section = CLI_SECTION_OUTPUT),
    CLI_INCLUDE(cli_task_table, cli_solve_task, options, CLI_SECTION_OWN),
    CLI_INCLUDE(cli_run_option_table, cli_solve_task, settings, CLI_SECTION_OWN),
    CLI_INCLUDE(cli_problem_table, cli_solve_task, instance, CLI_SECTION_PROBLEM),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    cli_solve_task *task = of;
    task->options.all_rows = task->trace != NULL;
    return cli_task_check(&task->options, &task->settings, why);
}

static const cli_arguments arguments = {
    .table = table,
    .doc = "Solve PROBLEM, certify the result and explain it.\v"
           "Exit status: 0 solved or stopped at a limit as asked, 1 diverged or failed, 2 bad "
           "usage or input. Ctrl-C ends the run with its result so far; a second one ends at once.",
    .check = check};

static int solve(cli_solve_task *task) {
    task->store_is_named = cli_store_is_named(&task->options.store);
    int code = cli_solve_check_solvers(task->solver);
    if (code == CLI_DONE)
        code = cli_instance_create(&task->instance);
    if (code == CLI_DONE)
        code = cli_store_open_for_checkpoints(&task->store, &task->options.store,
                                              task->options.checkpoint_seconds);
    return code == CLI_DONE ? cli_solve(task) : code;
}

int cmd_solve(int argc, char **argv) {
    cli_solve_task task = {.start = "zero",
                           .solver = BLV_DEFAULT_SOLVER,
                           .command = cli_copy_command(argc, argv),
                           .command_count = (size_t)argc};
    int code = cli_read_arguments(&arguments, argc, argv, &task) ? solve(&task) : CLI_DONE;
    blv_store_close(task.store);
    cli_free_command(task.command, task.command_count);
    cli_settings_free(&task.settings);
    cli_instance_free(&task.instance);
    return code;
}
