/* The insides of the run store, for its own sources. */
#pragma once

#include "base/message.h"
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
    blv_message message; /* why the last call failed */
    blv_pending_row *rows;
    size_t row_count;
    double rows_written; /* when, in seconds of the monotonic clock */
    bool is_copy;        /* in memory: what is beside the store is another process's */
    char path[];
};

/* Where the parts of a checkpoint of several ranks are: beside the store. To be freed; NULL: memory
 * is short. */
char *blv_store_parts_base(const blv_store *store, int64_t id);

/* Keep what happened, with the path, and return the error. The first: what SQLite says about the
 * last call. */
blv_error blv_store_fail(blv_store *store);
blv_error blv_store_reject(blv_store *store, blv_error error, const char *format, ...)
    BLV_PRINTF(3, 4);
blv_error blv_store_no_memory(blv_store *store);

/* BLV_E_ARGUMENT where there is no store, or where an argument that is needed is not given. */
blv_error blv_store_expect(blv_store *store, bool given);
/* As blv_caller_struct. */
blv_error blv_store_take(blv_store *store, void *own, size_t size, const void *given,
                         const char *name);

/* Runs a statement and calls `take` for each row of its result: BLV_E_STOPPED ends that, and any
 * other error the whole. Values of the statement: 'i' int64_t, 'd' double (NaN: NULL),
 * 't' const char * (NULL: NULL), 'v' const blv_values *, 'b' const void * and size_t. */
typedef blv_error (*blv_row_fn)(blv_store *store, sqlite3_stmt *row, void *context);
blv_error blv_sql_each(blv_store *store, blv_row_fn take, void *context, const char *sql,
                       const char *types, ...);
/* One that has no result: blv_sql(store, sql, types, ...). */
#define blv_sql(store, ...) blv_sql_each(store, NULL, NULL, __VA_ARGS__)
blv_error blv_sql_execute(blv_store *store, const char *sql);
/* A blv_row_fn: columns go to an array of double, but for NULL. */
blv_error blv_sql_numbers(blv_store *store, sqlite3_stmt *row, void *numbers);
/* Columns go to the fields of their names. */
blv_error blv_sql_record(blv_store *store, sqlite3_stmt *row, const blv_field *table, void *record);

/* A transaction that writes. */
blv_error blv_store_enter(blv_store *store);
/* Ends it: commits where there is no error so far, else takes everything back. */
blv_error blv_store_leave(blv_store *store, blv_error error);

/* ---- Which process made a run ---- */

typedef struct blv_process {
    char host[65];
    char boot[40]; /* changes when the machine starts; empty: not known */
    int64_t pid;
    int64_t start; /* when it started, in ticks since the boot; 0: not known */
} blv_process;

/* Of a process on another machine nothing is known: it counts as alive. */
bool blv_process_is_gone(const blv_process *process);
