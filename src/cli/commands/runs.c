/* bilevel runs [ACTION]: looks at the run store. */
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/store_options.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct request {
    cli_store_choice store;
    cli_run_numbers runs;
    blv_run_filter filter;
    bool json, force;
    const char *out, *checkpoint;
} request;

static const request defaults = {.filter = {.size = sizeof(blv_run_filter), .limit = 20}};

static blv_error take_status(void *field, const char *word, blv_message *why) {
    blv_run_filter *filter = field;
    filter->by_status = blv_run_status_parse(word, &filter->status);
    return filter->by_status ? BLV_OK
                             : blv_explain(why, BLV_E_ARGUMENT,
                                           "expected running, finished, interrupted or failed");
}

#define RUNS(value_)                                                                               \
    CLI_POSITION(RUNS, request, runs, value_, "no run is named; 'bilevel runs' lists them")
#define STORE CLI_INCLUDE(cli_store_file_table, request, store), CLI_END

/* ---- Cells ---- */

enum { TIME_SIZE = 48 };

/* "2001-02-03T04:05:06.789Z" in the user's own time, to the second. */
static const char *local_time(const char *utc, char text[TIME_SIZE]) {
    struct tm then = {0}, local;
    if (!utc || !strptime(utc, "%Y-%m-%dT%H:%M:%S", &then))
        return utc;
    time_t seconds = timegm(&then);
    if (!localtime_r(&seconds, &local) ||
        strftime(text, TIME_SIZE, "%Y-%m-%d %H:%M:%S", &local) == 0)
        return utc;
    return text;
}

static const char *number(report_table *table, bool known, uint64_t value) {
    return report_number(&table->arena, "%.0f", known ? (double)value : (double)NAN);
}

/* ---- List ---- */

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

static void print_runs(blv_run_info *const *runs, size_t count) {
    report_table table = {.align = "rlllllrrrr"};
    report_table_add(&table,
                     "RUN\tSTARTED\tSTATUS\tKIND\tPROBLEM\tSOLVER\tITERATIONS\tSECONDS\tPHI\t"
                     "|GRAD PHI|");
    for (size_t i = 0; i < count; i++) {
        const blv_run_info *r = runs[i];
        char started[TIME_SIZE];
        const char *cells[] = {number(&table, true, (uint64_t)r->id),
                               local_time(r->started, started),
                               blv_run_status_word(r->status),
                               r->kind,
                               r->problem,
                               r->solver,
                               number(&table, r->has_iterations, r->iterations),
                               report_number(&table.arena, "%.4g", r->seconds),
                               report_number(&table.arena, "%.10g", r->phi),
                               report_number(&table.arena, "%.3e", r->grad_norm)};
        report_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
}

static int list(void *of) {
    const request *asked = of;
    const blv_run_filter *filter = &asked->filter;
    blv_store *store = cli_store_look(&asked->store);
    blv_run_info **runs = NULL;
    size_t count = 0;
    cli_store_expect(store, blv_store_list(store, filter, &runs, &count));
    bool any = !filter->kind && !filter->by_status && !filter->problem && !filter->solver;
    if (asked->json) {
        json_t *objects = json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(objects, blv_record_json(blv_run_list_fields, runs[i]));
        cli_json_print(objects);
    } else if (count > 0)
        print_runs(runs, count);
    else
        printf("No runs%s in %s\n", any ? "" : " of this kind", blv_store_path(store));
    blv_run_list_free(runs, count);
    return CLI_DONE;
}

static const cli_command list_action =
    CLI_COMMAND("list", "", "list runs, the newest last", request, list_table, list,
                "List runs, the newest last.", .defaults = &defaults);

/* ---- Show ---- */

static const cli_argument show_table[] = {
    RUNS("RUN..."),
    CLI_OPTION("json", FLAG, request, json, NULL,
               "print a JSON object on standard output, one line for each run"),
    STORE};

static void add(report_table *table, const char *label, const char *text) {
    if (text && *text)
        report_table_row(table, (const char *[]){label, text});
}

/* "key = value, ..." */
static void add_values(report_table *table, const char *label, const blv_values *values) {
    const char *text = "";
    for (size_t i = 0; i < values->count; i++) {
        char shown[BLV_SHOWN_SIZE];
        blv_value_show(&values->items[i], shown);
        text = cli_print("%s%s%s = %s", text, i ? ", " : "", values->items[i].name, shown);
    }
    add(table, label, text);
}

static void print_run(const blv_run_info *r) {
    char text[TIME_SIZE];
    const char *command = "";
    report_table table = {.align = "ll"};
    add(&table, "Run", number(&table, true, (uint64_t)r->id));
    for (size_t i = 0; i < r->command_count; i++)
        command = cli_print("%s%s%s", command, i ? " " : "", r->command[i] ? r->command[i] : "?");
    add(&table, "Command", command);
    add(&table, "Status", blv_run_status_word(r->status));
    add(&table, "Outcome", r->message);
    add(&table, "Started", local_time(r->started, text));
    add(&table, "Ended", local_time(r->ended, text));
    if (r->problem)
        report_table_add(&table, "Problem\t%s, dimension %zu in x and %zu in y, %s", r->problem,
                         r->dim_x, r->dim_y, r->precision ? r->precision : "");
    add_values(&table, "Problem parameters", &r->problem_parameters);
    add(&table, "Fingerprint of the data",
        r->fingerprint ? cli_print("%016" PRIx64, r->fingerprint) : NULL);
    add(&table, "Solver", r->solver);
    add_values(&table, "Solver parameters", &r->parameters);
    add_values(&table, "Run options", &r->options);
    add(&table, "Iterations", number(&table, r->has_iterations, r->iterations));
    add(&table, "Seconds", report_number(&table.arena, "%.4g", r->seconds));
    add(&table, "Phi(x)", report_number(&table.arena, "%.10g", r->phi));
    add(&table, "|grad Phi(x)|", report_number(&table.arena, "%.10g", r->grad_norm));
    add(&table, "Rows of the trace", number(&table, true, r->rows));
    add(&table, "Checkpoint at iteration",
        number(&table, r->has_checkpoint, r->checkpoint_iteration));
    add(&table, "Version", r->version);
    report_table_add(&table, "Process\t%" PRId64 " on %s", r->pid, r->host ? r->host : "");
    cli_table_print(&table, 0, stdout);
}

static int show(void *of) {
    const request *asked = of;
    blv_store *store = cli_store_look(&asked->store);
    for (size_t i = 0; i < asked->runs.count; i++) {
        blv_run_info *run = cli_store_find(store, asked->runs.items[i]);
        if (asked->json)
            cli_json_print(blv_record_json(blv_run_info_fields, run));
        else {
            fputs(i > 0 ? "\n" : "", stdout);
            print_run(run);
        }
        blv_run_info_free(run);
    }
    return CLI_DONE;
}

static const cli_command show_action =
    CLI_COMMAND("show", "RUN...", "show all that is known about runs", request, show_table, show,
                "Show all that is known about runs.", .defaults = &defaults);

/* ---- Remove ---- */

static const cli_argument rm_table[] = {
    RUNS("RUN..."),
    CLI_OPTION("force", FLAG, request, force, NULL, "also runs that seem to be under way"), STORE};

/* All or none, as far as names go. */
static int rm(void *of) {
    const request *asked = of;
    blv_store *store = cli_store_look(&asked->store);
    for (size_t i = 0; i < asked->runs.count; i++) {
        blv_run_info *run = cli_store_find(store, asked->runs.items[i]);
        const char *under_way = NULL;
        if (run->status == BLV_STATUS_RUNNING && !asked->force)
            under_way = cli_print("run %" PRId64 " is under way: process %" PRId64 " on %s",
                                  run->id, run->pid, run->host ? run->host : "");
        blv_run_info_free(run);
        if (under_way)
            cli_die("%s", under_way);
    }
    for (size_t i = 0; i < asked->runs.count; i++)
        cli_store_expect(store, blv_store_remove(store, asked->runs.items[i]));
    if (blv_store_shrink(store) != BLV_OK) /* they are gone all the same */
        cli_complain("the file keeps its size: %s", blv_store_message(store));
    return CLI_DONE;
}

static const cli_command rm_action =
    CLI_COMMAND("rm", "RUN...", "remove runs with their traces and checkpoints", request, rm_table,
                rm, "Remove runs with their traces and checkpoints.", .defaults = &defaults);

/* ---- Export: the trace as CSV, everything as JSON, the checkpoint as NPZ ---- */

static const cli_argument export_table[] = {
    RUNS("RUN"),
    CLI_OPTION("out", TEXT, request, out, "NAME", "write NAME.csv and NAME.json (default run-ID)"),
    CLI_OPTION("checkpoint", WRITES, request, checkpoint, "FILE.npz",
               "write the checkpoint as well"),
    STORE};

static blv_error check_one(void *of, blv_message *why) {
    const request *asked = of;
    return asked->runs.count == 1 ? BLV_OK : blv_explain(why, BLV_E_ARGUMENT, "one run at a time");
}

static void put_csv(FILE *out, const void *context) {
    const blv_trace *trace = context;
    for (size_t c = 0; c < trace->columns; c++)
        fprintf(out, "%s%s", c ? "," : "", trace->names[c]);
    fputc('\n', out);
    for (size_t i = 0; i < trace->rows * trace->columns; i++) {
        report_csv_number(out, "", trace->values[i]);
        fputc((i + 1) % trace->columns == 0 ? '\n' : ',', out);
    }
}

static void put_json(FILE *out, const void *run) {
    json_dumpf(run, out, JSON_INDENT(1));
    fputc('\n', out);
}

/* Of several ranks: its lines name them. */
static bool has_parts(const void *bytes, size_t size) {
    blv_npz *file = NULL;
    char *lines = NULL;
    const bool has = blv_npz_open_memory(&file, bytes, size, "", NULL) == BLV_OK &&
                     blv_npz_read_text(file, "checkpoint", &lines, NULL) == BLV_OK &&
                     strstr(lines, "\nparts/");
    blv_npz_close(file);
    free(lines);
    return has;
}

static void write_checkpoint(cli_outputs *outputs, const char *path, blv_store *store, int64_t id) {
    void *bytes = NULL;
    size_t size = 0;
    cli_store_expect(store, blv_store_read(store, id, "checkpoint", &bytes, &size));
    if (!bytes)
        cli_die("run %" PRId64 " has no checkpoint", id);
    if (has_parts(bytes, size))
        cli_die("run %" PRId64
                ": several ranks have written its checkpoint, to parts beside the store "
                "(%s.run%" PRId64
                ".*.part*), so that it cannot be one file; continue it with 'mpirun -n "
                "RANKS bilevel resume %" PRId64 "', or copy the store together with these files",
                id, blv_store_path(store), id, id);
    cli_outputs_bytes(outputs, path, bytes, size);
    free(bytes);
}

static int export(void *of) {
    const request *asked = of;
    const int64_t id = asked->runs.items[0];
    blv_store *store = cli_store_look(&asked->store);
    blv_run_info *run = cli_store_find(store, id);
    cli_outputs outputs = {0};
    const char *stem = asked->out ? asked->out : cli_print("run-%" PRId64, id);
    blv_trace trace;
    json_t *rows = NULL, *object = blv_record_json(blv_run_info_fields, run);
    cli_store_expect(store, blv_store_trace(store, id, &trace));
    cli_outputs_print(&outputs, cli_print("%s.csv", stem), put_csv, &trace);
    cli_store_expect(store, blv_store_rows_json(store, id, &rows));
    cli_json_set(object, "trace", rows);
    cli_outputs_print(&outputs, cli_print("%s.json", stem), put_json, object);
    if (asked->checkpoint)
        write_checkpoint(&outputs, asked->checkpoint, store, id);
    int code = cli_outputs_finish(&outputs);
    json_decref(object);
    blv_trace_free(&trace);
    blv_run_info_free(run);
    return code;
}

static const cli_command export_action = CLI_COMMAND(
    "export", "RUN", "write the trace as CSV and everything as JSON", request, export_table, export,
    "Write the trace as CSV and everything as JSON.", .defaults = &defaults, .check = check_one);

/* ---- The command ---- */

static const cli_command *const actions[] = {&list_action, &show_action, &rm_action, &export_action,
                                             NULL};

const cli_command cmd_runs = {
    .name = "runs",
    .arguments = "[ACTION]",
    .summary = "list, show, export and remove the runs that were made",
    .doc = "Look at the runs that were made, in the run store. Without an action: list.",
    .actions = actions};
