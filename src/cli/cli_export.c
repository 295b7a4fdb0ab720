#include "cli_export.h"
#include "cli_json.h"
#include "cli_outputs.h"
#include "cli_text.h"
#include "store/store_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV ---- */

/* The columns: every key of every row, in the order in which they first come; arrays have a column
 * for each element. The value of a column is its length, -1 for what is no array. */
static json_t *columns_of(const json_t *rows) {
    json_t *columns = cli_json_object(), *row, *value;
    size_t i;
    const char *key;
    json_array_foreach(rows, i, row) {
        json_object_foreach(row, key, value) {
            json_int_t length = json_is_array(value) ? (json_int_t)json_array_size(value) : -1;
            json_t *known = json_object_get(columns, key);
            if (!known || json_integer_value(known) < length)
                cli_json_set(columns, key, json_integer(length));
        }
    }
    return columns;
}

/* null and what is missing stay empty */
static void put_value(FILE *out, const json_t *value) {
    char text[CLI_REAL_SIZE] = "";
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        cli_format_real(json_real_value(value), text);
    fputs(text, out);
}

static void put_titles(FILE *out, json_t *columns) {
    const char *key, *joint = "";
    json_t *length;
    json_object_foreach(columns, key, length) {
        json_int_t n = json_integer_value(length);
        if (n < 0)
            fprintf(out, "%s%s", joint, key);
        for (json_int_t i = 0; i < n; i++)
            fprintf(out, "%s%s[%" JSON_INTEGER_FORMAT "]", i ? "," : joint, key, i);
        joint = ",";
    }
    fputc('\n', out);
}

static void put_row(FILE *out, json_t *columns, const json_t *row) {
    const char *key, *joint = "";
    json_t *length;
    json_object_foreach(columns, key, length) {
        const json_t *value = json_object_get(row, key);
        json_int_t n = json_integer_value(length);
        fputs(joint, out);
        if (n < 0)
            put_value(out, value);
        for (json_int_t i = 0; i < n; i++) {
            fputs(i ? "," : "", out);
            put_value(out, json_array_get(value, (size_t)i));
        }
        joint = ",";
    }
    fputc('\n', out);
}

static bool put_csv(FILE *out, const void *context) {
    const json_t *rows = context;
    json_t *columns = columns_of(rows), *row;
    size_t i;
    put_titles(out, columns);
    json_array_foreach(rows, i, row) {
        put_row(out, columns, row);
    }
    json_decref(columns);
    return true;
}

static bool put_json(FILE *out, const void *run) {
    return json_dumpf(run, out, JSON_INDENT(1)) == 0 && fputc('\n', out) != EOF;
}

/* ---- Files ---- */

static int write_checkpoint(cli_outputs *outputs, const char *path, blv_store *store, int64_t id) {
    void *bytes = NULL;
    size_t size = 0;
    if (BLV_OK != blv_store_read(store, id, "checkpoint", &bytes, &size)) {
        cli_complain("%s", blv_store_message(store));
        return CLI_REFUSED;
    }
    if (!bytes) {
        cli_complain("run %" PRId64 " has no checkpoint", id);
        return CLI_REFUSED;
    }
    int code = cli_outputs_bytes(outputs, path, bytes, size);
    free(bytes);
    return code;
}

static char *with_end(const char *name, int64_t id, const char *end) {
    return name ? cli_print("%s.%s", name, end) : cli_print("run-%" PRId64 ".%s", id, end);
}

int cli_export(blv_store *store, json_t *run, int64_t id, const char *name,
               const char *checkpoint) {
    json_t *rows = NULL;
    if (blv_store_rows_json(store, id, &rows) != BLV_OK) {
        cli_complain("%s", blv_store_message(store));
        return CLI_REFUSED;
    }
    cli_outputs outputs = {0};
    char *csv = with_end(name, id, "csv"), *json = with_end(name, id, "json");
    int code = cli_outputs_print(&outputs, csv, put_csv, rows);
    cli_json_set(run, "trace", rows);
    if (code == CLI_DONE)
        code = cli_outputs_print(&outputs, json, put_json, run);
    if (code == CLI_DONE && checkpoint)
        code = write_checkpoint(&outputs, checkpoint, store, id);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    free(csv);
    free(json);
    return code;
}
