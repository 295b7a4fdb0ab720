#include "cli/data_files.h"
#include "base/message.h"
#include "base/precision.h"
#include "cli/outputs.h"

#include <string.h>

/* ---- Reading ---- */

static blv_error take_layout(blv_layout *layout, blv_layout taken, blv_message *why) {
    if (*layout != BLV_LAYOUT_AUTO)
        return blv_explain(why, BLV_E_ARGUMENT, "--dense or --sparse, one of the two and once");
    *layout = taken;
    return BLV_OK;
}

static blv_error take_dense(void *field, const char *text, blv_message *why) {
    (void)text;
    return take_layout(field, BLV_LAYOUT_DENSE, why);
}

static blv_error take_sparse(void *field, const char *text, blv_message *why) {
    (void)text;
    return take_layout(field, BLV_LAYOUT_SPARSE, why);
}

const cli_argument cli_reading_table[] = {
    CLI_OPTION(
        "label", TEXT, blv_read_options, label, "COLUMN",
        "CSV: name or number (from 0) of the label column, or none (default: one that is named "
        "label, class, target or y, else the last); CIFAR-100: coarse or fine"),
    CLI_OPTION("header", WORD, blv_read_options, header, "yes|no",
               "CSV: whether the first line holds names"),
    CLI_OPTION("labels", READS, blv_read_options, labels, "FILE",
               "NPY, NPZ, IDX: file that holds the labels"),
    CLI_OPTION(
        "columns", READS, blv_read_options, kinds, "NAME:KIND,...",
        "CSV: kinds of columns: number, category, boolean, date or drop (default: found from "
        "all rows); or a file with a pair on each line"),
    CLI_OPTION("missing", CHOICE, blv_read_options, missing, "impute|error|drop",
               "CSV: fill missing values and mark them (default), reject them, or leave out rows"),
    CLI_OPTION("targets", CHOICE, blv_read_options, targets, "auto|classes|real",
               "what labels are (default: real numbers where many differ, else classes)"),
    CLI_OPTION("real", FLAG, blv_read_options, real_targets, NULL,
               "take labels as real numbers, not as classes"),
    CLI_OPTION("precision", PRECISION, blv_read_options, precision, "f32|f64",
               "precision of the values (default f64; of tasks that train: f32)"),
    CLI_OPTION("dense", CUSTOM, blv_read_options, layout, NULL, "keep all values, zeros as well",
               .take = take_dense),
    CLI_OPTION("sparse", CUSTOM, blv_read_options, layout, NULL,
               "keep only values that are not zero", .take = take_sparse),
    CLI_END};

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
        cli_die("%s: the name does not tell the format; expected .libsvm, .svm, .txt, .csv, .tsv "
                "or .npz, or --format",
                path);
    if (compressed && strcmp(format, "npz") == 0)
        cli_die("%s: an NPZ file is not compressed again", path);
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

void cli_part_try(const char *table, const char *part, const blv_dataset *whole) {
    if (part)
        cli_part_format(part, blv_dataset_view_of(whole));
    cli_outputs_try(table, part);
}

/* ---- Values ---- */

size_t cli_row_values(const blv_dataset_view *view, size_t row, size_t *start) {
    *start = view->dense ? row * view->stride : view->row_start[row];
    return view->dense ? view->columns : view->row_start[row + 1] - *start;
}

double cli_dataset_value(const blv_dataset_view *view, size_t i) {
    return blv_value_get(view->dense ? view->dense : view->value, view->precision, i);
}
