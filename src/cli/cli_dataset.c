#include "cli_dataset.h"

#include <stdio.h>
#include <string.h>

/* ---- Reading ---- */

enum {
    KEY_LABEL = CLI_KEY_INSTANCE,
    KEY_HEADER,
    KEY_LABELS,
    KEY_REAL,
    KEY_PRECISION,
    KEY_DENSE,
    KEY_SPARSE
};

static const struct argp_option reading_options[] = {
    {"label", KEY_LABEL, "COLUMN", 0,
     "CSV: name or number (from 0) of the label column, or none (default: the last); CIFAR-100: "
     "coarse or fine",
     0},
    {"header", KEY_HEADER, "yes|no", 0, "CSV: whether the first line holds names", 0},
    {"labels", KEY_LABELS, "FILE", 0, "NPY, NPZ, IDX: file that holds the labels", 0},
    {"real", KEY_REAL, NULL, 0, "take labels as real numbers, not as classes", 0},
    {"precision", KEY_PRECISION, "f32|f64", 0, "precision of the values (default f64)", 0},
    {"dense", KEY_DENSE, NULL, 0, "keep all values, zeros as well", 0},
    {"sparse", KEY_SPARSE, NULL, 0, "keep only values that are not zero", 0},
    {0}};

static error_t parse_reading(int key, char *arg, struct argp_state *state) {
    blv_read_options *options = state->input;
    switch (key) {
    case KEY_LABEL:
        options->label = arg;
        return 0;
    case KEY_HEADER:
        if (strcmp(arg, "yes") != 0 && strcmp(arg, "no") != 0)
            argp_error(state, "--header '%s': expected yes or no", arg);
        options->header = arg;
        return 0;
    case KEY_LABELS:
        options->labels = arg;
        return 0;
    case KEY_REAL:
        options->real_targets = true;
        return 0;
    case KEY_PRECISION:
        if (strcmp(arg, "f32") != 0 && strcmp(arg, "f64") != 0)
            argp_error(state, "--precision '%s': expected f32 or f64", arg);
        options->precision = strcmp(arg, "f32") == 0 ? BLV_F32 : BLV_F64;
        return 0;
    case KEY_DENSE:
    case KEY_SPARSE:
        if (options->layout != BLV_LAYOUT_AUTO)
            argp_error(state, "--dense or --sparse, one of the two and once");
        options->layout = key == KEY_DENSE ? BLV_LAYOUT_DENSE : BLV_LAYOUT_SPARSE;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_reading_argp = {.options = reading_options, .parser = parse_reading};

int cli_dataset_read(blv_dataset **dataset, const char *path, const blv_read_options *options) {
    blv_message why = {0};
    blv_read_options sized = *options;
    sized.size = sizeof sized;
    blv_error error = blv_dataset_read(dataset, path, &sized, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

/* ---- Writing ---- */

static const struct {
    const char *end, *format;
} known_ends[] = {{".libsvm", "libsvm"}, {".svm", "libsvm"}, {".txt", "libsvm"},
                  {".csv", "csv"},       {".tsv", "csv"},    {".npz", "npz"}};
enum { KNOWN_ENDS = sizeof known_ends / sizeof known_ends[0] };

const char *cli_output_format(const char *path, const char *given) {
    size_t length = strlen(path);
    bool compressed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    length -= compressed ? 3 : 0;
    const char *format = given;
    for (size_t i = 0; !format && i < KNOWN_ENDS; i++) {
        size_t n = strlen(known_ends[i].end);
        if (length > n && strncmp(path + length - n, known_ends[i].end, n) == 0)
            format = known_ends[i].format;
    }
    if (!format)
        cli_complain("%s: the name does not tell the format; expected .libsvm, .svm, .txt, .csv, "
                     ".tsv or .npz, or --format",
                     path);
    if (format && compressed && strcmp(format, "npz") == 0) {
        cli_complain("%s: an NPZ file is not compressed again", path);
        return NULL;
    }
    return format;
}

const char *cli_part_format(const char *path, const blv_dataset_view *whole) {
    static const char *const written[] = {"libsvm", "csv", "npz"};
    const char *dot = strrchr(path, '.');
    bool named = dot && !strchr(dot, '/');
    for (size_t i = 0; !named && i < 3; i++)
        if (strcmp(whole->format, written[i]) == 0)
            return written[i];
    return cli_output_format(path, NULL);
}

void cli_check_format(const char *word, const struct argp_state *state) {
    if (strcmp(word, "libsvm") != 0 && strcmp(word, "csv") != 0 && strcmp(word, "npz") != 0)
        argp_error(state, "--format '%s': expected libsvm, csv or npz", word);
}

/* ---- Describing ---- */

const char *cli_layout_word(const blv_dataset_view *view) {
    return view->dense ? "dense" : "sparse";
}

double cli_dataset_value(const blv_dataset_view *view, size_t i) {
    const void *values = view->dense ? view->dense : view->value;
    return view->precision == BLV_F32 ? (double)((const float *)values)[i]
                                      : ((const double *)values)[i];
}

void cli_print_shape(const blv_dataset_view *view) {
    printf("%zu row%s, %zu feature%s, ", view->rows, view->rows == 1 ? "" : "s", view->columns,
           view->columns == 1 ? "" : "s");
    if (view->label)
        printf("%zu class%s", view->classes, view->classes == 1 ? "" : "es");
    else
        fputs(view->target ? "real targets" : "no labels", stdout);
}

json_t *cli_json_dataset(const char *path, const blv_dataset *dataset) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    json_t *object = cli_json_object(), *lines = cli_json_array(), *names = cli_json_array();
    cli_json_set(object, "file", cli_json_text(path));
    cli_json_set(object, "format", cli_json_text(view->format));
    cli_json_set(object, "rows", cli_json_whole(view->rows));
    cli_json_set(object, "columns", cli_json_whole(view->columns));
    cli_json_set(object, "precision", cli_json_text(cli_precision_word(view->precision)));
    cli_json_set(object, "layout", cli_json_text(cli_layout_word(view)));
    for (size_t c = 0; c < view->classes; c++)
        cli_json_append(names, cli_json_text(view->class_names[c]));
    cli_json_set(object, "classes", names);
    char fingerprint[32];
    snprintf(fingerprint, sizeof fingerprint, "%016llx",
             (unsigned long long)blv_dataset_fingerprint(dataset));
    cli_json_set(object, "fingerprint", cli_json_text(fingerprint));
    const char *line;
    for (size_t i = 0; (line = blv_dataset_history(dataset, i)); i++)
        cli_json_append(lines, cli_json_text(line));
    cli_json_set(object, "history", lines);
    return object;
}
