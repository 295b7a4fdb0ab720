/* Reading from the run store. */
#include "cli_json.h"
#include "cli_process.h"
#include "cli_store_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows of SQLite as JSON ---- */

/* SQLite gives NULL only where memory is short: the column is a text. */
static const char *column_text(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return text;
}

static const char *column_name(sqlite3_stmt *statement, int column) {
    const char *name = sqlite3_column_name(statement, column);
    if (!name)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return name;
}

static bool is_any(const char *word, const char *const *words) {
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* A text that is not JSON after all is shown as it is. */
static json_t *parsed(const char *text) {
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    return value ? value : cli_json_text(text);
}

static json_t *column_value(sqlite3_stmt *statement, int column) {
    static const char *const in_json[] = {
        "command", "task", "problem_parameters", "parameters", "options", "result", NULL};
    const char *text;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return cli_json_real(sqlite3_column_double(statement, column));
    case SQLITE_TEXT:
        text = column_text(statement, column);
        return is_any(column_name(statement, column), in_json) ? parsed(text) : cli_json_text(text);
    default:
        return json_null();
    }
}

static json_t *row_object(sqlite3_stmt *statement) {
    json_t *object = cli_json_object();
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        cli_json_set(object, column_name(statement, i), column_value(statement, i));
    return object;
}

/* ---- Runs ---- */

static void copy_text(const json_t *object, const char *key, char *text, size_t size) {
    const char *value = json_string_value(json_object_get(object, key));
    snprintf(text, size, "%s", value ? value : "");
}

/* A run that is said to be running is, if its process lives. */
static void settle_status(json_t *run) {
    const char *status = json_string_value(json_object_get(run, "status"));
    cli_process process = {
        .pid = json_integer_value(json_object_get(run, "pid")),
        .start = json_integer_value(json_object_get(run, "pid_start")),
    };
    copy_text(run, "host", process.host, sizeof process.host);
    copy_text(run, "boot", process.boot, sizeof process.boot);
    if (status && strcmp(status, "running") == 0 && cli_process_life(&process) == CLI_GONE) {
        cli_json_set(run, "status", cli_json_text("interrupted"));
        cli_json_set(run, "message", cli_json_text("its process ended before the run did"));
    }
    json_object_del(run, "boot");
    json_object_del(run, "pid_start");
}

#define LAST_ROW(column)                                                                           \
    "(SELECT " column " FROM trace WHERE run = id ORDER BY iteration DESC LIMIT 1)"
#define REACHED                                                                                    \
    " coalesce(iterations, " LAST_ROW("iteration") ") AS iterations,"                              \
                                                   " coalesce(seconds, " LAST_ROW(                 \
                                                       "seconds") ") AS seconds"

static const char list_sql[] =
    "SELECT id, kind, status, started, ended, problem, dim_x, dim_y, precision, solver, outcome,"
    " message," REACHED ", phi, grad_norm, checkpoint_iteration, version, host, boot, pid,"
    " pid_start FROM run"
    " WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR problem = ?2)"
    " AND (?3 IS NULL OR solver = ?3) ORDER BY id DESC";

static const char find_sql[] =
    "SELECT id, kind, status, started, ended, version, command, task, problem, problem_parameters,"
    " dim_x, dim_y, precision, fingerprint, solver, parameters, options, outcome, message," REACHED
    ", phi, grad_norm, (SELECT count(*) FROM trace WHERE run = id) AS rows,"
    " checkpoint_iteration, checkpoint_saved, result, host, boot, pid, pid_start"
    " FROM run WHERE id = ?";

static bool ends_well(cli_store *store, sqlite3_stmt *statement, int result) {
    bool well = result == SQLITE_DONE || cli_store_fail(store);
    sqlite3_finalize(statement);
    return well;
}

bool cli_store_list(cli_store *store, const cli_run_filter *filter, json_t **runs) {
    *runs = NULL;
    sqlite3_stmt *statement =
        cli_sql(store, list_sql, "ttt", filter->kind, filter->problem, filter->solver);
    if (!statement)
        return false;
    json_t *list = cli_json_array();
    int result = SQLITE_DONE;
    while ((filter->limit == 0 || json_array_size(list) < filter->limit) &&
           (result = sqlite3_step(statement)) == SQLITE_ROW) {
        json_t *run = row_object(statement);
        settle_status(run);
        const char *status = json_string_value(json_object_get(run, "status"));
        if (!filter->status || (status && strcmp(status, filter->status) == 0))
            json_array_insert(list, 0, run);
        json_decref(run);
    }
    if (result == SQLITE_ROW) /* enough */
        result = SQLITE_DONE;
    bool well = ends_well(store, statement, result);
    if (well)
        *runs = list;
    else
        json_decref(list);
    return well;
}

bool cli_store_find(cli_store *store, int64_t id, json_t **run) {
    *run = NULL;
    sqlite3_stmt *statement = cli_sql(store, find_sql, "i", id);
    if (!statement)
        return false;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        *run = row_object(statement);
        settle_status(*run);
        result = SQLITE_DONE;
    }
    return ends_well(store, statement, result);
}

bool cli_store_rows(cli_store *store, int64_t id, json_t **rows) {
    *rows = NULL;
    sqlite3_stmt *statement =
        cli_sql(store, "SELECT row FROM trace WHERE run = ? ORDER BY iteration", "i", id);
    if (!statement)
        return false;
    json_t *list = cli_json_array();
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        cli_json_append(list, parsed((const char *)sqlite3_column_text(statement, 0)));
    bool well = ends_well(store, statement, result);
    if (well)
        *rows = list;
    else
        json_decref(list);
    return well;
}

bool cli_store_best(cli_store *store, int64_t id, double *phi) {
    *phi = NAN;
    sqlite3_stmt *statement =
        cli_sql(store,
                "SELECT min(other.phi) FROM run JOIN run AS other ON other.problem IS run.problem"
                " AND other.problem_parameters IS run.problem_parameters"
                " AND other.fingerprint IS run.fingerprint WHERE run.id = ?",
                "i", id);
    if (!statement)
        return false;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
            *phi = sqlite3_column_double(statement, 0);
        result = SQLITE_DONE;
    }
    return ends_well(store, statement, result);
}

/* ---- Attached bytes ---- */

static bool measure(cli_store *store, int64_t id, const char *name, bool *is_there, size_t *size) {
    sqlite3_stmt *statement = cli_sql(
        store, "SELECT count(*), total(length(bytes)) FROM attachment WHERE run = ? AND name = ?",
        "it", id, name);
    if (!statement)
        return false;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        *is_there = sqlite3_column_int64(statement, 0) > 0;
        *size = (size_t)sqlite3_column_double(statement, 1);
        result = SQLITE_DONE;
    }
    return ends_well(store, statement, result);
}

static bool copy_parts(cli_store *store, int64_t id, const char *name, unsigned char *bytes,
                       size_t size) {
    sqlite3_stmt *statement =
        cli_sql(store, "SELECT bytes FROM attachment WHERE run = ? AND name = ? ORDER BY part",
                "it", id, name);
    if (!statement)
        return false;
    int result;
    size_t used = 0;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t part = (size_t)sqlite3_column_bytes(statement, 0);
        if (part > size - used)
            part = size - used; /* it has grown since it was measured: cannot be, in one read */
        if (part > 0)
            memcpy(bytes + used, sqlite3_column_blob(statement, 0), part);
        used += part;
    }
    return ends_well(store, statement, result);
}

bool cli_store_read(cli_store *store, int64_t id, const char *name, void **bytes, size_t *size) {
    bool is_there = false;
    *bytes = NULL;
    *size = 0;
    /* one view of the file for both statements: a checkpoint may be replaced meanwhile */
    if (sqlite3_exec(store->file, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return cli_store_fail(store);
    bool well = measure(store, id, name, &is_there, size);
    if (well && is_there) {
        *bytes = cli_alloc(*size, 1);
        well = copy_parts(store, id, name, *bytes, *size);
    }
    sqlite3_exec(store->file, "COMMIT", NULL, NULL, NULL);
    if (!well) {
        free(*bytes);
        *bytes = NULL;
    }
    return well;
}

bool cli_store_attachments(cli_store *store, int64_t id, json_t **list) {
    *list = NULL;
    sqlite3_stmt *statement =
        cli_sql(store,
                "SELECT name, sum(length(bytes)) AS size FROM attachment WHERE run = ?"
                " GROUP BY name ORDER BY name",
                "i", id);
    if (!statement)
        return false;
    json_t *found = cli_json_array();
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        cli_json_append(found, row_object(statement));
    bool well = ends_well(store, statement, result);
    if (well)
        *list = found;
    else
        json_decref(found);
    return well;
}
