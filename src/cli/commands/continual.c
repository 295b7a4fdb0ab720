/* bilevel continual DATA: tasks one after the other with a memory of few rows. */
#include "bilevel/continual.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/selection_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_SEEDS = 1000, MOST_TASKS = 10000, MOST_MEMORY = 1000000000, INDENT = 2 };

typedef struct request {
    cli_selection_options options;
    blv_continual_options continual; /* without what the options above have */
    const char *out;                 /* folder, or NULL */

    blv_dataset *rows, *test;
    blv_continual_result *result;
} request;

/* ---- The command line ---- */

static blv_error take_methods(void *field, const char *text, blv_message *why) {
    blv_continual_options *options = field;
    const blv_selection_method **list = NULL;
    const char **words = cli_split(text);
    size_t count = 0;
    for (; words[count]; count++) {
        options->methods = list = cli_grow(list, count + 1, sizeof *list);
        if (!(list[count] = blv_selection_method_find(words[count], why)))
            return BLV_E_NAME;
    }
    options->method_count = count;
    return BLV_OK;
}

static const cli_argument table[] = {
    CLI_OPTION("tasks", WHOLE, request, continual.tasks, "N",
               "tasks; the classes are dealt out in their order (default 5)", .from = 2,
               .to = MOST_TASKS),
    CLI_OPTION("memory", WHOLE, request, continual.memory, "K",
               "rows in memory, all tasks together (default 100)", .from = 1, .to = MOST_MEMORY),
    CLI_OPTION("methods", CUSTOM, request, continual, "A,B,...",
               "how rows for the memory are chosen, as in 'bilevel coreset --help' (default "
               "bcsr,d-tfbo,s-tfbo,uniform)",
               .take = take_methods),
    CLI_OPTION("seeds", WHOLE, request, continual.seeds, "N",
               "runs of each, with seeds from --seed on (default 3)", .from = 1, .to = MOST_SEEDS),
    CLI_OPTION("imbalanced", FLAG, request, continual.imbalanced, NULL,
               "classes keep from all to a tenth of their rows, by chance"),
    CLI_OPTION("task-known", FLAG, request, continual.task_known, NULL,
               "answer with one of the classes of the row's task; else of all classes so far"),
    CLI_OPTION("sensitivity", FLAG, request, continual.sensitivity, NULL,
               "run every bilevel method with the initial values 5, 2, 4, 6 and 8 (see "
               "--initial)"),
    CLI_OPTION("out", TEXT, request, out, "DIR", "write results.csv and accuracies.csv there",
               .letter = 'o'),
    CLI_INCLUDE(cli_selection_table, request, options),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    if (asked->continual.sensitivity && asked->options.select.selection.first > 0.0)
        return blv_explain(why, BLV_E_ARGUMENT, "--sensitivity or --initial, one of the two");
    if (asked->continual.memory < asked->continual.tasks)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--memory %zu: expected at least one row for each of %zu tasks",
                           asked->continual.memory, asked->continual.tasks);
    return cli_selection_check(&asked->options, why);
}

/* ---- Files ---- */

/* What the columns of both files begin with: method, initial value and seed. */
static void put_pass(FILE *file, const blv_continual_pass *p) {
    fputs(p->method->name, file);
    report_csv_number(file, ",", p->initial > 0.0 ? p->initial : (double)NAN);
    fprintf(file, ",%" PRIu64, p->seed);
}

static void print_results(FILE *file, const void *context) {
    const blv_continual_result *r = context;
    fputs("method,initial,seed,average,forgetting,seconds\n", file);
    for (size_t i = 0; i < r->pass_count; i++) {
        const blv_continual_pass *p = &r->passes[i];
        put_pass(file, p);
        report_csv_number(file, ",", p->average);
        report_csv_number(file, ",", p->forgetting);
        report_csv_number(file, ",", p->seconds);
        fputc('\n', file);
    }
}

static void print_accuracies(FILE *file, const void *context) {
    const blv_continual_result *r = context;
    fputs("method,initial,seed,after,task,accuracy\n", file);
    for (size_t i = 0; i < r->pass_count; i++)
        for (size_t t = 0; t < r->tasks; t++)
            for (size_t j = 0; j <= t; j++) {
                put_pass(file, &r->passes[i]);
                fprintf(file, ",%zu,%zu", t + 1, j + 1);
                report_csv_number(file, ",", r->passes[i].accuracy[t * r->tasks + j]);
                fputc('\n', file);
            }
}

static void write_files(const request *asked) {
    cli_outputs outputs = {0};
    cli_make_folder(asked->out);
    cli_outputs_print(&outputs, cli_print("%s/results.csv", asked->out), print_results,
                      asked->result);
    cli_outputs_print(&outputs, cli_print("%s/accuracies.csv", asked->out), print_accuracies,
                      asked->result);
    cli_outputs_commit(&outputs);
}

/* ---- Text and JSON ---- */

static void print_text(const request *asked) {
    const blv_continual_result *r = asked->result;
    report_table shown = {.align = "lrrrrr"};
    printf("%s: %zu tasks%s, memory %zu, %zu seed%s, %s\n\n", asked->options.data, r->tasks,
           asked->continual.imbalanced ? ", imbalanced" : "", r->memory, r->seeds,
           r->seeds == 1 ? "" : "s",
           asked->continual.task_known ? "the task of a row is known"
                                       : "classes of all tasks so far");
    report_table_add(&shown, "METHOD\tINITIAL\tA_T\tFROM - TO\tFGT_T\tCHOOSING");
    for (size_t i = 0; i < r->summary_count; i++) {
        const blv_continual_summary *s = &r->summaries[i];
        report_table_add(&shown, "%s\t%s\t%.4f\t%.4f - %.4f\t%.4f\t%.2f s", s->method->name,
                         s->initial > 0.0 ? cli_print("%g", s->initial) : "default", s->average,
                         s->average_least, s->average_most, s->forgetting, s->seconds);
    }
    cli_table_print(&shown, INDENT, stdout);
    if (asked->continual.sensitivity)
        printf("\nRelative change of A_T from the first initial value to the mean of the others\n");
    for (size_t m = 0; m < r->change_count; m++)
        if (!isnan(r->changes[m].change))
            printf("  %-18s %.2f%%\n", r->changes[m].method->name, 100.0 * r->changes[m].change);
    if (asked->out)
        printf("\n%s: results.csv, accuracies.csv\n", asked->out);
}

static const blv_field summary_fields[] = {BLV_FIELD(blv_continual_summary, average, REAL),
                                           BLV_FIELD(blv_continual_summary, average_least, REAL),
                                           BLV_FIELD(blv_continual_summary, average_most, REAL),
                                           BLV_FIELD(blv_continual_summary, forgetting, REAL),
                                           BLV_FIELD(blv_continual_summary, seconds, REAL),
                                           {0}};

static void print_json(const request *asked) {
    const blv_continual_result *r = asked->result;
    json_t *all = json_array(), *changes = json_object();
    for (size_t i = 0; i < r->summary_count; i++) {
        json_t *item = json_object();
        const blv_continual_summary *s = &r->summaries[i];
        cli_json_set(item, "method", blv_json_string(s->method->name));
        cli_json_set(item, "initial", blv_json_real(s->initial > 0.0 ? s->initial : (double)NAN));
        cli_json_add(item, summary_fields, s);
        cli_json_append(all, item);
    }
    for (size_t m = 0; m < r->change_count; m++)
        if (r->changes[m].method->is_bilevel)
            cli_json_set(changes, r->changes[m].method->name, blv_json_real(r->changes[m].change));
    cli_json_print(cli_json_put(asked->options.about, "data", blv_json_string(asked->options.data),
                                "tasks", cli_json_whole(r->tasks), "memory",
                                cli_json_whole(r->memory), "seeds", cli_json_whole(r->seeds),
                                "imbalanced", json_boolean(asked->continual.imbalanced),
                                "task_known", json_boolean(asked->continual.task_known), "methods",
                                all, "relative_change", changes, NULL));
}

/* ---- The command ---- */

/* A pass that is done, in a line. */
static int show_pass(void *context, const blv_task_progress *progress) {
    cli_say(context, progress->activity);
    return 0;
}

static int compare(void *of) {
    request *asked = of;
    cli_selection_options *o = &asked->options;
    blv_continual_options *options = &asked->continual;
    options->selection = o->select.selection;
    options->seed = o->select.selection.seed;
    options->threads = o->select.selection.threads;
    options->net = o->select.net;
    options->steps = o->select.steps;
    const blv_task_hooks hooks = {.size = sizeof hooks,
                                  .progress = o->json || o->quiet ? NULL : show_pass};
    cli_expect(cli_selection_load(o, 0.2, &asked->rows, &asked->test, &cli_why));
    if (asked->out && cli_make_folder(asked->out))
        rmdir(asked->out); /* until there is something to write */
    cli_complain_about(o->data);
    cli_expect(blv_continual(asked->rows, asked->test, options, &asked->result, &hooks, &cli_why));
    cli_complain_about(NULL);
    if (asked->out)
        write_files(asked);
    if (o->json)
        print_json(asked);
    else if (!o->quiet)
        print_text(asked);
    return CLI_DONE;
}

static const request defaults = {
    .options = CLI_SELECTION_DEFAULTS,
    .continual = {.size = sizeof(blv_continual_options), .tasks = 5, .memory = 100, .seeds = 3}};

const cli_command cmd_continual = CLI_COMMAND(
    "continual", "DATA", "learn task by task with a memory of few rows", request, table, compare,
    "Learn the classes of DATA task by task, remembering few rows of earlier tasks, and "
    "compare ways to choose these rows.\v"
    "Without --test a fifth of DATA is tested on. Exit status: 0 done, 1 a run failed, 2 "
    "bad usage or input.",
    .defaults = &defaults, .check = check);
