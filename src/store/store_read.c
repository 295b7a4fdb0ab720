/* Reading runs and attachments. */
#include "store/process.h"
#include "store/run_info.h"
#include "store/store_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Runs ---- */

#define LAST_ROW(column)                                                                           \
    "(SELECT " column " FROM trace WHERE run = id ORDER BY iteration DESC LIMIT 1)"
#define REACHED                                                                                    \
    " coalesce(iterations, " LAST_ROW("iteration") ") AS iterations,"                              \
                                                   " coalesce(seconds, " LAST_ROW(                 \
                                                       "seconds") ") AS seconds"

static const char list_sql[] =
    "SELECT id, kind, status, started, ended, problem, dim_x, dim_y, precision, solver, outcome,"
    " message," REACHED ", phi, grad_norm, checkpoint_iteration, version, host, pid, boot,"
    " pid_start FROM run"
    " WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR problem = ?2)"
    " AND (?3 IS NULL OR solver = ?3) ORDER BY id DESC";

static const char find_sql[] =
    "SELECT id, kind, status, started, ended, version, command, task, problem, problem_parameters,"
    " dim_x, dim_y, precision, fingerprint, solver, parameters, options, outcome, message," REACHED
    ", phi, grad_norm, (SELECT count(*) FROM trace WHERE run = id) AS rows,"
    " checkpoint_iteration, checkpoint_saved, result, host, pid, boot, pid_start"
    " FROM run WHERE id = ?";

static void copy_column(sqlite3_stmt *statement, int column, char *text, size_t size) {
    const char *value = (const char *)sqlite3_column_text(statement, column);
    snprintf(text, size, "%s", value ? value : "");
}

/* A run that is listed as running is interrupted where its process is gone. boot and pid_start are
 * the last columns. */
static blv_error settle_status(blv_store *store, sqlite3_stmt *statement, blv_run_info *run) {
    int columns = sqlite3_column_count(statement);
    blv_process process = {.pid = run->pid, .start = sqlite3_column_int64(statement, columns - 1)};
    copy_column(statement, columns - 2, process.boot, sizeof process.boot);
    snprintf(process.host, sizeof process.host, "%s", run->host ? run->host : "");
    if (run->status != BLV_STATUS_RUNNING || blv_process_life(&process) != BLV_PROCESS_GONE)
        return BLV_OK;
    run->status = BLV_STATUS_INTERRUPTED;
    free((char *)run->message);
    run->message = strdup("its process ended before the run did");
    return run->message ? BLV_OK : blv_store_no_memory(store);
}

static blv_error take_run(blv_store *store, sqlite3_stmt *statement, blv_run_info **run) {
    blv_run_info *taken = calloc(1, sizeof *taken);
    if (!taken)
        return blv_store_no_memory(store);
    blv_error error = blv_sql_record(store, statement, blv_run_info_fields, taken);
    taken->size = sizeof *taken;
    if (error == BLV_OK)
        error = settle_status(store, statement, taken);
    if (error == BLV_OK)
        *run = taken;
    else
        blv_run_info_free(taken);
    return error;
}

typedef struct run_list {
    blv_run_info **runs; /* newest first */
    size_t count;
} run_list;

static blv_error add_run(blv_store *store, run_list *list, blv_run_info *run) {
    blv_run_info **runs = realloc(list->runs, (list->count + 1) * sizeof *runs);
    if (!runs) {
        blv_run_info_free(run);
        return blv_store_no_memory(store);
    }
    list->runs = runs;
    runs[list->count++] = run;
    return BLV_OK;
}

static void reverse(run_list *list) {
    for (size_t i = 0, k = list->count; i + 1 < k; i++) {
        blv_run_info *other = list->runs[--k];
        list->runs[k] = list->runs[i];
        list->runs[i] = other;
    }
}

static blv_error read_list(blv_store *store, sqlite3_stmt *statement, const blv_run_filter *filter,
                           run_list *list) {
    int result = SQLITE_DONE;
    blv_error error = BLV_OK;
    while (error == BLV_OK && (filter->limit == 0 || list->count < filter->limit) &&
           (result = sqlite3_step(statement)) == SQLITE_ROW) {
        blv_run_info *run = NULL;
        error = take_run(store, statement, &run);
        if (error == BLV_OK && filter->by_status && run->status != filter->status)
            blv_run_info_free(run);
        else if (error == BLV_OK)
            error = add_run(store, list, run);
    }
    if (result == SQLITE_ROW) /* enough of them, or an error that is kept */
        result = SQLITE_DONE;
    blv_error ended = blv_sql_end(store, statement, result);
    return error != BLV_OK ? error : ended;
}

blv_error blv_store_list(blv_store *store, const blv_run_filter *filter, blv_run_info ***runs,
                         size_t *count) {
    blv_run_filter own = {0};
    run_list list = {0};
    *runs = NULL;
    *count = 0;
    if (filter)
        BLV_CHECK(blv_store_take(store, &own, sizeof own, filter, "blv_run_filter"));
    sqlite3_stmt *statement = blv_sql(store, list_sql, "ttt", own.kind, own.problem, own.solver);
    if (!statement)
        return store->error;
    blv_error error = read_list(store, statement, &own, &list);
    if (error != BLV_OK) {
        blv_run_list_free(list.runs, list.count);
        return error;
    }
    reverse(&list);
    *runs = list.runs;
    *count = list.count;
    return BLV_OK;
}

blv_error blv_store_find(blv_store *store, int64_t id, blv_run_info **run) {
    *run = NULL;
    sqlite3_stmt *statement = blv_sql(store, find_sql, "i", id);
    if (!statement)
        return store->error;
    int result = sqlite3_step(statement);
    blv_error error = BLV_OK;
    if (result == SQLITE_ROW)
        error = take_run(store, statement, run);
    blv_error ended = blv_sql_end(store, statement, result == SQLITE_ROW ? SQLITE_DONE : result);
    if (error != BLV_OK || ended != BLV_OK)
        return error != BLV_OK ? error : ended;
    if (*run)
        return BLV_OK;
    store->error = BLV_E_NAME;
    snprintf(store->message.text, sizeof store->message.text,
             "there is no run %" PRId64 " in %.400s", id, store->path);
    return BLV_E_NAME;
}

blv_error blv_store_best(blv_store *store, int64_t id, double *phi) {
    *phi = NAN;
    sqlite3_stmt *statement =
        blv_sql(store,
                "SELECT min(other.phi) FROM run JOIN run AS other ON other.problem IS run.problem"
                " AND other.problem_parameters IS run.problem_parameters"
                " AND other.fingerprint IS run.fingerprint WHERE run.id = ?",
                "i", id);
    if (!statement)
        return store->error;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *phi = sqlite3_column_double(statement, 0);
    return blv_sql_end(store, statement, result == SQLITE_ROW ? SQLITE_DONE : result);
}

/* ---- Attachments ---- */

static blv_error measure(blv_store *store, int64_t id, const char *name, bool *is_there,
                         size_t *size) {
    sqlite3_stmt *statement = blv_sql(
        store, "SELECT count(*), total(length(bytes)) FROM attachment WHERE run = ? AND name = ?",
        "it", id, name);
    if (!statement)
        return store->error;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        *is_there = sqlite3_column_int64(statement, 0) > 0;
        *size = (size_t)sqlite3_column_double(statement, 1);
    }
    return blv_sql_end(store, statement, result == SQLITE_ROW ? SQLITE_DONE : result);
}

static blv_error copy_parts(blv_store *store, int64_t id, const char *name, unsigned char *bytes,
                            size_t size) {
    sqlite3_stmt *statement =
        blv_sql(store, "SELECT bytes FROM attachment WHERE run = ? AND name = ? ORDER BY part",
                "it", id, name);
    if (!statement)
        return store->error;
    int result;
    size_t used = 0;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        const void *part = sqlite3_column_blob(statement, 0);
        size_t length = (size_t)sqlite3_column_bytes(statement, 0);
        if (!part && length > 0) { /* memory is short: SQLite has noted it */
            result = SQLITE_NOMEM;
            break;
        }
        length = length < size - used ? length : size - used; /* both are of one moment */
        if (length > 0)
            memcpy(bytes + used, part, length);
        used += length;
    }
    return blv_sql_end(store, statement, result);
}

blv_error blv_store_read(blv_store *store, int64_t id, const char *name, void **bytes,
                         size_t *size) {
    bool is_there = false;
    *bytes = NULL;
    *size = 0;
    /* one view of the file for both statements: a checkpoint may be replaced meanwhile */
    BLV_CHECK(blv_sql_execute(store, "BEGIN"));
    blv_error error = measure(store, id, name, &is_there, size);
    if (error == BLV_OK && is_there) {
        *bytes = malloc(*size > 0 ? *size : 1);
        error = *bytes ? copy_parts(store, id, name, *bytes, *size) : blv_store_no_memory(store);
    }
    sqlite3_exec(store->file, "COMMIT", NULL, NULL, NULL);
    if (error != BLV_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

static const blv_field attachment_fields[] = {
    BLV_FIELD(blv_attachment, name, TEXT), BLV_FIELD(blv_attachment, bytes, WHOLE), {0}};

blv_error blv_store_attachments(blv_store *store, int64_t id, blv_attachment **list,
                                size_t *count) {
    *list = NULL;
    *count = 0;
    sqlite3_stmt *statement =
        blv_sql(store,
                "SELECT name, sum(length(bytes)) AS bytes FROM attachment WHERE run = ?"
                " GROUP BY name ORDER BY name",
                "i", id);
    if (!statement)
        return store->error;
    int result;
    blv_error error = BLV_OK;
    while (error == BLV_OK && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        blv_attachment *longer = realloc(*list, (*count + 1) * sizeof *longer);
        *list = longer ? longer : *list;
        error = longer ? blv_sql_record(store, statement, attachment_fields, &longer[*count])
                       : blv_store_no_memory(store);
        *count += error == BLV_OK;
    }
    blv_error ended = blv_sql_end(store, statement, error == BLV_OK ? result : SQLITE_DONE);
    error = error != BLV_OK ? error : ended;
    if (error != BLV_OK) {
        blv_attachments_free(*list, *count);
        *list = NULL;
        *count = 0;
    }
    return error;
}

void blv_attachments_free(blv_attachment *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        blv_record_free(attachment_fields, &list[i]);
    free(list);
}
