/* bilevel solve PROBLEM: set up, run, certify, report, save, record. */
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/rank_start.h"
#include "cli/solve_task.h"
#include "store/run_info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int worse(int a, int b) {
    return a > b ? a : b;
}

/* ---- A run as the store keeps it, so that it can be resumed ---- */

#define FIELD(name_, member, kind_, flags_)                                                        \
    BLV_FIELD_AS(name_, cli_solve_task, member, kind_, flags_)
#define SETTINGS(name_, member)                                                                    \
    BLV_FIELD_RECORDS(name_, cli_solve_task, member.items, member.count, cli_setting_fields)

static const blv_field request_fields[] = {
    FIELD("problem", instance.name, TEXT, BLV_REQUIRED),
    SETTINGS("problem_settings", instance.settings),
    BLV_FIELD_WORD("precision", cli_solve_task, instance.options.precision, blv_precision_words),
    FIELD("threads", instance.options.threads, INT, 0),
    BLV_FIELD_WORD("device", cli_solve_task, instance.device, cli_device_words),
    FIELD("gradients_only", instance.gradients_only, BOOL, 0),
    FIELD("solver", solver, TEXT, BLV_REQUIRED),
    FIELD("several", is_one_of_several, BOOL, 0),
    SETTINGS("settings", settings),
    FIELD("start", start, TEXT, BLV_REQUIRED | BLV_ANY_BYTES),
    FIELD("trace", trace, PATH, BLV_OUTPUT),
    FIELD("out", out, PATH, BLV_OUTPUT),
    FIELD("checkpoint", options.checkpoint_seconds, REAL, 0),
    FIELD("all_rows", options.all_rows, BOOL, 0),
    {0}};

/* The file that a parameter of the problem names: as it is or in the folder of BILEVEL_DATA, from
 * the root folder on. A text that is no file, such as the shape of a network, stays as it is. */
static const char *file_named(const char *text) {
    const char *data = getenv("BILEVEL_DATA"), *path = text;
    if (data && access(path, F_OK) != 0)
        path = cli_print("%s/%s", data, text);
    if (!*text || access(path, F_OK) != 0)
        return text;
    char *absolute = blv_path_absolute(path);
    cli_expect(absolute ? BLV_OK : BLV_E_MEMORY);
    path = cli_print("%s", absolute);
    free(absolute);
    return path;
}

static void add_values(cli_settings *settings, const blv_param *params, const void *fields) {
    for (const blv_param *p = params; p && p->key; p++) {
        char value[BLV_TEXT_SIZE] = "";
        blv_params_format(p, fields, value, sizeof value);
        cli_settings_add(settings, p->key, cli_print("%s", value));
    }
}

/* What is needed to make this run of the task again, JSON, to be freed: every parameter with the
 * value in effect, for defaults may change, and files with absolute paths. */
static char *request_of(const cli_solve_task *task, const blv_run *run) {
    const blv_solver *solver = blv_run_solver(run);
    bool is_word = strcmp(task->start, "zero") == 0 || strcmp(task->start, "random") == 0;
    cli_settings problem = {0}, settings = {0};
    for (size_t i = 0; i < task->instance.settings.count; i++) {
        const blv_setting *s = &task->instance.settings.items[i];
        const blv_param *param = blv_params_find(task->instance.family->params, s->key);
        bool is_text = param && param->type == BLV_TEXT;
        cli_settings_add(&problem, s->key, is_text ? file_named(s->value) : s->value);
    }
    add_values(&settings, solver->params, blv_run_solver_fields(run));
    add_values(&settings, blv_run_options(), blv_run_option_fields(run));
    cli_solve_task kept = *task;
    kept.instance.settings = problem;
    kept.settings = settings;
    kept.solver = solver->name;
    kept.is_one_of_several = task->several || task->is_one_of_several;
    kept.start = is_word ? task->start : file_named(task->start);
    kept.trace = task->run_trace;
    kept.out = task->run_out;
    char *text = blv_record_text(request_fields, &kept);
    cli_expect(text ? BLV_OK : BLV_E_MEMORY);
    free(problem.items);
    free(settings.items);
    return text;
}

void cli_solve_restore(cli_solve_task *task, const cli_resume *resume) {
    const char *request = resume->task.resumed->request;
    if (blv_record_parse(request_fields, task, request ? request : "{}", &cli_why) != BLV_OK)
        cli_die("an earlier version of the program stored the run, which this one cannot resume: "
                "%s",
                cli_why.text);
    cli_resume_files(request_fields, task, resume);
    cli_file_reads(task->start);
}

/* ---- One run ---- */

/* With several, "run.jsonl" for soba: "run.soba.jsonl"; NULL for NULL. */
static const char *own_path(const cli_solve_task *s, const char *path, const char *solver) {
    if (!path || !s->several)
        return path;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    int stem = dot && dot > name ? (int)(dot - path) : (int)strlen(path);
    return cli_print("%.*s.%s%s", stem, path, solver, path + stem);
}

static blv_error begin(void *context, blv_run *run, blv_message *why) {
    cli_solve_task *s = context;
    const cli_instance *instance = &s->instance;
    const char *solver = blv_run_solver(run)->name;
    s->run_trace = own_path(s, s->trace, solver);
    s->run_out = own_path(s, s->out, solver);
    s->request = s->options.opened ? request_of(s, run) : NULL;
    s->recorder = (blv_recorder){.store = s->options.opened,
                                 .checkpoint_seconds = s->options.checkpoint_seconds,
                                 .warn = cli_note};
    s->execution = (blv_execution){
        .recorder = &s->recorder,
        .facts = {.kind = "solve",
                  .command_count = cli_typed.count,
                  .command = cli_typed.items,
                  .request = s->request,
                  .problem = instance->family->name,
                  .problem_parameters = s->problem_parameters,
                  .fingerprint = blv_problem_fingerprint(instance->problem)},
        .gradients_only = instance->gradients_only,
        .start = s->start,
        .loaded = &s->loaded,
        .is_one_of_several = s->several || s->is_one_of_several,
        .trace = s->run_trace,
        .all_rows = s->options.all_rows,
        .resumed = s->options.resumed ? s->options.resumed->id : 0,
        .resumed_iteration = s->checkpoint ? s->options.resumed->checkpoint_iteration : 0,
        .checkpoint = s->checkpoint,
        .checkpoint_size = s->checkpoint_size};
    if (s->several)
        cli_complain_about(solver);
    if (s->several && cli_rank_word(cli_signalled()))
        return blv_explain(why, BLV_E_STOPPED, "stopped before its turn");
    if (s->run_trace)
        BLV_CHECK(cli_file_expect_output(s->run_trace, why));
    if (s->run_out)
        BLV_CHECK(cli_file_expect_output(s->run_out, why));
    BLV_CHECK(blv_execution_begin(&s->execution, run, why));
    return cli_progress_run(run, s->several ? solver : NULL);
}

/* The exit code that the end deserves. One of several solvers that cannot serve the problem is no
 * failure: it is listed with its reason. */
static int judge(const cli_solve_task *s, const blv_solution *solution, blv_error error,
                 const char *why) {
    if (s->several && !solution && (error == BLV_E_UNSUPPORTED || error == BLV_E_STOPPED))
        return CLI_DONE;
    if (error != BLV_OK)
        return cli_reject(error, why);
    if (!s->execution.ran) /* memory for the report was short */
        return cli_reject(BLV_E_MEMORY, "there is no report: out of memory");
    if (solution->outcome <= BLV_DIVERGED) {
        char ending[CLI_ENDING_SIZE];
        cli_ending_text(&s->execution, ending);
        cli_complain("%s", ending);
        return CLI_FAILED;
    }
    if (!solution->certified && !blv_problem_definition(s->instance.problem)->many_minimizers) {
        cli_complain("no certificate could be made: %s", solution->no_certificate.text);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static int save(const cli_solve_task *s) {
    const blv_execution *e = &s->execution;
    if (!s->run_out || !e->ran || !cli_rank_writes())
        return CLI_DONE;
    return cli_exit_code(
        blv_vectors_save(s->run_out, &e->end_vectors, &e->start_vectors, &cli_why));
}

static void show(cli_solve_task *s) {
    const blv_execution *e = &s->execution;
    if (!e->ran || (s->several && !s->options.json))
        return;
    json_t *object = s->options.json ? blv_record_json(blv_run_report_fields, &e->report) : NULL;
    if (s->several)
        cli_json_set(s->reports, e->report.solver, object);
    else if (object)
        cli_json_print(object);
    else if (!s->options.quiet)
        cli_print_report(&s->instance, e);
}

static void end(void *context, blv_run *run, const blv_solution *solution, blv_error error,
                const char *why) {
    cli_solve_task *s = context;
    blv_execution_end(&s->execution, run, solution, error, why);
    cli_progress_leave();
    s->printed = true;
    int code = judge(s, solution, error, why), saved = save(s);
    if (s->execution.ran) /* last: what the store calls finished has its files */
        blv_execution_finish(&s->execution, saved != CLI_DONE);
    if (s->recorder.failed && s->options.store_is_named)
        saved = worse(saved, CLI_REJECTED);
    s->code = worse(s->code, worse(code, saved));
    show(s);
    cli_complain_about(NULL);
    blv_execution_free(&s->execution);
    free(s->request);
}

/* ---- All of them ---- */

static void print_comparison(const cli_solve_task *s, const blv_comparison *comparison) {
    if (!s->options.json) {
        cli_print_comparison(&s->instance, comparison);
        return;
    }
    json_t *runs = json_array(), *not_run = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        const blv_comparison_row *row = &comparison->rows[i];
        json_t *report = json_object_get(s->reports, row->solver->name);
        if (report)
            cli_json_append(runs, json_incref(report));
        else
            cli_json_append(not_run, cli_json_put(json_object(), "solver",
                                                  blv_json_string(row->solver->name), "reason",
                                                  blv_json_string(row->remark.text), NULL));
    }
    cli_json_print(cli_json_put(json_object(), "problem", blv_json_string(s->instance.family->name),
                                "runs", runs, "not_run", not_run, NULL));
}

static blv_error solve_all(cli_solve_task *s, blv_solve_options *options, blv_message *why) {
    blv_solution *solution = NULL;
    blv_comparison *comparison = NULL;
    const char **names = s->several && strcmp(s->solver, "all") != 0 ? cli_split(s->solver) : NULL;
    options->solver = s->several ? NULL : s->solver;
    blv_error error = s->several
                          ? blv_compare(&comparison, s->instance.problem, names, options, why)
                          : blv_solve(&solution, s->instance.problem, options, why);
    if (comparison && comparison->ran > 0 && !s->options.quiet)
        print_comparison(s, comparison);
    blv_solution_destroy(solution);
    blv_comparison_destroy(comparison);
    return error;
}

/* What can be rejected is rejected before a step is made. */
static blv_error load(cli_solve_task *s, blv_message *why) {
    const cli_instance *instance = &s->instance;
    if (s->out)
        BLV_CHECK(blv_vectors_expect_writable(s->out, why));
    if (s->options.resumed) /* as they were typed first: now files have absolute paths */
        BLV_CHECK(blv_values_copy(&s->problem_parameters, &s->options.resumed->problem_parameters));
    else
        BLV_CHECK(blv_values_of_params(&s->problem_parameters, instance->family->params,
                                       instance->params));
    return blv_start_load(&s->loaded, s->start, instance->problem, why);
}

int cli_solve(cli_solve_task *s) {
    blv_solve_options options = {.size = sizeof options,
                                 .settings = cli_settings_list(&s->settings),
                                 .context = s,
                                 .begin = begin,
                                 .end = end};
    s->reports = json_object();
    s->several = !s->is_one_of_several && (strcmp(s->solver, "all") == 0 || strchr(s->solver, ','));
    blv_message why = {0}; /* the functions before and after a run have calls of their own */
    cli_expect(load(s, &cli_why));
    cli_progress_begin(s->options.progress);
    blv_error error = solve_all(s, &options, &why);
    cli_progress_end();
    if (error != BLV_OK && !s->printed)
        s->code = cli_reject(error, why.text);
    return s->code;
}

/* ---- The command ---- */

static const cli_argument table[] = {
    CLI_POSITION(TEXT, cli_solve_task, instance.name, "PROBLEM", "no problem is named"),
    CLI_HEADING(SOLVER),
    CLI_OPTION("solver", TEXT, cli_solve_task, solver, "NAME|NAME,NAME,...|all",
               "solver to use (default auto; 'bilevel solvers' lists them); several, or all that "
               "suit, are run one after the other and compared"),
    CLI_OPTION("set", SETTING, cli_solve_task, settings, "KEY=VALUE",
               "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of "
               "the run; with several, of those that have it; SOLVER.KEY=VALUE: of one of them"),
    CLI_OPTION("start", READS, cli_solve_task, start, "zero|random|FILE.npz",
               "where to start (default zero, or what the problem says instead); a file gives x, y "
               "and v as far as it has them"),
    CLI_HEADING(OUTPUT),
    CLI_OPTION("trace", WRITES, cli_solve_task, trace, "FILE",
               "write the trace while it runs, JSON lines; with several solvers FILE gets their "
               "names"),
    CLI_OPTION("out", WRITES, cli_solve_task, out, "FILE.npz",
               "write x, y, v and the start x0, y0, v0; likewise"),
    CLI_INCLUDE(cli_task_table, cli_solve_task, options),
    CLI_INCLUDE(cli_run_option_table, cli_solve_task, settings),
    CLI_INCLUDE(cli_problem_table, cli_solve_task, instance),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    cli_solve_task *task = of;
    task->options.all_rows = task->trace != NULL;
    return cli_task_check(&task->options, &task->settings, why);
}

static int solve(void *of) {
    cli_solve_task *task = of;
    if (!task->options.json && !task->options.quiet)
        task->instance.options.warn = cli_print_warning;
    cli_instance_create(&task->instance);
    cli_task_open(&task->options);
    return cli_solve(task);
}

static const cli_solve_task defaults = {.start = "zero", .solver = BLV_DEFAULT_SOLVER};

const cli_command cmd_solve = CLI_COMMAND(
    "solve", "PROBLEM", "solve a problem with one solver or several, certify the result",
    cli_solve_task, table, solve,
    "Solve PROBLEM, certify the result and explain it.\v"
    "Exit status: 0 solved or stopped at a limit as asked, 1 diverged or failed, 2 bad "
    "usage or input. Ctrl-C ends the run with its result so far; a second one ends at once.",
    .defaults = &defaults, .check = check, .spreads = true);
