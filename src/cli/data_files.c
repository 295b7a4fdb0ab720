#include "cli/data_files.h"
#include "base/precision.h"
#include "cli/outputs.h"
#include "cli/rank_start.h"

#include <ctype.h>
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

static blv_error take_memory(void *field, const char *text, blv_message *why) {
    static const char units[] = "KMGT";
    uint64_t *bytes = field;
    char *copy = cli_print("%s", text);
    size_t length = strlen(copy);
    const char *unit = length > 0 ? strchr(units, toupper((unsigned char)copy[length - 1])) : NULL;
    const unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (shift > 0)
        copy[length - 1] = '\0';
    const bool well = cli_parse_whole(copy, UINT64_MAX >> shift, bytes) && *bytes > 0;
    *bytes <<= well ? shift : 0;
    return well ? BLV_OK
                : blv_explain(why, BLV_E_VALUE,
                              "expected a whole number of bytes, or one with K, M, G or T");
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
    CLI_OPTION("weight", TEXT, blv_read_options, weight, "COLUMN",
               "CSV, ARFF: name or number (from 0) of a column with the weights of rows, for "
               "clean and tune"),
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
    CLI_OPTION("max-memory", CUSTOM, blv_read_options, max_memory, "SIZE",
               "memory that the data may take, such as 500M or 8G; more is rejected before it is "
               "taken (default: half of what is free, and 1000 times the file)",
               .take = take_memory),
    CLI_END};

/* ---- Writing ---- */

static const struct {
    const char *end, *format;
} known_ends[] = {{".libsvm", "libsvm"}, {".svm", "libsvm"}, {".txt", "libsvm"},
                  {".csv", "csv"},       {".tsv", "csv"},    {".npz", "npz"}};
enum { KNOWN_ENDS = sizeof known_ends / sizeof known_ends[0] };

/* By the end of the name; NULL: it does not tell. */
static const char *named_format(const char *path, bool *compressed) {
    size_t length = strlen(path);
    *compressed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    length -= *compressed ? 3 : 0;
    for (size_t i = 0; i < KNOWN_ENDS; i++) {
        size_t n = strlen(known_ends[i].end);
        if (length > n && strncmp(path + length - n, known_ends[i].end, n) == 0)
            return known_ends[i].format;
    }
    return NULL;
}

const char *cli_output_format(const char *path, const char *given) {
    bool compressed;
    const char *named = named_format(path, &compressed), *format = given ? given : named;
    if (!format)
        cli_die("%s: the name does not tell the format; expected .libsvm, .svm, .txt, .csv, .tsv "
                "or .npz, or --format",
                path);
    if (compressed && strcmp(format, "npz") == 0)
        cli_die("%s: an NPZ file is not compressed again", path);
    return format;
}

const char *cli_part_format(const char *path, const char *given, const blv_dataset_view *whole) {
    static const char *const written[] = {"libsvm", "csv", "npz"};
    bool compressed;
    const char *named = named_format(path, &compressed), *dot = strrchr(path, '.');
    const bool tabs = strstr(path, ".tsv") != NULL, has_texts = cli_rank_word(whole->has_texts);
    const bool unnamed = !dot || strchr(dot, '/') || strcmp(dot, ".data") == 0 ||
                         (strcmp(dot, ".arff") == 0 && strcmp(whole->format, "arff") == 0);
    if (!given && has_texts &&
        (unnamed || (named && strcmp(named, whole->format) == 0 &&
                     (!whole->separator || tabs == (whole->separator == '\t')))))
        return "source";
    for (size_t i = 0; !given && unnamed && i < 3; i++)
        if (strcmp(whole->format, written[i]) == 0)
            return written[i];
    return cli_output_format(path, given);
}

void cli_part_try(const char *table, const char *part, const blv_dataset *whole) {
    if (part)
        cli_part_format(part, NULL, blv_dataset_view_of(whole));
    cli_outputs_try(table, part);
}

/* ---- At the top of a task ---- */

void cli_print_kinds(const char *name, const char *kinds) {
    cli_say(NULL, cli_print("%s: %s", name, kinds));
}

void cli_print_warning(void *unused, const char *line) {
    cli_say(unused, cli_print("warning: %s", line));
}

static void list_warning(void *list, const char *line) {
    cli_json_append(list, blv_json_string(line));
}

blv_error cli_warn(const blv_dataset *const *sets, const char *const *names, size_t count,
                   json_t *list, blv_message *why) {
    return blv_dataset_warn(sets, names, count, list ? list_warning : cli_print_warning, list, why);
}

/* ---- Rows as they are in their file ---- */

blv_row_texts *cli_row_texts_open(const blv_dataset *rows) {
    blv_row_texts *texts = NULL;
    cli_expect(blv_row_texts_open(&texts, rows, &cli_why));
    return texts;
}

const char *cli_row_texts_head(const blv_row_texts *texts) {
    return texts ? ",text" : "";
}

void cli_row_texts_print(const blv_row_texts *texts, size_t row, FILE *file) {
    size_t length = 0;
    const char *text = texts ? blv_row_texts_at(texts, row, &length) : "";
    fputs(texts ? ",\"" : "", file);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            fputc('"', file);
        fputc(text[i], file);
    }
    fputs(texts ? "\"\n" : "\n", file);
}

/* ---- Values ---- */

size_t cli_row_values(const blv_dataset_view *view, size_t row, size_t *start) {
    *start = view->dense ? row * view->stride : view->row_start[row];
    return view->dense ? view->columns : view->row_start[row + 1] - *start;
}

double cli_dataset_value(const blv_dataset_view *view, size_t i) {
    return blv_value_get(view->dense ? view->dense : view->value, view->precision, i);
}
