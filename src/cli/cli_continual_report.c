#include "cli_continual_report.h"
#include "cli_csv.h"
#include "cli_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2 };

/* ---- Summaries ---- */

/* Runs that differ in the seed only. */
typedef struct band {
    const blv_selection_method *method;
    double first;
    double mean, least, most; /* of A_T */
    double forgetting, seconds;
} band;

/* The runs from `at` on that belong together; returns where the next ones begin. */
static size_t band_at(const cli_continual_results *results, size_t at, band *b) {
    const cli_continual_result *r = &results->items[at];
    *b = (band){.method = r->method,
                .first = r->first,
                .least = (double)INFINITY,
                .most = -(double)INFINITY};
    size_t end = at;
    for (; end < results->count && results->items[end].method == r->method &&
           results->items[end].first == r->first;
         end++) {
        const cli_stream_end *e = &results->items[end].end;
        b->mean += e->average;
        b->forgetting += e->forgetting;
        b->seconds += e->seconds;
        b->least = fmin(b->least, e->average);
        b->most = fmax(b->most, e->average);
    }
    const double runs = (double)(end - at);
    b->mean /= runs;
    b->forgetting /= runs;
    b->seconds /= runs;
    return end;
}

/* By how much the mean of A_T over the other initial values differs from A_T with the first one,
 * relative to that; NaN: there is one value only. */
static double change_of(const cli_continual_results *results, const blv_selection_method *method) {
    double usual = (double)NAN, sum = 0.0, count = 0.0;
    band b;
    for (size_t i = 0; i < results->count;) {
        i = band_at(results, i, &b);
        if (b.method != method)
            continue;
        if (isnan(usual)) {
            usual = b.mean;
            continue;
        }
        sum += b.mean;
        count += 1.0;
    }
    return count > 0.0 ? fabs(sum / count - usual) / usual : (double)NAN;
}

/* ---- Text ---- */

void cli_continual_line(const cli_continual_result *r) {
    fprintf(stderr, "%s", r->method->name);
    if (r->first > 0.0)
        fprintf(stderr, ", initial value %g", r->first);
    fprintf(stderr, ", seed %" PRIu64 ": A_T %.4f, FGT_T %.4f\n", r->seed, r->end.average,
            r->end.forgetting);
}

static void print_bands(const cli_continual_results *results) {
    cli_table table = {.align = "lrrrrr"};
    const char *head[] = {"METHOD", "INITIAL", "A_T", "FROM - TO", "FGT_T", "CHOOSING"};
    cli_table_row(&table, head);
    for (size_t i = 0; i < results->count;) {
        band b;
        char first[24], mean[24], range[48], forgetting[24], seconds[24];
        i = band_at(results, i, &b);
        snprintf(first, sizeof first, "%g", b.first);
        snprintf(mean, sizeof mean, "%.4f", b.mean);
        snprintf(range, sizeof range, "%.4f - %.4f", b.least, b.most);
        snprintf(forgetting, sizeof forgetting, "%.4f", b.forgetting);
        snprintf(seconds, sizeof seconds, "%.2f s", b.seconds);
        const char *cells[] = {
            b.method->name, b.first > 0.0 ? first : "default", mean, range, forgetting, seconds};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, INDENT, stdout);
}

static void print_changes(const cli_continual_request *asked,
                          const cli_continual_results *results) {
    if (!asked->sensitivity)
        return;
    printf("\nRelative change of A_T from the first initial value to the mean of the others\n");
    for (size_t m = 0; m < asked->method_count; m++) {
        const double change = change_of(results, asked->methods[m]);
        if (!isnan(change))
            printf("  %-18s %.2f%%\n", asked->methods[m]->name, 100.0 * change);
    }
}

void cli_continual_text(const cli_continual_request *asked, const cli_continual_results *results) {
    printf("%s: %zu tasks%s, memory %zu, %zu seed%s, %s\n\n", asked->choosing.data, asked->tasks,
           asked->imbalanced ? ", imbalanced" : "", asked->memory, asked->seeds,
           asked->seeds == 1 ? "" : "s",
           asked->task_known ? "the task of a row is known" : "classes of all tasks so far");
    print_bands(results);
    print_changes(asked, results);
    if (asked->out)
        printf("\n%s: results.csv, accuracies.csv\n", asked->out);
}

/* ---- JSON ---- */

json_t *cli_continual_object(const cli_continual_request *asked,
                             const cli_continual_results *results) {
    json_t *object = cli_json_object(), *bands = cli_json_array(), *changes = cli_json_object();
    for (size_t i = 0; i < results->count;) {
        band b;
        json_t *item = cli_json_object();
        i = band_at(results, i, &b);
        cli_json_set(item, "method", cli_json_text(b.method->name));
        cli_json_set(item, "initial", cli_json_real(b.first > 0.0 ? b.first : (double)NAN));
        cli_json_set(item, "average", cli_json_real(b.mean));
        cli_json_set(item, "average_least", cli_json_real(b.least));
        cli_json_set(item, "average_most", cli_json_real(b.most));
        cli_json_set(item, "forgetting", cli_json_real(b.forgetting));
        cli_json_set(item, "seconds", cli_json_real(b.seconds));
        cli_json_append(bands, item);
    }
    for (size_t m = 0; asked->sensitivity && m < asked->method_count; m++)
        if (asked->methods[m]->is_bilevel)
            cli_json_set(changes, asked->methods[m]->name,
                         cli_json_real(change_of(results, asked->methods[m])));
    cli_json_set(object, "data", cli_json_text(asked->choosing.data));
    cli_json_set(object, "tasks", cli_json_whole(asked->tasks));
    cli_json_set(object, "memory", cli_json_whole(asked->memory));
    cli_json_set(object, "seeds", cli_json_whole(asked->seeds));
    cli_json_set(object, "imbalanced", json_boolean(asked->imbalanced));
    cli_json_set(object, "task_known", json_boolean(asked->task_known));
    cli_json_set(object, "methods", bands);
    cli_json_set(object, "relative_change", changes);
    return object;
}

/* ---- Files ---- */

static bool print_results(FILE *file, const void *context) {
    const cli_continual_results *results = context;
    fputs("method,initial,seed,average,forgetting,seconds\n", file);
    for (size_t i = 0; i < results->count; i++) {
        const cli_continual_result *r = &results->items[i];
        fprintf(file, "%s,", r->method->name);
        cli_csv_number(file, r->first > 0.0 ? r->first : (double)NAN);
        fprintf(file, ",%" PRIu64 ",", r->seed);
        cli_csv_number(file, r->end.average);
        fputc(',', file);
        cli_csv_number(file, r->end.forgetting);
        fputc(',', file);
        cli_csv_number(file, r->end.seconds);
        fputc('\n', file);
    }
    return true;
}

typedef struct table {
    const cli_continual_request *asked;
    const cli_continual_results *results;
} table;

static bool print_accuracies(FILE *file, const void *context) {
    const table *t = context;
    const size_t T = t->asked->tasks;
    fputs("method,initial,seed,after,task,accuracy\n", file);
    for (size_t i = 0; i < t->results->count; i++)
        for (size_t k = 0; k < T * T; k++) {
            const cli_continual_result *r = &t->results->items[i];
            if (k % T > k / T)
                continue;
            fprintf(file, "%s,", r->method->name);
            cli_csv_number(file, r->first > 0.0 ? r->first : (double)NAN);
            fprintf(file, ",%" PRIu64 ",%zu,%zu,", r->seed, k / T + 1, k % T + 1);
            cli_csv_number(file, r->end.accuracy[k]);
            fputc('\n', file);
        }
    return true;
}

static char *path_in(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = cli_alloc(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

int cli_continual_write(const cli_continual_request *asked, const cli_continual_results *results) {
    char *first = path_in(asked->out, "results.csv"),
         *second = path_in(asked->out, "accuracies.csv");
    const table both = {asked, results};
    cli_outputs outputs = {0};
    int code = cli_outputs_print(&outputs, first, print_results, results);
    if (code == CLI_DONE)
        code = cli_outputs_print(&outputs, second, print_accuracies, &both);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    free(first);
    free(second);
    return code;
}
