/* bilevel resume RUN: goes on with a run of the store. */
#include "cli/store_options.h"
#include "cli/training_options.h"
#include "cli_commands.h"
#include "cli_runs.h"
#include "cli_task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_store_choice store;
    cli_settings limits; /* in place of those that the run had */
    uint64_t id;
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

/* ---- The run ---- */

static const char *text_of(const json_t *run, const char *key) {
    const char *text = cli_run_text(run, key);
    return text ? text : "";
}

static int say_finished(const request *asked, json_t *run) {
    json_t *result = json_object_get(run, "result");
    if (asked->json && json_is_object(result))
        cli_json_print(json_incref(result));
    else if (!asked->quiet)
        printf("Run %" PRIu64 " has finished: %s\n", asked->id, text_of(run, "message"));
    return CLI_DONE;
}

static bool is_solve(const json_t *run) {
    return strcmp(text_of(run, "kind"), "solve") == 0;
}

/* The command that resumes a run that is not one of `solve`; NULL: none. */
static int (*resume_of(const json_t *run))(const cli_resume *) {
    const char *kind = text_of(run, "kind");
    return strcmp(kind, "clean") == 0  ? cli_clean_resume
           : strcmp(kind, "tune") == 0 ? cli_tune_resume
                                       : NULL;
}

/* Whether there is something to go on with; else *done, and the exit code. */
static int judge(const request *asked, json_t *run, bool *done) {
    const char *status = text_of(run, "status");
    bool has_checkpoint = json_is_integer(json_object_get(run, "checkpoint_iteration"));
    *done = true;
    if (!is_solve(run) && !resume_of(run)) {
        cli_complain("run %" PRIu64 " is one of 'bilevel %s', which does not go on", asked->id,
                     text_of(run, "kind"));
        return CLI_REFUSED;
    }
    if (!is_solve(run) && asked->limits.count > 0) {
        cli_complain("run %" PRIu64 " is one of 'bilevel %s', which goes on under its own limits",
                     asked->id, text_of(run, "kind"));
        return CLI_REFUSED;
    }
    if (strcmp(status, "running") == 0 && !asked->force) {
        cli_complain("run %" PRIu64 " is under way: process %" JSON_INTEGER_FORMAT " on %s",
                     asked->id, json_integer_value(json_object_get(run, "pid")),
                     text_of(run, "host"));
        return CLI_REFUSED;
    }
    if (strcmp(status, "failed") == 0) {
        cli_complain("run %" PRIu64 " has failed: %s", asked->id, text_of(run, "message"));
        return CLI_REFUSED;
    }
    if (strcmp(status, "finished") == 0 && asked->limits.count == 0)
        return say_finished(asked, run);
    if (strcmp(status, "finished") == 0 && !has_checkpoint) {
        cli_complain("run %" PRIu64 " has finished and has no checkpoint to go on from: %s",
                     asked->id, text_of(run, "message"));
        return CLI_REFUSED;
    }
    *done = false;
    return CLI_DONE;
}

/* The bits are those of the run only where program and data are. */
static int compare(const json_t *run, const blv_problem *problem) {
    char fingerprint[24];
    const char *version = text_of(run, "version"), *then = text_of(run, "fingerprint");
    if (strcmp(version, blv_version()) != 0)
        cli_complain("the run was made by version %s, this is %s: the bits may differ", version,
                     blv_version());
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, blv_problem_fingerprint(problem));
    if (!*then || strcmp(then, fingerprint) == 0)
        return CLI_DONE;
    cli_complain("the data are not those of the run: their fingerprint is %s, it was %s",
                 fingerprint, then);
    return CLI_REFUSED;
}

static int read_checkpoint(blv_store *store, cli_resumption *r, void **bytes) {
    if (BLV_OK != blv_store_read(store, r->id, "checkpoint", bytes, &r->size)) {
        cli_complain("%s", blv_store_message(store));
        return CLI_REFUSED;
    }
    r->checkpoint = *bytes;
    if (!*bytes)
        cli_complain("run %" PRId64 " has no checkpoint: it starts again", r->id);
    return CLI_DONE;
}

static int go_on(const request *asked, cli_task *task, const json_t *run, void **bytes) {
    cli_resumption r = {
        .id = (int64_t)asked->id,
        .iteration = (uint64_t)json_integer_value(json_object_get(run, "checkpoint_iteration"))};
    int code = cli_task_restore(task, json_object_get(run, "task"));
    if (code == CLI_DONE)
        code = read_checkpoint(task->store, &r, bytes);
    if (code == CLI_DONE)
        code = cli_instance_create(&task->instance);
    if (code == CLI_DONE)
        code = compare(run, task->instance.problem);
    if (code != CLI_DONE)
        return code;
    for (size_t i = 0; i < asked->limits.count; i++)
        cli_settings_add(&task->settings, asked->limits.items[i].key, asked->limits.items[i].value);
    if (asked->checkpoint_seconds > 0.0)
        task->checkpoint_seconds = asked->checkpoint_seconds;
    if (r.checkpoint && !task->out)
        task->start = "zero"; /* the start is of no more use, and its file may be gone */
    task->resumption = &r;
    code = cli_solve_with_one(task);
    task->resumption = NULL;
    return code;
}

/* Does the task again, with the request that the store has kept. */
static int do_again(const request *asked, blv_store *store, const json_t *run) {
    blv_run_info *info = NULL;
    blv_error error = blv_store_find(store, (int64_t)asked->id, &info);
    if (error != BLV_OK)
        return cli_refuse(error, blv_store_message(store));
    int code = resume_of(run)(&(cli_resume){.store = store,
                                            .store_is_named = cli_store_is_named(&asked->store),
                                            .run = info,
                                            .checkpoint_seconds = asked->checkpoint_seconds,
                                            .json = asked->json,
                                            .quiet = asked->quiet});
    blv_run_info_free(info);
    return code;
}

static int resume(const request *asked, blv_store *store) {
    json_t *run = NULL;
    bool done = false;
    int found = cli_runs_find(store, (int64_t)asked->id, &run);
    if (found != CLI_DONE)
        return found;
    cli_task task = {.store = store,
                     .store_is_named = cli_store_is_named(&asked->store),
                     .json = asked->json,
                     .quiet = asked->quiet};
    cli_progress_choose(NULL, asked->json || asked->quiet, &task.progress);
    void *bytes = NULL;
    int code = judge(asked, run, &done);
    if (!done)
        code = is_solve(run) ? go_on(asked, &task, run, &bytes) : do_again(asked, store, run);
    free(bytes);
    cli_selection_free(&task.selection);
    cli_settings_free(&task.settings);
    cli_instance_free(&task.instance);
    json_decref(run);
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
