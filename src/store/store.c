/* Opening the run store, and its tables. */
#include "bilevel/status.h"
#include "store/store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { APPLICATION_ID = 1651275378 /* "blvr" */, VERSION = 1 };

static const char schema[] =
#include "store/schema.sql.inc"
    ;

enum { OF_APPLICATION, OF_VERSION, TABLES, MARKS };

/* All of one moment: another process may be making the tables. */
static blv_error read_marks(blv_store *store, double marks[MARKS]) {
    return blv_sql_each(store, blv_sql_numbers, marks,
                        "SELECT application_id, user_version,"
                        " (SELECT count(*) FROM sqlite_master)"
                        " FROM pragma_application_id, pragma_user_version",
                        "");
}

/* Another process may do the same: the second one finds the tables. */
static blv_error make_tables(blv_store *store) {
    double marks[MARKS] = {0};
    sqlite3_exec(store->file, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL", NULL,
                 NULL, NULL);
    BLV_CHECK(blv_store_enter(store));
    blv_error error = read_marks(store, marks);
    if (error == BLV_OK && marks[OF_VERSION] == 0)
        error = blv_sql_execute(store, schema);
    return blv_store_leave(store, error);
}

static blv_error check_version(blv_store *store) {
    double marks[MARKS] = {0};
    BLV_CHECK(read_marks(store, marks));
    if (marks[TABLES] == 0 && marks[OF_APPLICATION] == 0 && marks[OF_VERSION] == 0 &&
        !sqlite3_db_readonly(store->file, "main"))
        return make_tables(store);
    if (marks[OF_APPLICATION] != APPLICATION_ID)
        return blv_store_reject(store, BLV_E_FORMAT, "it is a SQLite database, but no run store");
    if (marks[OF_VERSION] == VERSION)
        return BLV_OK;
    return blv_store_reject(store, BLV_E_FORMAT,
                            "it is of version %.0f, and this is %s, which knows version %d: use a "
                            "newer one",
                            marks[OF_VERSION], blv_version(), VERSION);
}

/* before: statements, before anything is read. */
static blv_error open_as(blv_store *store, const char *name, int flags, const char *before) {
    sqlite3_close(store->file);
    int result = sqlite3_open_v2(name, &store->file, flags, NULL);
    if (!store->file)
        return blv_store_no_memory(store);
    if (result != SQLITE_OK)
        return blv_store_fail(store);
    sqlite3_busy_timeout(store->file, BLV_STORE_PATIENCE_MS);
    BLV_CHECK(blv_sql_execute(store, before));
    BLV_CHECK(check_version(store));
    return blv_sql_execute(store, "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
}

/* A path as SQLite takes it with parameters; NULL: memory is short. To be freed. */
static char *immutable_name(const char *path) {
    static const char front[] = "file:", end[] = "?immutable=1";
    char *name = malloc(sizeof front + 3 * strlen(path) + sizeof end);
    char *at = name ? stpcpy(name, front) : NULL;
    for (; at && *path; path++)
        if (strchr("?#%", *path))
            at += sprintf(at, "%%%02x", (unsigned)(unsigned char)*path);
        else
            *at++ = *path;
    if (at)
        strcpy(at, end);
    return name;
}

/* SQLite keeps a file of 32 KiB beside the store while it is open. Where that cannot be, on a full
 * disk or in a folder that may not be written, a store can still be read: by this process alone, or
 * where the store itself may not be written either, as a file that does not change. */
static blv_error open_for_reading(blv_store *store) {
    char *name = immutable_name(store->path);
    if (!name)
        return blv_store_no_memory(store);
    blv_error error =
        open_as(store, store->path, SQLITE_OPEN_READWRITE, "PRAGMA locking_mode = EXCLUSIVE");
    if (error == BLV_E_FILE)
        error = open_as(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, "");
    free(name);
    return error;
}

static blv_error open_file(blv_store *store, bool create) {
    const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    struct stat about;
    if (stat(store->path, &about) == 0 && !S_ISREG(about.st_mode)) /* a pipe would be waited for */
        return blv_store_reject(store, BLV_E_FILE, "it is no regular file");
    blv_error error = open_as(store, store->path, flags, "");
    if (create || error != BLV_E_FILE || (sqlite3_errcode(store->file) & 0xff) == SQLITE_BUSY)
        return error;
    const blv_message first = store->message;
    error = open_for_reading(store);
    if (error == BLV_E_FILE)
        store->message = first;
    return error;
}

/* The file that was opened becomes a copy of it in memory. */
static blv_error copy_to_memory(blv_store *store) {
    sqlite3 *file = store->file, *memory = NULL;
    if (sqlite3_open_v2(":memory:", &memory, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_close(memory);
        return blv_store_no_memory(store);
    }
    sqlite3_backup *backup = sqlite3_backup_init(memory, "main", file, "main");
    const int result = backup ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
    sqlite3_backup_finish(backup);
    store->file = memory;
    sqlite3_close(file);
    return result == SQLITE_DONE
               ? blv_sql_execute(store, "PRAGMA foreign_keys = ON")
               : blv_store_reject(store, BLV_E_FILE, "it cannot be copied to memory");
}

blv_error blv_store_open(blv_store **store, const char *path, blv_store_mode mode,
                         blv_message *why) {
    if (store)
        *store = NULL;
    if (!store || !path)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_store_open: an argument is NULL");
    blv_store *opened = calloc(1, sizeof *opened + strlen(path) + 1);
    if (!opened)
        return blv_explain_memory(why);
    strcpy(opened->path, path);
    opened->is_copy = mode == BLV_STORE_COPY;
    blv_error error = open_file(opened, mode == BLV_STORE_CREATE);
    if (error == BLV_OK && mode == BLV_STORE_COPY)
        error = copy_to_memory(opened);
    if (error == BLV_OK) {
        *store = opened;
        return BLV_OK;
    }
    if (why)
        *why = opened->message;
    blv_store_close(opened);
    return error;
}

void blv_store_close(blv_store *store) {
    if (!store)
        return;
    blv_store_flush(store);
    sqlite3_close(store->file);
    free(store->rows);
    free(store);
}

const char *blv_store_path(const blv_store *store) {
    return store ? store->path : "";
}

const char *blv_store_message(const blv_store *store) {
    return store ? store->message.text : blv_error_text(BLV_E_ARGUMENT);
}
