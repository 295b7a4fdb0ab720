/* bilevel data info FILE: format, size, classes and range of a data file. */
#include "cli/commands.h"
#include "cli/data_files.h"
#include "cli/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct summary {
    size_t non_zero;
    double low, high; /* over all values, zeros of a sparse set as well */
    double target_low, target_high;
    size_t *class_rows; /* rows of each class */
} summary;

enum { CLASSES_SHOWN = 30 };

static void widen(double value, double *low, double *high) {
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

static summary summarize(const blv_dataset_view *v) {
    summary s = {.low = INFINITY,
                 .high = -INFINITY,
                 .target_low = INFINITY,
                 .target_high = -INFINITY,
                 .class_rows = cli_class_rows(v)};
    size_t stored = 0;
    for (size_t i = 0; i < v->rows; i++) {
        size_t start, count = cli_row_values(v, i, &start);
        for (size_t k = start; k < start + count; k++) {
            double value = cli_dataset_value(v, k);
            widen(value, &s.low, &s.high);
            s.non_zero += value != 0.0;
        }
        stored += count;
        if (v->target)
            widen(v->target[i], &s.target_low, &s.target_high);
    }
    if (stored < v->rows * v->columns)
        widen(0.0, &s.low, &s.high);
    return s;
}

static void print_classes(const blv_dataset_view *v, const summary *s) {
    report_table table = {.align = "lrr"};
    report_table_add(&table, "CLASS\tROWS\tSHARE");
    for (size_t c = 0; c < v->classes && c < CLASSES_SHOWN; c++)
        report_table_add(&table, "%s\t%zu\t%.2f%%", v->class_names[c], s->class_rows[c],
                         100.0 * (double)s->class_rows[c] / (double)v->rows);
    cli_table_print(&table, 2, stdout);
    if (v->classes > CLASSES_SHOWN)
        printf("  and %zu more\n", v->classes - CLASSES_SHOWN);
}

static void print_info(const char *path, const blv_dataset *dataset, const summary *s) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    double all = (double)v->rows * (double)v->columns;
    printf("%s: %s, ", path, v->format);
    cli_print_shape(v);
    printf("\n  values       %s %s%s, %.4g%% not zero, from %g to %g\n", cli_layout_word(v),
           cli_precision_word(v->precision), v->mapped ? ", mapped" : "",
           100.0 * (double)s->non_zero / all, s->low, s->high);
    if (v->target)
        printf("  targets      from %g to %g\n", s->target_low, s->target_high);
    if (v->feature_names)
        printf("  names        %s%s%s\n", v->feature_names[0], v->columns > 1 ? " ... " : "",
               v->columns > 1 ? v->feature_names[v->columns - 1] : "");
    printf("  fingerprint  %016llx\n", (unsigned long long)blv_dataset_fingerprint(dataset));
    const char *note;
    for (size_t i = 0; (note = blv_dataset_notes(dataset, i)); i++)
        printf("  note         %s\n", note);
    if (v->label)
        print_classes(v, s);
}

static json_t *describe_info(const char *path, const blv_dataset *dataset, const summary *s) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    json_t *object = cli_json_dataset(path, dataset);
    json_t *notes = cli_json_array();
    cli_json_set(object, "class_rows", cli_json_class_rows(v, s->class_rows));
    cli_json_set(object, "non_zero", cli_json_whole(s->non_zero));
    cli_json_set(object, "low", cli_json_real(s->low));
    cli_json_set(object, "high", cli_json_real(s->high));
    if (v->target) {
        cli_json_set(object, "target_low", cli_json_real(s->target_low));
        cli_json_set(object, "target_high", cli_json_real(s->target_high));
    }
    cli_json_set(object, "mapped", json_boolean(v->mapped));
    const char *note;
    for (size_t i = 0; (note = blv_dataset_notes(dataset, i)); i++)
        cli_json_append(notes, cli_json_text(note));
    cli_json_set(object, "notes", notes);
    return object;
}

static void show(const cli_source *source, const blv_dataset *dataset) {
    summary s = summarize(blv_dataset_view_of(dataset));
    if (source->json)
        cli_json_print(describe_info(source->in, dataset, &s));
    else
        print_info(source->in, dataset, &s);
    free(s.class_rows);
}

int cmd_data_info(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = cli_look_table,
        .doc = "Say what FILE holds: format, size, classes, range of values."};
    return cli_look(argc, argv, &arguments, show);
}
