/* bilevel resume RUN: resumes a run of the store. */
#include "bilevel/arithmetic.h"
#include "cli/data_files.h"
#include "cli/printing.h"
#include "cli/solve_task.h"
#include "cli/store_options.h"
#include "cli/training_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_resume resume;
    int device; /* 0: as it was; else 1 + a cli_device */
    int64_t id;
    bool force;
} request;

#define LIMIT(name_, value_, help_)                                                                \
    CLI_OPTION(name_, RUN_OPTION, request, resume.limits, value_, help_)

static const cli_argument table[] = {
    CLI_POSITION(WHOLE, request, id, "RUN", "no run is named; 'bilevel runs' lists them", .from = 1,
                 .to = 9e18, .expected = "the number of a run; 'bilevel runs' lists them"),
    LIMIT("iters", "N",
          "resume under another limit; also a run that stopped at its limit, if it has a "
          "checkpoint"),
    LIMIT("seconds", "S", "likewise"),
    LIMIT("budget", "N", "likewise"),
    LIMIT("tol", "E", "likewise"),
    LIMIT("target", "V", "likewise"),
    CLI_OPTION("device", CHOICE, request, device, "same|cpu|cuda|auto",
               "where to resume a run of solve: on the device that it was on, or on this one "
               "(default same)"),
    CLI_OPTION("checkpoint", POSITIVE, request, resume.task.checkpoint_seconds, "SECONDS",
               "time between checkpoints (default: as the run had it)",
               .expected = "a number of seconds > 0"),
    CLI_OPTION("out", TEXT, request, resume.out, "FILE|FOLDER",
               "write this file in place of the one that --out of the run named; a folder: all "
               "files of the run go there",
               .letter = 'o'),
    CLI_OPTION("allow-outputs", FLAG, request, resume.allow_outputs, NULL,
               "write the files that the run names also outside the current folder: a store from "
               "elsewhere may name any file of yours"),
    CLI_OPTION("force", FLAG, request, force, NULL,
               "also when the run seems to be under way on another machine"),
    CLI_OPTION("json", FLAG, request, resume.task.json, NULL,
               "print one JSON object on standard output"),
    CLI_OPTION("quiet", FLAG, request, resume.task.quiet, NULL, "no progress line and no summary"),
    CLI_INCLUDE(cli_store_file_table, request, resume.task.store),
    CLI_END};

static const char *or_empty(const char *text) {
    return text ? text : "";
}

/* ---- A run of solve ---- */

/* The result is bitwise identical only where program and data are the same. */
static void compare(const blv_run_info *run, const blv_problem *problem) {
    uint64_t now = blv_problem_fingerprint(problem);
    if (strcmp(or_empty(run->version), blv_arithmetic_version()) != 0)
        cli_complain(
            "the run was made by version %s, this is %s: results may differ in their last bits",
            or_empty(run->version), blv_arithmetic_version());
    if (run->fingerprint && run->fingerprint != now)
        cli_die("the data are not those of the run: their fingerprint is %016" PRIx64
                ", it was %016" PRIx64 " (under mpirun it is another than in one process)",
                now, run->fingerprint);
}

static int resume_solve(const cli_resume *r, int device) {
    static cli_solve_task task;
    static void *checkpoint;
    const blv_run_info *run = r->task.resumed;
    cli_solve_restore(&task, r);
    if (device > 0)
        task.instance.device = (cli_device)(device - 1);
    cli_task_resume(&task.options, r);
    for (size_t i = 0; i < r->limits.count; i++)
        cli_settings_add(&task.settings, r->limits.items[i].key, r->limits.items[i].value);
    if (!task.options.json && !task.options.quiet)
        task.instance.options.warn = cli_print_warning;
    cli_instance_create(&task.instance);
    compare(run, task.instance.problem);
    cli_store_expect(r->task.opened, blv_store_read(r->task.opened, run->id, "checkpoint",
                                                    &checkpoint, &task.checkpoint_size));
    task.checkpoint = checkpoint;
    if (!checkpoint)
        cli_complain("run %" PRId64 " has no checkpoint: it starts again", run->id);
    else if (!task.out) {
        free((char *)task.start);
        task.start = "zero"; /* it is not needed, and its file may be gone */
    }
    return cli_solve(&task);
}

/* ---- Any run ---- */

static const struct {
    const char *kind;
    int (*resume)(const cli_resume *resume); /* NULL: resume_solve */
} kinds[] = {{"solve", NULL}, {"clean", cli_clean_resume}, {"tune", cli_tune_resume}};
enum { SOLVE, KINDS = sizeof kinds / sizeof kinds[0] };

static int say_finished(const cli_task_options *task, const blv_run_info *run) {
    json_t *result = run->result ? json_loads(run->result, 0, NULL) : NULL;
    if (task->json && result)
        cli_json_print(json_incref(result));
    else if (!task->quiet)
        printf("Run %" PRId64 " has finished: %s\n", run->id, cli_shown(run->message));
    json_decref(result);
    return CLI_DONE;
}

/* Ends the command where there is nothing to resume. */
static void judge(const request *asked, const blv_run_info *run, size_t kind) {
    const char *name = or_empty(run->kind), *message = or_empty(run->message);
    if (kind == KINDS)
        cli_die("run %" PRId64 " is one of 'bilevel %s', which cannot be resumed", run->id, name);
    if (kind != SOLVE && (asked->resume.limits.count > 0 || asked->device > 0))
        cli_die("run %" PRId64 " is one of 'bilevel %s', which keeps its own %s", run->id, name,
                asked->device > 0 ? "device" : "limits");
    if (run->status == BLV_STATUS_RUNNING && !asked->force)
        cli_die("run %" PRId64 " is under way: process %" PRId64 " on %s", run->id, run->pid,
                or_empty(run->host));
    if (run->status == BLV_STATUS_FAILED)
        cli_die("run %" PRId64 " has failed: %s", run->id, message);
    if (run->status == BLV_STATUS_FINISHED && asked->resume.limits.count > 0 &&
        !run->has_checkpoint)
        cli_die("run %" PRId64 " has finished and has no checkpoint to resume from: %s", run->id,
                message);
}

static int resume(void *of) {
    request *asked = of;
    cli_task_options *task = &asked->resume.task;
    task->opened = cli_store_look(&task->store);
    task->store_is_named = cli_store_is_named(&task->store);
    blv_run_info *run = cli_store_find(task->opened, asked->id);
    task->resumed = run;
    size_t kind = 0;
    while (kind < KINDS && strcmp(kinds[kind].kind, or_empty(run->kind)) != 0)
        kind++;
    judge(asked, run, kind);
    bool is_over = run->status == BLV_STATUS_FINISHED && asked->resume.limits.count == 0;
    int code = is_over         ? say_finished(task, run)
               : kind == SOLVE ? resume_solve(&asked->resume, asked->device)
                               : kinds[kind].resume(&asked->resume);
    blv_run_info_free(run);
    return code;
}

const cli_command cmd_resume = CLI_COMMAND(
    "resume", "RUN", "resume a run that was interrupted", request, table, resume,
    "Resume a run that was interrupted from its last checkpoint, and end as it "
    "would have ended.\v"
    "'bilevel runs' lists the runs. Without a checkpoint the run starts again. Files that "
    "it writes, with --trace, --out and the like, are shown, and written as the first command said "
    "if they are in the current folder or below.",
    .spreads = true);
