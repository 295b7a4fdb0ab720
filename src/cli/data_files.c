#include "cli/data_files.h"
#include "base/message.h"
#include "cli/outputs.h"

#include <stdio.h>
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
    CLI_OPTION("label", TEXT, blv_read_options, label, "COLUMN",
               "CSV: name or number (from 0) of the label column, or none (default: the last); "
               "CIFAR-100: coarse or fine"),
    CLI_OPTION("header", WORD, blv_read_options, header, "yes|no",
               "CSV: whether the first line holds names"),
    CLI_OPTION("labels", TEXT, blv_read_options, labels, "FILE",
               "NPY, NPZ, IDX: file that holds the labels"),
    CLI_OPTION("real", FLAG, blv_read_options, real_targets, NULL,
               "take labels as real numbers, not as classes"),
    CLI_OPTION("precision", PRECISION, blv_read_options, precision, "f32|f64",
               "precision of the values (default f64; of tasks that train: f32)"),
    CLI_OPTION("dense", CUSTOM, blv_read_options, layout, NULL, "keep all values, zeros as well",
               .take = take_dense),
    CLI_OPTION("sparse", CUSTOM, blv_read_options, layout, NULL,
               "keep only values that are not zero", .take = take_sparse),
    CLI_END};

const cli_argument cli_source_table[] = {
    CLI_OPTION("json", FLAG, cli_source, json, NULL, "print JSON on standard output"),
    CLI_INCLUDE(cli_reading_table, cli_source, reading, CLI_SECTION_READING), CLI_END};

const cli_argument cli_format_table[] = {
    CLI_OPTION("format", WORD, cli_source, format, "libsvm|csv|npz",
               "format of what is written (default: by its name)"),
    CLI_ALSO(cli_source_table), CLI_END};

int cli_dataset_read(blv_dataset **dataset, const char *path, const blv_read_options *options) {
    blv_message why = {0};
    blv_read_options sized = *options;
    sized.size = sizeof sized;
    blv_error error = blv_dataset_read(dataset, path, &sized, &why);
    return cli_exit_code(error, &why);
}

const cli_argument cli_look_table[] = {
    CLI_POSITION(TEXT, cli_source, in, "FILE", "no file is named"), CLI_ALSO(cli_source_table),
    CLI_END};

int cli_look(int argc, char **argv, const cli_arguments *arguments, cli_show_fn show) {
    cli_source source = {0};
    if (!cli_read_arguments(arguments, argc, argv, &source))
        return CLI_DONE;
    blv_dataset *dataset = NULL;
    int code = cli_dataset_read(&dataset, source.in, &source.reading);
    if (code == CLI_DONE)
        show(&source, dataset);
    blv_dataset_release(dataset);
    return code;
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

int cli_part_try(const char *table, const char *part, const blv_dataset *whole) {
    if (part && !cli_part_format(part, blv_dataset_view_of(whole)))
        return CLI_REJECTED;
    return cli_outputs_try(table, part);
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

size_t cli_row_values(const blv_dataset_view *view, size_t row, size_t *start) {
    *start = view->dense ? row * view->stride : view->row_start[row];
    return view->dense ? view->columns : view->row_start[row + 1] - *start;
}

size_t *cli_class_rows(const blv_dataset_view *view) {
    size_t *count = cli_alloc(view->classes, sizeof *count);
    for (size_t i = 0; view->label && i < view->rows; i++)
        count[view->label[i]]++;
    return count;
}

json_t *cli_json_class_rows(const blv_dataset_view *view, const size_t *class_rows) {
    json_t *array = cli_json_array();
    for (size_t c = 0; c < view->classes; c++)
        cli_json_append(array, cli_json_whole(class_rows[c]));
    return array;
}
