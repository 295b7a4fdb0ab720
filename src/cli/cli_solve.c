#include "cli_solve.h"
#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "cli_compare.h"
#include "cli_record.h"
#include "cli_task.h"
#include "cli_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLI_PASSED_OVER = -1 }; /* among exit codes: no run, and nothing to complain of */

static int worse(int a, int b) {
    return a > b ? a : b;
}

/* ---- One run ---- */

/* Keeps the error and its text for the report. One of several solvers that cannot serve the problem
 * is no failure: it will be listed with its reason. */
static int refuse_run(const cli_task *task, cli_report *report, blv_error error) {
    const char *message = blv_run_message(report->run);
    report->error = error;
    snprintf(report->message, sizeof report->message, "%s",
             message && *message ? message : blv_error_text(error));
    if (task->selection.several && error == BLV_E_UNSUPPORTED)
        return CLI_PASSED_OVER;
    return cli_refuse(error, report->message);
}

static blv_error set_and_trace(const cli_task *task, blv_run *run) {
    BLV_CHECK(cli_settings_apply(&task->settings, run, !task->selection.several));
    return task->trace ? blv_run_trace(run, task->trace) : BLV_OK;
}

static int open_at_start(const cli_task *task, cli_report *report, cli_vectors *loaded) {
    blv_error error = blv_run_open(report->run);
    if (error != BLV_OK)
        return refuse_run(task, report, error);
    if (task->selection.several && blv_run_dim(report->run, cli_vector_names[CLI_V]) == 0)
        cli_vectors_drop(loaded, CLI_V); /* it is there for those that have one */
    return cli_start_apply(report->run, task->start, loaded);
}

/* What can be refused is refused before a step is made, and before the trace is opened. */
static int configure(const cli_task *task, cli_report *report, cli_vectors *loaded) {
    blv_error error = set_and_trace(task, report->run);
    if (error != BLV_OK)
        return refuse_run(task, report, error);
    int code = task->out ? cli_expect_writable(task->out) : CLI_DONE;
    if (code != CLI_DONE)
        return code;
    return cli_start_load(loaded, report->run, task->start, task->instance.options.precision);
}

/* A run that goes on takes its place over from a checkpoint, after its start. */
static int go_on(const cli_task *task, cli_report *report) {
    const cli_resumption *r = task->resumption;
    if (!r || !r->checkpoint)
        return CLI_DONE;
    blv_error error = blv_run_load_from(report->run, r->checkpoint, r->size);
    return error == BLV_OK ? CLI_DONE : refuse_run(task, report, error);
}

static int set_up(const cli_task *task, cli_report *report, cli_record *record) {
    cli_vectors loaded = {0};
    cli_record_listen(record, report->run, task->all_rows);
    int code = configure(task, report, &loaded);
    if (code == CLI_DONE)
        code = open_at_start(task, report, &loaded);
    cli_vectors_free(&loaded);
    if (code == CLI_DONE)
        cli_vectors_read(&report->start, report->run);
    return code == CLI_DONE ? go_on(task, report) : code;
}

/* From here on the store knows of the run. */
static int begin_record(const cli_task *task, cli_report *report, cli_record *record) {
    if (!record->store)
        return CLI_DONE;
    const cli_resumption *r = task->resumption;
    json_t *description = cli_task_describe(task, report->run);
    cli_facts facts = cli_facts_of(&task->instance, report->run);
    facts.run.kind = "solve";
    facts.run.command = task->command;
    facts.run.task = description;
    int code = cli_record_begin(record, &facts.run, r ? r->id : 0, r ? r->iteration : 0);
    report->stored_as = record->id;
    cli_facts_free(&facts);
    json_decref(description);
    return code;
}

static void certify(cli_report *report) {
    blv_error error = blv_run_certify(report->run, &report->certificate);
    report->certified = error == BLV_OK;
    if (error == BLV_OK)
        return;
    if (error == BLV_E_MEMORY)
        cli_complain("there is no certificate: %s", blv_error_text(error));
    const char *message = blv_run_message(report->run);
    snprintf(report->no_certificate, sizeof report->no_certificate, "%s",
             message && *message ? message : blv_error_text(error));
}

static void run_to_end(cli_report *report, const char *label) {
    report->error = cli_watch_run(report->run, label);
    if (report->error == BLV_OK)
        report->error = blv_run_solve(report->run);
    report->began = report->error == BLV_OK || blv_run_result(report->run)->outcome != BLV_RUNNING;
    const char *message = blv_run_message(report->run);
    snprintf(report->message, sizeof report->message, "%s", message ? message : "");
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

/* The exit code that the end deserves. */
static int judge(const cli_report *report) {
    if (report->error != BLV_OK)
        return cli_refuse(report->error, report->message);
    if (blv_run_result(report->run)->outcome <= BLV_DIVERGED) {
        char ending[CLI_ENDING_SIZE];
        cli_report_ending(report, ending);
        cli_complain("%s", ending);
        return CLI_FAILED;
    }
    if (!report->certified && !blv_problem_definition(report->instance->problem)->many_minimizers) {
        cli_complain("no certificate could be made: %s", report->no_certificate);
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static int save(const char *path, const cli_report *report) {
    return path && report->began ? cli_save(path, &report->end, &report->start) : CLI_DONE;
}

/* Sets up, runs, certifies and writes. */
static int run_once(const cli_task *task, cli_report *report, const char *label) {
    cli_record record = {.store = task->store,
                         .store_is_named = task->store_is_named,
                         .checkpoint_seconds = task->checkpoint_seconds};
    int code = set_up(task, report, &record);
    if (code == CLI_DONE)
        code = begin_record(task, report, &record);
    if (code != CLI_DONE)
        return code;
    run_to_end(report, label);
    if (report->began) {
        cli_watch_say("certifying");
        certify(report);
        measure(report);
        cli_vectors_read(&report->end, report->run);
        report->solution_known = cli_known_distance(task->instance.problem, &report->end,
                                                    &report->distance_x, &report->distance_y);
    }
    cli_watch_leave();
    code = worse(judge(report), save(task->out, report));
    cli_record_end(&record, report); /* last: what the store calls finished has its files */
    return worse(code, cli_record_code(&record));
}

static int create_run(const cli_task *task, const blv_solver *solver, blv_run **run) {
    blv_message why = {0};
    blv_error error = blv_run_create(run, task->instance.problem, solver, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

static void free_report(cli_report *report) {
    cli_vectors_free(&report->start);
    cli_vectors_free(&report->end);
    blv_run_destroy(report->run);
}

int cli_solve_with_one(const cli_task *task) {
    int code = cli_selection_check(&task->selection, &task->settings);
    if (code != CLI_DONE)
        return code;
    cli_report report = {.instance = &task->instance};
    code = create_run(task, task->selection.items[0].solver, &report.run);
    if (code != CLI_DONE)
        return code;
    cli_watch_begin(task->progress);
    code = run_once(task, &report, NULL);
    cli_watch_end();
    if (report.began && task->json)
        cli_json_print(cli_report_object(&report));
    else if (report.began && !task->quiet)
        cli_report_text(&report);
    free_report(&report);
    return code;
}

/* ---- Several runs ---- */

/* The task of one of several solvers: its files have names of their own. To be ended. */
static cli_task task_for(const cli_task *task, const blv_solver *solver) {
    cli_task one = *task;
    one.trace = task->trace ? cli_path_for(task->trace, solver->name) : NULL;
    one.out = task->out ? cli_path_for(task->out, solver->name) : NULL;
    return one;
}

static void end_task(cli_task *one) {
    free((char *)one->trace);
    free((char *)one->out);
}

/* A value that one of the solvers refuses is found before the first of them runs. */
static int rehearse(const cli_task *task, const blv_solver *solver) {
    cli_task one = task_for(task, solver);
    cli_report report = {.instance = &task->instance};
    cli_vectors loaded = {0};
    int code = create_run(task, solver, &report.run);
    if (code == CLI_DONE)
        code = configure(&one, &report, &loaded);
    cli_vectors_free(&loaded);
    free_report(&report);
    end_task(&one);
    return code;
}

static void leave_out(cli_choice *choice, const char *reason) {
    choice->runs = false;
    snprintf(choice->reason.text, sizeof choice->reason.text, "%s", reason);
}

static int run_choice(const cli_task *task, cli_choice *choice, cli_comparison *comparison) {
    cli_task one = task_for(task, choice->solver);
    cli_report report = {.instance = &task->instance};
    int code = create_run(task, choice->solver, &report.run);
    if (code == CLI_DONE)
        code = run_once(&one, &report, choice->solver->name);
    if (report.began)
        cli_comparison_add(comparison, &report);
    else
        leave_out(choice, *report.message ? report.message : "it could not begin");
    free_report(&report);
    end_task(&one);
    return code;
}

static int run_all(cli_task *task, cli_comparison *comparison) {
    int code = CLI_DONE;
    cli_watch_begin(task->progress);
    for (size_t i = 0; i < task->selection.count; i++) {
        cli_choice *choice = &task->selection.items[i];
        if (choice->runs && cli_watch_signalled())
            leave_out(choice, "stopped before its turn");
        cli_complain_about(choice->solver->name);
        if (choice->runs)
            code = worse(code, run_choice(task, choice, comparison));
    }
    cli_complain_about(NULL);
    cli_watch_end();
    return code;
}

static int prepare_several(cli_task *task) {
    cli_selection *selection = &task->selection;
    int code = cli_selection_fit(selection, task->instance.problem);
    if (code == CLI_DONE)
        code = cli_selection_check(selection, &task->settings);
    for (size_t i = 0; code == CLI_DONE && i < selection->count; i++)
        if (selection->items[i].runs)
            code = rehearse(task, selection->items[i].solver);
    return code;
}

int cli_solve_with_several(cli_task *task) {
    int code = prepare_several(task);
    if (code != CLI_DONE)
        return code;
    cli_comparison comparison = {.instance = &task->instance, .json = task->json};
    code = run_all(task, &comparison);
    if (comparison.count == 0 && code == CLI_DONE)
        code = cli_selection_refuse(&task->selection, task->instance.problem);
    if (comparison.count > 0 && !task->quiet)
        cli_comparison_print(&comparison, &task->selection);
    cli_comparison_free(&comparison);
    return code;
}
