/* bilevel data corrupt IN OUT: changes a share of the labels, for experiments. */
#include "base/message.h"
#include "cli/commands.h"
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "report/table.h"

#include <stdio.h>

typedef struct request {
    cli_source source;
    const char *out, *truth;
    blv_corruption kind;
    double share; /* below 0: not given */
    uint64_t seed;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, source.in, "IN", "expected IN and OUT"),
    CLI_POSITION(TEXT, request, out, "OUT", "expected IN and OUT"),
    CLI_OPTION("share", REAL, request, share, "P", "share of the labels, from 0 to 1 (required)",
               .to = 1.0),
    CLI_OPTION("kind", CHOICE, request, kind, "uniform|pairwise|redraw",
               "to another class, each alike (default); to the next class; or drawn from all "
               "classes, so that some stay"),
    CLI_OPTION("seed", WHOLE, request, seed, "N", "seed of the choice (default 0)"),
    CLI_OPTION("truth", TEXT, request, truth, "FILE.csv",
               "write row, given and true label of every row"),
    CLI_INCLUDE(cli_format_table, request, source, CLI_SECTION_OWN),
    CLI_END};
_Static_assert(BLV_CORRUPT_UNIFORM == 0 && BLV_CORRUPT_PAIRWISE == 1 && BLV_CORRUPT_REDRAW == 2,
               "--kind has them in this order");

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    return asked->share < 0.0 ? blv_explain(why, BLV_E_ARGUMENT, "--share is required") : BLV_OK;
}

/* ---- The table of true labels ---- */

static bool print_truth(FILE *file, const void *context) {
    const blv_dataset_view *v = context;
    fputs("row,given,true\n", file);
    for (size_t i = 0; i < v->rows; i++) {
        fprintf(file, "%zu,", i);
        report_csv_text(file, v->class_names[v->label[i]]);
        fputc(',', file);
        report_csv_text(file, v->class_names[v->true_label[i]]);
        fputc('\n', file);
    }
    return true;
}

/* ---- The command ---- */

static int write_files(const request *asked, const blv_dataset *dataset, const char *format) {
    cli_outputs outputs = {0};
    int code = cli_outputs_write(&outputs, asked->out, dataset, format);
    if (code == CLI_DONE && asked->truth)
        code = cli_outputs_print(&outputs, asked->truth, print_truth, blv_dataset_view_of(dataset));
    return cli_outputs_finish(&outputs, code);
}

static void report(const request *asked, const blv_dataset *dataset) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    size_t changed = 0, last = 0;
    for (size_t i = 0; i < v->rows; i++)
        changed += v->label[i] != v->true_label[i];
    while (blv_dataset_history(dataset, last + 1))
        last++;
    if (!asked->source.json) {
        printf("%s: %s\n", asked->out, blv_dataset_history(dataset, last));
        return;
    }
    json_t *object = cli_json_dataset(asked->source.in, dataset);
    cli_json_set(object, "out", cli_json_text(asked->out));
    cli_json_set(object, "truth", cli_json_text(asked->truth));
    cli_json_set(object, "changed", cli_json_whole(changed));
    cli_json_print(object);
}

static int corrupt(const request *asked) {
    const char *format = cli_output_format(asked->out, asked->source.format);
    blv_dataset *dataset = NULL;
    int code = format ? cli_dataset_read(&dataset, asked->source.in, &asked->source.reading)
                      : CLI_REJECTED;
    if (code == CLI_DONE) {
        blv_message why = {0};
        blv_error error =
            blv_dataset_corrupt(dataset, asked->kind, asked->share, asked->seed, &why);
        code = error == BLV_OK ? write_files(asked, dataset, format) : cli_reject(error, why.text);
    }
    if (code == CLI_DONE)
        report(asked, dataset);
    blv_dataset_release(dataset);
    return code;
}

int cmd_data_corrupt(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Change a share of the labels of IN, exactly round(P rows) of them, and write OUT.\v"
               "OUT has the labels as given after that; --truth keeps what they were.",
        .check = check};
    request asked = {.share = -1.0};
    return cli_read_arguments(&arguments, argc, argv, &asked) ? corrupt(&asked) : CLI_DONE;
}
