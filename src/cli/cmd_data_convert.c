#include "cli_data.h"
#include "cli_dataset.h"

#include <stdio.h>

typedef struct request {
    blv_read_options reading;
    const char *in, *out, *format;
    bool standardize, unit, unit_rows, intercept, json;
} request;

enum {
    KEY_FORMAT = CLI_KEY_FIRST,
    KEY_STANDARDIZE,
    KEY_UNIT,
    KEY_UNIT_ROWS,
    KEY_INTERCEPT,
    KEY_JSON
};

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "libsvm|csv|npz", 0, "format of OUT (default: by its name)", 0},
    {"standardize", KEY_STANDARDIZE, NULL, 0,
     "columns to mean 0 and variance 1; sparse: variance only", 0},
    {"unit", KEY_UNIT, NULL, 0, "columns to [0, 1]; sparse: to [-1, 1], zeros stay", 0},
    {"unit-rows", KEY_UNIT_ROWS, NULL, 0, "rows to length 1, after the columns", 0},
    {"intercept", KEY_INTERCEPT, NULL, 0, "one more column, of ones, after all else", 0},
    {"json", KEY_JSON, NULL, 0, "print JSON on standard output", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->reading;
        return 0;
    case KEY_FORMAT:
        cli_check_format(arg, state);
        asked->format = arg;
        return 0;
    case KEY_STANDARDIZE:
        asked->standardize = true;
        return 0;
    case KEY_UNIT:
        asked->unit = true;
        return 0;
    case KEY_UNIT_ROWS:
        asked->unit_rows = true;
        return 0;
    case KEY_INTERCEPT:
        asked->intercept = true;
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= 2)
            argp_error(state, "too many arguments: '%s'", arg);
        *(state->arg_num == 0 ? &asked->in : &asked->out) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!asked->out)
            argp_error(state, "expected IN and OUT");
        if (asked->standardize && asked->unit)
            argp_error(state, "--standardize or --unit, one of the two");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
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

static int convert(const request *asked, blv_dataset *dataset, const char *format) {
    blv_message why = {0};
    blv_error error = change(asked, dataset, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    error = blv_dataset_write(dataset, asked->out, format, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    if (asked->json) {
        json_t *object = cli_json_dataset(asked->in, dataset);
        cli_json_set(object, "out", cli_json_text(asked->out));
        cli_json_set(object, "out_format", cli_json_text(format));
        cli_json_print(object);
    } else {
        printf("%s: ", asked->out);
        cli_print_shape(blv_dataset_view_of(dataset));
        printf(" as %s\n", format);
    }
    return CLI_DONE;
}

int cmd_data_convert(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_reading_argp, 0, "Reading:", 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "IN OUT",
        .doc = "Write the data of IN to OUT in another format.\v"
               "The name of OUT tells its format: .libsvm, .svm, .txt; .csv, .tsv; .npz. The text "
               "formats are compressed where it ends in .gz.",
        .children = children};
    request asked = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &asked);
    const char *format = cli_output_format(asked.out, asked.format);
    if (!format)
        return CLI_REFUSED;
    blv_dataset *dataset = NULL;
    int code = cli_dataset_read(&dataset, asked.in, &asked.reading);
    if (code == CLI_DONE)
        code = convert(&asked, dataset, format);
    blv_dataset_destroy(dataset);
    return code;
}
