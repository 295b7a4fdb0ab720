/* bilevel data split IN OUT...: splits the rows into several files. */
#include "base/message.h"
#include "cli/commands.h"
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_source source;
    cli_texts out;
    const char *sizes_text;
    double *sizes; /* one for each OUT */
    uint64_t seed;
    bool plain;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, source.in, "IN", "expected IN and at least one OUT"),
    CLI_POSITION(TEXTS, request, out, "OUT...", "expected IN and at least one OUT"),
    CLI_OPTION("sizes", TEXT, request, sizes_text, "S,S,...",
               "for each OUT a share below 1, or a number of rows (default: 0.8,0.2 for two and "
               "0.64,0.16,0.2 for three)"),
    CLI_OPTION("seed", WHOLE, request, seed, "N", "seed of the random order (default 0)"),
    CLI_OPTION("no-stratify", FLAG, request, plain, NULL, "do not split each class alike"),
    CLI_INCLUDE(cli_format_table, request, source, CLI_SECTION_OWN),
    CLI_END};

static blv_error parse_sizes(request *asked, const char *text, blv_message *why) {
    const size_t parts = asked->out.count;
    blv_error error = BLV_OK;
    size_t count = 0;
    char *copy = cli_print("%s", text), *rest = copy;
    asked->sizes = cli_alloc(parts, sizeof asked->sizes[0]);
    for (char *word; !error && (word = strsep(&rest, ",")); count++) {
        double size;
        if (!cli_parse_real(word, &size))
            error =
                blv_explain(why, BLV_E_ARGUMENT, "--sizes '%s': '%s' is not a number", text, word);
        else if (count < parts)
            asked->sizes[count] = size;
    }
    free(copy);
    if (!error && count != parts)
        error = blv_explain(why, BLV_E_ARGUMENT, "--sizes '%s': %zu sizes for %zu files", text,
                            count, parts);
    return error;
}

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    if (asked->sizes_text)
        return parse_sizes(asked, asked->sizes_text, why);
    if (asked->out.count == 2)
        return parse_sizes(asked, "0.8,0.2", why);
    if (asked->out.count == 3)
        return parse_sizes(asked, "0.64,0.16,0.2", why);
    return blv_explain(why, BLV_E_ARGUMENT, "--sizes is needed for %zu files", asked->out.count);
}

static int check_formats(const request *asked) {
    for (size_t p = 0; p < asked->out.count; p++)
        if (!cli_output_format(asked->out.items[p], asked->source.format))
            return CLI_REJECTED;
    return CLI_DONE;
}

static int write_parts(const request *asked, blv_dataset **part) {
    cli_outputs outputs = {0};
    int code = CLI_DONE;
    for (size_t p = 0; code == CLI_DONE && p < asked->out.count; p++)
        code = cli_outputs_write(&outputs, asked->out.items[p], part[p],
                                 cli_output_format(asked->out.items[p], asked->source.format));
    return cli_outputs_finish(&outputs, code);
}

static void print_parts(const request *asked, blv_dataset **part) {
    for (size_t p = 0; p < asked->out.count; p++) {
        printf("%s: ", asked->out.items[p]);
        cli_print_shape(blv_dataset_view_of(part[p]));
        putchar('\n');
    }
}

static json_t *describe_parts(const request *asked, blv_dataset **part) {
    json_t *array = cli_json_array(), *object = cli_json_object();
    for (size_t p = 0; p < asked->out.count; p++)
        cli_json_append(array, cli_json_dataset(asked->out.items[p], part[p]));
    cli_json_set(object, "in", cli_json_text(asked->source.in));
    cli_json_set(object, "seed", cli_json_whole(asked->seed));
    cli_json_set(object, "parts", array);
    return object;
}

static int split(const request *asked) {
    const size_t parts = asked->out.count;
    blv_dataset *dataset = NULL, **part = cli_alloc(parts, sizeof *part);
    int code = check_formats(asked);
    if (code == CLI_DONE)
        code = cli_dataset_read(&dataset, asked->source.in, &asked->source.reading);
    if (code == CLI_DONE) {
        blv_message why = {0};
        bool stratified = !asked->plain && blv_dataset_view_of(dataset)->label;
        blv_error error =
            blv_dataset_split(dataset, asked->sizes, parts, stratified, asked->seed, part, &why);
        code = error == BLV_OK ? write_parts(asked, part) : cli_reject(error, why.text);
    }
    if (code == CLI_DONE && asked->source.json)
        cli_json_print(describe_parts(asked, part));
    else if (code == CLI_DONE)
        print_parts(asked, part);
    for (size_t p = 0; p < parts; p++)
        blv_dataset_release(part[p]);
    free(part);
    blv_dataset_release(dataset);
    return code;
}

int cmd_data_split(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Split the rows of IN into files, in random order, each class alike.\v"
               "Rows that the sizes leave over are dropped. Either all files are written or none.",
        .check = check};
    request asked = {0};
    int code = cli_read_arguments(&arguments, argc, argv, &asked) ? split(&asked) : CLI_DONE;
    free(asked.out.items);
    free(asked.sizes);
    return code;
}
