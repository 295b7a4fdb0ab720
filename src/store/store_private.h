/* The insides of the run store, for its own sources. */
#ifndef BLV_STORE_PRIVATE_H
#define BLV_STORE_PRIVATE_H

#include "bilevel/store.h"
#include "store/record.h"

#include <sqlite3.h>

enum { BLV_STORE_PATIENCE_MS = 10000 }; /* for other processes */

typedef struct blv_pending_row {
    int64_t id;
    uint64_t iteration;
    double seconds;
    char *text;
} blv_pending_row;

struct blv_store {
    sqlite3 *file;
    char *path;
    blv_error error;     /* of the last call that failed, */
    blv_message message; /* and why */
    blv_pending_row *rows;
    size_t row_count;
    double rows_written; /* when, in seconds of the monotonic clock */
};

/* Keep what happened, with the path, and return the error. The first: what SQLite says about the
 * last call. */
blv_error blv_store_fail(blv_store *store);
blv_error blv_store_reject(blv_store *store, blv_error error, const char *format, ...)
    BLV_PRINTF(3, 4);
blv_error blv_store_no_memory(blv_store *store);

/* As blv_caller_struct. */
blv_error blv_store_take(blv_store *store, void *own, size_t size, const void *given,
                         const char *name);

/* A statement with its values: 'i' int64_t, 'd' double (NaN: NULL), 't' const char * (NULL: NULL),
 * 'v' const blv_values *, 'b' const void * and size_t. NULL when it failed. */
sqlite3_stmt *blv_sql(blv_store *store, const char *sql, const char *types, ...);
/* Runs a statement that returns no rows and releases it; NULL is a failure. */
blv_error blv_sql_done(blv_store *store, sqlite3_stmt *statement);
/* Releases a statement whose last step gave this result. */
blv_error blv_sql_end(blv_store *store, sqlite3_stmt *statement, int result);
blv_error blv_sql_execute(blv_store *store, const char *sql);
/* Columns go to the fields of their names. */
blv_error blv_sql_record(blv_store *store, sqlite3_stmt *statement, const blv_field *table,
                         void *record);

/* A transaction that writes. */
blv_error blv_store_enter(blv_store *store);
/* Ends it: commits where there is no error so far, else takes everything back. */
blv_error blv_store_leave(blv_store *store, blv_error error);

#endif
