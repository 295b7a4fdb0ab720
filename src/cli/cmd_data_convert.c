#include "cli_data.h"
#include "cli_describe.h"

#include <stdio.h>

typedef struct request {
    cli_files files;
    bool standardize, unit, unit_rows, intercept;
} request;

enum { KEY_STANDARDIZE = CLI_KEY_FIRST, KEY_UNIT, KEY_UNIT_ROWS, KEY_INTERCEPT };

static const struct argp_option options[] = {
    {"standardize", KEY_STANDARDIZE, NULL, 0,
     "columns to mean 0 and variance 1; sparse: variance only", 0},
    {"unit", KEY_UNIT, NULL, 0, "columns to [0, 1]; sparse: to [-1, 1], zeros stay", 0},
    {"unit-rows", KEY_UNIT_ROWS, NULL, 0, "rows to length 1, after the columns", 0},
    {"intercept", KEY_INTERCEPT, NULL, 0, "one more column, of ones, after all else", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    (void)arg;
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->files;
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
    case ARGP_KEY_END:
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

static void report(const cli_files *files, const blv_dataset *dataset, const char *format) {
    if (files->json) {
        json_t *object = cli_json_dataset(files->in, dataset);
        cli_json_set(object, "out", cli_json_text(files->out[0]));
        cli_json_set(object, "out_format", cli_json_text(format));
        cli_json_print(object);
    } else {
        printf("%s: ", files->out[0]);
        cli_print_shape(blv_dataset_view_of(dataset));
        printf(" as %s\n", format);
    }
}

static int convert(const request *asked) {
    const cli_files *files = &asked->files;
    blv_dataset *dataset = NULL;
    int code = cli_files_read(files, &dataset);
    if (code == CLI_DONE) {
        blv_message why = {0};
        const char *format = cli_output_format(files->out[0], files->format);
        blv_error error = change(asked, dataset, &why);
        if (error == BLV_OK)
            error = blv_dataset_write(dataset, files->out[0], format, &why);
        if (error == BLV_OK)
            report(files, dataset, format);
        else
            code = cli_refuse(error, why.text);
    }
    blv_dataset_release(dataset);
    return code;
}

int cmd_data_convert(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_files_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "IN OUT",
        .doc = "Write the data of IN to OUT in another format.\v"
               "The name of OUT tells its format: .libsvm, .svm, .txt; .csv, .tsv; .npz. The text "
               "formats are compressed where it ends in .gz.",
        .children = children};
    request asked = {.files.most_out = 1};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = convert(&asked);
    cli_files_free(&asked.files);
    return code;
}
