#include "cli_data.h"
#include "cli_dataset.h"
#include "cli_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct request {
    blv_read_options reading;
    const char *path;
    bool json;
} request;

typedef struct column_stats {
    double mean, square, low, high; /* square: sum of squares about the mean */
    size_t stored, non_zero;
} column_stats;

enum { KEY_JSON = CLI_KEY_FIRST };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "print JSON on standard output", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->reading;
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->path)
            argp_error(state, "too many arguments: '%s'", arg);
        asked->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!asked->path)
            argp_error(state, "no file is named");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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

static json_t *describe_stats(const request *asked, const blv_dataset *dataset,
                              const column_stats *stats, const size_t *class_rows) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    json_t *object = cli_json_dataset(asked->path, dataset);
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

int cmd_data_stats(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_reading_argp, 0, "Reading:", 1}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "FILE",
                              .doc = "Mean, standard deviation and range of every column of FILE, "
                                     "and the rows of each class.",
                              .children = children};
    request asked = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &asked);
    blv_dataset *dataset = NULL;
    int code = cli_dataset_read(&dataset, asked.path, &asked.reading);
    if (code != CLI_DONE)
        return code;
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    column_stats *stats = compute(view);
    size_t *class_rows = count_classes(view);
    if (asked.json)
        cli_json_print(describe_stats(&asked, dataset, stats, class_rows));
    else
        print_stats(view, stats, class_rows);
    free(stats);
    free(class_rows);
    blv_dataset_destroy(dataset);
    return CLI_DONE;
}
