#include "cli_data.h"
#include "cli_describe.h"

#include <stdlib.h>

enum { KEY_FORMAT = CLI_KEY_FILES, KEY_JSON };

#define JSON_OPTION                                                                                \
    { "json", KEY_JSON, NULL, 0, "print JSON on standard output", 0 }

static const struct argp_child reading_child[] = {{&cli_reading_argp, 0, "Reading:", 1}, {0}};

static error_t parse_shared(int key, char *arg, struct argp_state *state) {
    cli_files *files = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &files->reading;
        return 0;
    case KEY_JSON:
        files->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > files->most_out)
            argp_error(state, "too many arguments: '%s'", arg);
        if (state->arg_num == 0) {
            files->in = arg;
            return 0;
        }
        files->out = cli_grow(files->out, files->out_count + 1, sizeof files->out[0]);
        files->out[files->out_count++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Actions that write ---- */

static error_t parse_files(int key, char *arg, struct argp_state *state) {
    cli_files *files = state->input;
    switch (key) {
    case KEY_FORMAT:
        cli_check_format(arg, state);
        files->format = arg;
        return 0;
    case ARGP_KEY_END:
        if (files->out_count == 0)
            argp_error(state, files->most_out == 1 ? "expected IN and OUT"
                                                   : "expected IN and at least one OUT");
        return 0;
    default:
        return parse_shared(key, arg, state);
    }
}

static const struct argp_option files_options[] = {
    {"format", KEY_FORMAT, "libsvm|csv|npz", 0, "format of what is written (default: by its name)",
     0},
    JSON_OPTION,
    {0}};

const struct argp cli_files_argp = {
    .options = files_options, .parser = parse_files, .children = reading_child};

int cli_files_read(const cli_files *files, blv_dataset **dataset) {
    for (size_t i = 0; i < files->out_count; i++)
        if (!cli_output_format(files->out[i], files->format))
            return CLI_REFUSED;
    return cli_dataset_read(dataset, files->in, &files->reading);
}

void cli_files_free(cli_files *files) {
    free(files->out);
    files->out = NULL;
}

/* ---- Actions that look ---- */

static error_t parse_look(int key, char *arg, struct argp_state *state) {
    const cli_files *files = state->input;
    if (key == ARGP_KEY_END && !files->in)
        argp_error(state, "no file is named");
    return parse_shared(key, arg, state);
}

int cli_look(int argc, char **argv, const char *doc, cli_show_fn show) {
    const struct argp_option options[] = {JSON_OPTION, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse_look,
                              .args_doc = "FILE",
                              .doc = doc,
                              .children = reading_child};
    cli_files files = {0};
    if (!cli_parse(&argp, argc, argv, &files))
        return CLI_DONE;
    blv_dataset *dataset = NULL;
    int code = cli_dataset_read(&dataset, files.in, &files.reading);
    if (code == CLI_DONE)
        show(&files, dataset);
    blv_dataset_release(dataset);
    return code;
}
