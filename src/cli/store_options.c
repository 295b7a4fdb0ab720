#include "cli/store_options.h"
#include "cli/outputs.h"
#include "cli/rank_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Arguments ---- */

static blv_error take_store(void *field, const char *text, blv_message *why) {
    cli_store_choice *choice = field;
    if (text)
        choice->path = text;
    else
        choice->off = true;
    return choice->path && choice->off
               ? blv_explain(why, BLV_E_ARGUMENT, "--store or --no-store, one of the two")
               : BLV_OK;
}

const cli_argument cli_store_table[] = {
    {.name = "store",
     .kind = CLI_ARG_CUSTOM,
     .value = "FILE",
     .help = "run store to use (default: what BILEVEL_STORE names, or runs.db in the user's state "
             "folder)",
     .take = take_store},
    {.name = "no-store",
     .kind = CLI_ARG_CUSTOM,
     .help = "keep nothing in the run store",
     .take = take_store},
    CLI_END};

const cli_argument cli_store_file_table[] = {
    CLI_OPTION("store", TEXT, cli_store_choice, path, "FILE",
               "run store to look at (default: what BILEVEL_STORE names, or runs.db in the user's "
               "state folder)"),
    CLI_END};

/* ---- Which file ---- */

/* Where the user's programs keep what they remember; NULL when that is not known. */
static char *usual_path(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/')
        return cli_print("%s/bilevel/runs.db", state);
    return home && home[0] == '/' ? cli_print("%s/.local/state/bilevel/runs.db", home) : NULL;
}

/* The folders above the file, for its owner only. */
static void make_folders(const char *path) {
    for (const char *slash = path; (slash = strchr(slash + 1, '/'));)
        mkdir(cli_print("%.*s", (int)(slash - path), path),
              0700); /* there already: stays as it is */
}

/* The file that the user named: NULL where there is none, "" where no store is wanted. */
static const char *named_path(const cli_store_choice *choice) {
    const char *named = getenv("BILEVEL_STORE");
    if (choice->path)
        return choice->path;
    bool is_off = choice->off || (named && strcmp(named, "none") == 0);
    return is_off ? "" : named && *named ? named : NULL;
}

/* The same, else the usual file. */
static const char *chosen_path(const cli_store_choice *choice) {
    const char *named = named_path(choice);
    return named ? named : usual_path();
}

void cli_store_note(void) {
    const char *path = chosen_path(&(cli_store_choice){0});
    if (path && *path)
        cli_file_store(path);
}

bool cli_store_is_named(const cli_store_choice *choice) {
    const char *path = named_path(choice);
    return path && *path;
}

/* ---- Opening ---- */

int cli_store_try(blv_store **store, const cli_store_choice *choice) {
    const bool is_named = named_path(choice);
    const char *path = chosen_path(choice);
    *store = NULL;
    blv_error error = BLV_OK;
    if (path && !is_named)
        make_folders(path);
    if (path && *path) {
        cli_file_store(path);
        error = blv_store_open(store, path, BLV_STORE_CREATE, &cli_why);
    } else if (!path)
        cli_complain("the run is not stored: neither XDG_STATE_HOME nor HOME names a folder");
    if (error == BLV_E_MEMORY || is_named)
        return cli_exit_code(error);
    if (error != BLV_OK)
        cli_complain("the run is not stored: %s", cli_why.text);
    return CLI_DONE;
}

/* Of several ranks the first has the store; the others do the same with one in memory. */
static int try_first(blv_store **store, const cli_store_choice *choice) {
    *store = NULL;
    const int code = cli_rank_word(cli_rank_writes() ? cli_store_try(store, choice) : CLI_DONE);
    const bool is_there = cli_rank_word(*store != NULL) != 0;
    if (code != CLI_DONE || !is_there || cli_rank_writes())
        return code;
    return cli_exit_code(blv_store_open(store, ":memory:", BLV_STORE_CREATE, &cli_why));
}

static blv_store *opened; /* closed however the command ends */

static void close_store(void) {
    blv_store_close(opened);
}

blv_store *cli_store_open(const cli_store_choice *choice, double checkpoint_seconds) {
    int code = try_first(&opened, choice);
    if (code != CLI_DONE)
        exit(code);
    if (!opened && checkpoint_seconds > 0.0)
        cli_die("checkpoints are kept in the run store, and there is none");
    atexit(close_store);
    return opened;
}

blv_store *cli_store_look(const cli_store_choice *choice) {
    const char *path = chosen_path(choice);
    struct stat about;
    if (!path || !*path)
        cli_die("there is no run store: BILEVEL_STORE is none, or there is no HOME");
    if (stat(path, &about) != 0)
        cli_die("there is no run store at %s: %s", path, strerror(errno));
    cli_file_store(path);
    cli_expect(blv_store_open(&opened, path,
                              cli_rank_writes() ? BLV_STORE_EXISTING : BLV_STORE_COPY, &cli_why));
    cli_rank_word(0); /* copies are made before the first rank changes it */
    atexit(close_store);
    return opened;
}

void cli_store_expect(const blv_store *store, blv_error error) {
    if (error != BLV_OK)
        exit(cli_reject(error, blv_store_message(store)));
}

blv_run_info *cli_store_find(blv_store *store, int64_t id) {
    blv_run_info *run = NULL;
    cli_store_expect(store, blv_store_find(store, id, &run));
    return run;
}
