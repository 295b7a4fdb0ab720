/* bilevel coreset DATA: chooses a few rows that represent all. */
#include "base/number_text.h"
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/selection_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_selection_options options;
    double size; /* a number of rows, or a share below 1 */
    const char *out, *subset;

    blv_dataset *rows, *test;
    blv_select_result *result;
} request;

/* ---- The command line ---- */

static blv_error take_size(void *field, const char *text, blv_message *why) {
    double *size = field;
    bool well =
        blv_number_parse(text, size) == 0 && *size > 0.0 && (*size < 1.0 || *size == floor(*size));
    return well ? BLV_OK
                : blv_explain(why, BLV_E_VALUE,
                              "expected a whole number from 1 on, or a share below 1");
}

static blv_error take_method(void *field, const char *text, blv_message *why) {
    const blv_selection_method **method = field;
    *method = blv_selection_method_find(text, why);
    return *method ? BLV_OK : BLV_E_NAME;
}

static const cli_argument table[] = {
    CLI_OPTION("size", CUSTOM, request, size, "K", "rows to choose: a number, or a share below 1",
               .take = take_size),
    CLI_OPTION("method", CUSTOM, request, options.select.selection.method, "NAME",
               "how they are chosen (default: the best of four on rows held out); see below",
               .take = take_method),
    CLI_OPTION("out", WRITES, request, out, "OUT.csv",
               "write the number, from 0, and the weight of every chosen row, the heaviest first",
               .letter = 'o'),
    CLI_OPTION("write-subset", WRITES, request, subset, "FILE",
               "write the chosen rows, in the format of DATA unless the name says otherwise"),
    CLI_OPTION("compare", FLAG, request, options.select.compare, NULL,
               "train a network on the chosen rows, on as many at random and on all, and judge it "
               "on FILE of --test, else on all rows"),
    CLI_INCLUDE(cli_selection_table, request, options),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    if (!(asked->size > 0.0))
        return blv_explain(why, BLV_E_ARGUMENT, "--size K is needed: how many rows to choose");
    if (asked->options.test && !asked->options.select.compare)
        return blv_explain(why, BLV_E_ARGUMENT, "--test needs --compare");
    return cli_selection_check(&asked->options, why);
}

static void list_methods(FILE *out) {
    const blv_selection_method *m;
    fputs("\nMethods:\n", out);
    for (size_t i = 0; (m = blv_selection_method_at(i)); i++)
        fprintf(out, "  %-18s %s\n", m->name, m->summary);
}

/* ---- Files ---- */

static void print_rows(FILE *file, const void *context) {
    const blv_select_result *r = context;
    fputs("row,weight\n", file);
    for (size_t k = 0; k < r->count; k++) {
        fprintf(file, "%zu", r->index[k]);
        report_csv_number(file, ",", r->weight[k]);
        fputc('\n', file);
    }
}

static int by_number(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The rows as they are in the file, in its order: all digits and no scaling. */
static void write_subset(const request *asked, cli_outputs *outputs) {
    const size_t count = asked->result->count;
    blv_read_options reading = asked->options.reading;
    blv_dataset *all = NULL, *subset = NULL;
    size_t *order = cli_alloc(count, sizeof *order);
    memcpy(order, asked->result->index, count * sizeof *order);
    qsort(order, count, sizeof *order, by_number);
    const char *format = cli_part_format(asked->subset, NULL, blv_dataset_view_of(asked->rows));
    reading.precision = BLV_F64;
    if (strcmp(format, "source") == 0)
        all = blv_dataset_retain(asked->rows);
    else
        cli_expect(blv_dataset_read(&all, asked->options.data, &reading, &cli_why));
    cli_expect(blv_dataset_select(all, order, count, &subset, &cli_why));
    cli_outputs_write(outputs, asked->subset, subset, format);
    blv_dataset_release(all);
    blv_dataset_release(subset);
    free(order);
}

static void write_files(const request *asked) {
    cli_outputs outputs = {0};
    cli_outputs_print(&outputs, asked->out, print_rows, asked->result);
    if (asked->subset)
        write_subset(asked, &outputs);
    cli_outputs_commit(&outputs);
}

/* ---- Text and JSON ---- */

static void print_text(const request *asked) {
    const char *const *names = blv_dataset_view_of(asked->rows)->class_names;
    const blv_select_result *r = asked->result;
    report_table shown = {.align = "lrr"};
    printf("%s: %zu of %zu rows chosen by %s, %.4g s\n\n", asked->options.data, r->count, r->rows,
           r->method->name, r->seconds);
    report_table_add(&shown, "CLASS\tROWS\tCHOSEN");
    for (size_t k = 0; k < r->classes; k++)
        report_table_add(&shown, "%s\t%zu\t%zu", names[k], r->of_class[k], r->chosen_of_class[k]);
    cli_table_print(&shown, 2, stdout);
    if (asked->options.select.compare)
        printf("\nAccuracy %s, trained on\n"
               "  the chosen rows               %.4f\n"
               "  as many at random             %.4f\n"
               "  all rows                      %.4f\n",
               asked->options.test ? "on the test rows" : "on all rows", r->chosen_accuracy,
               r->uniform_accuracy, r->all_accuracy);
    if (asked->out || asked->subset)
        putchar('\n');
    if (asked->out)
        printf("%s: the chosen rows and their weights\n", asked->out);
    if (asked->subset)
        printf("%s: the chosen rows\n", asked->subset);
}

static const blv_field accuracy_fields[] = {
    BLV_FIELD_AS("accuracy_chosen", blv_select_result, chosen_accuracy, REAL, 0),
    BLV_FIELD_AS("accuracy_uniform", blv_select_result, uniform_accuracy, REAL, 0),
    BLV_FIELD_AS("accuracy_all", blv_select_result, all_accuracy, REAL, 0),
    {0}};

static void print_json(const request *asked) {
    const char *const *names = blv_dataset_view_of(asked->rows)->class_names;
    const blv_select_result *r = asked->result;
    json_t *object = json_object(), *classes = json_object();
    for (size_t k = 0; k < r->classes; k++)
        cli_json_set(classes, names[k], cli_json_whole(r->chosen_of_class[k]));
    cli_json_put(object, "data", blv_json_string(asked->options.data), "test",
                 blv_json_string(asked->options.test), "rows", cli_json_whole(r->rows), "size",
                 cli_json_whole(r->count), "method", blv_json_string(r->method->name), "seed",
                 cli_json_whole(asked->options.select.selection.seed), "seconds",
                 blv_json_real(r->seconds), "chosen_of_class", classes, NULL);
    cli_json_add(object, accuracy_fields, r);
    json_object_update(object, asked->options.about);
    cli_json_print(cli_json_put(object, "out", blv_json_string(asked->out), "write_subset",
                                blv_json_string(asked->subset), NULL));
}

/* ---- The command ---- */

static size_t settle_count(const request *asked) {
    const size_t all = blv_dataset_view_of(asked->rows)->rows;
    const double wanted =
        asked->size < 1.0 ? fmax(1.0, round(asked->size * (double)all)) : asked->size;
    if (wanted > (double)all)
        cli_die("%s: %zu rows; expected at least the %.0f that are to be chosen",
                asked->options.data, all, wanted);
    return (size_t)wanted;
}

static int choose(void *of) {
    request *asked = of;
    blv_select_options *select = &asked->options.select;
    cli_expect(cli_selection_load(&asked->options, 0.0, &asked->rows, &asked->test, &cli_why));
    select->selection.count = settle_count(asked);
    cli_part_try(asked->out, asked->subset, asked->rows);
    cli_expect(blv_select_rows(asked->rows, asked->test, select, &asked->result, NULL, &cli_why));
    write_files(asked);
    if (asked->options.json)
        print_json(asked);
    else if (!asked->options.quiet)
        print_text(asked);
    return CLI_DONE;
}

static const request defaults = {.options = CLI_SELECTION_DEFAULTS};

const cli_command cmd_coreset =
    CLI_COMMAND("coreset", "DATA", "choose few rows that represent all", request, table, choose,
                "Choose a few rows of DATA that represent all of them, with weights.\v"
                "Exit status: 0 done, 1 a run failed, 2 bad usage or input.",
                .more_help = list_methods, .defaults = &defaults, .check = check);
