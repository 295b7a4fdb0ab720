/* A run of `bilevel solve` as the store keeps it, so that it can be resumed. */
#include "base/arena.h"
#include "cli/file_roles.h"
#include "cli/solve_task.h"
#include "store/run_info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static const char *file_named(const char *text, blv_arena *arena) {
    const char *data = getenv("BILEVEL_DATA"), *path = text;
    if (data && access(path, F_OK) != 0)
        path = blv_arena_print(arena, "%s/%s", data, text);
    if (!path || !*text || access(path, F_OK) != 0)
        return text;
    char *absolute = blv_path_absolute(path);
    path = absolute ? blv_arena_copy(arena, absolute) : NULL;
    cli_expect(path ? BLV_OK : BLV_E_MEMORY);
    free(absolute);
    return path;
}

static void add_values(cli_settings *settings, const blv_param *params, const void *fields,
                       blv_arena *arena) {
    for (const blv_param *p = params; p && p->key; p++) {
        char value[BLV_TEXT_SIZE] = "";
        blv_params_format(p, fields, value, sizeof value);
        cli_settings_add(settings, p->key, blv_arena_copy(arena, value));
    }
}

char *cli_solve_request(const cli_solve_task *task, const blv_run *run) {
    const blv_solver *solver = blv_run_solver(run);
    bool is_word = strcmp(task->start, "zero") == 0 || strcmp(task->start, "random") == 0;
    cli_settings problem = {0}, settings = {0};
    blv_arena arena = {0};
    for (size_t i = 0; i < task->instance.settings.count; i++) {
        const blv_setting *s = &task->instance.settings.items[i];
        const blv_param *param = blv_params_find(task->instance.family->params, s->key);
        bool is_text = param && param->type == BLV_TEXT;
        cli_settings_add(&problem, s->key, is_text ? file_named(s->value, &arena) : s->value);
    }
    add_values(&settings, solver->params, blv_run_solver_fields(run), &arena);
    add_values(&settings, blv_run_options(), blv_run_option_fields(run), &arena);
    cli_solve_task kept = *task;
    kept.instance.settings = problem;
    kept.settings = settings;
    kept.solver = solver->name;
    kept.is_one_of_several = task->several || task->is_one_of_several;
    kept.start = is_word ? task->start : file_named(task->start, &arena);
    kept.trace = task->run_trace;
    kept.out = task->run_out;
    char *text = blv_record_text(request_fields, &kept);
    cli_expect(text && !arena.failed ? BLV_OK : BLV_E_MEMORY);
    blv_arena_free(&arena);
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
