#include "cli_common.h"
#include "cli_json.h"
#include "cli_runs.h"
#include "cli_table.h"
#include "cli_text.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *cli_run_text(const json_t *run, const char *key) {
    return json_string_value(json_object_get(run, key));
}

int cli_runs_find(blv_store *store, int64_t id, json_t **run) {
    blv_run_info *info = NULL;
    int code = cli_store_find(store, id, &info);
    *run = info ? blv_record_json(blv_run_info_fields, info) : NULL;
    blv_run_info_free(info);
    return code;
}

const char *cli_run_number(const json_t *run, const char *key, const char *format, char *text,
                           size_t size) {
    const json_t *value = json_object_get(run, key);
    if (json_is_integer(value))
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of the literals below
        snprintf(text, size, format, json_real_value(value));
    else
        return NULL;
    return text;
}

/* "2001-02-03T04:05:06.789Z" in the user's own time, to the second. */
static const char *local_time(const json_t *run, const char *key, char *text, size_t size) {
    const char *utc = cli_run_text(run, key);
    struct tm then = {0};
    if (!utc || !strptime(utc, "%Y-%m-%dT%H:%M:%S", &then))
        return utc;
    time_t seconds = timegm(&then);
    struct tm local;
    if (!localtime_r(&seconds, &local) || strftime(text, size, "%Y-%m-%d %H:%M:%S", &local) == 0)
        return utc;
    return text;
}

void cli_runs_print_list(const json_t *runs) {
    cli_table table = {.align = "rlllllrrrr"};
    const char *title[] = {"RUN",    "STARTED",    "STATUS",  "KIND", "PROBLEM",
                           "SOLVER", "ITERATIONS", "SECONDS", "PHI",  "|GRAD PHI|"};
    cli_table_row(&table, title);
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run) {
        char id[24], started[32], iterations[24], seconds[32], phi[32], grad_norm[32];
        const char *cells[] = {
            cli_run_number(run, "id", "", id, sizeof id),
            local_time(run, "started", started, sizeof started),
            cli_run_text(run, "status"),
            cli_run_text(run, "kind"),
            cli_run_text(run, "problem"),
            cli_run_text(run, "solver"),
            cli_run_number(run, "iterations", "", iterations, sizeof iterations),
            cli_run_number(run, "seconds", "%.4g", seconds, sizeof seconds),
            cli_run_number(run, "phi", "%.10g", phi, sizeof phi),
            cli_run_number(run, "grad_norm", "%.3e", grad_norm, sizeof grad_norm)};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
}

static void show_text(cli_table *table, const char *label, const char *text) {
    if (text && *text)
        cli_table_row(table, (const char *[]){label, text});
}

/* "key = value, ..." */
static char *values_text(json_t *values) {
    cli_text text;
    FILE *out = cli_text_begin(&text);
    const char *key, *joint = "";
    json_t *value;
    json_object_foreach(values, key, value) {
        char shown[CLI_VALUE_SIZE];
        cli_value_text(value, shown);
        fprintf(out, "%s%s = %s", joint, key, shown);
        joint = ", ";
    }
    return cli_text_end(&text);
}

static void show_values(cli_table *table, const char *label, json_t *values) {
    char *text = json_is_object(values) ? values_text(values) : NULL;
    show_text(table, label, text);
    free(text);
}

char *cli_run_command(const json_t *command) {
    cli_text text;
    size_t i;
    json_t *word;
    FILE *out = cli_text_begin(&text);
    json_array_foreach(command, i, word) {
        fprintf(out, "%s%s", i ? " " : "", json_string_value(word) ? json_string_value(word) : "?");
    }
    return cli_text_end(&text);
}

static void show_numbers(cli_table *table, const json_t *run) {
    static const struct {
        const char *label, *key, *format;
    } numbers[] = {
        {"Iterations", "iterations", ""},  {"Seconds", "seconds", "%.4g"},
        {"Phi(x)", "phi", "%.10g"},        {"|grad Phi(x)|", "grad_norm", "%.10g"},
        {"Rows of the trace", "rows", ""}, {"Checkpoint at iteration", "checkpoint_iteration", ""}};
    char text[48];
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        show_text(table, numbers[i].label,
                  cli_run_number(run, numbers[i].key, numbers[i].format, text, sizeof text));
}

void cli_runs_print_one(const json_t *run) {
    char text[256], dim_x[24], dim_y[24];
    cli_table table = {.align = "ll"};
    char *command = cli_run_command(json_object_get(run, "command"));
    show_text(&table, "Run", cli_run_number(run, "id", "", text, sizeof text));
    show_text(&table, "Command", command);
    show_text(&table, "Status", cli_run_text(run, "status"));
    show_text(&table, "Outcome", cli_run_text(run, "message"));
    show_text(&table, "Started", local_time(run, "started", text, sizeof text));
    show_text(&table, "Ended", local_time(run, "ended", text, sizeof text));
    snprintf(text, sizeof text, "%.80s, dimension %s in x and %s in y, %.10s",
             cli_run_text(run, "problem") ? cli_run_text(run, "problem") : "",
             cli_run_number(run, "dim_x", "", dim_x, sizeof dim_x) ? dim_x : "?",
             cli_run_number(run, "dim_y", "", dim_y, sizeof dim_y) ? dim_y : "?",
             cli_run_text(run, "precision") ? cli_run_text(run, "precision") : "");
    if (cli_run_text(run, "problem"))
        show_text(&table, "Problem", text);
    show_values(&table, "Problem parameters", json_object_get(run, "problem_parameters"));
    show_text(&table, "Fingerprint of the data", cli_run_text(run, "fingerprint"));
    show_text(&table, "Solver", cli_run_text(run, "solver"));
    show_values(&table, "Solver parameters", json_object_get(run, "parameters"));
    show_values(&table, "Run options", json_object_get(run, "options"));
    show_numbers(&table, run);
    show_text(&table, "Version", cli_run_text(run, "version"));
    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT " on %.64s",
             json_integer_value(json_object_get(run, "pid")),
             cli_run_text(run, "host") ? cli_run_text(run, "host") : "");
    show_text(&table, "Process", text);
    cli_table_print(&table, 0, stdout);
    free(command);
}
