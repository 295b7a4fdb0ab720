/* bilevel runs [ACTION]: looks at the run store. */
#include "base/message.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/run_text.h"
#include "cli/store_options.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_store_choice store;
    cli_run_numbers runs;
    blv_run_filter filter;
    bool json, force;
    const char *out, *checkpoint;
} request;

/* ---- Arguments ---- */

static blv_error take_status(void *field, const char *word, blv_message *why) {
    blv_run_filter *filter = field;
    filter->by_status = blv_run_status_parse(word, &filter->status);
    return filter->by_status ? BLV_OK
                             : blv_explain(why, BLV_E_ARGUMENT,
                                           "expected running, finished, interrupted or failed");
}

#define RUNS(value_)                                                                               \
    CLI_POSITION(RUNS, request, runs, value_, "no run is named; 'bilevel runs' lists them")
#define STORE CLI_INCLUDE(cli_store_file_table, request, store, CLI_SECTION_OWN), CLI_END

static const cli_argument list_table[] = {
    CLI_OPTION("problem", TEXT, request, filter.problem, "NAME", "only runs on this problem"),
    CLI_OPTION("solver", TEXT, request, filter.solver, "NAME", "only runs of this solver"),
    CLI_OPTION("status", CUSTOM, request, filter, "WORD",
               "only those that are running, finished, interrupted or failed", .take = take_status),
    CLI_OPTION("kind", TEXT, request, filter.kind, "COMMAND",
               "only those of this command, such as solve"),
    CLI_OPTION("last", WHOLE, request, filter.limit, "N", "only the newest N (default 20; 0: all)",
               .to = UINT32_MAX),
    CLI_OPTION("json", FLAG, request, json, NULL, "print a JSON array on standard output"),
    STORE};

static const cli_argument show_table[] = {
    RUNS("RUN..."),
    CLI_OPTION("json", FLAG, request, json, NULL,
               "print a JSON object on standard output, one line for each run"),
    STORE};

static const cli_argument rm_table[] = {
    RUNS("RUN..."),
    CLI_OPTION("force", FLAG, request, force, NULL, "also runs that seem to be under way"), STORE};

static const cli_argument export_table[] = {
    RUNS("RUN"),
    CLI_OPTION("out", TEXT, request, out, "NAME", "write NAME.csv and NAME.json (default run-ID)"),
    CLI_OPTION("checkpoint", TEXT, request, checkpoint, "FILE.npz", "write the checkpoint as well"),
    STORE};

static blv_error check_one(void *of, blv_message *why) {
    const request *asked = of;
    return asked->runs.count == 1 ? BLV_OK : blv_explain(why, BLV_E_ARGUMENT, "one run at a time");
}

/* ---- Actions ---- */

static int list(const request *asked, blv_store *store) {
    const blv_run_filter *filter = &asked->filter;
    blv_run_info **runs = NULL;
    size_t count = 0;
    blv_error error = blv_store_list(store, filter, &runs, &count);
    if (error != BLV_OK)
        return cli_store_reject(store, error);
    bool any = !filter->kind && !filter->by_status && !filter->problem && !filter->solver;
    if (asked->json) {
        json_t *objects = cli_json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(objects, cli_json_record(blv_run_list_fields, runs[i]));
        cli_json_print(objects);
    } else if (count > 0)
        cli_print_runs(runs, count);
    else
        printf("No runs%s in %s\n", any ? "" : " of this kind", blv_store_path(store));
    blv_run_list_free(runs, count);
    return CLI_DONE;
}

static int show(const request *asked, blv_store *store) {
    for (size_t i = 0; i < asked->runs.count; i++) {
        blv_run_info *run = NULL;
        int code = cli_store_find(store, asked->runs.items[i], &run);
        if (code != CLI_DONE)
            return code;
        if (asked->json)
            cli_json_print(cli_json_record(blv_run_info_fields, run));
        else {
            fputs(i > 0 ? "\n" : "", stdout);
            cli_print_run(run);
        }
        blv_run_info_free(run);
    }
    return CLI_DONE;
}

/* All or none, as far as names go. */
static int expect_removable(const request *asked, blv_store *store, int64_t id) {
    blv_run_info *run = NULL;
    int code = cli_store_find(store, id, &run);
    if (code == CLI_DONE && run->status == BLV_STATUS_RUNNING && !asked->force) {
        cli_complain("run %" PRId64 " is under way: process %" PRId64 " on %s", id, run->pid,
                     run->host ? run->host : "");
        code = CLI_REJECTED;
    }
    blv_run_info_free(run);
    return code;
}

static int rm(const request *asked, blv_store *store) {
    int code = CLI_DONE;
    for (size_t i = 0; i < asked->runs.count && code == CLI_DONE; i++)
        code = expect_removable(asked, store, asked->runs.items[i]);
    for (size_t i = 0; i < asked->runs.count && code == CLI_DONE; i++) {
        blv_error error = blv_store_remove(store, asked->runs.items[i]);
        code = error == BLV_OK ? CLI_DONE : cli_store_reject(store, error);
    }
    return code;
}

static int export(const request *asked, blv_store *store) {
    blv_run_info *run = NULL;
    int code = cli_store_find(store, asked->runs.items[0], &run);
    if (code == CLI_DONE)
        code = cli_export_run(store, run, asked->out, asked->checkpoint);
    blv_run_info_free(run);
    return code;
}

/* ---- The command ---- */

static int take_action(const cli_arguments *arguments, int argc, char **argv,
                       int (*action)(const request *asked, blv_store *store)) {
    request asked = {.filter = {.size = sizeof(blv_run_filter), .limit = 20}};
    if (!cli_read_arguments(arguments, argc, argv, &asked))
        return CLI_DONE;
    blv_store *store = NULL;
    int code = cli_store_open_existing(&store, &asked.store);
    if (code == CLI_DONE)
        code = action(&asked, store);
    blv_store_close(store);
    free(asked.runs.items);
    return code;
}

int cmd_runs_list(int argc, char **argv) {
    static const cli_arguments arguments = {.table = list_table,
                                            .doc = "List runs, the newest last."};
    return take_action(&arguments, argc, argv, list);
}

int cmd_runs_show(int argc, char **argv) {
    static const cli_arguments arguments = {.table = show_table,
                                            .doc = "Show all that is known about runs."};
    return take_action(&arguments, argc, argv, show);
}

int cmd_runs_rm(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = rm_table, .doc = "Remove runs with their traces and checkpoints."};
    return take_action(&arguments, argc, argv, rm);
}

int cmd_runs_export(int argc, char **argv) {
    static const cli_arguments arguments = {.table = export_table,
                                            .doc = "Write the trace as CSV and everything as JSON.",
                                            .check = check_one};
    return take_action(&arguments, argc, argv, export);
}
