/* The insides of the run store, for its own sources. */
#ifndef CLI_STORE_PRIVATE_H
#define CLI_STORE_PRIVATE_H

#include "cli_store.h"

#include <sqlite3.h>

typedef struct cli_pending_row {
    int64_t id;
    uint64_t iteration;
    double seconds;
    char *text;
} cli_pending_row;

struct cli_store {
    sqlite3 *file;
    char *path;
    bool was_named;
    char problem[512];
    cli_pending_row *rows;
    size_t row_count;
    double rows_written; /* when, in seconds of the monotonic clock */
};

/* Keeps what SQLite says about the last call, and returns false. */
bool cli_store_fail(cli_store *store);

/* A statement with its values: 'i' int64_t, 'd' double (NaN: NULL), 't' const char * (NULL: NULL),
 * 'j' const json_t * (NULL: NULL), 'b' const void * and size_t. NULL when it failed. */
sqlite3_stmt *cli_sql(cli_store *store, const char *sql, const char *types, ...);
/* Runs a statement that returns no rows and releases it; NULL is a failure. */
bool cli_sql_done(cli_store *store, sqlite3_stmt *statement);

/* A transaction that writes. */
bool cli_store_enter(cli_store *store);
/* Ends it: commits when all is well so far, else takes everything back. Returns whether all is. */
bool cli_store_leave(cli_store *store, bool well);

#endif
