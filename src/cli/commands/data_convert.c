/* bilevel data convert IN OUT: writes data in another format, scaled or not. */
#include "base/message.h"
#include "cli/commands.h"
#include "cli/data_files.h"

#include <stdio.h>

typedef struct request {
    cli_source source;
    const char *out;
    bool standardize, unit, unit_rows, intercept;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, source.in, "IN", "expected IN and OUT"),
    CLI_POSITION(TEXT, request, out, "OUT", "expected IN and OUT"),
    CLI_OPTION("standardize", FLAG, request, standardize, NULL,
               "columns to mean 0 and variance 1; sparse: variance only"),
    CLI_OPTION("unit", FLAG, request, unit, NULL,
               "columns to [0, 1]; sparse: to [-1, 1], zeros stay"),
    CLI_OPTION("unit-rows", FLAG, request, unit_rows, NULL, "rows to length 1, after the columns"),
    CLI_OPTION("intercept", FLAG, request, intercept, NULL,
               "one more column, of ones, after all else"),
    CLI_INCLUDE(cli_format_table, request, source, CLI_SECTION_OWN),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    if (asked->standardize && asked->unit)
        return blv_explain(why, BLV_E_ARGUMENT, "--standardize or --unit, one of the two");
    return BLV_OK;
}

static blv_error change(const request *asked, blv_dataset *dataset, blv_message *why) {
    blv_error error = BLV_OK;
    if (asked->standardize)
        error = blv_dataset_scale(&dataset, 1, BLV_SCALE_STANDARD, why);
    if (!error && asked->unit)
        error = blv_dataset_scale(&dataset, 1, BLV_SCALE_UNIT, why);
    if (!error && asked->unit_rows)
        error = blv_dataset_unit_rows(dataset, why);
    if (!error && asked->intercept)
        error = blv_dataset_intercept(dataset, why);
    return error;
}

static void report(const request *asked, const blv_dataset *dataset, const char *format) {
    if (asked->source.json) {
        json_t *object = cli_json_dataset(asked->source.in, dataset);
        cli_json_set(object, "out", cli_json_text(asked->out));
        cli_json_set(object, "out_format", cli_json_text(format));
        cli_json_print(object);
    } else {
        printf("%s: ", asked->out);
        cli_print_shape(blv_dataset_view_of(dataset));
        printf(" as %s\n", format);
    }
}

static int convert(const request *asked) {
    const char *format = cli_output_format(asked->out, asked->source.format);
    blv_dataset *dataset = NULL;
    int code = format ? cli_dataset_read(&dataset, asked->source.in, &asked->source.reading)
                      : CLI_REJECTED;
    if (code == CLI_DONE) {
        blv_message why = {0};
        blv_error error = change(asked, dataset, &why);
        if (error == BLV_OK)
            error = blv_dataset_write(dataset, asked->out, format, &why);
        if (error == BLV_OK)
            report(asked, dataset, format);
        else
            code = cli_reject(error, why.text);
    }
    blv_dataset_release(dataset);
    return code;
}

int cmd_data_convert(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Write the data of IN to OUT in another format.\v"
               "The name of OUT tells its format: .libsvm, .svm, .txt; .csv, .tsv; .npz. The text "
               "formats are compressed where it ends in .gz.",
        .check = check};
    request asked = {0};
    return cli_read_arguments(&arguments, argc, argv, &asked) ? convert(&asked) : CLI_DONE;
}
