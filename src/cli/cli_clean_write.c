#include "cli_clean.h"
#include "cli_csv.h"
#include "cli_dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool print_rows(FILE *file, const void *context) {
    const cli_clean_result *r = context;
    const cli_cleaning *c = r->cleaning;
    const blv_dataset_view *train = blv_dataset_view_of(c->sets->train);
    fputs("row,label,weight,verdict,probability,believed\n", file);
    for (size_t i = 0; i < c->rows; i++) {
        size_t row = r->order[i];
        fprintf(file, "%zu,", row);
        cli_csv_text(file, train->class_names[train->label[row]]);
        fputc(',', file);
        cli_csv_number(file, c->weight[row]);
        fprintf(file, ",%s,", r->suspect[row] ? "suspect" : "keep");
        cli_csv_number(file, r->stated[row]);
        fputc(',', file);
        cli_csv_text(file, train->class_names[r->believed[row]]);
        fputc('\n', file);
    }
    return true;
}

/* TRAIN as it is in the file, all digits and no scaling. */
static int read_again(const cli_clean_request *asked, blv_dataset **set) {
    blv_read_options options = asked->learning.reading;
    options.precision = BLV_F64;
    options.truth = asked->truth && !cli_clean_truth_is_file(asked) ? asked->truth : NULL;
    return cli_dataset_read(set, asked->learning.train, &options);
}

int cli_cleaned_rows(const cli_clean_result *r, const blv_dataset *set, blv_dataset **cleaned) {
    const blv_dataset_view *view = blv_dataset_view_of(set);
    size_t *kept = cli_alloc(view->rows, sizeof *kept), count = 0;
    int32_t *label = cli_alloc(view->rows, sizeof *label);
    for (size_t i = 0; i < view->rows; i++) {
        label[i] = r->suspect[i] ? r->believed[i] : view->label[i];
        kept[count] = i;
        count += !r->suspect[i];
    }
    blv_message why = {0};
    blv_error error = r->request->relabel ? blv_dataset_relabel(set, label, cleaned, &why)
                                          : blv_dataset_select(set, kept, count, cleaned, &why);
    free(kept);
    free(label);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

static int write_clean(const cli_clean_request *asked, const cli_clean_result *r,
                       cli_outputs *outputs) {
    blv_dataset *set = NULL, *changed = NULL;
    int code = read_again(asked, &set);
    if (code == CLI_DONE)
        code = cli_cleaned_rows(r, set, &changed);
    if (code == CLI_DONE) {
        const char *format = cli_part_format(asked->clean, blv_dataset_view_of(set));
        code = format ? cli_outputs_write(outputs, asked->clean, changed, format) : CLI_REFUSED;
    }
    blv_dataset_release(changed);
    blv_dataset_release(set);
    return code;
}

int cli_clean_write(const cli_clean_result *r) {
    const cli_clean_request *asked = r->request;
    cli_outputs outputs = {0};
    int code = asked->out ? cli_outputs_print(&outputs, asked->out, print_rows, r) : CLI_DONE;
    if (code == CLI_DONE && asked->clean)
        code = write_clean(asked, r, &outputs);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

/* Before hours are spent: whether the files could be written at all. */
int cli_clean_expect_writable(const cli_clean_request *asked, const cli_sets *sets) {
    cli_outputs outputs = {0};
    bool ok = (!asked->out || cli_outputs_add(&outputs, asked->out)) &&
              (!asked->clean || cli_outputs_add(&outputs, asked->clean)) &&
              (!asked->clean || cli_part_format(asked->clean, blv_dataset_view_of(sets->train)));
    cli_outputs_free(&outputs);
    return ok ? CLI_DONE : CLI_REFUSED;
}
