/* bilevel runs [ACTION]: looks at the run store. */
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_export.h"
#include "cli_json.h"
#include "cli_runs.h"
#include "store/run_info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_store_choice store;
    blv_run_filter filter;
    bool json, force;
    const char *out, *checkpoint;
    size_t count;
    int64_t *ids;
} request;

/* ---- Options ---- */

enum {
    KEY_KIND = CLI_KEY_FIRST,
    KEY_STATUS,
    KEY_PROBLEM,
    KEY_SOLVER,
    KEY_LIMIT,
    KEY_JSON,
    KEY_FORCE,
    KEY_OUT,
    KEY_CHECKPOINT
};

static const struct argp_option list_options[] = {
    {"problem", KEY_PROBLEM, "NAME", 0, "only runs on this problem", 0},
    {"solver", KEY_SOLVER, "NAME", 0, "only runs of this solver", 0},
    {"status", KEY_STATUS, "WORD", 0,
     "only those that are running, finished, interrupted or failed", 0},
    {"kind", KEY_KIND, "COMMAND", 0, "only those of this command, such as solve", 0},
    {"last", KEY_LIMIT, "N", 0, "only the newest N (default 20; 0: all)", 0},
    {"json", KEY_JSON, NULL, 0, "print a JSON array on standard output", 0},
    {0}};

static const struct argp_option rm_options[] = {
    {"force", KEY_FORCE, NULL, 0, "also runs that seem to be under way", 0}, {0}};

static const struct argp_option export_options[] = {
    {"out", KEY_OUT, "NAME", 0, "write NAME.csv and NAME.json (default run-ID)", 0},
    {"checkpoint", KEY_CHECKPOINT, "FILE.npz", 0, "write the checkpoint as well", 0},
    {0}};

static void take_status(request *asked, const char *word, const struct argp_state *state) {
    asked->filter.by_status = blv_run_status_parse(word, &asked->filter.status);
    if (asked->filter.by_status)
        return;
    argp_error(state, "--status '%s': expected running, finished, interrupted or failed", word);
}

static void take_id(request *asked, const char *text, const struct argp_state *state) {
    asked->ids = cli_grow(asked->ids, asked->count + 1, sizeof *asked->ids);
    asked->ids[asked->count++] = cli_parse_id(text, state);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->store;
        return 0;
    case KEY_PROBLEM:
        asked->filter.problem = arg;
        return 0;
    case KEY_SOLVER:
        asked->filter.solver = arg;
        return 0;
    case KEY_KIND:
        asked->filter.kind = arg;
        return 0;
    case KEY_STATUS:
        take_status(asked, arg, state);
        return 0;
    case KEY_LIMIT:
        if (!cli_parse_whole(arg, UINT32_MAX, &asked->filter.limit))
            argp_error(state, "--last '%s': expected a whole number", arg);
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case KEY_FORCE:
        asked->force = true;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case KEY_CHECKPOINT:
        asked->checkpoint = arg;
        return 0;
    case ARGP_KEY_ARG:
        take_id(asked, arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Actions ---- */

static int refuse_store(const blv_store *store) {
    cli_complain("%s", blv_store_message(store));
    return CLI_REFUSED;
}

static int list(const request *asked, blv_store *store) {
    blv_run_info **infos = NULL;
    size_t count = 0;
    blv_error error = blv_store_list(store, &asked->filter, &infos, &count);
    if (error != BLV_OK)
        return cli_store_refuse(store, error);
    json_t *runs = cli_json_array();
    for (size_t i = 0; i < count; i++)
        cli_json_append(runs, blv_record_json(blv_run_list_fields, infos[i]));
    blv_run_list_free(infos, count);
    if (asked->json) {
        cli_json_print(runs);
        return CLI_DONE;
    }
    if (json_array_size(runs) > 0)
        cli_runs_print_list(runs);
    else
        printf("No runs%s in %s\n",
               asked->filter.kind || asked->filter.by_status || asked->filter.problem ||
                       asked->filter.solver
                   ? " of this kind"
                   : "",
               blv_store_path(store));
    json_decref(runs);
    return CLI_DONE;
}

static int show(const request *asked, blv_store *store) {
    for (size_t i = 0; i < asked->count; i++) {
        json_t *run = NULL;
        int code = cli_runs_find(store, asked->ids[i], &run);
        if (code != CLI_DONE)
            return code;
        if (asked->json) {
            cli_json_print(run);
            continue;
        }
        if (i > 0)
            putchar('\n');
        cli_runs_print_one(run);
        json_decref(run);
    }
    return CLI_DONE;
}

static int rm(const request *asked, blv_store *store) {
    for (size_t i = 0; i < asked->count; i++) { /* all or none, as far as names go */
        json_t *run = NULL;
        int code = cli_runs_find(store, asked->ids[i], &run);
        const char *status = run ? cli_run_text(run, "status") : NULL;
        if (code == CLI_DONE && status && strcmp(status, "running") == 0 && !asked->force) {
            cli_complain("run %" PRId64 " is under way: process %" JSON_INTEGER_FORMAT " on %s",
                         asked->ids[i], json_integer_value(json_object_get(run, "pid")),
                         cli_run_text(run, "host"));
            code = CLI_REFUSED;
        }
        json_decref(run);
        if (code != CLI_DONE)
            return code;
    }
    for (size_t i = 0; i < asked->count; i++)
        if (blv_store_remove(store, asked->ids[i]) != BLV_OK)
            return refuse_store(store);
    return CLI_DONE;
}

static int export(const request *asked, blv_store *store) {
    json_t *run = NULL;
    int code = cli_runs_find(store, asked->ids[0], &run);
    if (code == CLI_DONE)
        code = cli_export(store, run, asked->ids[0], asked->out, asked->checkpoint);
    json_decref(run);
    return code;
}

/* ---- The command ---- */

typedef struct action {
    const char *name, *arguments, *doc;
    const struct argp_option *options;
    size_t least, most; /* runs that are named */
    int (*run)(const request *asked, blv_store *store);
} action;

static const struct argp_option show_options[] = {
    {"json", KEY_JSON, NULL, 0, "print a JSON object on standard output, one line for each run", 0},
    {0}};

static const action actions[] = {
    {"list", "", "List runs, the newest last.", list_options, 0, 0, list},
    {"show", "RUN...", "Show all that is known about runs.", show_options, 1, SIZE_MAX, show},
    {"rm", "RUN...", "Remove runs with their traces and checkpoints.", rm_options, 1, SIZE_MAX, rm},
    {"export", "RUN", "Write the trace as CSV and everything as JSON.", export_options, 1, 1,
     export},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static int take_action(const action *chosen, int argc, char **argv) {
    const struct argp_child children[] = {{&cli_store_file_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = chosen->options,
                              .parser = parse,
                              .args_doc = chosen->arguments,
                              .doc = chosen->doc,
                              .children = children};
    request asked = {.filter = {.size = sizeof asked.filter, .limit = 20}};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = CLI_DONE;
    if (asked.count < chosen->least || asked.count > chosen->most) {
        cli_complain(chosen->least == 0 ? "list takes no number: did you mean 'bilevel runs show'?"
                     : asked.count == 0 ? "no run is named; 'bilevel runs' lists them"
                                        : "one run at a time");
        code = CLI_REFUSED;
    }
    blv_store *store = NULL;
    if (code == CLI_DONE)
        code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = chosen->run(&asked, store);
    blv_store_close(store);
    free(asked.ids);
    return code;
}

static void print_help(FILE *out) {
    fputs("Usage: bilevel runs [ACTION] [OPTION...]\n"
          "Look at the runs that were made, in the run store. Without an action: list.\n\n",
          out);
    for (size_t i = 0; i < ACTIONS; i++)
        fprintf(out, "  %-7s %-7s %s\n", actions[i].name, actions[i].arguments, actions[i].doc);
    fputs("\n'bilevel runs ACTION --help' lists the options of an action.\n", out);
}

int cmd_runs(int argc, char **argv) {
    static char title[32]; /* outlives argp, which keeps the name */
    for (size_t i = 0; i < ACTIONS && cli_is_described(); i++) {
        char *described[] = {title, NULL};
        snprintf(title, sizeof title, "bilevel runs %s", actions[i].name);
        take_action(&actions[i], 1, described);
    }
    if (cli_is_described())
        return CLI_DONE;
    const char *word = argc > 1 ? argv[1] : "list";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return CLI_DONE;
    }
    if (argc < 2 || word[0] == '-')
        return take_action(&actions[0], argc, argv);
    for (size_t i = 0; i < ACTIONS; i++) {
        if (strcmp(word, actions[i].name) != 0)
            continue;
        snprintf(title, sizeof title, "bilevel runs %s", actions[i].name);
        program_invocation_name = argv[1] = title;
        return take_action(&actions[i], argc - 1, argv + 1);
    }
    cli_complain("there is no action '%s'; expected list, show, rm or export", word);
    return CLI_REFUSED;
}
