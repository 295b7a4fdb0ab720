/* Reading runs and attachments. */
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
    store->error = BLV_E_NAME;
    snprintf(store->message.text, sizeof store->message.text,
             "there is no run %" PRId64 " in %.400s", id, store->path);
    return BLV_E_NAME;
}

static blv_error take_number(blv_store *store, sqlite3_stmt *row, void *context) {
    (void)store;
    if (sqlite3_column_type(row, 0) != SQLITE_NULL)
        *(double *)context = sqlite3_column_double(row, 0);
    return BLV_OK;
}

blv_error blv_store_best(blv_store *store, int64_t id, double *phi) {
    BLV_CHECK(blv_store_expect(store, phi));
    *phi = NAN;
    return blv_sql_each(
        store, take_number, phi,
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
