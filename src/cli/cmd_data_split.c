#include "cli_data.h"
#include "cli_describe.h"
#include "cli_outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_files files;
    const char *sizes_text;
    double *sizes; /* one for each OUT */
    uint64_t seed;
    bool plain;
} request;

enum { KEY_SIZES = CLI_KEY_FIRST, KEY_SEED, KEY_PLAIN };

static const struct argp_option options[] = {
    {"sizes", KEY_SIZES, "S,S,...", 0,
     "for each OUT a share below 1, or a number of rows (default: 0.8,0.2 for two and "
     "0.64,0.16,0.2 for three)",
     0},
    {"seed", KEY_SEED, "N", 0, "seed of the random order (default 0)", 0},
    {"no-stratify", KEY_PLAIN, NULL, 0, "do not split each class alike", 0},
    {0}};

static void parse_sizes(request *asked, const struct argp_state *state) {
    const char *text = asked->sizes_text;
    size_t parts = asked->files.out_count;
    if (!text && parts == 2)
        text = "0.8,0.2";
    else if (!text && parts == 3)
        text = "0.64,0.16,0.2";
    if (!text) {
        argp_error(state, "--sizes is needed for %zu files", parts);
        return;
    }
    asked->sizes = cli_alloc(parts, sizeof asked->sizes[0]);
    size_t count = 0;
    char *copy = strdup(text), *rest = copy;
    if (!copy)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    for (char *word; (word = strsep(&rest, ","));) {
        double size;
        if (!cli_parse_real(word, &size))
            argp_error(state, "--sizes '%s': '%s' is not a number", text, word);
        if (count < parts)
            asked->sizes[count] = size;
        count++;
    }
    free(copy);
    if (count != parts)
        argp_error(state, "--sizes '%s': %zu sizes for %zu files", text, count, parts);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->files;
        return 0;
    case KEY_SIZES:
        asked->sizes_text = arg;
        return 0;
    case KEY_SEED:
        asked->seed = cli_parse_seed(arg, state);
        return 0;
    case KEY_PLAIN:
        asked->plain = true;
        return 0;
    case ARGP_KEY_END:
        parse_sizes(asked, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int write_parts(const cli_files *files, blv_dataset **part) {
    cli_outputs outputs = {0};
    int code = CLI_DONE;
    for (size_t p = 0; code == CLI_DONE && p < files->out_count; p++)
        code = cli_outputs_write(&outputs, files->out[p], part[p],
                                 cli_output_format(files->out[p], files->format));
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

static void print_parts(const cli_files *files, blv_dataset **part) {
    for (size_t p = 0; p < files->out_count; p++) {
        printf("%s: ", files->out[p]);
        cli_print_shape(blv_dataset_view_of(part[p]));
        putchar('\n');
    }
}

static json_t *describe_parts(const request *asked, blv_dataset **part) {
    json_t *array = cli_json_array(), *object = cli_json_object();
    for (size_t p = 0; p < asked->files.out_count; p++)
        cli_json_append(array, cli_json_dataset(asked->files.out[p], part[p]));
    cli_json_set(object, "in", cli_json_text(asked->files.in));
    cli_json_set(object, "seed", cli_json_whole(asked->seed));
    cli_json_set(object, "parts", array);
    return object;
}

static int split(const request *asked) {
    const cli_files *files = &asked->files;
    blv_dataset *dataset = NULL, **part = cli_alloc(files->out_count, sizeof *part);
    int code = cli_files_read(files, &dataset);
    if (code == CLI_DONE) {
        blv_message why = {0};
        bool stratified = !asked->plain && blv_dataset_view_of(dataset)->label;
        blv_error error = blv_dataset_split(dataset, asked->sizes, files->out_count, stratified,
                                            asked->seed, part, &why);
        code = error == BLV_OK ? write_parts(files, part) : cli_refuse(error, why.text);
    }
    if (code == CLI_DONE && files->json)
        cli_json_print(describe_parts(asked, part));
    else if (code == CLI_DONE)
        print_parts(files, part);
    for (size_t p = 0; p < files->out_count; p++)
        blv_dataset_release(part[p]);
    free(part);
    blv_dataset_release(dataset);
    return code;
}

int cmd_data_split(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_files_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "IN OUT...",
        .doc = "Deal the rows of IN out to files, in random order, each class alike.\v"
               "Rows that the sizes leave over are dropped. Either all files are written or none.",
        .children = children};
    request asked = {.files.most_out = SIZE_MAX};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = split(&asked);
    cli_files_free(&asked.files);
    free(asked.sizes);
    return code;
}
