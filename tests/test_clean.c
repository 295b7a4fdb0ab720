/* blv_clean: its figures recomputed from its arrays and the data, its hooks, what it rejects, and
 * every request for memory failing in turn. */
#include "run_testing.h"

#include "memory_sweep.h"
#include "task_testing.h"

enum { ROWS = 120, VAL_ROWS = 60, TEST_ROWS = 90, WRONG_EACH = 7 };

/* ---- Figures ---- */

static void expect_rows(const blv_task_sets *sets, const blv_clean_result *r) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    size_t suspects = 0;
    double wrong = 0.0;
    bool seen[ROWS] = {false};
    for (size_t i = 0; i < ROWS; i++) {
        const double *p = r->probability + i * r->classes;
        double sum = 0.0;
        for (size_t k = 0; k < r->classes; k++) {
            sum += p[k];
            assert_true(p[k] <= p[r->believed[i]]);
        }
        assert_true(fabs(sum - 1.0) < 1e-6);
        assert_true(r->label_probability[i] >= 0.0 && r->label_probability[i] <= 1.0);
        if (r->suspect[i]) {
            assert_true(r->believed[i] != v->label[i]);
            assert_true(r->label_probability[i] <= r->threshold);
        }
        suspects += r->suspect[i];
        wrong += (1.0 - r->label_probability[i]) / ROWS;
        assert_false(seen[r->order[i]]);
        seen[r->order[i]] = true;
        if (i > 0 && i != r->suspects)
            assert_true(r->label_probability[r->order[i - 1]] <= r->label_probability[r->order[i]]);
        assert_int_equal(r->suspect[r->order[i]], i < r->suspects);
    }
    assert_int_equal(suspects, r->suspects);
    assert_true(fabs(wrong - r->estimated_wrong) < 1e-6);
    for (size_t k = 0; k < r->classes; k++) {
        double sum = 0.0;
        for (size_t l = 0; l < r->classes; l++)
            sum += r->noise[k * r->classes + l];
        assert_true(fabs(sum - 1.0) < 1e-9);
    }
}

/* The probability that a wrong label is more suspicious than a right one, by all pairs. */
static double pairs(const double *score, const bool *wrong) {
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++)
            if (wrong[i] && !wrong[j]) {
                sum += score[i] < score[j] ? 1.0 : score[i] == score[j] ? 0.5 : 0.0;
                count += 1.0;
            }
    return sum / count;
}

static void expect_truth(const blv_task_sets *sets, const blv_clean_result *r) {
    size_t wrong = 0, found = 0;
    assert_true(r->truth_known);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(sets->wrong[i], i % WRONG_EACH == 1);
        wrong += sets->wrong[i];
        found += sets->wrong[i] && r->suspect[i];
    }
    assert_int_equal(r->wrong, wrong);
    assert_int_equal(r->found, found);
    assert_true(fabs(r->recall - (double)found / (double)wrong) < 1e-15);
    assert_true(fabs(r->precision - (double)found / (double)r->suspects) < 1e-15);
    assert_true(fabs(r->auroc_probability - pairs(r->label_probability, sets->wrong)) < 1e-12);
    assert_true(r->auroc_probability > 0.8);
}

/* The answers of the folds to the validation and test rows, as a model of the comparison. */
static void expect_noise_model(const blv_task_sets *sets, const blv_clean_result *r) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->val),
                           *t = blv_dataset_view_of(sets->test);
    double loss = 0.0, right = 0.0;
    for (size_t i = 0; i < VAL_ROWS; i++)
        loss -= log(r->val_probability[i * r->classes + (size_t)v->label[i]]) / VAL_ROWS;
    for (size_t i = 0; i < TEST_ROWS; i++) {
        const double *p = r->test_probability + i * r->classes;
        size_t best = 0;
        for (size_t k = 1; k < r->classes; k++)
            best = p[k] > p[best] ? k : best;
        right += (best == (size_t)t->label[i]) / (double)TEST_ROWS;
    }
    assert_int_equal(r->model_count, 5);
    assert_string_equal(r->models[2].key, "noise");
    assert_true(fabs(r->models[2].val.loss - loss) < 1e-12);
    assert_true(fabs(r->models[2].test.accuracy - right) < 1e-12);
    assert_true(isnan(r->models[1].val.loss)); /* trained on these rows */
    for (size_t i = 0; i < r->model_count; i++)
        assert_true(r->models[i].test.accuracy > 0.8);
}

static void test_figures(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, TEST_ROWS, TASK_CLASSES, WRONG_EACH);
    blv_clean_result *r = task_clean(sets, NULL, NULL);
    assert_int_equal(r->rows, ROWS);
    assert_int_equal(r->folds, 5);
    assert_string_equal(r->solver, "exact");
    assert_true(r->ridge > 0.0 && r->trusted_weight > 0.0 && r->iterations > 0 &&
                r->counts.hvp > 0);
    assert_true(r->certified && isfinite(r->certificate.phi));
    assert_int_equal(r->caution_count, 0);
    expect_rows(sets, r);
    expect_truth(sets, r);
    expect_noise_model(sets, r);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
}

static void test_without_val(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, 0, 0, TASK_CLASSES, WRONG_EACH);
    blv_clean_result *r = task_clean(sets, NULL, NULL);
    expect_rows(sets, r);
    expect_truth(sets, r);
    assert_int_equal(r->model_count, 0);
    assert_true(isnan(r->trusted_weight));
    assert_int_equal(r->caution_count, 1);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
}

static void test_rules(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    blv_clean_options options = {.size = sizeof options, .ridge = 1e-3, .folds = 3};
    options.threshold = 0.5;
    blv_clean_result *r = task_clean(sets, &options, NULL);
    expect_rows(sets, r);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(r->suspect[i],
                         r->label_probability[i] < 0.5 &&
                             r->believed[i] != blv_dataset_view_of(sets->train)->label[i]);
    blv_clean_result_destroy(r);
    options.threshold = 0.0;
    options.flag_share = 0.1;
    r = task_clean(sets, &options, NULL);
    assert_int_equal(r->suspects, ROWS / 10);
    blv_clean_result_destroy(r);
    options.flag_share = 0.0;
    options.false_alarms = 0.3;
    r = task_clean(sets, &options, NULL);
    assert_true(r->false_alarms <= 0.3);
    assert_true(r->suspects > 0);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
}

static void test_apply(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    blv_clean_options options = {.size = sizeof options, .ridge = 1e-3};
    blv_clean_result *r = task_clean(sets, &options, NULL);
    blv_dataset *raw = task_rows(ROWS, TASK_CLASSES, 1, WRONG_EACH), *kept = NULL, *changed = NULL;
    blv_dataset *other = task_rows(ROWS - 1, TASK_CLASSES, 1, 0), *none = NULL;
    assert_int_equal(blv_clean_apply(r, raw, false, &kept, NULL), BLV_OK);
    assert_int_equal(blv_clean_apply(r, raw, true, &changed, NULL), BLV_OK);
    assert_int_equal(blv_clean_apply(r, other, true, &none, NULL), BLV_E_VALUE);
    assert_int_equal(blv_clean_apply(NULL, raw, true, &none, NULL), BLV_E_ARGUMENT);
    const blv_dataset_view *all = blv_dataset_view_of(changed), *few = blv_dataset_view_of(kept);
    assert_int_equal(few->rows, ROWS - r->suspects);
    for (size_t i = 0, next = 0; i < ROWS; i++) {
        int32_t given = blv_dataset_view_of(raw)->label[i];
        assert_int_equal(all->label[i], r->suspect[i] ? r->believed[i] : given);
        if (!r->suspect[i])
            assert_int_equal(few->label[next++], given);
    }
    blv_dataset *made[] = {raw, kept, changed, other};
    for (size_t i = 0; i < 4; i++)
        blv_dataset_release(made[i]);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
}

/* ---- Hooks ---- */

static void expect_same(const blv_clean_result *a, const blv_clean_result *b) {
    assert_memory_equal(a->probability, b->probability, a->rows * a->classes * sizeof(double));
    assert_memory_equal(a->label_probability, b->label_probability, a->rows * sizeof(double));
    assert_memory_equal(a->noise, b->noise, a->classes * a->classes * sizeof(double));
    assert_memory_equal(a->order, b->order, a->rows * sizeof(size_t));
    assert_memory_equal(&a->certificate, &b->certificate, sizeof a->certificate);
    assert_int_equal(a->iterations, b->iterations);
    assert_true(a->threshold == b->threshold && a->ridge == b->ridge);
}

static void test_resumed(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    task_log log = {0};
    blv_task_hooks hooks = task_hooks(&log);
    blv_clean_result *plain = task_clean(sets, NULL, NULL), *first = task_clean(sets, NULL, &hooks);
    size_t runs = log.ends;
    expect_same(plain, first);
    assert_int_equal(log.starts, 1);
    assert_int_equal(log.begins, runs);
    assert_true(runs == 1 && log.reports > runs);
    for (log.recalled = 1; log.recalled <= runs; log.recalled += 2) {
        log.begins = 0;
        blv_clean_result *again = task_clean(sets, NULL, &hooks);
        expect_same(plain, again);
        assert_int_equal(log.begins, runs - log.recalled);
        blv_clean_result_destroy(again);
    }
    blv_clean_result_destroy(first);
    blv_clean_result_destroy(plain);
    free_log(&log);
    blv_task_sets_destroy(sets);
}

static void expect_error(const blv_task_sets *sets, const blv_clean_options *options, task_log *log,
                         blv_error expected, const char *words) {
    blv_task_hooks hooks = task_hooks(log);
    blv_clean_result *none = NULL;
    blv_message why = {""};
    assert_int_equal(blv_clean(sets, options, &none, &hooks, &why), expected);
    assert_null(none);
    if (!strstr(why.text, words))
        fail_msg("'%s' has no '%s'", why.text, words);
    assert_int_equal(log->begins, log->ends);
    free_log(log);
}

static void test_stopped(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    task_log counted = {0};
    blv_task_hooks hooks = task_hooks(&counted);
    blv_clean_result_destroy(task_clean(sets, NULL, &hooks));
    for (size_t at = 1; at <= counted.reports && at < 12; at += 3)
        expect_error(sets, NULL, &(task_log){.stop_at = at}, BLV_E_STOPPED, "stopped");
    expect_error(sets, NULL, &(task_log){.stop_run = 1}, BLV_E_STOPPED, "nothing is written");
    expect_error(sets, NULL, &(task_log){.fail_start = true}, BLV_E_VALUE, "no start");
    expect_error(sets, NULL, &(task_log){.fail_begin = true}, BLV_E_FILE, "no beginning");
    free_log(&counted);
    blv_task_sets_destroy(sets);
}

/* Many columns: a request to stop acts while they are prepared, before anything is learned. */
static void test_stopped_early(void **state) {
    (void)state;
    enum { MANY = 20, WIDE = 130 };
    static double x[MANY * WIDE];
    static int32_t label[MANY];
    uint64_t seed = 3;
    for (size_t i = 0; i < MANY * WIDE; i++)
        x[i] = task_noise(&seed);
    for (size_t i = 0; i < MANY; i++)
        label[i] = (int32_t)(i % 2);
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = MANY,
                                   .columns = WIDE,
                                   .dense = x,
                                   .stride = WIDE,
                                   .classes = 2,
                                   .label = label};
    blv_dataset *set = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, set, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    task_log log = {.stop_at = 2};
    expect_error(sets, NULL, &log, BLV_E_STOPPED, "stopped");
    assert_int_equal(log.starts, 0);
    blv_task_sets_destroy(sets);
    blv_dataset_release(set);
}

static void test_failed(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    const blv_setting wild[] = {{"step_x", "1"}, {"step_y", "1e9"}}, unknown[] = {{"nothing", "1"}};
    blv_clean_options options = {.size = sizeof options,
                                 .solver = blv_solver_find(NULL, "aid-cg", NULL),
                                 .settings = wild,
                                 .setting_count = 2};
    expect_error(sets, &options, &(task_log){0}, BLV_E_FAILED, "solver aid-cg: diverged");
    options.settings = unknown;
    options.setting_count = 1;
    expect_error(sets, &options, &(task_log){0}, BLV_E_NAME, "nothing");
    blv_task_sets_destroy(sets);
}

/* The rows of a set in single precision, as sets of a task. */
static blv_task_sets *in_f32(const blv_dataset *set) {
    blv_dataset_view view = *blv_dataset_view_of(set);
    const double *from = view.dense;
    float *numbers = calloc(view.rows * view.stride, sizeof *numbers);
    for (size_t i = 0; i < view.rows * view.stride; i++)
        numbers[i] = (float)from[i];
    view.dense = numbers;
    view.precision = BLV_F32;
    blv_dataset *single = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&single, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, single, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    blv_dataset_release(single);
    free(numbers);
    return sets;
}

/* What has failed in f32 runs once more, in f64. */
static void test_failed_in_f32(void **state) {
    (void)state;
    const blv_setting wild[] = {{"step_x", "1"}, {"step_y", "1e9"}};
    blv_clean_options options = {.size = sizeof options,
                                 .solver = blv_solver_find(NULL, "aid-cg", NULL),
                                 .settings = wild,
                                 .setting_count = 2};
    blv_dataset *rows = task_rows(ROWS, TASK_CLASSES, 1, WRONG_EACH);
    blv_task_sets *sets = in_f32(rows);
    task_log log = {0};
    expect_error(sets, &options, &log, BLV_E_FAILED, "solver aid-cg: diverged");
    assert_int_equal(log.begins, 2);
    blv_task_sets_destroy(sets);
    blv_dataset_release(rows);
}

/* ---- What is rejected ---- */

static void test_rejected(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    blv_task_sets *few = task_sets(9, 9, 0, TASK_CLASSES, 0);
    blv_clean_result *none = NULL;
    blv_clean_options good = {.size = sizeof good}, wrong[8];
    assert_int_equal(blv_clean(NULL, NULL, &none, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_clean(sets, NULL, NULL, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_clean(sets, &(blv_clean_options){0}, &none, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_clean(sets, NULL, &none, &(blv_task_hooks){0}, NULL), BLV_E_ARGUMENT);
    for (size_t i = 0; i < 8; i++)
        wrong[i] = good;
    wrong[0].folds = 1;
    wrong[1].folds = 101;
    wrong[2].threshold = 1.0;
    wrong[3].flag_share = (double)NAN;
    wrong[4].false_alarms = 1.5;
    wrong[5].ridge = -1.0;
    wrong[6].threshold = wrong[6].flag_share = 0.1;
    wrong[7].folds = 61;
    for (size_t i = 0; i < 8; i++)
        expect_error(sets, &wrong[i], &(task_log){0}, BLV_E_VALUE, "");
    expect_error(few, NULL, &(task_log){0}, BLV_E_VALUE,
                 "train: 9 rows are too few for 5 folds; expected at least 10");
    assert_null(none);
    blv_clean_result_destroy(NULL);
    blv_task_sets_destroy(NULL);
    blv_task_sets_destroy(sets);
    blv_task_sets_destroy(few);
}

static void test_sets(void **state) {
    (void)state;
    blv_dataset *rows = task_rows(12, 3, 1, 0), *one = task_rows(12, 1, 1, 0);
    blv_dataset *two = task_rows(12, 2, 1, 0);
    blv_task_sets *sets = NULL;
    blv_message why = {""};
    assert_int_equal(blv_task_sets_create(&sets, NULL, rows, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_E_ARGUMENT);
    assert_int_not_equal(blv_task_sets_create(&sets, one, NULL, NULL, BLV_TASK_SCALE_AUTO, &why),
                         BLV_OK);
    assert_non_null(strstr(why.text, "one class only"));
    assert_int_equal(blv_task_sets_create(&sets, two, rows, NULL, BLV_TASK_SCALE_AUTO, &why),
                     BLV_E_VALUE);
    assert_non_null(strstr(why.text, "class"));
    assert_int_equal(blv_task_sets_read(&sets, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_task_sets_read(&sets, &(blv_task_files){0}, NULL), BLV_E_ARGUMENT);
    assert_int_equal(
        blv_task_sets_read(&sets, &(blv_task_files){.size = sizeof(blv_task_files)}, NULL),
        BLV_E_ARGUMENT);
    assert_null(sets);
    for (int scaling = BLV_TASK_SCALE_AUTO; scaling <= BLV_TASK_SCALE_NONE; scaling++) {
        assert_int_equal(
            blv_task_sets_create(&sets, rows, rows, rows, (blv_task_scaling)scaling, NULL), BLV_OK);
        const blv_dataset_view *from = blv_dataset_view_of(rows), *to;
        to = blv_dataset_view_of(sets->test);
        assert_int_equal(sets->features + 1, to->columns);
        assert_int_equal(sets->unit_rows, scaling == BLV_TASK_SCALE_ROWS);
        for (size_t j = 0; j < sets->features && !sets->unit_rows; j++) {
            double x = ((const double *)from->dense)[j], z = ((const double *)to->dense)[j];
            assert_true(fabs((x - sets->shift[j]) / sets->divisor[j] - z) < 1e-12);
        }
        assert_true(((const double *)to->dense)[sets->features] == 1.0);
        blv_task_sets_destroy(sets);
        sets = NULL;
    }
    blv_dataset_release(rows);
    blv_dataset_release(one);
    blv_dataset_release(two);
}

/* ---- Memory ---- */

static blv_error clean_all(void *context, blv_message *why) {
    const blv_dataset *const *set = context;
    blv_task_sets *sets = NULL;
    blv_clean_result *result = NULL;
    blv_clean_options options = {
        .size = sizeof options, .threads = 1, .folds = 2, .ridge = 1e-3, .no_certificate = true};
    blv_error error = blv_task_sets_create(&sets, set[0], set[1], set[1], BLV_TASK_SCALE_AUTO, why);
    if (error == BLV_OK)
        error = blv_clean(sets, &options, &result, NULL, why);
    blv_clean_result_destroy(result);
    blv_task_sets_destroy(sets);
    return error;
}

static void test_memory(void **state) {
    (void)state;
    blv_dataset *set[] = {task_rows(12, 2, 1, 4), task_rows(8, 2, 2, 0), NULL};
    oracle_may_fail = refusal_may_not_matter = true;
    every_request_up_to = 700;
    blv_message why = {""};
    assert_int_equal(clean_all(set, &why), BLV_OK); /* what is made once is made */
    fail_every_request("clean", clean_all, set, true);
    blv_dataset_release(set[1]);
    set[1] = NULL;
    fail_every_request("clean without validation rows", clean_all, set, true);
    blv_dataset_release(set[0]);
}

/* A network is asked for: the same for any number of threads, and as good on these rows. */
static void test_network(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, TEST_ROWS, TASK_CLASSES, WRONG_EACH);
    blv_clean_result *r[2];
    for (int i = 0; i < 2; i++) {
        blv_clean_options options = {
            .size = sizeof options, .model = BLV_CLEAN_MLP, .threads = 1 + 2 * i};
        r[i] = task_clean(sets, &options, NULL);
        expect_rows(sets, r[i]);
        assert_int_equal(r[i]->model, BLV_CLEAN_MLP);
        assert_true(r[i]->decay > 0.0 && r[i]->model_loss[BLV_CLEAN_MLP] > 0.0);
        assert_true(r[i]->auroc_probability > 0.95);
    }
    assert_memory_equal(r[0]->probability, r[1]->probability,
                        r[0]->rows * r[0]->classes * sizeof(double));
    blv_clean_result_destroy(r[0]);
    blv_clean_result_destroy(r[1]);
    blv_task_sets_destroy(sets);
}

/* Three rows of a class: they stay, and that is said. */
static void test_rare_class(void **state) {
    (void)state;
    blv_dataset *all = task_rows(ROWS, TASK_CLASSES, 1, WRONG_EACH), *rows = NULL;
    const int32_t *label = blv_dataset_view_of(all)->label;
    size_t index[ROWS], count = 0, rare = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (label[i] != 2 || rare++ < 3)
            index[count++] = i;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_select(all, index, count, &rows, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, rows, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    blv_clean_options options = {.size = sizeof options, .model = BLV_CLEAN_LINEAR};
    blv_clean_result *r = task_clean(sets, &options, NULL);
    for (size_t i = 0; i < count; i++)
        assert_true(blv_dataset_view_of(rows)->label[i] != 2 || !r->suspect[i]);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
    blv_dataset_release(all);
    blv_dataset_release(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),       cmocka_unit_test(test_without_val),
        cmocka_unit_test(test_rules),         cmocka_unit_test(test_apply),
        cmocka_unit_test(test_resumed),       cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_stopped_early), cmocka_unit_test(test_failed),
        cmocka_unit_test(test_rejected),      cmocka_unit_test(test_sets),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_network),
        cmocka_unit_test(test_rare_class),    cmocka_unit_test(test_failed_in_f32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
