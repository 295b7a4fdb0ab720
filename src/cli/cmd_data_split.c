#include "cli_data.h"
#include "cli_dataset.h"
#include "cli_outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    blv_read_options reading;
    const char *in, *format, *sizes_text;
    const char **out;
    double *sizes;
    size_t parts;
    uint64_t seed;
    bool plain, json;
} request;

enum { KEY_SIZES = CLI_KEY_FIRST, KEY_SEED, KEY_PLAIN, KEY_FORMAT, KEY_JSON };

static const struct argp_option options[] = {
    {"sizes", KEY_SIZES, "S,S,...", 0,
     "for each OUT a share below 1, or a number of rows (default: 0.8,0.2 for two and "
     "0.64,0.16,0.2 for three)",
     0},
    {"seed", KEY_SEED, "N", 0, "seed of the random order (default 0)", 0},
    {"no-stratify", KEY_PLAIN, NULL, 0, "do not split each class alike", 0},
    {"format", KEY_FORMAT, "libsvm|csv|npz", 0, "format of the files (default: by their names)", 0},
    {"json", KEY_JSON, NULL, 0, "print JSON on standard output", 0},
    {0}};

/* One size for each OUT. */
static void parse_sizes(request *asked, const struct argp_state *state) {
    const char *text = asked->sizes_text;
    if (!text && asked->parts == 2)
        text = "0.8,0.2";
    else if (!text && asked->parts == 3)
        text = "0.64,0.16,0.2";
    if (!text) {
        argp_error(state, "--sizes is needed for %zu files", asked->parts);
        return;
    }
    asked->sizes = cli_alloc(asked->parts, sizeof asked->sizes[0]);
    size_t count = 0;
    char *copy = strdup(text), *rest = copy;
    if (!copy)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    for (char *word; (word = strsep(&rest, ","));) {
        double size;
        if (!cli_parse_real(word, &size))
            argp_error(state, "--sizes '%s': '%s' is not a number", text, word);
        if (count < asked->parts)
            asked->sizes[count] = size;
        count++;
    }
    free(copy);
    if (count != asked->parts)
        argp_error(state, "--sizes '%s': %zu sizes for %zu files", text, count, asked->parts);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->reading;
        return 0;
    case KEY_SIZES:
        asked->sizes_text = arg;
        return 0;
    case KEY_SEED:
        if (!cli_parse_whole(arg, UINT64_MAX, &asked->seed))
            argp_error(state, "--seed '%s': expected a whole number >= 0", arg);
        return 0;
    case KEY_PLAIN:
        asked->plain = true;
        return 0;
    case KEY_FORMAT:
        cli_check_format(arg, state);
        asked->format = arg;
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0) {
            asked->in = arg;
            return 0;
        }
        asked->out = cli_grow(asked->out, asked->parts + 1, sizeof asked->out[0]);
        asked->out[asked->parts++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (asked->parts == 0)
            argp_error(state, "expected IN and at least one OUT");
        parse_sizes(asked, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int write_parts(const request *asked, blv_dataset **part) {
    cli_outputs outputs = {0};
    int code = CLI_DONE;
    for (size_t p = 0; code == CLI_DONE && p < asked->parts; p++)
        code = cli_outputs_write(&outputs, asked->out[p], part[p],
                                 cli_output_format(asked->out[p], asked->format));
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

static void report(const request *asked, blv_dataset **part) {
    json_t *array = asked->json ? cli_json_array() : NULL;
    for (size_t p = 0; p < asked->parts; p++) {
        if (asked->json) {
            cli_json_append(array, cli_json_dataset(asked->out[p], part[p]));
            continue;
        }
        printf("%s: ", asked->out[p]);
        cli_print_shape(blv_dataset_view_of(part[p]));
        putchar('\n');
    }
    if (array) {
        json_t *object = cli_json_object();
        cli_json_set(object, "in", cli_json_text(asked->in));
        cli_json_set(object, "seed", cli_json_whole(asked->seed));
        cli_json_set(object, "parts", array);
        cli_json_print(object);
    }
}

static int split(const request *asked) {
    blv_dataset *dataset = NULL, **part = cli_alloc(asked->parts, sizeof *part);
    int code = cli_dataset_read(&dataset, asked->in, &asked->reading);
    if (code == CLI_DONE) {
        blv_message why = {0};
        bool stratified = !asked->plain && blv_dataset_view_of(dataset)->label;
        blv_error error = blv_dataset_split(dataset, asked->sizes, asked->parts, stratified,
                                            asked->seed, part, &why);
        code = error == BLV_OK ? write_parts(asked, part) : cli_refuse(error, why.text);
    }
    if (code == CLI_DONE)
        report(asked, part);
    for (size_t p = 0; p < asked->parts; p++)
        blv_dataset_destroy(part[p]);
    free(part);
    blv_dataset_destroy(dataset);
    return code;
}

int cmd_data_split(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_reading_argp, 0, "Reading:", 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "IN OUT...",
        .doc = "Deal the rows of IN out to files, in random order, each class alike.\v"
               "Rows that the sizes leave over are dropped. Either all files are written or none.",
        .children = children};
    request asked = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &asked);
    int code = CLI_DONE;
    for (size_t p = 0; code == CLI_DONE && p < asked.parts; p++)
        if (!cli_output_format(asked.out[p], asked.format))
            code = CLI_REFUSED;
    if (code == CLI_DONE)
        code = split(&asked);
    free(asked.out);
    free(asked.sizes);
    return code;
}
