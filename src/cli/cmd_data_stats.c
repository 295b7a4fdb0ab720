#include "cli_data.h"
#include "cli_table.h"

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
        size_t start = v->dense ? i * v->stride : v->row_start[i];
        size_t count = v->dense ? v->columns : v->row_start[i + 1] - start;
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

static size_t *count_classes(const blv_dataset_view *v) {
    size_t *count = cli_alloc(v->classes, sizeof *count);
    for (size_t i = 0; v->label && i < v->rows; i++)
        count[v->label[i]]++;
    return count;
}

static void print_stats(const blv_dataset_view *v, const column_stats *stats,
                        const size_t *class_rows) {
    cli_table table = {.align = "rlrrrrr"};
    const char *title[] = {"COLUMN", "NAME", "MEAN", "STD", "MIN", "MAX", "NOT ZERO"};
    cli_table_row(&table, title);
    for (size_t j = 0; j < v->columns; j++) {
        const column_stats *s = &stats[j];
        char number[32], mean[32], std[32], low[32], high[32], non_zero[32];
        snprintf(number, sizeof number, "%zu", j);
        snprintf(mean, sizeof mean, "%.6g", s->mean);
        snprintf(std, sizeof std, "%.6g", deviation(s));
        snprintf(low, sizeof low, "%.6g", s->low);
        snprintf(high, sizeof high, "%.6g", s->high);
        snprintf(non_zero, sizeof non_zero, "%zu", s->non_zero);
        const char *cells[] = {
            number, v->feature_names ? v->feature_names[j] : NULL, mean, std, low, high, non_zero};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
    for (size_t c = 0; c < v->classes; c++)
        printf("%sclass %s: %zu rows\n", c == 0 ? "\n" : "", v->class_names[c], class_rows[c]);
}

static json_t *describe_stats(const char *path, const blv_dataset *dataset,
                              const column_stats *stats, const size_t *class_rows) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    json_t *object = cli_json_dataset(path, dataset);
    json_t *columns = cli_json_array(), *rows = cli_json_array();
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
    for (size_t c = 0; c < v->classes; c++)
        cli_json_append(rows, cli_json_whole(class_rows[c]));
    cli_json_set(object, "class_rows", rows);
    return object;
}

static void show(const cli_files *files, const blv_dataset *dataset) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    column_stats *stats = compute(view);
    size_t *class_rows = count_classes(view);
    if (files->json)
        cli_json_print(describe_stats(files->in, dataset, stats, class_rows));
    else
        print_stats(view, stats, class_rows);
    free(stats);
    free(class_rows);
}

int cmd_data_stats(int argc, char **argv) {
    return cli_look(argc, argv,
                    "Mean, standard deviation and range of every column of FILE, and the rows of "
                    "each class.",
                    show);
}
