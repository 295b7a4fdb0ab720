#include "cli_csv.h"
#include "cli_data.h"
#include "cli_dataset.h"
#include "cli_describe.h"
#include "cli_outputs.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    cli_files files;
    const char *truth;
    blv_corruption kind;
    double share; /* below 0: not given */
    uint64_t seed;
} request;

enum { KEY_SHARE = CLI_KEY_FIRST, KEY_KIND, KEY_SEED, KEY_TRUTH };

static const char *const kinds[] = {[BLV_CORRUPT_UNIFORM] = "uniform",
                                    [BLV_CORRUPT_PAIRWISE] = "pairwise",
                                    [BLV_CORRUPT_REDRAW] = "redraw"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct argp_option options[] = {
    {"share", KEY_SHARE, "P", 0, "share of the labels, from 0 to 1 (required)", 0},
    {"kind", KEY_KIND, "uniform|pairwise|redraw", 0,
     "to another class, each alike (default); to the next class; or drawn from all classes, so "
     "that some stay",
     0},
    {"seed", KEY_SEED, "N", 0, "seed of the choice (default 0)", 0},
    {"truth", KEY_TRUTH, "FILE.csv", 0, "write row, given and true label of every row", 0},
    {0}};

static blv_corruption parse_kind(const char *word, const struct argp_state *state) {
    for (int k = 0; k < KINDS; k++)
        if (strcmp(word, kinds[k]) == 0)
            return (blv_corruption)k;
    argp_error(state, "--kind '%s': expected uniform, pairwise or redraw", word);
    return BLV_CORRUPT_UNIFORM;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->files;
        return 0;
    case KEY_SHARE:
        if (!cli_parse_real(arg, &asked->share) || !(asked->share >= 0.0 && asked->share <= 1.0))
            argp_error(state, "--share '%s': expected a number from 0 to 1", arg);
        return 0;
    case KEY_KIND:
        asked->kind = parse_kind(arg, state);
        return 0;
    case KEY_SEED:
        asked->seed = cli_parse_seed(arg, state);
        return 0;
    case KEY_TRUTH:
        asked->truth = arg;
        return 0;
    case ARGP_KEY_END:
        if (asked->share < 0.0)
            argp_error(state, "--share is required");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The table of true labels ---- */

static bool print_truth(FILE *file, const void *context) {
    const blv_dataset_view *v = context;
    fputs("row,given,true\n", file);
    for (size_t i = 0; i < v->rows; i++) {
        fprintf(file, "%zu,", i);
        cli_csv_text(file, v->class_names[v->label[i]]);
        fputc(',', file);
        cli_csv_text(file, v->class_names[v->true_label[i]]);
        fputc('\n', file);
    }
    return true;
}

/* ---- The command ---- */

static int write_files(const request *asked, const blv_dataset *dataset) {
    const char *out = asked->files.out[0];
    cli_outputs outputs = {0};
    int code =
        cli_outputs_write(&outputs, out, dataset, cli_output_format(out, asked->files.format));
    if (code == CLI_DONE && asked->truth)
        code = cli_outputs_print(&outputs, asked->truth, print_truth, blv_dataset_view_of(dataset));
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

static void report(const request *asked, const blv_dataset *dataset) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    size_t changed = 0, last = 0;
    for (size_t i = 0; i < v->rows; i++)
        changed += v->label[i] != v->true_label[i];
    while (blv_dataset_history(dataset, last + 1))
        last++;
    if (!asked->files.json) {
        printf("%s: %s\n", asked->files.out[0], blv_dataset_history(dataset, last));
        return;
    }
    json_t *object = cli_json_dataset(asked->files.in, dataset);
    cli_json_set(object, "out", cli_json_text(asked->files.out[0]));
    cli_json_set(object, "truth", cli_json_text(asked->truth));
    cli_json_set(object, "changed", cli_json_whole(changed));
    cli_json_print(object);
}

static int corrupt(const request *asked) {
    blv_dataset *dataset = NULL;
    int code = cli_files_read(&asked->files, &dataset);
    if (code == CLI_DONE) {
        blv_message why = {0};
        blv_error error =
            blv_dataset_corrupt(dataset, asked->kind, asked->share, asked->seed, &why);
        code = error == BLV_OK ? write_files(asked, dataset) : cli_refuse(error, why.text);
    }
    if (code == CLI_DONE)
        report(asked, dataset);
    blv_dataset_release(dataset);
    return code;
}

int cmd_data_corrupt(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_files_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "IN OUT",
        .doc = "Change a share of the labels of IN, exactly round(P rows) of them, and write OUT.\v"
               "OUT has the labels as given after that; --truth keeps what they were.",
        .children = children};
    request asked = {.files.most_out = 1, .share = -1.0};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = corrupt(&asked);
    cli_files_free(&asked.files);
    return code;
}
