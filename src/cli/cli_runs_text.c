#include "cli_common.h"
#include "cli_json.h"
#include "cli_runs.h"
#include "cli_text.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
