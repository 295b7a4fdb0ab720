/* Writing to the run store. */
#include "bilevel/arithmetic.h"
#include "bilevel/checkpoint.h"
#include "store/store_private.h"

#include "base/arena.h"
#include "base/rank_exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PART_BYTES = 8 << 20 };
static const double seconds_between_rows = 1.0; /* written together */

#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

/* ---- Which process makes a run ----
 *
 * A process number alone is not enough: numbers are used again. With the start time it is unique
 * until the machine restarts, and with the boot identifier beyond that. */

static void read_line(const char *path, char *text, int size) {
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

/* Field 22 of /proc/PID/stat; field 2, the name, may hold blanks and parentheses. */
static int64_t start_of(int64_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    read_line(path, line, sizeof line);
    char *field = strrchr(line, ')');
    for (int number = 2; field && number < 22; number++)
        field = strchr(field + 1, ' ');
    return field ? strtoll(field, NULL, 10) : 0;
}

static blv_process this_process(void) {
    blv_process self = {.pid = getpid()};
    if (gethostname(self.host, sizeof self.host) != 0)
        self.host[0] = '\0';
    self.host[sizeof self.host - 1] = '\0';
    read_line("/proc/sys/kernel/random/boot_id", self.boot, sizeof self.boot);
    self.start = start_of(self.pid);
    return self;
}

bool blv_process_is_gone(const blv_process *process) {
    const blv_process self = this_process();
    if (strcmp(process->host, self.host) != 0)
        return false;
    return strcmp(process->boot, self.boot) != 0 || process->pid <= 0 ||
           (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH) ||
           start_of(process->pid) != process->start;
}

/* ---- Runs ---- */

static blv_error insert_run(blv_store *store, const blv_run_info *r) {
    const blv_process self = this_process();
    char fingerprint[24] = "";
    static const blv_field command_field =
        BLV_FIELD_ARRAY(blv_run_info, command, command_count, TEXTS);
    char *command = blv_json_text(blv_field_json(&command_field, r), 0);
    if (!command)
        return blv_store_no_memory(store);
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    blv_error error =
        blv_sql(store,
                "INSERT INTO run (kind, status, started, version, command, task, problem,"
                " problem_parameters, precision, dim_x, dim_y, fingerprint, solver, parameters,"
                " options, host, boot, pid, pid_start)"
                " VALUES (?, 'running', " NOW ", ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                "tttttvtiittvvttii", r->kind, blv_arithmetic_version(), command, r->request,
                r->problem, &r->problem_parameters, r->precision, (int64_t)r->dim_x,
                (int64_t)r->dim_y, r->fingerprint ? fingerprint : NULL, r->solver, &r->parameters,
                &r->options, self.host, self.boot, self.pid, self.start);
    free(command);
    return error;
}

blv_error blv_store_begin(blv_store *store, const blv_run_info *info, int64_t *id) {
    BLV_CHECK(blv_store_expect(store, info && id));
    blv_run_info own;
    *id = 0;
    BLV_CHECK(blv_store_take(store, &own, sizeof own, info, "blv_run_info"));
    BLV_CHECK(insert_run(store, &own));
    *id = sqlite3_last_insert_rowid(store->file);
    return BLV_OK;
}

/* Inside the transaction: of two processes that would resume a run, one does. */
static blv_error expect_free(blv_store *store, int64_t id, const char *host) {
    blv_run_info *info = NULL;
    BLV_CHECK(blv_store_find(store, id, &info));
    bool busy = info->status == BLV_STATUS_RUNNING && info->host && strcmp(info->host, host) == 0;
    blv_run_info_free(info);
    if (!busy)
        return BLV_OK;
    return blv_explain(&store->message, BLV_E_ORDER,
                       "run %" PRId64 " is under way in another process", id);
}

blv_error blv_store_resume(blv_store *store, int64_t id, uint64_t iteration) {
    BLV_CHECK(blv_store_expect(store, true));
    const blv_process self = this_process();
    BLV_CHECK(blv_store_enter(store));
    blv_error error = expect_free(store, id, self.host);
    if (error == BLV_OK)
        error = blv_sql(store,
                        "UPDATE run SET status = 'running', ended = NULL,"
                        " outcome = NULL, message = NULL, phi = NULL,"
                        " grad_norm = NULL, iterations = NULL, seconds = NULL,"
                        " result = NULL, host = ?, boot = ?,"
                        " pid = ?, pid_start = ? WHERE id = ?",
                        "ttiii", self.host, self.boot, self.pid, self.start, id);
    if (error == BLV_OK)
        error = blv_sql(store, "DELETE FROM trace WHERE run = ? AND iteration > ?", "ii", id,
                        (int64_t)iteration);
    return blv_store_leave(store, error);
}

blv_error blv_store_finish(blv_store *store, int64_t id, const blv_run_info *info) {
    BLV_CHECK(blv_store_expect(store, info));
    blv_run_info own;
    const blv_run_info *end = &own;
    BLV_CHECK(blv_store_take(store, &own, sizeof own, info, "blv_run_info"));
    blv_error flushed = blv_store_flush(store);
    BLV_CHECK(blv_sql(store,
                      "UPDATE run SET status = ?, ended = " NOW ", outcome = ?, message = ?,"
                      " iterations = ?, seconds = ?, phi = ?, grad_norm = ?, result = ?"
                      " WHERE id = ?",
                      "tttidddti", blv_run_status_word(end->status), end->outcome, end->message,
                      (int64_t)end->iterations, end->seconds, end->phi, end->grad_norm, end->result,
                      id));
    return flushed;
}

/* ---- Parts of checkpoints ---- */

char *blv_store_parts_base(const blv_store *store, int64_t id) {
    char *base = malloc(strlen(store->path) + 32);
    if (base)
        sprintf(base, "%s.run%" PRId64, store->path, id);
    return base;
}

/* keep: those of the checkpoint that it has saved last; NULL: none. A copy leaves them to the rank
 * that has the store. */
static blv_error drop_parts(blv_store *store, int64_t id, const blv_run *keep) {
    if (store->is_copy)
        return BLV_OK;
    char *base = blv_store_parts_base(store, id);
    const blv_error error = base ? blv_run_drop_parts(base, keep) : BLV_E_MEMORY;
    free(base);
    return error == BLV_OK ? BLV_OK : blv_store_no_memory(store);
}

static const blv_ranks *ranks_of(const blv_run *run) {
    return blv_space_ranks(blv_problem_definition(blv_run_problem(run))->space_y);
}

/* ---- Removing ---- */

static blv_error delete_run(blv_store *store, int64_t id) {
    return blv_sql(store, "DELETE FROM run WHERE id = ?", "i", id);
}

/* On a full disk there is no room for a journal, and this is what makes room: the journal is in
 * memory until the pages are free. */
static blv_error remove_run(blv_store *store, int64_t id) {
    blv_error error = delete_run(store, id);
    const int code = sqlite3_errcode(store->file) & 0xff;
    if (error == BLV_OK || (code != SQLITE_FULL && code != SQLITE_IOERR))
        return error;
    BLV_CHECK(blv_sql_execute(store, "PRAGMA locking_mode = EXCLUSIVE;"
                                     "PRAGMA journal_mode = MEMORY"));
    error = delete_run(store, id);
    sqlite3_exec(store->file,
                 "PRAGMA incremental_vacuum; PRAGMA journal_mode = WAL;"
                 "PRAGMA locking_mode = NORMAL",
                 NULL, NULL, NULL);
    return error;
}

blv_error blv_store_remove(blv_store *store, int64_t id) {
    BLV_CHECK(blv_store_expect(store, true));
    BLV_CHECK(remove_run(store, id));
    return drop_parts(store, id, NULL);
}

/* Stores of earlier versions become such as can be shrunk in place, with room for a copy. */
blv_error blv_store_shrink(blv_store *store) {
    BLV_CHECK(blv_store_expect(store, true));
    enum { INCREMENTAL = 2 };
    double kind = 0.0;
    BLV_CHECK(blv_sql_each(store, blv_sql_numbers, &kind, "PRAGMA auto_vacuum", ""));
    BLV_CHECK(blv_sql_execute(store, kind == INCREMENTAL
                                         ? "PRAGMA incremental_vacuum"
                                         : "PRAGMA auto_vacuum = INCREMENTAL; VACUUM"));
    return blv_sql_execute(store, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* ---- Rows ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static blv_error write_rows(blv_store *store) {
    for (size_t i = 0; i < store->row_count; i++) {
        const blv_pending_row *r = &store->rows[i];
        BLV_CHECK(blv_sql(store, "INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?)", "iidt", r->id,
                          (int64_t)r->iteration, r->seconds, r->text));
    }
    return BLV_OK;
}

static void forget_rows(blv_store *store) {
    for (size_t i = 0; i < store->row_count; i++)
        free(store->rows[i].text);
    store->row_count = 0;
    store->rows_written = now();
}

/* The rows are gone in any case: a store that is full must not fill the memory too. */
blv_error blv_store_flush(blv_store *store) {
    BLV_CHECK(blv_store_expect(store, true));
    if (store->row_count == 0)
        return BLV_OK;
    blv_error error = blv_store_enter(store);
    if (error == BLV_OK)
        error = blv_store_leave(store, write_rows(store));
    forget_rows(store);
    return error;
}

blv_error blv_store_row(blv_store *store, int64_t id, uint64_t iteration, double seconds,
                        const char *row) {
    BLV_CHECK(blv_store_expect(store, row));
    char *text = strdup(row);
    blv_pending_row *added =
        text ? blv_array_add(&store->rows, &store->row_count, sizeof *added) : NULL;
    if (!added) {
        free(text);
        return blv_store_no_memory(store);
    }
    *added = (blv_pending_row){id, iteration, seconds, text};
    return now() - store->rows_written < seconds_between_rows ? BLV_OK : blv_store_flush(store);
}

/* ---- Attachments ---- */

typedef struct parts {
    blv_store *store;
    int64_t id;
    const char *name;
    unsigned char *bytes; /* of the part that is being filled */
    size_t used;
    int64_t count;
    blv_error error;
} parts;

static void write_part(parts *p) {
    if (p->error == BLV_OK)
        p->error = blv_sql(p->store, "INSERT INTO attachment VALUES (?, ?, ?, ?)", "itib", p->id,
                           p->name, p->count, (const void *)p->bytes, p->used);
    p->count++;
    p->used = 0;
}

static int add_bytes(void *context, const void *bytes, size_t size) {
    parts *p = context;
    const unsigned char *from = bytes;
    while (size > 0 && p->error == BLV_OK) {
        size_t left = PART_BYTES - p->used, taken = size < left ? size : left;
        memcpy(p->bytes + p->used, from, taken);
        p->used += taken;
        from += taken;
        size -= taken;
        if (p->used == PART_BYTES)
            write_part(p);
    }
    return p->error == BLV_OK ? 0 : -1;
}

static blv_error delete_parts(blv_store *store, int64_t id, const char *name) {
    return blv_sql(store, "DELETE FROM attachment WHERE run = ? AND name = ?", "it", id, name);
}

/* These are within a transaction. */

static void begin_parts(parts *p) {
    p->bytes = malloc(PART_BYTES);
    p->error = p->bytes ? delete_parts(p->store, p->id, p->name) : blv_store_no_memory(p->store);
}

static blv_error end_parts(parts *p) {
    if (p->error == BLV_OK && (p->used > 0 || p->count == 0))
        write_part(p);
    free(p->bytes);
    return p->error;
}

static blv_error replace_parts(blv_store *store, int64_t id, const char *name, const void *bytes,
                               size_t size) {
    parts p = {.store = store, .id = id, .name = name};
    begin_parts(&p);
    add_bytes(&p, bytes, size);
    return end_parts(&p);
}

/* Ranks save together, or none does. error: what was met so far. */
static blv_error save_run(parts *p, blv_run *saved, blv_error error) {
    char *base = blv_store_parts_base(p->store, p->id);
    if (error == BLV_OK && !base)
        error = blv_store_no_memory(p->store);
    error = blv_ranks_agree(ranks_of(saved), error, &p->store->message);
    if (error == BLV_OK) {
        error = blv_run_save_parts(saved, base, add_bytes, p);
        if (error != BLV_OK && p->error == BLV_OK)
            blv_explain(&p->store->message, error, "%.500s", blv_run_message(saved));
    }
    free(base);
    return error;
}

static blv_error drop_checkpoint(blv_store *store, int64_t id) {
    BLV_CHECK(delete_parts(store, id, "checkpoint"));
    BLV_CHECK(delete_parts(store, id, "carried"));
    return blv_sql(store,
                   "UPDATE run SET checkpoint_iteration = NULL,"
                   " checkpoint_saved = NULL WHERE id = ?",
                   "i", id);
}

/* entered: how the transaction began. */
static blv_error write_checkpoint(blv_store *store, int64_t id, blv_run *saved, const void *carried,
                                  size_t carried_size, blv_error entered) {
    parts p = {.store = store, .id = id, .name = "checkpoint"};
    blv_error error = entered == BLV_OK ? write_rows(store) : entered;
    if (error == BLV_OK) {
        begin_parts(&p);
        error = p.error;
    }
    error = save_run(&p, saved, error);
    p.error = p.error == BLV_OK ? error : p.error;
    BLV_CHECK(end_parts(&p));
    if (carried)
        BLV_CHECK(replace_parts(store, id, "carried", carried, carried_size));
    return blv_sql(store,
                   "UPDATE run SET checkpoint_iteration = ?,"
                   " checkpoint_saved = " NOW " WHERE id = ?",
                   "ii", (int64_t)blv_run_result(saved)->iterations, id);
}

static blv_error write_end(blv_store *store, int64_t id, const char *name, const void *bytes,
                           size_t size) {
    BLV_CHECK(write_rows(store));
    BLV_CHECK(replace_parts(store, id, name, bytes, size));
    return drop_checkpoint(store, id);
}

blv_error blv_store_attach(blv_store *store, int64_t id, const char *name, const void *bytes,
                           size_t size) {
    BLV_CHECK(blv_store_expect(store, name && (bytes || size == 0)));
    BLV_CHECK(blv_store_enter(store));
    return blv_store_leave(store, replace_parts(store, id, name, bytes, size));
}

blv_error blv_store_detach(blv_store *store, int64_t id, const char *name) {
    BLV_CHECK(blv_store_expect(store, name));
    bool is_checkpoint = strcmp(name, "checkpoint") == 0;
    BLV_CHECK(blv_store_enter(store));
    BLV_CHECK(blv_store_leave(store, is_checkpoint ? drop_checkpoint(store, id)
                                                   : delete_parts(store, id, name)));
    return is_checkpoint ? drop_parts(store, id, NULL) : BLV_OK;
}

blv_error blv_store_attach_end(blv_store *store, int64_t id, const char *name, const void *bytes,
                               size_t size) {
    BLV_CHECK(blv_store_expect(store, name && (bytes || size == 0)));
    BLV_CHECK(blv_store_enter(store));
    BLV_CHECK(blv_store_leave(store, write_end(store, id, name, bytes, size)));
    forget_rows(store);
    return drop_parts(store, id, NULL);
}

/* Rows up to here are stored with it, so that the trace is complete when the run is resumed. Parts
 * of the one before are removed when the new one is on the disk. */
blv_error blv_store_checkpoint(blv_store *store, int64_t id, blv_run *saved, const void *carried,
                               size_t carried_size) {
    BLV_CHECK(blv_store_expect(store, saved));
    const bool has_parts = ranks_of(saved) != NULL;
    if (has_parts)
        sqlite3_exec(store->file, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    const blv_error entered = blv_store_enter(store);
    const blv_error error =
        blv_store_leave(store, write_checkpoint(store, id, saved, carried, carried_size, entered));
    if (has_parts)
        sqlite3_exec(store->file, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    BLV_CHECK(error);
    forget_rows(store);
    return has_parts ? drop_parts(store, id, saved) : BLV_OK;
}
