/* Writing to the run store. */
#include "bilevel/checkpoint.h"
#include "cli_process.h"
#include "cli_store_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PART_BYTES = 8 << 20 };
static const double seconds_between_rows = 1.0; /* written together */

#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

/* ---- Runs ---- */

static bool insert_run(cli_store *store, const cli_run_facts *f) {
    const cli_process self = cli_process_self();
    char fingerprint[24] = "";
    if (f->fingerprint)
        snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, f->fingerprint);
    return cli_sql_done(
        store,
        cli_sql(store,
                "INSERT INTO run (kind, status, started, version, command, task, problem,"
                " problem_parameters, precision, dim_x, dim_y, fingerprint, solver, parameters,"
                " options, host, boot, pid, pid_start)"
                " VALUES (?, 'running', " NOW ", ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                "ttjjtjtiittjjttii", f->kind, blv_version(), f->command, f->task, f->problem,
                f->problem_parameters, f->precision, (int64_t)f->dim_x, (int64_t)f->dim_y,
                f->fingerprint ? fingerprint : NULL, f->solver, f->parameters, f->options,
                self.host, self.boot, self.pid, self.start));
}

bool cli_store_begin(cli_store *store, const cli_run_facts *facts, int64_t *id) {
    if (!cli_store_enter(store))
        return false;
    bool well = insert_run(store, facts);
    int64_t made = sqlite3_last_insert_rowid(store->file);
    well = cli_store_leave(store, well);
    *id = well ? made : 0;
    return well;
}

/* Inside the transaction: of two processes that would go on with a run, one does. */
static bool is_free(cli_store *store, int64_t id, const char *host) {
    json_t *run = NULL;
    bool well = cli_store_find(store, id, &run);
    const char *status = json_string_value(json_object_get(run, "status"));
    const char *there = json_string_value(json_object_get(run, "host"));
    bool busy = status && strcmp(status, "running") == 0 && there && strcmp(there, host) == 0;
    if (well && (!run || busy)) {
        snprintf(store->problem, sizeof store->problem, "run %" PRId64 " is %s", id,
                 run ? "under way in another process" : "gone");
        well = false;
    }
    json_decref(run);
    return well;
}

bool cli_store_begin_again(cli_store *store, int64_t id, uint64_t iteration) {
    const cli_process self = cli_process_self();
    if (!cli_store_enter(store))
        return false;
    bool well =
        is_free(store, id, self.host) &&
        cli_sql_done(store, cli_sql(store,
                                    "UPDATE run SET status = 'running', ended = NULL,"
                                    " outcome = NULL, message = NULL, phi = NULL,"
                                    " grad_norm = NULL, iterations = NULL, seconds = NULL,"
                                    " result = NULL, host = ?, boot = ?,"
                                    " pid = ?, pid_start = ? WHERE id = ?",
                                    "ttiii", self.host, self.boot, self.pid, self.start, id)) &&
        cli_sql_done(store, cli_sql(store, "DELETE FROM trace WHERE run = ? AND iteration > ?",
                                    "ii", id, (int64_t)iteration));
    return cli_store_leave(store, well);
}

bool cli_store_finish(cli_store *store, int64_t id, const cli_run_end *end) {
    bool flushed = cli_store_flush(store);
    if (!cli_store_enter(store))
        return false;
    bool well = cli_sql_done(
        store,
        cli_sql(store,
                "UPDATE run SET status = ?, ended = " NOW ", outcome = ?, message = ?,"
                " iterations = ?, seconds = ?, phi = ?, grad_norm = ?, result = ?"
                " WHERE id = ?",
                "tttidddji", end->status, end->outcome, end->message, (int64_t)end->iterations,
                end->seconds, end->phi, end->grad_norm, end->result, id));
    return cli_store_leave(store, well) && flushed;
}

bool cli_store_remove(cli_store *store, int64_t id) {
    if (!cli_store_enter(store))
        return false;
    return cli_store_leave(
        store, cli_sql_done(store, cli_sql(store, "DELETE FROM run WHERE id = ?", "i", id)));
}

/* ---- Rows ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool write_rows(cli_store *store) {
    bool well = true;
    for (size_t i = 0; well && i < store->row_count; i++) {
        const cli_pending_row *r = &store->rows[i];
        well =
            cli_sql_done(store, cli_sql(store, "INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?)",
                                        "iidt", r->id, (int64_t)r->iteration, r->seconds, r->text));
    }
    return well;
}

static void forget_rows(cli_store *store) {
    for (size_t i = 0; i < store->row_count; i++)
        free(store->rows[i].text);
    store->row_count = 0;
    store->rows_written = now();
}

/* The rows are gone in any case: a store that is full must not fill the memory too. */
bool cli_store_flush(cli_store *store) {
    if (store->row_count == 0)
        return true;
    bool well = cli_store_enter(store) && cli_store_leave(store, write_rows(store));
    forget_rows(store);
    return well;
}

bool cli_store_row(cli_store *store, int64_t id, uint64_t iteration, double seconds,
                   const char *row) {
    size_t size = strlen(row) + 1;
    store->rows = cli_grow(store->rows, store->row_count + 1, sizeof *store->rows);
    store->rows[store->row_count++] =
        (cli_pending_row){id, iteration, seconds, memcpy(cli_alloc(size, 1), row, size)};
    return now() - store->rows_written < seconds_between_rows || cli_store_flush(store);
}

/* ---- Attached bytes ---- */

typedef struct parts {
    cli_store *store;
    int64_t id;
    const char *name;
    unsigned char *bytes; /* of the part that is being filled */
    size_t used;
    int64_t count;
    bool failed;
} parts;

static void write_part(parts *p) {
    p->failed =
        p->failed ||
        !cli_sql_done(p->store,
                      cli_sql(p->store, "INSERT INTO attachment VALUES (?, ?, ?, ?)", "itib", p->id,
                              p->name, p->count, (const void *)p->bytes, p->used));
    p->count++;
    p->used = 0;
}

static int add_bytes(void *context, const void *bytes, size_t size) {
    parts *p = context;
    const unsigned char *from = bytes;
    while (size > 0 && !p->failed) {
        size_t room = PART_BYTES - p->used, taken = size < room ? size : room;
        memcpy(p->bytes + p->used, from, taken);
        p->used += taken;
        from += taken;
        size -= taken;
        if (p->used == PART_BYTES)
            write_part(p);
    }
    return p->failed ? -1 : 0;
}

static bool delete_parts(cli_store *store, int64_t id, const char *name) {
    return cli_sql_done(
        store, cli_sql(store, "DELETE FROM attachment WHERE run = ? AND name = ?", "it", id, name));
}

/* Within a transaction. */
static bool replace_parts(cli_store *store, int64_t id, const char *name, const void *bytes,
                          size_t size) {
    parts p = {.store = store, .id = id, .name = name, .bytes = cli_alloc(PART_BYTES, 1)};
    p.failed = !delete_parts(store, id, name);
    add_bytes(&p, bytes, size);
    if (p.used > 0 || p.count == 0)
        write_part(&p);
    free(p.bytes);
    return !p.failed;
}

bool cli_store_attach(cli_store *store, int64_t id, const char *name, const void *bytes,
                      size_t size) {
    return cli_store_enter(store) &&
           cli_store_leave(store, replace_parts(store, id, name, bytes, size));
}

static bool drop_checkpoint(cli_store *store, int64_t id) {
    return delete_parts(store, id, "checkpoint") && delete_parts(store, id, "carried") &&
           cli_sql_done(store, cli_sql(store,
                                       "UPDATE run SET checkpoint_iteration = NULL,"
                                       " checkpoint_saved = NULL WHERE id = ?",
                                       "i", id));
}

bool cli_store_detach(cli_store *store, int64_t id, const char *name) {
    if (!cli_store_enter(store))
        return false;
    bool is_checkpoint = strcmp(name, "checkpoint") == 0;
    return cli_store_leave(store, is_checkpoint ? drop_checkpoint(store, id)
                                                : delete_parts(store, id, name));
}

bool cli_store_attach_end(cli_store *store, int64_t id, const char *name, const void *bytes,
                          size_t size) {
    if (!cli_store_enter(store))
        return false;
    bool well = write_rows(store) && replace_parts(store, id, name, bytes, size) &&
                drop_checkpoint(store, id);
    well = cli_store_leave(store, well);
    if (well)
        forget_rows(store);
    return well;
}

/* Rows up to here go with it, so that the trace is whole when the run goes on from there. */
bool cli_store_checkpoint(cli_store *store, int64_t id, blv_run *run, const void *carried,
                          size_t carried_size) {
    if (!cli_store_enter(store))
        return false;
    parts p = {.store = store, .id = id, .name = "checkpoint", .bytes = cli_alloc(PART_BYTES, 1)};
    p.failed = !write_rows(store) || !delete_parts(store, id, p.name);
    blv_error error = p.failed ? BLV_OK : blv_run_save_to(run, add_bytes, &p);
    if (error != BLV_OK && !p.failed) {
        snprintf(store->problem, sizeof store->problem, "%.500s", blv_run_message(run));
        p.failed = true;
    }
    if (!p.failed && p.used > 0)
        write_part(&p);
    free(p.bytes);
    bool well = !p.failed &&
                (!carried || replace_parts(store, id, "carried", carried, carried_size)) &&
                cli_sql_done(store, cli_sql(store,
                                            "UPDATE run SET checkpoint_iteration = ?,"
                                            " checkpoint_saved = " NOW " WHERE id = ?",
                                            "ii", (int64_t)blv_run_result(run)->iterations, id));
    well = cli_store_leave(store, well);
    if (well)
        forget_rows(store);
    return well;
}
