#include "cli/task_hooks.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/rank_start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The command line ---- */

const cli_argument cli_task_table[] = {
    CLI_HEADING(OUTPUT),
    CLI_OPTION("json", FLAG, cli_task_options, json, NULL,
               "print one JSON object on standard output"),
    CLI_OPTION("quiet", FLAG, cli_task_options, quiet, NULL, "no progress and no summary"),
    CLI_OPTION("progress", WORD, cli_task_options, progress_word, "bar|lines|none",
               "how progress is shown on standard error (default: a bar on a terminal)"),
    CLI_HEADING(STORE),
    CLI_OPTION("checkpoint", POSITIVE, cli_task_options, checkpoint_seconds, "SECONDS",
               "keep a checkpoint in the run store this often, for 'bilevel resume'",
               .expected = "a number of seconds > 0"),
    CLI_INCLUDE(cli_store_table, cli_task_options, store),
    CLI_END};

blv_error cli_task_check(cli_task_options *options, const cli_settings *settings,
                         blv_message *why) {
    if (options->checkpoint_seconds > 0.0 && options->store.off)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--checkpoint needs the store that --no-store leaves out");
    options->progress =
        cli_progress_choose(options->progress_word, options->json || options->quiet);
    options->all_rows = options->all_rows || cli_settings_has(settings, "every");
    return BLV_OK;
}

/* ---- Hooks ---- */

static int on_progress(void *context, const blv_task_progress *progress) {
    (void)context;
    cli_progress_task(progress);
    return !cli_ranks() && cli_signalled(); /* ranks stop together, with their run */
}

static blv_error on_begin(void *context, const blv_task_run *which, blv_run *run,
                          blv_message *why) {
    cli_task_hooks *task = context;
    cli_signals_watch(run);
    blv_error error = task->trace ? blv_run_trace(run, task->trace) : BLV_OK;
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_run_message(run));
    return blv_task_session_begin(&task->session, which, run, why);
}

static void on_end(void *context, const blv_task_run *which, const blv_run_end *end) {
    cli_progress_leave();
    blv_task_session_end(context, which, end);
}

/* ---- What is known of a run ---- */

void cli_facts_number(blv_values *facts, const char *name, double number, const char *word) {
    cli_expect(number > 0.0 ? blv_values_add_real(facts, name, number)
                            : blv_values_add_text(facts, name, word));
}

/* ---- The command ---- */

void cli_task_open(cli_task_options *options) {
    if (options->resumed)
        return;
    options->store_is_named = cli_store_is_named(&options->store);
    options->opened = cli_store_open(&options->store, options->checkpoint_seconds);
}

void cli_task_resume(cli_task_options *options, const cli_resume *resume) {
    const cli_task_options kept = *options;
    *options = resume->task;
    options->all_rows = kept.all_rows;
    options->progress = cli_progress_choose(NULL, options->json || options->quiet);
    if (!(options->checkpoint_seconds > 0.0))
        options->checkpoint_seconds = kept.checkpoint_seconds;
}

/* ---- A request from the store ---- */

const blv_field cli_setting_fields[] = {
    BLV_FIELD_AS("key", blv_setting, key, TEXT, BLV_REQUIRED),
    BLV_FIELD_AS("value", blv_setting, value, TEXT, BLV_REQUIRED | BLV_ANY_BYTES),
    {0}};

/* The output of a field as -o has it; NULL: as it was. */
static char *new_output(const blv_field *f, const char *path, const char *out) {
    struct stat about;
    if (!out)
        return NULL;
    if (stat(out, &about) != 0 || !S_ISDIR(about.st_mode))
        return strcmp(f->name, "out") == 0 ? cli_print("%s", out) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path ? cli_print("%s/%s", out, slash ? slash + 1 : path) : NULL;
}

static void check_output(const blv_field *f, char **path, const cli_resume *resume) {
    char *given = new_output(f, *path, resume->out);
    if (given) {
        free(*path);
        *path = given;
    }
    if (!*path)
        return;
    if (!given && !resume->allow_outputs && !cli_file_is_below(*path))
        cli_die("the run writes %s, which is outside the current folder: allow it with "
                "--allow-outputs, or name another file or folder with -o",
                *path);
    if (!resume->task.quiet)
        cli_complain("the run writes %s", *path);
    cli_file_writes(*path);
}

void cli_resume_files(const blv_field *table, void *request, const cli_resume *resume) {
    for (const blv_field *f = table; f->name; f++) {
        void *field = (char *)request + f->offset;
        if (f->kind == BLV_KIND_RECORD)
            cli_resume_files(f->fields, field, resume);
        else if (f->kind == BLV_KIND_PATH && (f->flags & BLV_OUTPUT))
            check_output(f, field, resume);
        else if (f->kind == BLV_KIND_PATH)
            cli_file_reads(*(char **)field);
    }
}

void cli_task_begin(cli_task_hooks *task, const char *kind, const blv_field *table,
                    const void *request, cli_task_options *options) {
    task->request = blv_record_text(table, request);
    cli_expect(task->request ? BLV_OK : BLV_E_MEMORY);
    task->session.facts = (blv_run_info){.size = sizeof(blv_run_info),
                                         .kind = kind,
                                         .command_count = cli_typed.count,
                                         .command = cli_typed.items,
                                         .request = task->request,
                                         .problem_parameters = task->facts};
    cli_task_open(options);
    task->session.recorder = (blv_recorder){.store = options->opened,
                                            .checkpoint_seconds = options->checkpoint_seconds,
                                            .warn = cli_note};
    task->session.resumed = options->resumed;
    task->session.all_rows = options->all_rows;
    task->store_is_named = options->store_is_named;
    task->json = options->json;
    cli_progress_begin(options->progress);
    task->hooks = (blv_task_hooks){.size = sizeof task->hooks,
                                   .context = task,
                                   .interval = cli_progress_interval(),
                                   .progress = on_progress,
                                   .start = blv_task_session_start,
                                   .recall = blv_task_session_recall,
                                   .begin = on_begin,
                                   .end = on_end,
                                   .note = cli_note};
}

static blv_run_status status_of(int code, const blv_run_info *end) {
    if (code != CLI_DONE)
        return cli_signalled() ? BLV_STATUS_INTERRUPTED : BLV_STATUS_FAILED;
    return end->status == BLV_STATUS_RUNNING ? BLV_STATUS_FINISHED : end->status;
}

static int end_task(cli_task_hooks *task, int code, const char *why, const blv_run_info *end) {
    blv_run_info whole = *end;
    cli_progress_end();
    whole.size = sizeof whole;
    whole.status = status_of(code, end);
    if (!whole.message)
        whole.message = why && *why ? why : blv_run_status_word(whole.status);
    blv_task_session_finish(&task->session, &whole);
    if (whole.status == BLV_STATUS_INTERRUPTED && task->session.recorder.id > 0)
        cli_complain("stored as run %lld; 'bilevel resume %lld' continues it",
                     (long long)task->session.recorder.id, (long long)task->session.recorder.id);
    if (code != CLI_DONE)
        return code;
    return task->session.recorder.failed && task->store_is_named ? CLI_REJECTED : CLI_DONE;
}

int cli_task_fail(cli_task_hooks *task, int code, const char *why) {
    return end_task(task, code, why, &(blv_run_info){.phi = NAN, .grad_norm = NAN});
}

int cli_task_report(cli_task_hooks *task, json_t *result, blv_run_info end) {
    char *text = json_dumps(result, JSON_COMPACT);
    cli_expect(text ? BLV_OK : BLV_E_MEMORY);
    end.result = text;
    int code = end_task(task, CLI_DONE, NULL, &end);
    if (task->json)
        cli_json_print(json_incref(result));
    json_decref(result);
    free(text);
    return code;
}

void cli_task_close(cli_task_hooks *task) {
    cli_progress_end();
    free(task->request);
    blv_values_free(&task->facts);
}
