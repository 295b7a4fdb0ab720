/* Opening the run store, and talking to SQLite. */
#include "cli_store_private.h"
#include "cli_text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { APPLICATION_ID = 0x626c7672, VERSION = 1, PATIENCE_MS = 10000 };

static const char schema[] =
    "CREATE TABLE run ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  kind TEXT NOT NULL,"
    "  status TEXT NOT NULL,"  /* 'running' also of a process that was killed */
    "  started TEXT NOT NULL," /* UTC */
    "  ended TEXT,"
    "  version TEXT NOT NULL,"
    "  command TEXT,"
    "  task TEXT,"
    "  problem TEXT,"
    "  problem_parameters TEXT,"
    "  precision TEXT,"
    "  dim_x INTEGER,"
    "  dim_y INTEGER,"
    "  fingerprint TEXT,"
    "  solver TEXT,"
    "  parameters TEXT,"
    "  options TEXT,"
    "  outcome TEXT,"
    "  message TEXT,"
    "  iterations INTEGER,"
    "  seconds REAL,"
    "  phi REAL,"
    "  grad_norm REAL,"
    "  result TEXT,"
    "  checkpoint_iteration INTEGER,"
    "  checkpoint_saved TEXT,"
    "  host TEXT, boot TEXT, pid INTEGER, pid_start INTEGER);"
    "CREATE TABLE trace ("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  iteration INTEGER NOT NULL,"
    "  seconds REAL,"
    "  row TEXT NOT NULL,"
    "  PRIMARY KEY (run, iteration)) WITHOUT ROWID;"
    "CREATE TABLE attachment ("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  name TEXT NOT NULL,"
    "  part INTEGER NOT NULL," /* long ones lie in several */
    "  bytes BLOB NOT NULL,"
    "  PRIMARY KEY (run, name, part));";

/* ---- Options ---- */

enum { KEY_STORE = CLI_KEY_FILES + 100, KEY_NO_STORE };

static const struct argp_option options[] = {
    {"store", KEY_STORE, "FILE", 0,
     "run store to use (default: what BILEVEL_STORE names, or runs.db in the user's state folder)",
     0},
    {"no-store", KEY_NO_STORE, NULL, 0, "keep nothing in the run store", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_store_choice *choice = state->input;
    switch (key) {
    case KEY_STORE:
        choice->path = arg;
        return 0;
    case KEY_NO_STORE:
        choice->off = true;
        return 0;
    case ARGP_KEY_END:
        if (choice->path && choice->off)
            argp_error(state, "--store or --no-store, one of the two");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_store_argp = {.options = options, .parser = parse};

static const struct argp_option file_option[] = {
    {"store", KEY_STORE, "FILE", 0,
     "run store to look at (default: what BILEVEL_STORE names, or runs.db in the user's state "
     "folder)",
     0},
    {0}};

const struct argp cli_store_file_argp = {.options = file_option, .parser = parse};

/* ---- SQLite ---- */

static void explain(cli_store *store, const char *what) {
    snprintf(store->problem, sizeof store->problem, "store %.200s: %.250s", store->path, what);
}

bool cli_store_fail(cli_store *store) {
    char what[300];
    const char *text = sqlite3_errmsg(store->file);
    switch (sqlite3_errcode(store->file) & 0xff) {
    case SQLITE_NOTADB:
        explain(store, "it is no run store, and no SQLite database at all");
        return false;
    case SQLITE_CORRUPT:
        snprintf(what, sizeof what,
                 "it is damaged (%.60s); put it away, or save what can be read with "
                 "'sqlite3 FILE .recover'",
                 text);
        explain(store, what);
        return false;
    case SQLITE_BUSY:
        snprintf(what, sizeof what, "another process has not let go of it for %d seconds",
                 PATIENCE_MS / 1000);
        explain(store, what);
        return false;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: {
        int number = sqlite3_system_errno(store->file);
        snprintf(what, sizeof what, "%.100s%s%.100s", text, number ? ": " : "",
                 number ? strerror(number) : "");
        explain(store, what);
        return false;
    }
    default:
        explain(store, text);
        return false;
    }
}

static int bind_json(sqlite3_stmt *statement, int at, const json_t *value) {
    if (!value)
        return sqlite3_bind_null(statement, at);
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return sqlite3_bind_text(statement, at, text, -1, free);
}

static int bind(sqlite3_stmt *statement, const char *types, va_list values) {
    int result = SQLITE_OK;
    for (int at = 1; *types && result == SQLITE_OK; types++, at++)
        if (*types == 'i')
            result = sqlite3_bind_int64(statement, at, va_arg(values, int64_t));
        else if (*types == 'd')
            result = sqlite3_bind_double(statement, at, va_arg(values, double));
        else if (*types == 't')
            result = sqlite3_bind_text(statement, at, va_arg(values, const char *), -1,
                                       SQLITE_TRANSIENT);
        else if (*types == 'j')
            result = bind_json(statement, at, va_arg(values, const json_t *));
        else {
            const void *bytes = va_arg(values, const void *);
            size_t size = va_arg(values, size_t);
            result = sqlite3_bind_blob64(statement, at, size ? bytes : "", size, SQLITE_TRANSIENT);
        }
    return result;
}

sqlite3_stmt *cli_sql(cli_store *store, const char *sql, const char *types, ...) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(store->file, sql, -1, &statement, NULL);
    va_list values;
    va_start(values, types);
    if (result == SQLITE_OK)
        result = bind(statement, types, values);
    va_end(values);
    if (result == SQLITE_OK)
        return statement;
    cli_store_fail(store);
    sqlite3_finalize(statement);
    return NULL;
}

bool cli_sql_done(cli_store *store, sqlite3_stmt *statement) {
    if (!statement)
        return false;
    bool well = sqlite3_step(statement) == SQLITE_DONE || cli_store_fail(store);
    sqlite3_finalize(statement);
    return well;
}

static bool execute(cli_store *store, const char *sql) {
    return sqlite3_exec(store->file, sql, NULL, NULL, NULL) == SQLITE_OK || cli_store_fail(store);
}

bool cli_store_enter(cli_store *store) {
    return execute(store, "BEGIN IMMEDIATE");
}

bool cli_store_leave(cli_store *store, bool well) {
    if (well && execute(store, "COMMIT"))
        return true;
    sqlite3_exec(store->file, "ROLLBACK", NULL, NULL, NULL); /* may have happened already */
    return false;
}

/* ---- Which file ---- */

/* Where the user's programs keep what they remember; NULL when that is not known. To be freed. */
static char *usual_path(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/')
        return cli_print("%s/bilevel/runs.db", state);
    return home && home[0] == '/' ? cli_print("%s/.local/state/bilevel/runs.db", home) : NULL;
}

/* The folders above the file, for its owner only. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* those that are there already stay as they are */
        *slash = '/';
    }
}

typedef struct place {
    char *path; /* NULL: none is wanted, or none is known */
    bool was_named, is_off;
} place;

static place find_place(const cli_store_choice *choice) {
    const char *named = getenv("BILEVEL_STORE");
    if (choice->off)
        return (place){.is_off = true};
    if (choice->path || (named && *named)) {
        const char *path = choice->path ? choice->path : named;
        if (!choice->path && strcmp(path, "none") == 0)
            return (place){.is_off = true};
        return (place){.path = cli_print("%s", path), .was_named = true};
    }
    return (place){.path = usual_path()};
}

/* ---- Opening ---- */

static bool read_number(cli_store *store, const char *sql, int64_t *number) {
    sqlite3_stmt *statement = cli_sql(store, sql, "");
    if (!statement)
        return false;
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    *number = found ? sqlite3_column_int64(statement, 0) : 0;
    if (!found)
        cli_store_fail(store);
    sqlite3_finalize(statement);
    return found;
}

/* Another process may be at it: who comes second finds it made. */
static bool make_tables(cli_store *store) {
    char sql[120];
    int64_t version = 0;
    sqlite3_exec(store->file, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    if (!cli_store_enter(store))
        return false;
    bool well = read_number(store, "PRAGMA user_version", &version);
    if (well && version == 0) {
        snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 APPLICATION_ID, VERSION);
        well = execute(store, schema) && execute(store, sql);
    }
    return cli_store_leave(store, well);
}

typedef struct marks {
    int64_t application, version, tables;
} marks;

/* All of one moment: another process may be making the tables. */
static bool read_marks(cli_store *store, marks *m) {
    if (!execute(store, "BEGIN"))
        return false;
    bool well = read_number(store, "SELECT count(*) FROM sqlite_master", &m->tables) &&
                read_number(store, "PRAGMA application_id", &m->application) &&
                read_number(store, "PRAGMA user_version", &m->version);
    return cli_store_leave(store, well);
}

static bool check_version(cli_store *store) {
    marks m = {0};
    char what[200];
    if (!read_marks(store, &m))
        return false;
    if (m.tables == 0 && m.application == 0 && m.version == 0 &&
        !sqlite3_db_readonly(store->file, "main"))
        return make_tables(store);
    if (m.application != APPLICATION_ID) {
        explain(store, "it is a SQLite database, but no run store");
        return false;
    }
    if (m.version == VERSION)
        return true;
    snprintf(what, sizeof what,
             "it is of version %lld, and this command, %s, knows version %d: use a newer one",
             (long long)m.version, blv_version(), VERSION);
    explain(store, what);
    return false;
}

static bool open_file(cli_store *store, bool create) {
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(store->path, &store->file, flags, NULL) != SQLITE_OK)
        return cli_store_fail(store);
    sqlite3_busy_timeout(store->file, PATIENCE_MS);
    return check_version(store) &&
           execute(store, "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
}

static cli_store *new_store(place where) {
    cli_store *store = cli_alloc(1, sizeof *store);
    store->path = where.path;
    store->was_named = where.was_named;
    return store;
}

int cli_store_open(cli_store **store, const cli_store_choice *choice) {
    *store = NULL;
    place where = find_place(choice);
    if (where.is_off)
        return CLI_DONE;
    if (!where.path) {
        cli_complain("the run is not stored: neither XDG_STATE_HOME nor HOME names a folder");
        return CLI_DONE;
    }
    if (!where.was_named)
        make_folders(where.path);
    cli_store *opened = new_store(where);
    if (open_file(opened, true)) {
        *store = opened;
        return CLI_DONE;
    }
    if (where.was_named)
        cli_complain("%s", opened->problem);
    else
        cli_complain("the run is not stored: %s", opened->problem);
    cli_store_close(opened);
    return where.was_named ? CLI_REFUSED : CLI_DONE;
}

int cli_store_open_existing(cli_store **store, const cli_store_choice *choice) {
    *store = NULL;
    place where = find_place(choice);
    struct stat about;
    if (!where.path || stat(where.path, &about) != 0) {
        if (where.path)
            cli_complain("there is no run store at %s: %s", where.path, strerror(errno));
        else
            cli_complain("there is no run store: BILEVEL_STORE is none, or there is no HOME");
        free(where.path);
        return CLI_REFUSED;
    }
    cli_store *opened = new_store(where);
    if (open_file(opened, false)) {
        *store = opened;
        return CLI_DONE;
    }
    cli_complain("%s", opened->problem);
    cli_store_close(opened);
    return CLI_REFUSED;
}

void cli_store_close(cli_store *store) {
    if (!store)
        return;
    cli_store_flush(store);
    sqlite3_close(store->file);
    free(store->rows);
    free(store->path);
    free(store);
}

const char *cli_store_path(const cli_store *store) {
    return store->path;
}

bool cli_store_was_named(const cli_store *store) {
    return store->was_named;
}

const char *cli_store_problem(const cli_store *store) {
    return store->problem;
}
