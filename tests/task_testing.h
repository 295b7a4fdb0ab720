/* Small data for tests of tasks: classes around points of their own, some labels wrong; and hooks
 * that keep the ends of runs. After run_testing.h. */
#ifndef TASK_TESTING_H
#define TASK_TESTING_H

#include "bilevel/bilevel.h"

enum { TASK_COLUMNS = 4, TASK_CLASSES = 3, TASK_RUNS = 64 };

static inline double task_noise(uint64_t *state) {
    double sum = 0.0;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum - 6.0;
}

/* Row i is of class i % classes; every wrong_each-th label is that of the next class (0: none). */
static inline blv_dataset *task_rows(size_t rows, size_t classes, uint64_t seed,
                                     size_t wrong_each) {
    double *values = calloc(rows * TASK_COLUMNS, sizeof *values);
    int32_t *label = calloc(rows, sizeof *label), *right = calloc(rows, sizeof *right);
    for (size_t i = 0; i < rows; i++) {
        right[i] = (int32_t)(i % classes);
        bool wrong = wrong_each > 0 && i % wrong_each == 1;
        label[i] = wrong ? (int32_t)((i + 1) % classes) : right[i];
        for (size_t j = 0; j < TASK_COLUMNS; j++)
            values[i * TASK_COLUMNS + j] =
                (j == (size_t)right[i] ? 3.0 : 0.0) + 0.8 * task_noise(&seed);
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = rows,
                                   .columns = TASK_COLUMNS,
                                   .dense = values,
                                   .stride = TASK_COLUMNS,
                                   .classes = classes,
                                   .label = label,
                                   .true_label = wrong_each > 0 ? right : NULL};
    blv_dataset *set = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    free(values);
    free(label);
    free(right);
    return set;
}

/* test_rows 0: none; val_rows likewise. */
static inline blv_task_sets *task_sets(size_t rows, size_t val_rows, size_t test_rows,
                                       size_t classes, size_t wrong_each) {
    blv_dataset *train = task_rows(rows, classes, 1, wrong_each);
    blv_dataset *val = val_rows ? task_rows(val_rows, classes, 2, 0) : NULL;
    blv_dataset *test = test_rows ? task_rows(test_rows, classes, 3, 0) : NULL;
    blv_task_sets *sets = NULL;
    blv_message why = {""};
    if (blv_task_sets_create(&sets, train, val, test, BLV_TASK_SCALE_AUTO, &why) != BLV_OK)
        fail_msg("%s", why.text);
    blv_dataset_release(train);
    blv_dataset_release(val);
    blv_dataset_release(test);
    return sets;
}

static inline blv_task_sets *task_sets_of(const blv_dataset_view *view) {
    blv_dataset *set = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&set, view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, set, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    blv_dataset_release(set);
    return sets;
}

static inline blv_clean_result *task_clean(const blv_task_sets *sets,
                                           const blv_clean_options *options,
                                           const blv_task_hooks *hooks) {
    blv_clean_result *result = NULL;
    blv_message why = {""};
    if (blv_clean(sets, options, &result, hooks, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return result;
}

/* Of rows x columns numbers in two classes; right: the true labels, or NULL. */
static inline blv_clean_result *task_clean_rows(size_t rows, size_t columns, const double *x,
                                                const int32_t *label, const int32_t *right,
                                                blv_clean_model_kind model) {
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = rows,
                                   .columns = columns,
                                   .dense = x,
                                   .stride = columns,
                                   .classes = 2,
                                   .label = label,
                                   .true_label = right};
    const blv_clean_options options = {.size = sizeof options, .model = model};
    blv_task_sets *sets = task_sets_of(&view);
    blv_clean_result *result = task_clean(sets, &options, NULL);
    blv_task_sets_destroy(sets);
    return result;
}

/* ---- Hooks ---- */

typedef struct task_log {
    size_t starts, begins, ends, reports, notes;
    size_t stop_at;  /* report that asks to stop, from 1; 0: none */
    size_t stop_run; /* run that is stopped as it begins, from 1; 0: none */
    bool fail_start, fail_begin;
    size_t recalled; /* so many runs are recalled from the ends below */
    blv_run_end end[TASK_RUNS];
    double *carried[TASK_RUNS];
} task_log;

static inline double *task_copy(const double *numbers, size_t count) {
    double *copy = calloc(count + 1, sizeof *copy);
    if (count > 0)
        memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

static inline int task_progress(void *context, const blv_task_progress *progress) {
    task_log *log = context;
    assert_non_null(progress->activity);
    return ++log->reports == log->stop_at;
}

static inline blv_error task_start(void *context, const blv_task_start *start, blv_message *why) {
    task_log *log = context;
    log->starts++;
    assert_true(start->dim_x > 0 && start->dim_y > 0 && start->fingerprint != 0);
    assert_non_null(start->run);
    snprintf(why->text, sizeof why->text, "no start");
    return log->fail_start ? BLV_E_VALUE : BLV_OK;
}

static inline bool task_recall(void *context, const blv_task_run *which, blv_run_end *end) {
    task_log *log = context;
    if (which->number >= log->recalled)
        return false;
    *end = log->end[which->number];
    end->x = task_copy(end->x, end->dim_x);
    end->y = task_copy(end->y, end->dim_y);
    if (which->carried_count > 0)
        memcpy(which->carried, log->carried[which->number], which->carried_count * sizeof(double));
    return true;
}

static inline blv_error task_begin(void *context, const blv_task_run *which, blv_run *run,
                                   blv_message *why) {
    task_log *log = context;
    log->begins += !log->fail_begin;
    if (log->stop_run == which->number + 1)
        blv_run_stop(run);
    snprintf(why->text, sizeof why->text, "no beginning");
    return log->fail_begin ? BLV_E_FILE : BLV_OK;
}

static inline void task_end(void *context, const blv_task_run *which, const blv_run_end *end) {
    task_log *log = context;
    log->ends++;
    if (!end)
        return;
    assert_true(which->number < TASK_RUNS);
    blv_run_end *copy = &log->end[which->number];
    blv_run_end_free(copy);
    free(log->carried[which->number]);
    *copy = *end;
    copy->x = task_copy(end->x, end->dim_x);
    copy->y = task_copy(end->y, end->dim_y);
    log->carried[which->number] = task_copy(which->carried, which->carried_count);
}

static inline void task_note(void *context, const char *text) {
    task_log *log = context;
    log->notes++;
    assert_true(text[0] != '\0');
}

static inline blv_task_hooks task_hooks(task_log *log) {
    return (blv_task_hooks){.size = sizeof(blv_task_hooks),
                            .context = log,
                            .progress = task_progress,
                            .start = task_start,
                            .recall = task_recall,
                            .begin = task_begin,
                            .end = task_end,
                            .note = task_note};
}

static inline void free_log(task_log *log) {
    for (size_t i = 0; i < TASK_RUNS; i++) {
        blv_run_end_free(&log->end[i]);
        free(log->carried[i]);
    }
}

#endif
