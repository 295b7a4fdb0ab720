/* A run of `bilevel solve` as the store keeps it, so that it can be resumed. */
#include "cli/solve_task.h"
#include "store/run_info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const blv_field setting_fields[] = {
    BLV_FIELD(blv_setting, key, TEXT), BLV_FIELD(blv_setting, value, TEXT), {0}};

#define FIELD(name_, member, kind_, flags_)                                                        \
    BLV_FIELD_AS(name_, cli_solve_task, member, kind_, flags_)
#define SETTINGS(name_, member)                                                                    \
    BLV_FIELD_RECORDS(name_, cli_solve_task, member.items, member.count, setting_fields)

static const blv_field request_fields[] = {
    FIELD("problem", instance.name, TEXT, BLV_REQUIRED),
    SETTINGS("problem_settings", instance.settings),
    BLV_FIELD_WORD("precision", cli_solve_task, instance.options.precision, blv_precision_words),
    FIELD("threads", instance.options.threads, INT, 0),
    FIELD("gradients_only", instance.gradients_only, BOOL, 0),
    FIELD("solver", solver, TEXT, BLV_REQUIRED),
    FIELD("several", is_one_of_several, BOOL, 0),
    SETTINGS("settings", settings),
    FIELD("start", start, TEXT, BLV_REQUIRED),
    FIELD("trace", trace, PATH, 0),
    FIELD("out", out, PATH, 0),
    FIELD("checkpoint", options.checkpoint_seconds, REAL, 0),
    FIELD("all_rows", options.all_rows, BOOL, 0),
    {0}};

static char *expect_text(char *text) {
    cli_expect(text ? BLV_OK : BLV_E_MEMORY, NULL);
    return text;
}

/* The file that a parameter of the problem names: as it is or in the folder of BILEVEL_DATA. A text
 * that is no file, such as the shape of a network, stays as it is. */
static char *file_named(const char *text) {
    const char *data = getenv("BILEVEL_DATA");
    char *path = cli_print("%s", text);
    if (data && access(path, F_OK) != 0) {
        free(path);
        path = cli_print("%s/%s", data, text);
    }
    bool is_there = *text && access(path, F_OK) == 0;
    char *found = is_there ? expect_text(blv_path_absolute(path)) : cli_print("%s", text);
    free(path);
    return found;
}

static void add_problem_settings(cli_settings *settings, const cli_instance *instance) {
    for (size_t i = 0; i < instance->settings.count; i++) {
        const blv_setting *s = &instance->settings.items[i];
        const blv_param *param = blv_params_find(instance->family->params, s->key);
        bool is_text = param && param->type == BLV_TEXT;
        cli_settings_add(settings, s->key,
                         is_text ? file_named(s->value) : cli_print("%s", s->value));
    }
}

static void add_values(cli_settings *settings, const blv_param *params, const void *fields) {
    for (const blv_param *p = params; p && p->key; p++) {
        char value[BLV_TEXT_SIZE] = "";
        blv_params_format(p, fields, value, sizeof value);
        cli_settings_add(settings, p->key, cli_print("%s", value));
    }
}

static void free_values(cli_settings *settings) {
    for (size_t i = 0; i < settings->count; i++)
        free((char *)settings->items[i].value);
    free(settings->items);
}

char *cli_solve_request(const cli_solve_task *task, const blv_run *run, const char *trace,
                        const char *out) {
    const blv_solver *solver = blv_run_solver(run);
    bool is_word = strcmp(task->start, "zero") == 0 || strcmp(task->start, "random") == 0;
    char *start = is_word ? NULL : expect_text(blv_path_absolute(task->start));
    cli_solve_task kept = *task;
    kept.instance.settings = kept.settings = (cli_settings){0};
    add_problem_settings(&kept.instance.settings, &task->instance);
    add_values(&kept.settings, solver->params, blv_run_solver_fields(run));
    add_values(&kept.settings, blv_run_options(), blv_run_option_fields(run));
    kept.solver = solver->name;
    kept.is_one_of_several = cli_solve_is_with_several(task);
    kept.start = start ? start : task->start;
    kept.trace = trace;
    kept.out = out;
    char *text = expect_text(blv_record_text(request_fields, &kept));
    free_values(&kept.instance.settings);
    free_values(&kept.settings);
    free(start);
    return text;
}

void cli_solve_restore(cli_solve_task *task, const char *request) {
    blv_message why = {0};
    if (blv_record_parse(request_fields, task, request ? request : "{}", &why) != BLV_OK)
        cli_die("an earlier version of the program stored the run, which this one cannot resume: "
                "%s",
                why.text);
}
