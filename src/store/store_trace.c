/* Traces: rows of JSON objects in the file, columns of numbers in memory. */
#include "store/run_info.h"
#include "store/store_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static blv_error add_row(blv_store *store, sqlite3_stmt *statement, void *rows) {
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    json_t *row = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    if (!text || json_array_append_new(rows, row ? row : blv_json_string(text)) != 0)
        return blv_store_no_memory(store);
    return BLV_OK;
}

blv_error blv_store_rows_json(blv_store *store, int64_t id, json_t **rows) {
    *rows = json_array();
    if (!*rows)
        return blv_store_no_memory(store);
    blv_error error = blv_sql_each(
        store, add_row, *rows, "SELECT row FROM trace WHERE run = ? ORDER BY iteration", "i", id);
    if (error != BLV_OK) {
        json_decref(*rows);
        *rows = NULL;
    }
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

/* In both loops over a key i is -1 for a number, or counts the elements of an array. */

static bool name_columns(blv_trace *trace, json_t *columns) {
    const char *key;
    json_t *length;
    json_object_foreach(columns, key, length) {
        const json_int_t n = json_integer_value(length);
        for (json_int_t i = n < 0 ? -1 : 0; i < n || i < 0; i++) {
            char **names = realloc(trace->names, (trace->columns + 1) * sizeof *names);
            size_t size = strlen(key) + 24;
            char *name = names ? malloc(size) : NULL;
            trace->names = names ? names : trace->names;
            if (!name)
                return false;
            snprintf(name, size, i < 0 ? "%s" : "%s[%lld]", key, (long long)i);
            names[trace->columns++] = name;
        }
    }
    return true;
}

static void fill_row(double *to, json_t *columns, const json_t *row) {
    const char *key;
    json_t *length;
    json_object_foreach(columns, key, length) {
        const json_t *value = json_object_get(row, key);
        const json_int_t n = json_integer_value(length);
        for (json_int_t i = n < 0 ? -1 : 0; i < n || i < 0; i++) {
            const json_t *number = i < 0 ? value : json_array_get(value, (size_t)i);
            *to++ = json_is_number(number) ? json_number_value(number) : (double)NAN;
        }
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
    BLV_CHECK(blv_store_expect(store, trace));
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
    for (size_t i = 0; trace && name && i < trace->columns; i++)
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
    if (!trace)
        return;
    for (size_t i = 0; i < trace->columns; i++)
        free(trace->names[i]);
    free(trace->names);
    free(trace->values);
    *trace = (blv_trace){0};
}
