#include "cli_task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double cli_task_parse_checkpoint(const char *text, const struct argp_state *state) {
    double seconds = 0.0;
    if (!cli_parse_real(text, &seconds) || !(seconds > 0.0))
        argp_error(state, "--checkpoint '%s': expected a number of seconds > 0", text);
    return seconds;
}

int cli_task_open_store(cli_task *task, const cli_store_choice *choice) {
    task->store_is_named = cli_store_is_named(choice);
    return cli_store_open_for_checkpoints(&task->store, choice, task->checkpoint_seconds);
}

/* ---- Facts ---- */

cli_facts cli_facts_of(const cli_instance *instance, const blv_run *run) {
    const blv_problem_def *def = blv_problem_definition(instance->problem);
    const blv_solver *solver = blv_run_solver(run);
    cli_facts facts = {
        .problem_parameters = cli_json_values(instance->family->params, instance->params),
        .parameters = cli_json_values(solver->params, blv_run_solver_fields(run)),
        .options = cli_json_values(blv_run_options(), blv_run_option_fields(run)),
    };
    facts.run = (cli_run_facts){.problem = instance->family->name,
                                .problem_parameters = facts.problem_parameters,
                                .precision = cli_precision_word(def->precision),
                                .dim_x = def->dim_x,
                                .dim_y = def->dim_y,
                                .fingerprint = blv_problem_fingerprint(instance->problem),
                                .solver = solver->name,
                                .parameters = facts.parameters,
                                .options = facts.options};
    return facts;
}

void cli_facts_free(cli_facts *facts) {
    json_decref(facts->problem_parameters);
    json_decref(facts->parameters);
    json_decref(facts->options);
}

/* ---- The task ---- */

static void append_setting(json_t *array, const char *key, const char *value) {
    json_t *pair = cli_json_array();
    cli_json_append(pair, cli_json_text(key));
    cli_json_append(pair, cli_json_text(value));
    cli_json_append(array, pair);
}

static json_t *describe_settings(const cli_settings *settings) {
    json_t *array = cli_json_array();
    for (size_t i = 0; i < settings->count; i++)
        append_setting(array, settings->items[i].key, settings->items[i].value);
    return array;
}

static void append_values(json_t *array, const blv_param *params, const void *fields) {
    for (const blv_param *p = params; p && p->key; p++) {
        char value[BLV_TEXT_SIZE] = "";
        blv_params_format(p, fields, value, sizeof value);
        append_setting(array, p->key, value);
    }
}

/* Every parameter with the value in effect: a later default is not this run's. */
static json_t *describe_run(const blv_run *run) {
    json_t *array = cli_json_array();
    append_values(array, blv_run_solver(run)->params, blv_run_solver_fields(run));
    append_values(array, blv_run_options(), blv_run_option_fields(run));
    return array;
}

void cli_task_describe_place(json_t *object) {
    char *folder = getcwd(NULL, 0);
    cli_json_set(object, "folder", cli_json_text(folder));
    cli_json_set(object, "data_folder", cli_json_text(getenv("BILEVEL_DATA")));
    free(folder);
}

json_t *cli_task_describe(const cli_task *task, const blv_run *run) {
    const cli_instance *instance = &task->instance;
    json_t *object = cli_json_object();
    cli_task_describe_place(object);
    cli_json_set(object, "problem", cli_json_text(instance->name));
    cli_json_set(object, "problem_settings", describe_settings(&instance->settings));
    cli_json_set(object, "precision",
                 cli_json_text(cli_precision_word(instance->options.precision)));
    cli_json_set(object, "threads", cli_json_whole((uint64_t)instance->options.threads));
    cli_json_set(object, "gradients_only", json_boolean(instance->gradients_only));
    cli_json_set(object, "solver", cli_json_text(blv_run_solver(run)->name));
    cli_json_set(object, "several", json_boolean(task->selection.several));
    cli_json_set(object, "settings", describe_run(run));
    cli_json_set(object, "start", cli_json_text(task->start));
    cli_json_set(object, "trace", cli_json_text(task->trace));
    cli_json_set(object, "out", cli_json_text(task->out));
    cli_json_set(object, "checkpoint", cli_json_real(task->checkpoint_seconds));
    cli_json_set(object, "all_rows", json_boolean(task->all_rows));
    return object;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static bool restore_settings(cli_settings *settings, const json_t *array) {
    size_t i;
    json_t *pair;
    if (!json_is_array(array))
        return false;
    json_array_foreach(array, i, pair) {
        const char *key = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        if (!key || !value)
            return false;
        cli_settings_add(settings, key, value);
    }
    return true;
}

static bool restore_problem(cli_instance *instance, const json_t *description) {
    const char *precision = text_of(description, "precision");
    instance->name = text_of(description, "problem");
    if (!instance->name || !precision ||
        !restore_settings(&instance->settings, json_object_get(description, "problem_settings")))
        return false;
    instance->options.precision = strcmp(precision, "f32") == 0 ? BLV_F32 : BLV_F64;
    instance->options.threads = (int)json_integer_value(json_object_get(description, "threads"));
    instance->gradients_only = json_is_true(json_object_get(description, "gradients_only"));
    return true;
}

int cli_task_enter_place(const json_t *description) {
    const char *folder = text_of(description, "folder");
    const char *data_folder = text_of(description, "data_folder");
    if (data_folder)
        setenv("BILEVEL_DATA", data_folder, 0);
    if (!folder || chdir(folder) == 0)
        return CLI_DONE;
    cli_complain("the run was made in %s, which cannot be entered: %s", folder, strerror(errno));
    return CLI_REFUSED;
}

int cli_task_restore(cli_task *task, const json_t *description) {
    const char *solver = text_of(description, "solver");
    task->start = text_of(description, "start");
    task->trace = text_of(description, "trace");
    task->out = text_of(description, "out");
    task->checkpoint_seconds = json_number_value(json_object_get(description, "checkpoint"));
    task->all_rows = json_is_true(json_object_get(description, "all_rows"));
    if (!solver || !task->start || !restore_problem(&task->instance, description) ||
        !restore_settings(&task->settings, json_object_get(description, "settings"))) {
        cli_complain("the store does not say how the run was made");
        return CLI_REFUSED;
    }
    int code = cli_selection_parse(&task->selection, solver);
    task->selection.several = json_is_true(json_object_get(description, "several"));
    return code == CLI_DONE ? cli_task_enter_place(description) : code;
}
