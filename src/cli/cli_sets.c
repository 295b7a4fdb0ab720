#include "cli_sets.h"
#include "cli_dataset.h"

#include <stdlib.h>

/* ---- Checks ---- */

/* Rows of each class, by the labels as given. */
static size_t *count_classes(const blv_dataset_view *view) {
    size_t *count = cli_alloc(view->classes, sizeof *count);
    for (size_t i = 0; i < view->rows; i++)
        count[view->label[i]]++;
    return count;
}

/* Every class of TRAIN must be validated. The sets have the same classes by now. */
static int expect_all_classes(const cli_learning *learning, const cli_sets *sets) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train);
    const blv_dataset_view *val = blv_dataset_view_of(sets->val);
    size_t *wanted = count_classes(train), *found = count_classes(val), missing = 0;
    while (missing < train->classes && (wanted[missing] == 0 || found[missing] > 0))
        missing++;
    free(wanted);
    free(found);
    if (missing == train->classes)
        return CLI_DONE;
    cli_complain("%s: no row of class '%s', which %s has; every class must be validated",
                 learning->val, train->class_names[missing], learning->train);
    return CLI_REFUSED;
}

/* ---- Reading ---- */

static int read_train(const cli_learning *learning, const char *truth, cli_sets *sets) {
    blv_read_options options = learning->reading;
    options.truth = truth;
    int code = cli_dataset_read(&sets->train, learning->train, &options);
    blv_message why = {0};
    blv_error error =
        code == CLI_DONE ? blv_dataset_expect_classes(sets->train, learning->train, &why) : BLV_OK;
    return error == BLV_OK ? code : cli_refuse(error, why.text);
}

/* The layout is that of TRAIN, the labels are in the file itself. */
static int read_other(const cli_learning *learning, const char *path, const cli_sets *sets,
                      blv_dataset **set) {
    blv_read_options options = learning->reading;
    options.labels = NULL;
    options.layout = blv_dataset_view_of(sets->train)->dense ? BLV_LAYOUT_DENSE : BLV_LAYOUT_SPARSE;
    return path ? cli_dataset_read(set, path, &options) : CLI_DONE;
}

static int read_all(const cli_learning *learning, const char *truth, cli_sets *sets) {
    int code = read_train(learning, truth, sets);
    if (code == CLI_DONE)
        code = read_other(learning, learning->val, sets, &sets->val);
    if (code == CLI_DONE)
        code = read_other(learning, learning->test, sets, &sets->test);
    if (code != CLI_DONE)
        return code;
    blv_dataset *const all[] = {sets->train, sets->val, sets->test};
    const char *const names[] = {learning->train, learning->val, learning->test};
    blv_message why = {0};
    blv_error error = blv_dataset_align(all, names, 3, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    return sets->val ? expect_all_classes(learning, sets) : CLI_DONE;
}

/* ---- Scaling ---- */

static blv_error scale_columns(cli_sets *sets, blv_dataset *const *all, size_t count,
                               blv_scaling scaling, blv_message *why) {
    blv_error error =
        blv_dataset_scale_numbers(sets->train, scaling, sets->shift, sets->divisor, why);
    return error == BLV_OK ? blv_dataset_scale(all, count, scaling, why) : error;
}

static blv_error scale(cli_scaling scaling, cli_sets *sets, blv_dataset *const *all, size_t count,
                       blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train);
    if (scaling == CLI_SCALING_AUTO)
        scaling = train->dense ? CLI_SCALING_UNIT : CLI_SCALING_ROWS;
    if (scaling == CLI_SCALING_UNIT || scaling == CLI_SCALING_STANDARD)
        return scale_columns(sets, all, count,
                             scaling == CLI_SCALING_UNIT ? BLV_SCALE_UNIT : BLV_SCALE_STANDARD,
                             why);
    sets->unit_rows = scaling == CLI_SCALING_ROWS;
    blv_error error = BLV_OK;
    for (size_t i = 0; error == BLV_OK && sets->unit_rows && i < count; i++)
        error = blv_dataset_unit_rows(all[i], why);
    return error;
}

static int prepare(const cli_learning *learning, cli_sets *sets) {
    blv_dataset *all[3] = {sets->train};
    size_t count = 1;
    if (sets->val)
        all[count++] = sets->val;
    if (sets->test)
        all[count++] = sets->test;
    sets->features = blv_dataset_view_of(sets->train)->columns;
    sets->shift = cli_alloc(sets->features, sizeof *sets->shift);
    sets->divisor = cli_alloc(sets->features, sizeof *sets->divisor);
    for (size_t j = 0; j < sets->features; j++)
        sets->divisor[j] = 1.0;
    blv_message why = {0};
    blv_error error = scale(learning->scaling, sets, all, count, &why);
    for (size_t i = 0; error == BLV_OK && i < count; i++)
        error = blv_dataset_intercept(all[i], &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

int cli_sets_load(const cli_learning *learning, const char *truth, cli_sets *sets) {
    int code = read_all(learning, truth, sets);
    return code == CLI_DONE ? prepare(learning, sets) : code;
}

uint64_t cli_sets_fingerprint(const cli_sets *sets) {
    const blv_dataset *const all[] = {sets->train, sets->val, sets->test};
    return blv_dataset_fingerprint_all(all, 3);
}

void cli_sets_free(cli_sets *sets) {
    blv_dataset_release(sets->train);
    blv_dataset_release(sets->val);
    blv_dataset_release(sets->test);
    free(sets->shift);
    free(sets->divisor);
    *sets = (cli_sets){0};
}

/* ---- Rows ---- */

int cli_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part) {
    size_t rows = blv_dataset_view_of(dataset)->rows, next = 0;
    size_t *row = cli_alloc(rows, sizeof *row), *count = cli_alloc(parts, sizeof *count);
    double *share = cli_alloc(parts, sizeof *share);
    for (size_t p = 0; p < parts; p++)
        share[p] = 1.0 / (double)parts;
    blv_message why = {0};
    blv_error error = blv_dataset_split_rows(dataset, share, parts, true, seed, row, count, &why);
    for (size_t p = 0; error == BLV_OK && p < parts; p++)
        for (size_t i = 0; i < count[p]; i++)
            part[row[next++]] = (uint32_t)p;
    free(row);
    free(count);
    free(share);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

int cli_keep_rows(const blv_dataset *dataset, const bool *keep, blv_dataset **kept) {
    size_t rows = blv_dataset_view_of(dataset)->rows, count = 0;
    size_t *index = cli_alloc(rows, sizeof *index);
    for (size_t i = 0; i < rows; i++)
        if (keep[i])
            index[count++] = i;
    blv_message why = {0};
    blv_error error = blv_dataset_select(dataset, index, count, kept, &why);
    free(index);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

int cli_join_rows(const blv_dataset *first, const blv_dataset *second, blv_dataset **joined) {
    blv_message why = {0};
    blv_error error = blv_dataset_join(first, second, joined, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}
