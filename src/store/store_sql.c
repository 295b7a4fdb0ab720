/* Talking to SQLite. */
#include "store/store_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ---- */

blv_error blv_store_reject(blv_store *store, blv_error error, const char *format, ...) {
    char what[300];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    return blv_explain(&store->message, error, "store %.200s: %s", blv_shown_path(store->path),
                       what);
}

blv_error blv_store_expect(blv_store *store, bool given) {
    if (!store)
        return BLV_E_ARGUMENT;
    return given ? BLV_OK : blv_store_reject(store, BLV_E_ARGUMENT, "an argument is NULL");
}

blv_error blv_store_no_memory(blv_store *store) {
    return blv_store_reject(store, BLV_E_MEMORY, "%s", blv_error_text(BLV_E_MEMORY));
}

blv_error blv_store_fail(blv_store *store) {
    const char *text = sqlite3_errmsg(store->file);
    int number = sqlite3_system_errno(store->file);
    switch (sqlite3_errcode(store->file) & 0xff) {
    case SQLITE_NOMEM:
        return blv_store_no_memory(store);
    case SQLITE_NOTADB:
        return blv_store_reject(store, BLV_E_FORMAT,
                                "it is no run store, and no SQLite database at all");
    case SQLITE_CORRUPT:
        return blv_store_reject(store, BLV_E_FORMAT,
                                "it is damaged (%.60s); move it away, or save what can be read "
                                "with 'sqlite3 FILE .recover'",
                                text);
    case SQLITE_BUSY:
        return blv_store_reject(store, BLV_E_FILE,
                                "another process has been using it for more than %d seconds",
                                BLV_STORE_PATIENCE_MS / 1000);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return blv_store_reject(store, BLV_E_FILE, "%.100s%s%.100s", text, number ? ": " : "",
                                number ? strerror(number) : "");
    default:
        return blv_store_reject(store, BLV_E_FILE, "%.250s", text);
    }
}

blv_error blv_store_take(blv_store *store, void *own, size_t size, const void *given,
                         const char *name) {
    blv_message why = {0};
    blv_error error = blv_caller_struct(own, size, given, name, &why);
    return error == BLV_OK ? BLV_OK : blv_store_reject(store, error, "%s", why.text);
}

/* ---- Statements ---- */

static int bind_values(sqlite3_stmt *statement, int at, const blv_values *values) {
    char *text = blv_json_text(blv_values_json(values), 0);
    return text ? sqlite3_bind_text(statement, at, text, -1, free) : SQLITE_NOMEM;
}

static int bind(sqlite3_stmt *statement, const char *types, va_list values) {
    int result = SQLITE_OK;
    for (int at = 1; *types && result == SQLITE_OK; types++, at++)
        if (*types == 'i')
            result = sqlite3_bind_int64(statement, at, va_arg(values, int64_t));
        else if (*types == 'd')
            result = sqlite3_bind_double(statement, at, va_arg(values, double));
        else if (*types == 't')
            result = sqlite3_bind_text(statement, at, va_arg(values, const char *), -1,
                                       SQLITE_TRANSIENT);
        else if (*types == 'v')
            result = bind_values(statement, at, va_arg(values, const blv_values *));
        else {
            const void *bytes = va_arg(values, const void *);
            size_t size = va_arg(values, size_t);
            result = sqlite3_bind_blob64(statement, at, size ? bytes : "", size, SQLITE_TRANSIENT);
        }
    return result;
}

blv_error blv_sql_each(blv_store *store, blv_row_fn take, void *context, const char *sql,
                       const char *types, ...) {
    sqlite3_stmt *statement = NULL;
    blv_error error = BLV_OK;
    va_list values;
    va_start(values, types);
    int result = sqlite3_prepare_v2(store->file, sql, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = bind(statement, types, values);
    va_end(values);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW && take && (error = take(store, statement, context)) != BLV_OK)
            result = SQLITE_DONE;
    }
    if (result == SQLITE_NOMEM)
        error = blv_store_no_memory(store);
    else if (result != SQLITE_DONE)
        error = blv_store_fail(store);
    sqlite3_finalize(statement);
    return error == BLV_E_STOPPED ? BLV_OK : error;
}

blv_error blv_sql_execute(blv_store *store, const char *sql) {
    return sqlite3_exec(store->file, sql, NULL, NULL, NULL) == SQLITE_OK ? BLV_OK
                                                                         : blv_store_fail(store);
}

blv_error blv_store_enter(blv_store *store) {
    return blv_sql_execute(store, "BEGIN IMMEDIATE");
}

blv_error blv_store_leave(blv_store *store, blv_error error) {
    if (error == BLV_OK)
        error = blv_sql_execute(store, "COMMIT");
    if (error != BLV_OK)
        sqlite3_exec(store->file, "ROLLBACK", NULL, NULL, NULL); /* may have happened already */
    return error;
}

/* ---- Rows of a result ---- */

blv_error blv_sql_numbers(blv_store *store, sqlite3_stmt *row, void *numbers) {
    (void)store;
    for (int i = 0; i < sqlite3_column_count(row); i++)
        if (sqlite3_column_type(row, i) != SQLITE_NULL)
            ((double *)numbers)[i] = sqlite3_column_double(row, i);
    return BLV_OK;
}

/* Text columns that hold JSON are parsed; what is not JSON after all is left out. *value is NULL
 * where memory is short, or where the column is SQL's NULL. */
static blv_error column_json(sqlite3_stmt *statement, int column, const blv_field *field,
                             json_t **value) {
    const char *text;
    *value = NULL;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return BLV_OK;
    case SQLITE_INTEGER:
        *value = json_integer(sqlite3_column_int64(statement, column));
        break;
    case SQLITE_FLOAT:
        *value = blv_json_real(sqlite3_column_double(statement, column));
        break;
    default:
        text = (const char *)sqlite3_column_text(statement, column);
        if (text && (field->kind == BLV_KIND_VALUES || field->kind == BLV_KIND_TEXTS))
            *value = json_loads(text, 0, NULL);
        else if (text)
            *value = blv_json_string(text);
        if (text && !*value)
            return BLV_OK;
    }
    return *value ? BLV_OK : BLV_E_MEMORY;
}

static blv_error take_column(sqlite3_stmt *statement, int column, const blv_field *field,
                             void *record, blv_message *why) {
    if (field->kind == BLV_KIND_JSON) { /* as it is: it may be long */
        const char *text = (const char *)sqlite3_column_text(statement, column);
        char **to = (char **)(void *)((char *)record + field->offset);
        *to = text ? strdup(text) : NULL;
        return text && !*to ? BLV_E_MEMORY : BLV_OK;
    }
    json_t *value;
    blv_error error = column_json(statement, column, field, &value);
    if (value)
        error = blv_field_read(field, record, value, why);
    json_decref(value);
    return error;
}

blv_error blv_sql_record(blv_store *store, sqlite3_stmt *statement, const blv_field *table,
                         void *record) {
    blv_message why = {0};
    blv_error error = BLV_OK;
    blv_record_clear(table, record);
    for (int i = 0; i < sqlite3_column_count(statement) && error == BLV_OK; i++) {
        const char *name = sqlite3_column_name(statement, i);
        const blv_field *field = name ? blv_field_find(table, name) : NULL;
        error = !name ? BLV_E_MEMORY
                      : (field ? take_column(statement, i, field, record, &why) : BLV_OK);
    }
    if (error == BLV_OK)
        return BLV_OK;
    blv_record_free(table, record);
    return error == BLV_E_MEMORY ? blv_store_no_memory(store)
                                 : blv_store_reject(store, error, "it is damaged: %s", why.text);
}
