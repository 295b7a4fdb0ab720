/* A run of `bilevel solve` as the store keeps it, so that it can be resumed. */
#include "cli/json.h"
#include "cli/solve_task.h"
#include "cli/text.h"
#include "store/run_info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(member, kind_) BLV_FIELD(cli_solve_request, member, kind_)
#define NEEDED(member, kind_) BLV_FIELD_AS(#member, cli_solve_request, member, kind_, BLV_REQUIRED)

const blv_field cli_solve_request_fields[] = {
    FIELD(folder, TEXT),
    NEEDED(problem, TEXT),
    NEEDED(problem_settings, VALUES),
    BLV_FIELD_WORD("precision", cli_solve_request, precision, blv_precision_words),
    FIELD(threads, INT),
    FIELD(gradients_only, BOOL),
    NEEDED(solver, TEXT),
    FIELD(several, BOOL),
    NEEDED(settings, VALUES),
    NEEDED(start, TEXT),
    FIELD(trace, TEXT),
    FIELD(out, TEXT),
    FIELD(checkpoint, REAL),
    FIELD(all_rows, BOOL),
    {0}};

static void expect_memory(blv_error error) {
    if (error != BLV_OK)
        exit(cli_refuse(error, NULL));
}

/* ---- Writing ---- */

static char *joined(const char *folder, const char *path) {
    return folder && path[0] != '/' ? cli_print("%s/%s", folder, path) : cli_print("%s", path);
}

/* The file that a parameter of the problem names: as it is or in the folder of BILEVEL_DATA. A text
 * that is no file, such as the shape of a network, stays as it is. */
static char *file_named(const char *folder, const char *text) {
    const char *data = getenv("BILEVEL_DATA");
    char *below = data ? cli_print("%s/%s", data, text) : NULL;
    char *path = joined(folder, text);
    if (below && access(path, F_OK) != 0) {
        free(path);
        path = joined(folder, below);
    }
    free(below);
    if (*text && access(path, F_OK) == 0)
        return path;
    free(path);
    return cli_print("%s", text);
}

static void add_problem_settings(cli_solve_request *r, const cli_instance *instance) {
    for (size_t i = 0; i < instance->settings.count; i++) {
        const cli_setting *s = &instance->settings.items[i];
        const blv_param *param = blv_params_find(instance->family->params, s->key);
        bool is_text = param && param->type == BLV_TEXT;
        char *value = is_text ? file_named(r->folder, s->value) : cli_print("%s", s->value);
        expect_memory(blv_values_add_text(&r->problem_settings, s->key, value));
        free(value);
    }
}

static void add_values(blv_values *values, const blv_param *params, const void *fields) {
    for (const blv_param *p = params; p && p->key; p++) {
        char value[BLV_TEXT_SIZE] = "";
        blv_params_format(p, fields, value, sizeof value);
        expect_memory(blv_values_add_text(values, p->key, value));
    }
}

static bool is_file(const char *start) {
    return strcmp(start, "zero") != 0 && strcmp(start, "random") != 0;
}

static char *copy(const char *text) {
    return text ? cli_print("%s", text) : NULL;
}

char *cli_solve_request_text(const cli_solve_task *task, const blv_run *run, const char *trace,
                             const char *out) {
    const cli_instance *instance = &task->instance;
    const blv_solver *solver = blv_run_solver(run);
    cli_solve_request r = {.folder = getcwd(NULL, 0),
                           .problem = copy(instance->name),
                           .precision = instance->options.precision,
                           .threads = instance->options.threads,
                           .gradients_only = instance->gradients_only,
                           .solver = copy(solver->name),
                           .several = cli_solve_is_with_several(task),
                           .checkpoint = task->checkpoint_seconds,
                           .all_rows = task->all_rows};
    r.start = is_file(task->start) ? joined(r.folder, task->start) : copy(task->start);
    r.trace = trace ? joined(r.folder, trace) : NULL;
    r.out = out ? joined(r.folder, out) : NULL;
    add_problem_settings(&r, instance);
    add_values(&r.settings, solver->params, blv_run_solver_fields(run));
    add_values(&r.settings, blv_run_options(), blv_run_option_fields(run));
    char *text = blv_record_text(cli_solve_request_fields, &r);
    if (!text)
        expect_memory(BLV_E_MEMORY);
    blv_record_free(cli_solve_request_fields, &r);
    return text;
}

/* ---- Reading ---- */

/* Earlier versions kept settings as [[key, value], ...]. */
static void upgrade(json_t *object, const char *key) {
    json_t *pairs = json_object_get(object, key), *pair, *settings;
    size_t i;
    if (!json_is_array(pairs))
        return;
    settings = cli_json_object();
    json_array_foreach(pairs, i, pair) {
        const char *name = json_string_value(json_array_get(pair, 0));
        if (name)
            cli_json_set(settings, name, json_incref(json_array_get(pair, 1)));
    }
    cli_json_set(object, key, settings);
}

/* Likewise paths relative to the folder. */
static void make_absolute(const cli_solve_request *r, char **path) {
    if (!*path || !is_file(*path))
        return;
    char *whole = joined(r->folder, *path);
    free(*path);
    *path = whole;
}

static void take_settings(cli_settings *settings, const blv_values *values) {
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].kind == BLV_VALUE_TEXT)
            cli_settings_add(settings, values->items[i].name, values->items[i].text);
}

int cli_solve_request_read(cli_solve_request *r, const char *text, cli_solve_task *task) {
    blv_message why = {0};
    json_t *object = text ? json_loads(text, 0, NULL) : NULL;
    upgrade(object, "settings");
    upgrade(object, "problem_settings");
    blv_error error = blv_record_read(cli_solve_request_fields, r, object, &why);
    json_decref(object);
    if (error != BLV_OK) {
        cli_complain("the store does not say how the run was made: %s", why.text);
        return CLI_REFUSED;
    }
    for (size_t i = 0; i < r->problem_settings.count; i++) {
        blv_value *value = &r->problem_settings.items[i];
        if (value->kind == BLV_VALUE_TEXT && value->text[0] != '/' && r->folder) {
            char *file = file_named(r->folder, value->text);
            free(value->text);
            value->text = file;
        }
    }
    make_absolute(r, &r->start);
    make_absolute(r, &r->trace);
    make_absolute(r, &r->out);
    task->instance.name = r->problem;
    task->instance.options.precision = r->precision;
    task->instance.options.threads = r->threads;
    task->instance.gradients_only = r->gradients_only;
    take_settings(&task->instance.settings, &r->problem_settings);
    take_settings(&task->settings, &r->settings);
    task->solver = r->solver;
    task->start = r->start;
    task->trace = r->trace;
    task->out = r->out;
    task->checkpoint_seconds = r->checkpoint;
    task->all_rows = r->all_rows;
    task->is_one_of_several = r->several;
    return CLI_DONE;
}
