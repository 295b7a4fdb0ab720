#include "cli_coreset.h"
#include "cli_csv.h"
#include "cli_dataset.h"
#include "cli_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Files ---- */

static bool print_rows(FILE *file, const void *context) {
    const cli_coreset *r = context;
    fputs("row,weight\n", file);
    for (size_t k = 0; k < r->size; k++) {
        fprintf(file, "%zu,", r->index[k]);
        cli_csv_number(file, r->weight[k]);
        fputc('\n', file);
    }
    return true;
}

int cli_coreset_expect_writable(const cli_coreset *r, const blv_dataset *rows) {
    cli_outputs outputs = {0};
    bool ok = (!r->out || cli_outputs_add(&outputs, r->out)) &&
              (!r->subset || cli_outputs_add(&outputs, r->subset)) &&
              (!r->subset || cli_part_format(r->subset, blv_dataset_view_of(rows)));
    cli_outputs_free(&outputs);
    return ok ? CLI_DONE : CLI_REFUSED;
}

static int by_number(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The rows as they are in the file, in its order: all digits and no scaling. */
static int write_subset(const cli_coreset *r, const blv_dataset *rows, cli_outputs *outputs) {
    blv_read_options options = r->choosing.reading;
    options.precision = BLV_F64;
    blv_dataset *all = NULL, *subset = NULL;
    size_t *order = cli_alloc(r->size, sizeof *order);
    memcpy(order, r->index, r->size * sizeof *order);
    qsort(order, r->size, sizeof *order, by_number);
    int code = cli_dataset_read(&all, r->choosing.data, &options);
    if (code == CLI_DONE)
        code = cli_select_rows(all, order, r->size, &subset);
    if (code == CLI_DONE)
        code = cli_outputs_write(outputs, r->subset, subset,
                                 cli_part_format(r->subset, blv_dataset_view_of(rows)));
    blv_dataset_release(all);
    blv_dataset_release(subset);
    free(order);
    return code;
}

int cli_coreset_write(const cli_coreset *r, const blv_dataset *rows) {
    cli_outputs outputs = {0};
    int code = r->out ? cli_outputs_print(&outputs, r->out, print_rows, r) : CLI_DONE;
    if (code == CLI_DONE && r->subset)
        code = write_subset(r, rows, &outputs);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

/* ---- Text ---- */

static void print_classes(const cli_coreset *r) {
    cli_table table = {.align = "lrr"};
    const char *head[] = {"CLASS", "ROWS", "CHOSEN"};
    cli_table_row(&table, head);
    for (size_t k = 0; k < r->classes; k++) {
        char rows[24], chosen[24];
        snprintf(rows, sizeof rows, "%zu", r->of_class[k]);
        snprintf(chosen, sizeof chosen, "%zu", r->chosen_of_class[k]);
        const char *cells[] = {r->class_names[k], rows, chosen};
        cli_table_row(&table, cells);
    }
    putchar('\n');
    cli_table_print(&table, 2, stdout);
}

static void print_accuracies(const cli_coreset *r) {
    if (!r->compare)
        return;
    printf("\nAccuracy %s, trained on\n", r->choosing.test ? "on the test rows" : "on all rows");
    printf("  the chosen rows               %.4f\n", r->chosen_accuracy);
    printf("  as many at random             %.4f\n", r->uniform_accuracy);
    printf("  all rows                      %.4f\n", r->all_accuracy);
}

void cli_coreset_text(const cli_coreset *r) {
    printf("%s: %zu of %zu rows chosen by %s, %.4g s\n", r->choosing.data, r->size, r->rows,
           r->method->name, r->seconds);
    print_classes(r);
    print_accuracies(r);
    if (r->out || r->subset)
        putchar('\n');
    if (r->out)
        printf("%s: the chosen rows and their weights\n", r->out);
    if (r->subset)
        printf("%s: the chosen rows\n", r->subset);
}

/* ---- JSON ---- */

json_t *cli_coreset_object(const cli_coreset *r) {
    json_t *object = cli_json_object(), *classes = cli_json_object();
    for (size_t k = 0; k < r->classes; k++)
        cli_json_set(classes, r->class_names[k], cli_json_whole(r->chosen_of_class[k]));
    cli_json_set(object, "data", cli_json_text(r->choosing.data));
    cli_json_set(object, "test", cli_json_text(r->choosing.test));
    cli_json_set(object, "rows", cli_json_whole(r->rows));
    cli_json_set(object, "size", cli_json_whole(r->size));
    cli_json_set(object, "method", cli_json_text(r->method->name));
    cli_json_set(object, "seed", cli_json_whole(r->choosing.seed));
    cli_json_set(object, "seconds", cli_json_real(r->seconds));
    cli_json_set(object, "chosen_of_class", classes);
    cli_json_set(object, "accuracy_chosen", cli_json_real(r->chosen_accuracy));
    cli_json_set(object, "accuracy_uniform", cli_json_real(r->uniform_accuracy));
    cli_json_set(object, "accuracy_all", cli_json_real(r->all_accuracy));
    cli_json_set(object, "out", cli_json_text(r->out));
    cli_json_set(object, "write_subset", cli_json_text(r->subset));
    return object;
}
