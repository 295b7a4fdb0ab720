/* Reading runs, attachments and traces. */
#include "store/run_info.h"
#include "store/store_private.h"

#include "base/arena.h"

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

/* A run that is listed as running is interrupted where its process is gone. boot and pid_start are
 * the last columns. */
static blv_error settle_status(blv_store *store, sqlite3_stmt *row, blv_run_info *run) {
    int columns = sqlite3_column_count(row);
    const char *boot = (const char *)sqlite3_column_text(row, columns - 2);
    blv_process process = {.pid = run->pid, .start = sqlite3_column_int64(row, columns - 1)};
    snprintf(process.boot, sizeof process.boot, "%s", boot ? boot : "");
    snprintf(process.host, sizeof process.host, "%s", run->host ? run->host : "");
    if (run->status != BLV_STATUS_RUNNING || !blv_process_is_gone(&process))
        return BLV_OK;
    run->status = BLV_STATUS_INTERRUPTED;
    free((char *)run->message);
    run->message = strdup("its process ended before the run did");
    return run->message ? BLV_OK : blv_store_no_memory(store);
}

typedef struct run_list {
    const blv_run_filter *filter;
    blv_run_info **runs; /* newest first */
    size_t count;
} run_list;

static blv_error add_run(blv_store *store, sqlite3_stmt *row, void *context) {
    run_list *list = context;
    const blv_run_filter *filter = list->filter;
    blv_run_info *run = calloc(1, sizeof *run);
    if (!run)
        return blv_store_no_memory(store);
    blv_error error = blv_sql_record(store, row, blv_run_info_fields, run);
    run->size = sizeof *run;
    if (error == BLV_OK)
        error = settle_status(store, row, run);
    if (error != BLV_OK || (filter->by_status && run->status != filter->status)) {
        blv_run_info_free(run);
        return error;
    }
    blv_run_info **place = blv_array_add(&list->runs, &list->count, sizeof *place);
    if (!place) {
        blv_run_info_free(run);
        return blv_store_no_memory(store);
    }
    *place = run;
    return list->count == filter->limit ? BLV_E_STOPPED : BLV_OK;
}

static void reverse(run_list *list) {
    for (size_t i = 0, k = list->count; i + 1 < k; i++) {
        blv_run_info *other = list->runs[--k];
        list->runs[k] = list->runs[i];
        list->runs[i] = other;
    }
}

blv_error blv_store_list(blv_store *store, const blv_run_filter *filter, blv_run_info ***runs,
                         size_t *count) {
    BLV_CHECK(blv_store_expect(store, runs && count));
    blv_run_filter own = {0};
    run_list list = {.filter = &own};
    *runs = NULL;
    *count = 0;
    if (filter)
        BLV_CHECK(blv_store_take(store, &own, sizeof own, filter, "blv_run_filter"));
    blv_error error =
        blv_sql_each(store, add_run, &list, list_sql, "ttt", own.kind, own.problem, own.solver);
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
    BLV_CHECK(blv_store_expect(store, run));
    run_list list = {.filter = &(blv_run_filter){0}};
    blv_error error = blv_sql_each(store, add_run, &list, find_sql, "i", id);
    *run = list.count > 0 ? list.runs[0] : NULL;
    free(list.runs);
    if (error != BLV_OK || *run)
        return error;
    return blv_explain(&store->message, BLV_E_NAME, "there is no run %" PRId64 " in %.400s", id,
                       store->path);
}

blv_error blv_store_best(blv_store *store, int64_t id, double *phi) {
    BLV_CHECK(blv_store_expect(store, phi));
    *phi = NAN;
    return blv_sql_each(
        store, blv_sql_numbers, phi,
        "SELECT min(other.phi) FROM run JOIN run AS other ON other.problem IS run.problem"
        " AND other.problem_parameters IS run.problem_parameters"
        " AND other.fingerprint IS run.fingerprint WHERE run.id = ?",
        "i", id);
}

/* ---- Attachments ---- */

typedef struct attached {
    unsigned char *bytes;
    size_t size;
} attached;

/* What is attached without a byte has one empty part: bytes are never NULL then. */
static blv_error add_part(blv_store *store, sqlite3_stmt *row, void *context) {
    attached *all = context;
    const void *part = sqlite3_column_blob(row, 0);
    size_t length = (size_t)sqlite3_column_bytes(row, 0);
    unsigned char *longer = realloc(all->bytes, all->size + length + 1);
    all->bytes = longer ? longer : all->bytes;
    if (!longer || (!part && length > 0))
        return blv_store_no_memory(store);
    if (length > 0)
        memcpy(longer + all->size, part, length);
    all->size += length;
    return BLV_OK;
}

blv_error blv_store_read(blv_store *store, int64_t id, const char *name, void **bytes,
                         size_t *size) {
    BLV_CHECK(blv_store_expect(store, name && bytes && size));
    attached all = {0};
    blv_error error = blv_sql_each(
        store, add_part, &all,
        "SELECT bytes FROM attachment WHERE run = ? AND name = ? ORDER BY part", "it", id, name);
    if (error != BLV_OK) {
        free(all.bytes);
        all = (attached){0};
    }
    *bytes = all.bytes;
    *size = all.size;
    return error;
}

static const blv_field attachment_fields[] = {
    BLV_FIELD(blv_attachment, name, TEXT), BLV_FIELD(blv_attachment, bytes, WHOLE), {0}};

typedef struct attachment_list {
    blv_attachment *items;
    size_t count;
} attachment_list;

static blv_error add_attachment(blv_store *store, sqlite3_stmt *row, void *context) {
    attachment_list *list = context;
    blv_attachment *added = blv_array_add(&list->items, &list->count, sizeof *added);
    return added ? blv_sql_record(store, row, attachment_fields, added)
                 : blv_store_no_memory(store);
}

blv_error blv_store_attachments(blv_store *store, int64_t id, blv_attachment **list,
                                size_t *count) {
    BLV_CHECK(blv_store_expect(store, list && count));
    attachment_list all = {0};
    blv_error error = blv_sql_each(store, add_attachment, &all,
                                   "SELECT name, sum(length(bytes)) AS bytes FROM attachment"
                                   " WHERE run = ? GROUP BY name ORDER BY name",
                                   "i", id);
    if (error != BLV_OK) {
        blv_attachments_free(all.items, all.count);
        all = (attachment_list){0};
    }
    *list = all.items;
    *count = all.count;
    return error;
}

void blv_attachments_free(blv_attachment *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        blv_record_free(attachment_fields, &list[i]);
    free(list);
}

/* ---- Traces: rows of JSON objects in the file, columns of numbers in memory ---- */

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
            const size_t size = strlen(key) + 24;
            char **name = blv_array_add(&trace->names, &trace->columns, sizeof *name);
            if (!name || !(*name = malloc(size)))
                return false;
            snprintf(*name, size, i < 0 ? "%s" : "%s[%lld]", key, (long long)i);
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
