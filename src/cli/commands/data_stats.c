/* bilevel data stats FILE: mean, deviation and range of every column. */
#include "cli/commands.h"
#include "cli/data_files.h"
#include "cli/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct column_stats {
    double mean, square, low, high; /* square: sum of squares about the mean */
    size_t stored, non_zero;
} column_stats;

/* One value more, by the update of Welford: the mean moves, the squares stay about the mean. */
static void add_value(column_stats *s, double value) {
    s->stored++;
    double from_old = value - s->mean;
    s->mean += from_old / (double)s->stored;
    s->square += from_old * (value - s->mean);
    s->low = s->stored == 1 ? value : fmin(s->low, value);
    s->high = s->stored == 1 ? value : fmax(s->high, value);
    s->non_zero += value != 0.0;
}

/* The zeros that a sparse set does not store, all at once. */
static void add_zeros(column_stats *s, size_t zeros) {
    if (zeros == 0)
        return;
    double all = (double)(s->stored + zeros);
    s->square += s->mean * s->mean * (double)s->stored * (double)zeros / all;
    s->mean *= (double)s->stored / all;
    s->low = fmin(s->low, 0.0);
    s->high = fmax(s->high, 0.0);
    s->stored += zeros;
}

static column_stats *compute(const blv_dataset_view *v) {
    column_stats *stats = cli_alloc(v->columns, sizeof *stats);
    for (size_t i = 0; i < v->rows; i++) {
        size_t start, count = cli_row_values(v, i, &start);
        for (size_t k = start; k < start + count; k++)
            add_value(&stats[v->dense ? k - start : v->column[k]], cli_dataset_value(v, k));
    }
    for (size_t j = 0; j < v->columns; j++)
        add_zeros(&stats[j], v->rows - stats[j].stored);
    return stats;
}

static double deviation(const column_stats *s) {
    return sqrt(s->square / (double)s->stored);
}

static void print_stats(const blv_dataset_view *v, const column_stats *stats,
                        const size_t *class_rows) {
    report_table table = {.align = "rlrrrrr"};
    report_table_add(&table, "COLUMN\tNAME\tMEAN\tSTD\tMIN\tMAX\tNOT ZERO");
    for (size_t j = 0; j < v->columns; j++) {
        const column_stats *c = &stats[j];
        report_table_add(&table, "%zu\t%s\t%.6g\t%.6g\t%.6g\t%.6g\t%zu", j,
                         v->feature_names ? v->feature_names[j] : "-", c->mean, deviation(c),
                         c->low, c->high, c->non_zero);
    }
    cli_table_print(&table, 0, stdout);
    for (size_t c = 0; c < v->classes; c++)
        printf("%sclass %s: %zu rows\n", c == 0 ? "\n" : "", v->class_names[c], class_rows[c]);
}

static json_t *describe_stats(const char *path, const blv_dataset *dataset,
                              const column_stats *stats, const size_t *class_rows) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    json_t *object = cli_json_dataset(path, dataset);
    json_t *columns = cli_json_array();
    for (size_t j = 0; j < v->columns; j++) {
        json_t *entry = cli_json_object();
        cli_json_set(entry, "name", cli_json_text(v->feature_names ? v->feature_names[j] : NULL));
        cli_json_set(entry, "mean", cli_json_real(stats[j].mean));
        cli_json_set(entry, "std", cli_json_real(deviation(&stats[j])));
        cli_json_set(entry, "low", cli_json_real(stats[j].low));
        cli_json_set(entry, "high", cli_json_real(stats[j].high));
        cli_json_set(entry, "non_zero", cli_json_whole(stats[j].non_zero));
        cli_json_append(columns, entry);
    }
    cli_json_set(object, "stats", columns);
    cli_json_set(object, "class_rows", cli_json_class_rows(v, class_rows));
    return object;
}

static void show(const cli_source *source, const blv_dataset *dataset) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    column_stats *stats = compute(view);
    size_t *class_rows = cli_class_rows(view);
    if (source->json)
        cli_json_print(describe_stats(source->in, dataset, stats, class_rows));
    else
        print_stats(view, stats, class_rows);
    free(stats);
    free(class_rows);
}

int cmd_data_stats(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = cli_look_table,
        .doc = "Mean, standard deviation and range of every column of FILE, and the rows of each "
               "class."};
    return cli_look(argc, argv, &arguments, show);
}
