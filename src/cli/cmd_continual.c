/* bilevel continual DATA: tasks one after the other with a memory of few rows. Parse, load, run
 * every method with every seed, write, report. */
#include "cli_commands.h"
#include "cli_continual_report.h"
#include "cli_describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_OUT = 'o',
    KEY_TASKS = CLI_KEY_FIRST,
    KEY_MEMORY,
    KEY_METHODS,
    KEY_SEEDS,
    KEY_IMBALANCED,
    KEY_TASK_KNOWN,
    KEY_SENSITIVITY
};
enum { MOST_SEEDS = 1000 };

/* The usual one first. */
static const double initial_values[] = {5.0, 2.0, 4.0, 6.0, 8.0};
enum { INITIAL_VALUES = sizeof initial_values / sizeof initial_values[0] };

static const struct argp_option options[] = {
    {"tasks", KEY_TASKS, "N", 0, "tasks; the classes are dealt out in their order (default 5)", 0},
    {"memory", KEY_MEMORY, "K", 0, "rows in memory, all tasks together (default 100)", 0},
    {"methods", KEY_METHODS, "A,B,...", 0,
     "how rows for the memory are chosen, as in 'bilevel coreset --help' (default "
     "bcsr,d-tfbo,s-tfbo,uniform)",
     0},
    {"seeds", KEY_SEEDS, "N", 0, "runs of each, with seeds from --seed on (default 3)", 0},
    {"imbalanced", KEY_IMBALANCED, NULL, 0,
     "classes keep from all to a tenth of their rows, by chance", 0},
    {"task-known", KEY_TASK_KNOWN, NULL, 0,
     "answer with one of the classes of the row's task; else of all classes so far", 0},
    {"sensitivity", KEY_SENSITIVITY, NULL, 0,
     "run every bilevel method with the initial values 5, 2, 4, 6 and 8 (see --initial)", 0},
    {"out", KEY_OUT, "DIR", 0, "write results.csv and accuracies.csv there", 0},
    {0}};

static void parse_methods(cli_continual_request *asked, const char *text,
                          const struct argp_state *state) {
    char *copy = strdup(text), *rest = copy;
    if (!copy)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    asked->method_count = 0;
    for (char *word; (word = strsep(&rest, ","));) {
        const blv_selection_method *method = cli_parse_method(word, state);
        asked->methods = cli_grow(asked->methods, asked->method_count + 1, sizeof *asked->methods);
        asked->methods[asked->method_count++] = method;
    }
    free(copy);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_continual_request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->choosing;
        return 0;
    case KEY_TASKS:
        asked->tasks = (size_t)cli_parse_count("tasks", arg, 2, 10000, state);
        return 0;
    case KEY_MEMORY:
        asked->memory = (size_t)cli_parse_count("memory", arg, 1, 1000000000, state);
        return 0;
    case KEY_METHODS:
        parse_methods(asked, arg, state);
        return 0;
    case KEY_SEEDS:
        asked->seeds = (size_t)cli_parse_count("seeds", arg, 1, MOST_SEEDS, state);
        return 0;
    case KEY_IMBALANCED:
        asked->imbalanced = true;
        return 0;
    case KEY_TASK_KNOWN:
        asked->task_known = true;
        return 0;
    case KEY_SENSITIVITY:
        asked->sensitivity = true;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case ARGP_KEY_END:
        if (asked->method_count == 0)
            parse_methods(asked, "bcsr,d-tfbo,s-tfbo,uniform", state);
        if (asked->sensitivity && asked->choosing.first > 0.0)
            argp_error(state, "--sensitivity or --initial, one of the two");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Rows ---- */

static int expect_tasks(const cli_continual_request *asked, const blv_dataset *rows) {
    const size_t classes = blv_dataset_view_of(rows)->classes;
    if (asked->tasks > classes) {
        cli_complain("%s: %zu classes; expected at least one for each of %zu tasks",
                     asked->choosing.data, classes, asked->tasks);
        return CLI_REFUSED;
    }
    if (asked->memory < asked->tasks) {
        cli_complain("--memory %zu: expected at least one row for each of %zu tasks", asked->memory,
                     asked->tasks);
        return CLI_REFUSED;
    }
    return CLI_DONE;
}

/* Without --test a fifth of the rows is tested on, and not trained on. */
static int hold_out(const cli_continual_request *asked, blv_dataset **rows, blv_dataset **test) {
    static const double sizes[] = {0.8, 0.2};
    blv_dataset *part[2] = {NULL, NULL};
    blv_message why = {0};
    if (*test)
        return CLI_DONE;
    blv_error error = blv_dataset_split(*rows, sizes, 2, true, asked->choosing.seed, part, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    blv_dataset_release(*rows);
    *rows = part[0];
    *test = part[1];
    return CLI_DONE;
}

static int make_folder(const char *path) {
    struct stat found;
    if (!path || mkdir(path, 0777) == 0)
        return CLI_DONE;
    if (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return CLI_DONE;
    cli_complain("%s: cannot be made or is no folder: %s", path, strerror(errno));
    return CLI_REFUSED;
}

/* ---- Runs ---- */

static int run_one(const cli_continual_request *asked, const cli_stream *stream, size_t method,
                   double first, uint64_t seed, cli_continual_results *results) {
    cli_choosing choosing = *stream->choosing;
    cli_stream own = *stream;
    if (first > 0.0)
        choosing.first = first;
    own.choosing = &choosing;
    results->items = cli_grow(results->items, results->count + 1, sizeof *results->items);
    cli_continual_result *r = &results->items[results->count];
    *r = (cli_continual_result){.method = asked->methods[method], .first = first, .seed = seed};
    int code = cli_continual(&own, r->method, seed, &r->end);
    results->count++;
    if (code == CLI_DONE && !asked->choosing.json && !asked->choosing.quiet)
        cli_continual_line(r);
    return code;
}

static int run_all(const cli_continual_request *asked, const cli_stream *stream,
                   cli_continual_results *results) {
    const size_t values = asked->sensitivity ? INITIAL_VALUES : 1;
    int code = CLI_DONE;
    for (size_t m = 0; m < asked->method_count; m++) {
        const bool varied = asked->sensitivity && asked->methods[m]->is_bilevel;
        for (size_t v = 0; v < (varied ? values : 1); v++)
            for (size_t s = 0; code == CLI_DONE && s < asked->seeds; s++)
                code = run_one(asked, stream, m, varied ? initial_values[v] : 0.0,
                               asked->choosing.seed + s, results);
    }
    return code;
}

static int continual(const cli_continual_request *asked) {
    blv_dataset *rows = NULL, *test = NULL;
    cli_continual_results results = {0};
    int code = cli_choosing_load(&asked->choosing, &rows, &test);
    if (code == CLI_DONE)
        code = expect_tasks(asked, rows);
    if (code == CLI_DONE)
        code = hold_out(asked, &rows, &test);
    if (code == CLI_DONE)
        code = make_folder(asked->out);
    cli_stream stream = {.choosing = &asked->choosing,
                         .rows = rows,
                         .test = test,
                         .tasks = asked->tasks,
                         .memory = asked->memory,
                         .imbalanced = asked->imbalanced,
                         .task_known = asked->task_known};
    if (code == CLI_DONE)
        code = run_all(asked, &stream, &results);
    if (code == CLI_DONE && asked->out)
        code = cli_continual_write(asked, &results);
    if (code == CLI_DONE && asked->choosing.json)
        cli_json_print(cli_continual_object(asked, &results));
    else if (code == CLI_DONE && !asked->choosing.quiet)
        cli_continual_text(asked, &results);
    for (size_t i = 0; i < results.count; i++)
        cli_stream_end_free(&results.items[i].end);
    free(results.items);
    blv_dataset_release(rows);
    blv_dataset_release(test);
    return code;
}

int cmd_continual(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_choosing_argp, 0, NULL, 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DATA",
        .doc = "Learn the classes of DATA task by task, remembering few rows of earlier tasks, and "
               "compare ways to choose these rows.\v"
               "Without --test a fifth of DATA is tested on. Exit status: 0 done, 1 a run failed, "
               "2 bad usage or input.",
        .children = children};
    cli_continual_request asked = {
        .choosing = cli_choosing_begin(), .tasks = 5, .memory = 100, .seeds = 3};
    int code = cli_parse(&argp, argc, argv, &asked) ? continual(&asked) : CLI_DONE;
    free(asked.methods);
    return code;
}
