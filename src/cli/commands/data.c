/* bilevel data ACTION: looks at data files and makes others from them. */
#include "base/number_text.h"
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct column {
    const char *name;
    double mean, square, low, high; /* square: sum of squares about the mean */
    double deviation;
    size_t stored, non_zero;
} column;

typedef struct request {
    const char *in, *out, *truth;
    blv_read_options reading;
    const char *format; /* of what is written; NULL: by its name */
    bool json;
    bool standardize, unit, unit_rows, intercept; /* convert */
    cli_texts parts;                              /* split: files */
    const char *sizes_text;
    double *sizes; /* one for each part */
    bool plain;
    blv_corruption kind; /* corrupt */
    double share;        /* below 0: not given */
    uint64_t seed;

    blv_dataset *set, **part;
    const blv_dataset_view *view; /* of the set */
    /* info and stats: */
    size_t column_count;
    column *columns;
    size_t class_count, *class_rows; /* rows of each class */
    size_t non_zero;
    double low, high; /* over all values, zeros of a sparse set as well */
    double target_low, target_high;
} request;

static const request defaults = {.reading.size = sizeof(blv_read_options), .share = -1.0};

/* What every action has. */
static const cli_argument source_table[] = {
    CLI_OPTION("json", FLAG, request, json, NULL, "print JSON on standard output"),
    CLI_HEADING(READING), CLI_INCLUDE(cli_reading_table, request, reading), CLI_END};
#define FORMAT                                                                                     \
    CLI_OPTION("format", WORD, request, format, "libsvm|csv|npz",                                  \
               "format of what is written (default: by its name)")
#define IN_AND_OUT                                                                                 \
    CLI_POSITION(READS, request, in, "IN", "expected IN and OUT"),                                 \
        CLI_POSITION(WRITES, request, out, "OUT", "expected IN and OUT")

static void read_set(request *asked) {
    cli_expect(blv_dataset_read(&asked->set, asked->in, &asked->reading, &cli_why));
    asked->view = blv_dataset_view_of(asked->set);
}

/* Rows stay as they are in their file, but numbers without names get a header. */
static const char *rows_format(const request *asked, const char *path) {
    return asked->view->feature_names ? cli_part_format(path, asked->format, asked->view)
                                      : cli_output_format(path, asked->format);
}

/* ---- What is said about a set ---- */

/* "1000 rows, 20 features, 3 classes" */
static void print_shape(const blv_dataset_view *v) {
    printf("%zu row%s, %zu feature%s, ", v->rows, v->rows == 1 ? "" : "s", v->columns,
           v->columns == 1 ? "" : "s");
    if (v->label)
        printf("%zu class%s", v->classes, v->classes == 1 ? "" : "es");
    else
        fputs(v->target ? "real targets" : "no labels", stdout);
}

static json_t *list_lines(const blv_dataset *dataset,
                          const char *(*line_at)(const blv_dataset *dataset, size_t i)) {
    json_t *lines = json_array();
    const char *line;
    for (size_t i = 0; (line = line_at(dataset, i)); i++)
        cli_json_append(lines, blv_json_string(line));
    return lines;
}

/* The keys that describe a set: file, format, rows, columns, ... and history. */
static json_t *describe_set(const char *path, const blv_dataset *dataset) {
    static const blv_field shape[] = {
        BLV_FIELD(blv_dataset_view, format, TEXT),
        BLV_FIELD(blv_dataset_view, rows, SIZE),
        BLV_FIELD(blv_dataset_view, columns, SIZE),
        BLV_FIELD_WORD("precision", blv_dataset_view, precision, blv_precision_words),
        {0}};
    static const blv_field classes[] = {
        BLV_FIELD_WITH("classes", blv_dataset_view, class_names, TEXTS,
                       .count = offsetof(blv_dataset_view, classes)),
        {0}};
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    const char *fingerprint = cli_print("%016" PRIx64, blv_dataset_fingerprint(dataset));
    json_t *object = json_object();
    cli_json_set(object, "file", blv_json_string(path));
    cli_json_add(object, shape, v);
    cli_json_set(object, "layout", blv_json_string(v->dense ? "dense" : "sparse"));
    cli_json_add(object, classes, v);
    return cli_json_put(object, "fingerprint", blv_json_string(fingerprint), "history",
                        list_lines(dataset, blv_dataset_history), NULL);
}

/* ---- Statistics ---- */

static void add_value(column *c, double value) {
    c->stored++;
    c->low = c->stored == 1 || value < c->low ? value : c->low;
    c->high = c->stored == 1 || value > c->high ? value : c->high;
    c->non_zero += value != 0.0;
}

/* The same value to its mean, by the update of Welford: the squares stay about the mean. */
static void move_mean(column *c, double value) {
    double from_old = value - c->mean;
    c->mean += from_old / (double)c->stored;
    c->square += from_old * (value - c->mean);
}

/* The zeros that a sparse set does not store, all at once. */
static void add_zeros(column *c, size_t zeros) {
    if (zeros == 0)
        return;
    double all = (double)(c->stored + zeros);
    c->square += c->mean * c->mean * (double)c->stored * (double)zeros / all;
    c->mean *= (double)c->stored / all;
    c->low = fmin(c->low, 0.0);
    c->high = fmax(c->high, 0.0);
    c->stored += zeros;
}

static void compute(request *r, bool means) {
    const blv_dataset_view *v = r->view;
    cli_expect(blv_dataset_expect_memory(r->set, v->columns, sizeof *r->columns, r->in,
                                         "statistics of its columns", &cli_why));
    r->columns = cli_alloc(v->columns, sizeof *r->columns);
    r->column_count = v->columns;
    r->class_count = v->classes;
    r->class_rows = cli_alloc(v->classes, sizeof *r->class_rows);
    r->low = r->target_low = INFINITY;
    r->high = r->target_high = -INFINITY;
    for (size_t i = 0; i < v->rows; i++) {
        size_t start, count = cli_row_values(v, i, &start);
        for (size_t k = start; k < start + count; k++) {
            column *c = &r->columns[v->dense ? k - start : v->column[k]];
            const double value = cli_dataset_value(v, k);
            add_value(c, value);
            if (means)
                move_mean(c, value);
        }
        if (v->label)
            r->class_rows[v->label[i]]++;
        r->target_low = fmin(r->target_low, v->target ? v->target[i] : NAN);
        r->target_high = fmax(r->target_high, v->target ? v->target[i] : NAN);
    }
    for (size_t j = 0; j < v->columns; j++) {
        column *c = &r->columns[j];
        add_zeros(c, v->rows - c->stored);
        c->name = v->feature_names ? v->feature_names[j] : NULL;
        c->deviation = sqrt(c->square / (double)c->stored);
        r->low = fmin(r->low, c->low);
        r->high = fmax(r->high, c->high);
        r->non_zero += c->non_zero;
    }
}

static int look(request *r, bool means, json_t *(*describe)(const request *r),
                void (*print)(const request *r)) {
    read_set(r);
    compute(r, means);
    if (r->json)
        cli_json_print(describe(r));
    else
        print(r);
    return CLI_DONE;
}

static const cli_argument look_table[] = {
    CLI_POSITION(READS, request, in, "FILE", "no file is named"), CLI_ALSO(source_table), CLI_END};

/* ---- Info ---- */

static void print_classes(const request *r) {
    enum { SHOWN = 30 };
    report_table table = {.align = "lrr"};
    report_table_add(&table, "CLASS\tROWS\tSHARE");
    for (size_t c = 0; c < r->class_count && c < SHOWN; c++)
        report_table_add(&table, "%s\t%zu\t%.2f%%", r->view->class_names[c], r->class_rows[c],
                         100.0 * (double)r->class_rows[c] / (double)r->view->rows);
    cli_table_print(&table, 2, stdout);
    if (r->class_count > SHOWN)
        printf("  and %zu more\n", r->class_count - SHOWN);
}

static void print_info(const request *r) {
    const blv_dataset_view *v = r->view;
    double all = (double)v->rows * (double)v->columns;
    printf("%s: %s, ", r->in, v->format);
    print_shape(v);
    printf("\n  values       %s %s%s, %.4g%% not zero, from %g to %g\n",
           v->dense ? "dense" : "sparse", blv_precision_words[v->precision],
           v->mapped ? ", mapped" : "", 100.0 * (double)r->non_zero / all, r->low, r->high);
    if (v->target)
        printf("  targets      from %g to %g\n", r->target_low, r->target_high);
    if (v->feature_names)
        printf("  names        %s%s%s\n", cli_shown(v->feature_names[0]),
               v->columns > 1 ? " ... " : "",
               v->columns > 1 ? cli_shown(v->feature_names[v->columns - 1]) : "");
    char kinds[300];
    cli_expect(blv_dataset_kinds(r->set, kinds, sizeof kinds, &cli_why));
    if (blv_dataset_recipe(r->set))
        printf("  columns      %s\n", cli_shown(kinds));
    printf("  fingerprint  %016" PRIx64 "\n", blv_dataset_fingerprint(r->set));
    const char *note;
    for (size_t i = 0; (note = blv_dataset_notes(r->set, i)); i++)
        printf("  note         %s\n", cli_shown(note));
    if (v->label)
        print_classes(r);
}

/* A text of a recipe, where tabs, newlines and backslashes have a backslash before them. */
static json_t *recipe_text(const char *from, size_t length) {
    char *text = cli_alloc(length + 1, 1), *to = text;
    for (size_t i = 0; i < length; i++) {
        const bool escaped = from[i] == '\\' && ++i < length;
        *to++ = (char)(!escaped || from[i] == '\\' ? from[i] : from[i] == 't' ? '\t' : '\n');
    }
    json_t *value = blv_json_string(text);
    free(text);
    return value;
}

/* [{"name": "age", "kind": "number"}, ...], a column of the file each. */
static json_t *list_kinds(const char *recipe) {
    json_t *list = json_array();
    for (const char *line = recipe; line && *line; line = strchr(line, '\n') + 1) {
        const char *name = strchr(line, '\t') + 1;
        cli_json_append(list, cli_json_put(json_object(), "name",
                                           recipe_text(name, strcspn(name, "\t\n")), "kind",
                                           recipe_text(line, (size_t)(name - 1 - line)), NULL));
    }
    return list;
}

static json_t *describe_info(const request *r) {
    static const blv_field range[] = {
        BLV_FIELD_ARRAY(request, class_rows, class_count, SIZES),
        BLV_FIELD(request, non_zero, SIZE),
        BLV_FIELD(request, low, REAL),
        BLV_FIELD(request, high, REAL),
        BLV_FIELD_AS("target_low", request, target_low, REAL, BLV_OPTIONAL),
        BLV_FIELD_AS("target_high", request, target_high, REAL, BLV_OPTIONAL),
        {0}};
    json_t *object = describe_set(r->in, r->set);
    cli_json_add(object, range, r);
    return cli_json_put(object, "kinds", list_kinds(blv_dataset_recipe(r->set)), "mapped",
                        json_boolean(r->view->mapped), "notes",
                        list_lines(r->set, blv_dataset_notes), NULL);
}

static int info(void *asked) {
    return look(asked, false, describe_info, print_info);
}

static const cli_command info_action = CLI_COMMAND(
    "info", "FILE", "format, size, classes and range", request, look_table, info,
    "Say what FILE holds: format, size, classes, range of values.", .defaults = &defaults);

/* ---- Stats ---- */

static void print_stats(const request *r) {
    report_table table = {.align = "rlrrrrr"};
    report_table_add(&table, "COLUMN\tNAME\tMEAN\tSTD\tMIN\tMAX\tNOT ZERO");
    for (size_t j = 0; j < r->view->columns; j++) {
        const column *c = &r->columns[j];
        report_table_add(&table, "%zu\t%s\t%.6g\t%.6g\t%.6g\t%.6g\t%zu", j, c->name ? c->name : "-",
                         c->mean, c->deviation, c->low, c->high, c->non_zero);
    }
    cli_table_print(&table, 0, stdout);
    for (size_t c = 0; c < r->class_count; c++)
        printf("%sclass %s: %zu rows\n", c == 0 ? "\n" : "", cli_shown(r->view->class_names[c]),
               r->class_rows[c]);
}

static json_t *describe_stats(const request *r) {
    static const blv_field column_fields[] = {BLV_FIELD(column, name, TEXT),
                                              BLV_FIELD(column, mean, REAL),
                                              BLV_FIELD_AS("std", column, deviation, REAL, 0),
                                              BLV_FIELD(column, low, REAL),
                                              BLV_FIELD(column, high, REAL),
                                              BLV_FIELD(column, non_zero, SIZE),
                                              {0}};
    static const blv_field fields[] = {
        BLV_FIELD_RECORDS("stats", request, columns, column_count, column_fields),
        BLV_FIELD_ARRAY(request, class_rows, class_count, SIZES),
        {0}};
    json_t *object = describe_set(r->in, r->set);
    cli_json_add(object, fields, r);
    return object;
}

static int stats(void *asked) {
    return look(asked, true, describe_stats, print_stats);
}

static const cli_command stats_action = CLI_COMMAND(
    "stats", "FILE", "mean, deviation and range of every column", request, look_table, stats,
    "Mean, standard deviation and range of every column of FILE, and the rows of each class.",
    .defaults = &defaults);

/* ---- Convert ---- */

static const cli_argument convert_table[] = {
    IN_AND_OUT,
    CLI_OPTION("standardize", FLAG, request, standardize, NULL,
               "columns to mean 0 and variance 1; sparse: variance only"),
    CLI_OPTION("unit", FLAG, request, unit, NULL,
               "columns to [0, 1]; sparse: to [-1, 1], zeros stay"),
    CLI_OPTION("unit-rows", FLAG, request, unit_rows, NULL, "rows to length 1, after the columns"),
    CLI_OPTION("intercept", FLAG, request, intercept, NULL,
               "one more column, of ones, after all else"),
    FORMAT,
    CLI_ALSO(source_table),
    CLI_END};

static blv_error check_convert(void *of, blv_message *why) {
    const request *asked = of;
    if (asked->standardize && asked->unit)
        return blv_explain(why, BLV_E_ARGUMENT, "--standardize or --unit, one of the two");
    return BLV_OK;
}

static int convert(void *of) {
    request *asked = of;
    const char *format = cli_output_format(asked->out, asked->format);
    cli_outputs outputs = {0};
    const blv_scaling scaling = asked->unit ? BLV_SCALE_UNIT : BLV_SCALE_STANDARD;
    read_set(asked);
    if (asked->standardize || asked->unit)
        cli_expect(blv_dataset_scale(&asked->set, 1, scaling, &cli_why));
    if (asked->unit_rows)
        cli_expect(blv_dataset_unit_rows(asked->set, &cli_why));
    if (asked->intercept)
        cli_expect(blv_dataset_intercept(asked->set, &cli_why));
    cli_outputs_write(&outputs, asked->out, asked->set, format);
    cli_outputs_commit(&outputs);
    if (asked->json) {
        cli_json_print(cli_json_put(describe_set(asked->in, asked->set), "out",
                                    blv_json_string(asked->out), "out_format",
                                    blv_json_string(format), NULL));
    } else {
        printf("%s: ", asked->out);
        print_shape(blv_dataset_view_of(asked->set));
        printf(" as %s\n", format);
    }
    return CLI_DONE;
}

static const cli_command convert_action = CLI_COMMAND(
    "convert", "IN OUT", "write in another format, scaled or not", request, convert_table, convert,
    "Write the data of IN to OUT in another format.\v"
    "The name of OUT tells its format: .libsvm, .svm, .txt; .csv, .tsv; .npz. The text "
    "formats are compressed where it ends in .gz.",
    .defaults = &defaults, .check = check_convert);

/* ---- Split ---- */

static const cli_argument split_table[] = {
    CLI_POSITION(READS, request, in, "IN", "expected IN and at least one OUT"),
    CLI_POSITION(WRITE_ALL, request, parts, "OUT...", "expected IN and at least one OUT"),
    CLI_OPTION("sizes", TEXT, request, sizes_text, "S,S,...",
               "for each OUT a share below 1, or a number of rows (default: 0.8,0.2 for two and "
               "0.64,0.16,0.2 for three)"),
    CLI_OPTION("seed", WHOLE, request, seed, "N", "seed of the random order (default 0)"),
    CLI_OPTION("no-stratify", FLAG, request, plain, NULL, "do not split each class alike"),
    FORMAT,
    CLI_ALSO(source_table),
    CLI_END};

static blv_error check_split(void *of, blv_message *why) {
    static const char *const usual[] = {[2] = "0.8,0.2", [3] = "0.64,0.16,0.2"};
    request *asked = of;
    const size_t parts = asked->parts.count;
    const char *text = asked->sizes_text ? asked->sizes_text : parts <= 3 ? usual[parts] : NULL;
    if (!text)
        return blv_explain(why, BLV_E_ARGUMENT, "--sizes is needed for %zu files", parts);
    size_t count = 0;
    const char **words = cli_split(text);
    for (; words[count]; count++) {
        asked->sizes = cli_grow(asked->sizes, count + 1, sizeof asked->sizes[0]);
        if (blv_number_parse(words[count], &asked->sizes[count]) != 0)
            return blv_explain(why, BLV_E_ARGUMENT, "--sizes '%s': '%s' is not a number", text,
                               words[count]);
    }
    return count == parts
               ? BLV_OK
               : blv_explain(why, BLV_E_ARGUMENT, "--sizes '%s': %zu sizes for %zu files", text,
                             count, parts);
}

static void print_parts(const request *asked) {
    for (size_t p = 0; p < asked->parts.count; p++) {
        printf("%s: ", asked->parts.items[p]);
        print_shape(blv_dataset_view_of(asked->part[p]));
        putchar('\n');
    }
}

static json_t *describe_parts(const request *asked) {
    json_t *array = json_array();
    for (size_t p = 0; p < asked->parts.count; p++)
        cli_json_append(array, describe_set(asked->parts.items[p], asked->part[p]));
    return cli_json_put(json_object(), "in", blv_json_string(asked->in), "seed",
                        cli_json_whole(asked->seed), "parts", array, NULL);
}

static int split(void *of) {
    request *asked = of;
    const size_t parts = asked->parts.count;
    cli_outputs outputs = {0};
    read_set(asked);
    for (size_t p = 0; p < parts; p++)
        rows_format(asked, asked->parts.items[p]);
    asked->part = cli_alloc(parts, sizeof *asked->part);
    cli_expect(blv_dataset_split(asked->set, asked->sizes, parts,
                                 !asked->plain && asked->view->label, asked->seed, asked->part,
                                 &cli_why));
    for (size_t p = 0; p < parts; p++)
        cli_outputs_write(&outputs, asked->parts.items[p], asked->part[p],
                          rows_format(asked, asked->parts.items[p]));
    cli_outputs_commit(&outputs);
    if (asked->json)
        cli_json_print(describe_parts(asked));
    else
        print_parts(asked);
    return CLI_DONE;
}

static const cli_command split_action = CLI_COMMAND(
    "split", "IN OUT...", "split the rows into several files", request, split_table, split,
    "Split the rows of IN into files, in random order, each class alike.\v"
    "Rows that the sizes leave over are dropped. Either all files are written or none.",
    .defaults = &defaults, .check = check_split);

/* ---- Corrupt ---- */

static const cli_argument corrupt_table[] = {
    IN_AND_OUT,
    CLI_OPTION("share", REAL, request, share, "P", "share of the labels, from 0 to 1 (required)",
               .to = 1.0),
    CLI_OPTION("kind", CHOICE, request, kind, "uniform|pairwise|redraw",
               "to another class, each alike (default); to the next class; or drawn from all "
               "classes, so that some stay"),
    CLI_OPTION("seed", WHOLE, request, seed, "N", "seed of the choice (default 0)"),
    CLI_OPTION("truth", WRITES, request, truth, "FILE.csv",
               "write row, given and true label of every row"),
    FORMAT,
    CLI_ALSO(source_table),
    CLI_END};
_Static_assert(BLV_CORRUPT_UNIFORM == 0 && BLV_CORRUPT_PAIRWISE == 1 && BLV_CORRUPT_REDRAW == 2,
               "--kind has them in this order");

static blv_error check_corrupt(void *of, blv_message *why) {
    const request *asked = of;
    return asked->share < 0.0 ? blv_explain(why, BLV_E_ARGUMENT, "--share is required") : BLV_OK;
}

static void print_truth(FILE *file, const void *view) {
    const blv_dataset_view *v = view;
    fputs("row,given,true\n", file);
    for (size_t i = 0; i < v->rows; i++) {
        fprintf(file, "%zu", i);
        report_csv_text(file, ",", v->class_names[v->label[i]]);
        report_csv_text(file, ",", v->class_names[v->true_label[i]]);
        fputc('\n', file);
    }
}

static int corrupt(void *of) {
    request *asked = of;
    cli_outputs outputs = {0};
    size_t changed = 0, last = 0;
    read_set(asked);
    const char *format = rows_format(asked, asked->out);
    cli_expect(blv_dataset_corrupt(asked->set, asked->kind, asked->share, asked->seed, &cli_why));
    const blv_dataset_view *v = blv_dataset_view_of(asked->set);
    cli_outputs_write(&outputs, asked->out, asked->set, format);
    cli_outputs_print(&outputs, asked->truth, print_truth, v);
    cli_outputs_commit(&outputs);
    for (size_t i = 0; i < v->rows; i++)
        changed += v->label[i] != v->true_label[i];
    while (blv_dataset_history(asked->set, last + 1))
        last++;
    if (asked->json)
        cli_json_print(cli_json_put(
            describe_set(asked->in, asked->set), "out", blv_json_string(asked->out), "truth",
            blv_json_string(asked->truth), "changed", cli_json_whole(changed), NULL));
    else
        printf("%s: %s\n", asked->out, cli_shown(blv_dataset_history(asked->set, last)));
    return CLI_DONE;
}

static const cli_command corrupt_action = CLI_COMMAND(
    "corrupt", "IN OUT", "change a share of the labels", request, corrupt_table, corrupt,
    "Change a share of the labels of IN, exactly round(P rows) of them, and write OUT.\v"
    "OUT has the labels as given after that; --truth keeps what they were.",
    .defaults = &defaults, .check = check_corrupt);

/* ---- The command ---- */

static const cli_command *const actions[] = {&info_action,  &stats_action,   &convert_action,
                                             &split_action, &corrupt_action, NULL};

const cli_command cmd_data = {
    .name = "data",
    .arguments = "ACTION",
    .summary = "look at data files, convert, split and corrupt them",
    .doc = "Look at data files and make others from them. Formats are detected from the\n"
           "content: libsvm, CSV or TSV, NPY, NPZ, IDX, CIFAR binary, each also with gzip.",
    .actions = actions};
