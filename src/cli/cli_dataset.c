#include "cli_dataset.h"

#include <string.h>

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
