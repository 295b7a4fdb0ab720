#include "cli/store_options.h"
#include "base/message.h"
#include "cli/text.h"

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

bool cli_store_is_named(const cli_store_choice *choice) {
    const char *named = getenv("BILEVEL_STORE");
    return !choice->off && (choice->path || (named && *named && strcmp(named, "none") != 0));
}

/* ---- Opening ---- */

int cli_store_open(blv_store **store, const cli_store_choice *choice) {
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
    blv_message why = {0};
    blv_error error = blv_store_open(store, where.path, BLV_STORE_CREATE, &why);
    free(where.path);
    if (error == BLV_OK)
        return CLI_DONE;
    if (error == BLV_E_MEMORY || where.was_named)
        return cli_reject(error, why.text);
    cli_complain("the run is not stored: %s", why.text);
    return CLI_DONE;
}

int cli_store_open_for_checkpoints(blv_store **store, const cli_store_choice *choice,
                                   double checkpoint_seconds) {
    int code = cli_store_open(store, choice);
    if (code != CLI_DONE || *store || !(checkpoint_seconds > 0.0))
        return code;
    cli_complain("checkpoints are kept in the run store, and there is none");
    return CLI_REJECTED;
}

int cli_store_open_existing(blv_store **store, const cli_store_choice *choice) {
    *store = NULL;
    place where = find_place(choice);
    struct stat about;
    int code = CLI_REJECTED;
    if (!where.path)
        cli_complain("there is no run store: BILEVEL_STORE is none, or there is no HOME");
    else if (stat(where.path, &about) != 0)
        cli_complain("there is no run store at %s: %s", where.path, strerror(errno));
    else {
        blv_message why = {0};
        blv_error error = blv_store_open(store, where.path, BLV_STORE_EXISTING, &why);
        code = cli_exit_code(error, &why);
    }
    free(where.path);
    return code;
}

int cli_store_reject(const blv_store *store, blv_error error) {
    return cli_reject(error, blv_store_message(store));
}

int cli_store_find(blv_store *store, int64_t id, blv_run_info **run) {
    blv_error error = blv_store_find(store, id, run);
    return error == BLV_OK ? CLI_DONE : cli_store_reject(store, error);
}

char **cli_copy_command(int argc, char **argv) {
    char **command = cli_alloc((size_t)argc + 1, sizeof *command);
    for (int i = 0; i < argc; i++)
        command[i] = cli_print("%s", argv[i]);
    return command;
}

void cli_free_command(char **command, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(command[i]);
    free(command);
}
