/* bilevel resume RUN: resumes a run of the store. */
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/solve_task.h"
#include "cli/store_options.h"
#include "cli/text.h"
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
    CLI_POSITION(RUN, request, id, "RUN", "no run is named; 'bilevel runs' lists them"),
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
    CLI_INCLUDE(cli_store_file_table, request, store, CLI_SECTION_OWN),
    CLI_END};

static const char *or_empty(const char *text) {
    return text ? text : "";
}

/* ---- A run of solve ---- */

/* The result is bitwise identical only where program and data are the same. */
static int compare(const blv_run_info *run, const blv_problem *problem) {
    uint64_t now = blv_problem_fingerprint(problem);
    if (strcmp(or_empty(run->version), blv_version()) != 0)
        cli_complain(
            "the run was made by version %s, this is %s: results may differ in their last bits",
            or_empty(run->version), blv_version());
    if (!run->fingerprint || run->fingerprint == now)
        return CLI_DONE;
    cli_complain("the data are not those of the run: their fingerprint is %016" PRIx64
                 ", it was %016" PRIx64,
                 now, run->fingerprint);
    return CLI_REJECTED;
}

static int read_checkpoint(const cli_resume *r, cli_solve_task *task, void **bytes) {
    blv_error error =
        blv_store_read(r->store, r->run->id, "checkpoint", bytes, &task->checkpoint_size);
    if (error != BLV_OK)
        return cli_store_reject(r->store, error);
    task->resumed = r->run;
    task->checkpoint = *bytes;
    if (!*bytes)
        cli_complain("run %" PRId64 " has no checkpoint: it starts again", r->run->id);
    else if (!task->out)
        task->start = "zero"; /* it is not needed, and its file may be gone */
    return CLI_DONE;
}

static int solve(const cli_resume *r, cli_solve_task *task, void **checkpoint) {
    for (size_t i = 0; i < r->limits->count; i++)
        cli_settings_add(&task->settings, cli_print("%s", r->limits->items[i].key),
                         cli_print("%s", r->limits->items[i].value));
    if (r->checkpoint_seconds > 0.0)
        task->options.checkpoint_seconds = r->checkpoint_seconds;
    int code = cli_instance_create(&task->instance);
    if (code == CLI_DONE)
        code = compare(r->run, task->instance.problem);
    if (code == CLI_DONE)
        code = read_checkpoint(r, task, checkpoint);
    return code == CLI_DONE ? cli_solve(task) : code;
}

static int resume_solve(const cli_resume *r) {
    cli_solve_task task = {.store = r->store,
                           .store_is_named = r->store_is_named,
                           .options = {.json = r->json, .quiet = r->quiet}};
    int code = cli_solve_restore(&task, r->run->request);
    if (code != CLI_DONE)
        return code;
    void *checkpoint = NULL;
    const char *start = task.start;
    cli_progress_choose(NULL, r->json || r->quiet, &task.options.progress);
    code = solve(r, &task, &checkpoint);
    free(checkpoint);
    task.start = start; /* the one to be freed */
    cli_solve_restored_free(&task);
    cli_instance_free(&task.instance);
    return code;
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
        printf("Run %" PRId64 " has finished: %s\n", asked->id, or_empty(run->message));
    json_decref(result);
    return CLI_DONE;
}

/* Whether there is something to resume; else *done, and the exit code. */
static int judge(const request *asked, const blv_run_info *run, size_t kind, bool *done) {
    const char *name = or_empty(run->kind), *message = or_empty(run->message);
    *done = true;
    if (kind == KINDS)
        cli_complain("run %" PRId64 " is one of 'bilevel %s', which cannot be resumed", run->id,
                     name);
    else if (kind != SOLVE && asked->limits.count > 0)
        cli_complain("run %" PRId64 " is one of 'bilevel %s', which keeps its own limits", run->id,
                     name);
    else if (run->status == BLV_STATUS_RUNNING && !asked->force)
        cli_complain("run %" PRId64 " is under way: process %" PRId64 " on %s", run->id, run->pid,
                     or_empty(run->host));
    else if (run->status == BLV_STATUS_FAILED)
        cli_complain("run %" PRId64 " has failed: %s", run->id, message);
    else if (run->status == BLV_STATUS_FINISHED && asked->limits.count == 0)
        return say_finished(asked, run);
    else if (run->status == BLV_STATUS_FINISHED && !run->has_checkpoint)
        cli_complain("run %" PRId64 " has finished and has no checkpoint to resume from: %s",
                     run->id, message);
    else
        *done = false;
    return *done ? CLI_REJECTED : CLI_DONE;
}

static int resume(const request *asked, blv_store *store) {
    blv_run_info *run = NULL;
    int code = cli_store_find(store, asked->id, &run);
    if (code != CLI_DONE)
        return code;
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
    bool done = false;
    code = judge(asked, run, kind, &done);
    if (!done)
        code = kinds[kind].resume(&r);
    blv_run_info_free(run);
    return code;
}

int cmd_resume(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Resume a run that was interrupted from its last checkpoint, and end as it "
               "would have ended.\v"
               "'bilevel runs' lists the runs. Without a checkpoint the run starts again. Files "
               "that it writes, with --trace, --out and the like, are written as the first command "
               "said."};
    request asked = {.id = 0};
    if (!cli_read_arguments(&arguments, argc, argv, &asked))
        return CLI_DONE;
    blv_store *store = NULL;
    int code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = resume(&asked, store);
    blv_store_close(store);
    cli_settings_free(&asked.limits);
    return code;
}
