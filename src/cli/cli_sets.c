#include "cli_sets.h"
#include "cli_dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks ---- */

static int refuse_file(blv_error error, const char *path, const char *text) {
    char message[1024];
    snprintf(message, sizeof message, "%.300s: %.600s", path, text);
    return cli_refuse(error, message);
}

/* Rows of each class, by the labels as given. */
static size_t *count_classes(const blv_dataset_view *view) {
    size_t *count = cli_alloc(view->classes, sizeof *count);
    for (size_t i = 0; i < view->rows; i++)
        count[view->label[i]]++;
    return count;
}

static int expect_classes(const char *path, const blv_dataset *dataset) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    if (!view->label) {
        cli_complain("%s: no labels that name a class", path);
        return CLI_REFUSED;
    }
    size_t *count = count_classes(view), present = 0, last = 0;
    for (size_t k = 0; k < view->classes; k++) {
        present += count[k] > 0;
        last = count[k] > 0 ? k : last;
    }
    free(count);
    if (present >= 2)
        return CLI_DONE;
    cli_complain("%s: one class only ('%s'); expected at least two", path, view->class_names[last]);
    return CLI_REFUSED;
}

static bool is_libsvm(const blv_dataset_view *view) {
    return strcmp(view->format, "libsvm") == 0;
}

/* libsvm files do not tell their width: zeros at the end are left out. All others do. */
static int expect_width(const cli_learning *learning, const char *path,
                        const blv_dataset_view *train, const blv_dataset_view *view) {
    if (view->columns == train->columns || is_libsvm(view) || is_libsvm(train))
        return CLI_DONE;
    cli_complain("%s: %zu features; expected %zu as in %s", path, view->columns, train->columns,
                 learning->train);
    return CLI_REFUSED;
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
    return code == CLI_DONE ? expect_classes(learning->train, sets->train) : code;
}

/* The layout is that of TRAIN, the labels are in the file itself. */
static int read_other(const cli_learning *learning, const char *path, const cli_sets *sets,
                      blv_dataset **set) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train);
    blv_read_options options = learning->reading;
    options.labels = NULL;
    options.layout = train->dense ? BLV_LAYOUT_DENSE : BLV_LAYOUT_SPARSE;
    int code = cli_dataset_read(set, path, &options);
    if (code != CLI_DONE)
        return code;
    code = expect_width(learning, path, train, blv_dataset_view_of(*set));
    if (code != CLI_DONE)
        return code;
    blv_message why = {0};
    blv_error error = blv_dataset_match(*set, sets->train, &why);
    return error == BLV_OK ? CLI_DONE : refuse_file(error, path, why.text);
}

/* A later set may have widened TRAIN. */
static int match_widths(cli_sets *sets) {
    blv_dataset *others[] = {sets->val, sets->test};
    blv_message why = {0};
    for (size_t i = 0; i < 2; i++) {
        blv_error error = others[i] ? blv_dataset_match(others[i], sets->train, &why) : BLV_OK;
        if (error != BLV_OK)
            return cli_refuse(error, why.text);
    }
    return CLI_DONE;
}

static int read_all(const cli_learning *learning, const char *truth, cli_sets *sets) {
    int code = read_train(learning, truth, sets);
    if (code == CLI_DONE && learning->val)
        code = read_other(learning, learning->val, sets, &sets->val);
    if (code == CLI_DONE && learning->test)
        code = read_other(learning, learning->test, sets, &sets->test);
    if (code == CLI_DONE)
        code = match_widths(sets);
    return code == CLI_DONE && sets->val ? expect_all_classes(learning, sets) : code;
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
    const blv_dataset *all[] = {sets->train, sets->val, sets->test};
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t print = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        print = (print + (all[i] ? blv_dataset_fingerprint(all[i]) : i)) * odd;
    return print;
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

/* A set whose one feature is the number of the row: dealing it out tells where each row went. */
static int numbered_rows(const blv_dataset_view *view, blv_dataset **numbered) {
    double *number = cli_alloc(view->rows, sizeof *number);
    for (size_t i = 0; i < view->rows; i++)
        number[i] = (double)i;
    blv_dataset_view of_numbers = {.size = sizeof(blv_dataset_view),
                                   .rows = view->rows,
                                   .columns = 1,
                                   .precision = BLV_F64,
                                   .dense = number,
                                   .stride = 1,
                                   .classes = view->classes,
                                   .label = view->label,
                                   .class_names = view->class_names};
    blv_message why = {0};
    blv_error error = blv_dataset_create(numbered, &of_numbers, NULL, &why);
    free(number);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

static void note_part(const blv_dataset *dealt, uint32_t number, uint32_t *part) {
    const blv_dataset_view *view = blv_dataset_view_of(dealt);
    for (size_t i = 0; i < view->rows; i++)
        part[(size_t)cli_dataset_value(view, i * view->stride)] = number;
}

int cli_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part) {
    blv_dataset *numbered = NULL, **dealt = cli_alloc(parts, sizeof *dealt);
    double *share = cli_alloc(parts, sizeof *share);
    int code = numbered_rows(blv_dataset_view_of(dataset), &numbered);
    for (size_t p = 0; p < parts; p++)
        share[p] = 1.0 / (double)parts;
    blv_message why = {0};
    blv_error error = code == CLI_DONE
                          ? blv_dataset_split(numbered, share, parts, true, seed, dealt, &why)
                          : BLV_OK;
    if (error != BLV_OK)
        code = cli_refuse(error, why.text);
    for (size_t p = 0; code == CLI_DONE && p < parts; p++)
        note_part(dealt[p], (uint32_t)p, part);
    for (size_t p = 0; p < parts; p++)
        blv_dataset_release(dealt[p]);
    blv_dataset_release(numbered);
    free(dealt);
    free(share);
    return code;
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

/* Both arrays in one; size: of an element. */
static void *joined_array(const void *first, size_t first_count, const void *second,
                          size_t second_count, size_t size) {
    char *both = cli_alloc(first_count + second_count, size);
    if (first_count > 0)
        memcpy(both, first, first_count * size);
    if (second_count > 0)
        memcpy(both + first_count * size, second, second_count * size);
    return both;
}

/* Dense rows without gaps between them. */
static void *compact_rows(const blv_dataset_view *v, size_t size) {
    char *rows = cli_alloc(v->rows * v->columns, size);
    for (size_t i = 0; i < v->rows; i++)
        memcpy(rows + i * v->columns * size, (const char *)v->dense + i * v->stride * size,
               v->columns * size);
    return rows;
}

static size_t *joined_starts(const blv_dataset_view *a, const blv_dataset_view *b) {
    size_t *start = cli_alloc(a->rows + b->rows + 1, sizeof *start), stored = a->row_start[a->rows];
    memcpy(start, a->row_start, (a->rows + 1) * sizeof *start);
    for (size_t i = 0; i <= b->rows; i++)
        start[a->rows + i] = stored + b->row_start[i];
    return start;
}

int cli_join_rows(const blv_dataset *first, const blv_dataset *second, blv_dataset **joined) {
    const blv_dataset_view *a = blv_dataset_view_of(first), *b = blv_dataset_view_of(second);
    size_t size = a->precision == BLV_F32 ? sizeof(float) : sizeof(double);
    void *value = NULL, *starts = NULL, *columns = NULL;
    void *label = joined_array(a->label, a->rows, b->label, b->rows, sizeof *a->label);
    blv_dataset_view both = {.size = sizeof(blv_dataset_view),
                             .rows = a->rows + b->rows,
                             .columns = a->columns,
                             .precision = a->precision,
                             .classes = a->classes,
                             .label = label,
                             .class_names = a->class_names,
                             .feature_names = a->feature_names};
    if (a->dense) {
        void *of_a = compact_rows(a, size), *of_b = compact_rows(b, size);
        both.dense = value =
            joined_array(of_a, a->rows * a->columns, of_b, b->rows * b->columns, size);
        both.stride = a->columns;
        free(of_a);
        free(of_b);
    } else {
        size_t of_a = a->row_start[a->rows], of_b = b->row_start[b->rows];
        both.row_start = starts = joined_starts(a, b);
        both.column = columns = joined_array(a->column, of_a, b->column, of_b, sizeof *a->column);
        both.value = value = joined_array(a->value, of_a, b->value, of_b, size);
    }
    blv_message why = {0};
    blv_error error = blv_dataset_create(joined, &both, NULL, &why);
    free(value);
    free(starts);
    free(columns);
    free(label);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}
