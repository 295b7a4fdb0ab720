/* bilevel resume RUN: resumes a run of the store. */
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/solve_task.h"
#include "cli/store_options.h"
#include "cli/training_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_store_choice store;
    cli_settings limits; /* in place of those that the run had */
    int64_t id;
    double checkpoint_seconds; /* 0: as the run had it */
    bool json, quiet, force;
} request;

#define LIMIT(name_, value_, help_) CLI_OPTION(name_, RUN_OPTION, request, limits, value_, help_)

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
    CLI_OPTION("checkpoint", POSITIVE, request, checkpoint_seconds, "SECONDS",
               "time between checkpoints (default: as the run had it)",
               .expected = "a number of seconds > 0"),
    CLI_OPTION("force", FLAG, request, force, NULL,
               "also when the run seems to be under way on another machine"),
    CLI_OPTION("json", FLAG, request, json, NULL, "print one JSON object on standard output"),
    CLI_OPTION("quiet", FLAG, request, quiet, NULL, "no progress line and no summary"),
    CLI_INCLUDE(cli_store_file_table, request, store),
    CLI_END};

static const char *or_empty(const char *text) {
    return text ? text : "";
}

/* ---- A run of solve ---- */

/* The result is bitwise identical only where program and data are the same. */
static void compare(const blv_run_info *run, const blv_problem *problem) {
    uint64_t now = blv_problem_fingerprint(problem);
    if (strcmp(or_empty(run->version), blv_version()) != 0)
        cli_complain(
            "the run was made by version %s, this is %s: results may differ in their last bits",
            or_empty(run->version), blv_version());
    if (run->fingerprint && run->fingerprint != now)
        cli_die("the data are not those of the run: their fingerprint is %016" PRIx64
                ", it was %016" PRIx64,
                now, run->fingerprint);
}

static int resume_solve(const cli_resume *r) {
    static cli_solve_task task;
    static void *checkpoint;
    cli_solve_restore(&task, r->run->request);
    task.store = r->store;
    task.store_is_named = r->store_is_named;
    task.options.json = r->json;
    task.options.quiet = r->quiet;
    task.options.progress = cli_progress_choose(NULL, r->json || r->quiet);
    for (size_t i = 0; i < r->limits->count; i++)
        cli_settings_add(&task.settings, r->limits->items[i].key, r->limits->items[i].value);
    if (r->checkpoint_seconds > 0.0)
        task.options.checkpoint_seconds = r->checkpoint_seconds;
    cli_instance_create(&task.instance);
    compare(r->run, task.instance.problem);
    cli_store_expect(r->store, blv_store_read(r->store, r->run->id, "checkpoint", &checkpoint,
                                              &task.checkpoint_size));
    task.resumed = r->run;
    task.checkpoint = checkpoint;
    if (!checkpoint)
        cli_complain("run %" PRId64 " has no checkpoint: it starts again", r->run->id);
    else if (!task.out)
        task.start = "zero"; /* it is not needed, and its file may be gone */
    return cli_solve(&task);
}

/* ---- Any run ---- */

static const struct {
    const char *kind;
    int (*resume)(const cli_resume *resume);
} kinds[] = {{"solve", resume_solve}, {"clean", cli_clean_resume}, {"tune", cli_tune_resume}};
enum { SOLVE, KINDS = sizeof kinds / sizeof kinds[0] };

static int say_finished(const request *asked, const blv_run_info *run) {
    json_t *result = run->result ? json_loads(run->result, 0, NULL) : NULL;
    if (asked->json && result)
        cli_json_print(json_incref(result));
    else if (!asked->quiet)
        printf("Run %" PRId64 " has finished: %s\n", run->id, or_empty(run->message));
    json_decref(result);
    return CLI_DONE;
}

/* Ends the command where there is nothing to resume. */
static void judge(const request *asked, const blv_run_info *run, size_t kind) {
    const char *name = or_empty(run->kind), *message = or_empty(run->message);
    if (kind == KINDS)
        cli_die("run %" PRId64 " is one of 'bilevel %s', which cannot be resumed", run->id, name);
    if (kind != SOLVE && asked->limits.count > 0)
        cli_die("run %" PRId64 " is one of 'bilevel %s', which keeps its own limits", run->id,
                name);
    if (run->status == BLV_STATUS_RUNNING && !asked->force)
        cli_die("run %" PRId64 " is under way: process %" PRId64 " on %s", run->id, run->pid,
                or_empty(run->host));
    if (run->status == BLV_STATUS_FAILED)
        cli_die("run %" PRId64 " has failed: %s", run->id, message);
    if (run->status == BLV_STATUS_FINISHED && asked->limits.count > 0 && !run->has_checkpoint)
        cli_die("run %" PRId64 " has finished and has no checkpoint to resume from: %s", run->id,
                message);
}

static int resume(void *of) {
    const request *asked = of;
    blv_store *store = cli_store_look(&asked->store);
    blv_run_info *run = cli_store_find(store, asked->id);
    const cli_resume r = {.store = store,
                          .store_is_named = cli_store_is_named(&asked->store),
                          .run = run,
                          .limits = &asked->limits,
                          .checkpoint_seconds = asked->checkpoint_seconds,
                          .json = asked->json,
                          .quiet = asked->quiet};
    size_t kind = 0;
    while (kind < KINDS && strcmp(kinds[kind].kind, or_empty(run->kind)) != 0)
        kind++;
    judge(asked, run, kind);
    bool is_over = run->status == BLV_STATUS_FINISHED && asked->limits.count == 0;
    int code = is_over ? say_finished(asked, run) : kinds[kind].resume(&r);
    blv_run_info_free(run);
    return code;
}

const cli_command cmd_resume = CLI_COMMAND(
    "resume", "RUN", "resume a run that was interrupted", request, table, resume,
    "Resume a run that was interrupted from its last checkpoint, and end as it "
    "would have ended.\v"
    "'bilevel runs' lists the runs. Without a checkpoint the run starts again. Files that "
    "it writes, with --trace, --out and the like, are written as the first command said.");
