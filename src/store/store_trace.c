/* Traces: rows of JSON objects in the file, columns of numbers in memory. */
#include "store/store_trace.h"
#include "store/store_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

blv_error blv_store_rows_json(blv_store *store, int64_t id, json_t **rows) {
    *rows = NULL;
    sqlite3_stmt *statement =
        blv_sql(store, "SELECT row FROM trace WHERE run = ? ORDER BY iteration", "i", id);
    if (!statement)
        return store->error;
    json_t *list = json_array();
    blv_error error = list ? BLV_OK : blv_store_no_memory(store);
    int result = SQLITE_DONE;
    while (error == BLV_OK && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        json_t *row = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
        if (!text || json_array_append_new(list, row ? row : blv_json_string(text)) != 0)
            error = blv_store_no_memory(store);
    }
    blv_error ended = blv_sql_end(store, statement, error == BLV_OK ? result : SQLITE_DONE);
    error = error != BLV_OK ? error : ended;
    if (error == BLV_OK)
        *rows = list;
    else
        json_decref(list);
    return error;
}

/* The columns: every key of every row, in the order in which they first come, with the length of
 * its longest array, or -1. NULL where memory is short. */
static json_t *columns_of(const json_t *rows) {
    json_t *columns = json_object(), *row, *value;
    size_t i;
    const char *key;
    json_array_foreach(rows, i, row) {
        json_object_foreach(row, key, value) {
            json_int_t length = json_is_array(value) ? (json_int_t)json_array_size(value) : -1;
            json_t *known = json_object_get(columns, key);
            if ((!known || json_integer_value(known) < length) &&
                json_object_set_new(columns, key, json_integer(length)) != 0) {
                json_decref(columns);
                return NULL;
            }
        }
    }
    return columns;
}

static bool add_name(blv_trace *trace, const char *key, json_int_t index) {
    char **names = realloc(trace->names, (trace->columns + 1) * sizeof *names);
    if (!names)
        return false;
    trace->names = names;
    size_t size = strlen(key) + 24;
    char *name = malloc(size);
    if (name && index < 0)
        snprintf(name, size, "%s", key);
    else if (name)
        snprintf(name, size, "%s[%lld]", key, (long long)index);
    names[trace->columns] = name;
    trace->columns += name != NULL;
    return name != NULL;
}

static bool name_columns(blv_trace *trace, json_t *columns) {
    const char *key;
    json_t *length;
    json_object_foreach(columns, key, length) {
        json_int_t n = json_integer_value(length);
        if (n < 0 && !add_name(trace, key, -1))
            return false;
        for (json_int_t i = 0; i < n; i++)
            if (!add_name(trace, key, i))
                return false;
    }
    return true;
}

static double number_of(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void fill_row(double *to, json_t *columns, const json_t *row) {
    const char *key;
    json_t *length;
    json_object_foreach(columns, key, length) {
        const json_t *value = json_object_get(row, key);
        json_int_t n = json_integer_value(length);
        if (n < 0)
            *to++ = number_of(value);
        for (json_int_t i = 0; i < n; i++)
            *to++ = number_of(json_array_get(value, (size_t)i));
    }
}

static bool fill(blv_trace *trace, const json_t *rows) {
    json_t *columns = columns_of(rows);
    bool well = columns && name_columns(trace, columns);
    trace->rows = json_array_size(rows);
    trace->values = well ? calloc(trace->rows * trace->columns + 1, sizeof(double)) : NULL;
    for (size_t i = 0; trace->values && i < trace->rows; i++)
        fill_row(trace->values + i * trace->columns, columns, json_array_get(rows, i));
    json_decref(columns);
    return trace->values != NULL;
}

blv_error blv_store_trace(blv_store *store, int64_t id, blv_trace *trace) {
    json_t *rows = NULL;
    *trace = (blv_trace){0};
    BLV_CHECK(blv_store_rows_json(store, id, &rows));
    bool well = fill(trace, rows);
    json_decref(rows);
    if (well)
        return BLV_OK;
    blv_trace_free(trace);
    return blv_store_no_memory(store);
}

size_t blv_trace_find(const blv_trace *trace, const char *name) {
    for (size_t i = 0; i < trace->columns; i++)
        if (strcmp(trace->names[i], name) == 0)
            return i;
    return SIZE_MAX;
}

double blv_trace_at(const blv_trace *trace, size_t row, const char *name) {
    size_t column = blv_trace_find(trace, name);
    return column == SIZE_MAX || row >= trace->rows ? (double)NAN
                                                    : trace->values[row * trace->columns + column];
}

void blv_trace_free(blv_trace *trace) {
    for (size_t i = 0; i < trace->columns; i++)
        free(trace->names[i]);
    free(trace->names);
    free(trace->values);
    *trace = (blv_trace){0};
}
