/* blv_clean: its figures recomputed from its arrays and the data, its hooks, what it rejects, and
 * every request for memory failing in turn. */
#include "run_testing.h"

#include "learn/forest.h"
#include "memory_sweep.h"
#include "task_testing.h"

enum { ROWS = 120, VAL_ROWS = 60, TEST_ROWS = 90, WRONG_EACH = 7 };

static blv_clean_result *clean(const blv_task_sets *sets, const blv_clean_options *options,
                               const blv_task_hooks *hooks) {
    blv_clean_result *result = NULL;
    blv_message why = {""};
    if (blv_clean(sets, options, &result, hooks, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return result;
}

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
    blv_clean_result *r = clean(sets, NULL, NULL);
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
    blv_clean_result *r = clean(sets, NULL, NULL);
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
    blv_clean_result *r = clean(sets, &options, NULL);
    expect_rows(sets, r);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(r->suspect[i],
                         r->label_probability[i] < 0.5 &&
                             r->believed[i] != blv_dataset_view_of(sets->train)->label[i]);
    blv_clean_result_destroy(r);
    options.threshold = 0.0;
    options.flag_share = 0.1;
    r = clean(sets, &options, NULL);
    assert_int_equal(r->suspects, ROWS / 10);
    blv_clean_result_destroy(r);
    options.flag_share = 0.0;
    options.false_alarms = 0.3;
    r = clean(sets, &options, NULL);
    assert_true(r->false_alarms <= 0.3);
    assert_true(r->suspects > 0);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
}

static void test_apply(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, TASK_CLASSES, WRONG_EACH);
    blv_clean_options options = {.size = sizeof options, .ridge = 1e-3};
    blv_clean_result *r = clean(sets, &options, NULL);
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
    blv_clean_result *plain = clean(sets, NULL, NULL), *first = clean(sets, NULL, &hooks);
    size_t runs = log.ends;
    expect_same(plain, first);
    assert_int_equal(log.starts, 1);
    assert_int_equal(log.begins, runs);
    assert_true(runs == 1 && log.reports > runs);
    for (log.recalled = 1; log.recalled <= runs; log.recalled += 2) {
        log.begins = 0;
        blv_clean_result *again = clean(sets, NULL, &hooks);
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
    blv_clean_result_destroy(clean(sets, NULL, &hooks));
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

/* ---- What is learned ---- */

/* Every fourth label is that of the next class. */
static void test_noise(void **state) {
    (void)state;
    enum { MANY = 900, EACH = 4 };
    const size_t trusted[] = {0, 1, 10, 120};
    double before = 0.0;
    for (size_t t = 0; t < 4; t++) {
        blv_task_sets *sets = task_sets(MANY, trusted[t], 0, TASK_CLASSES, EACH);
        blv_clean_options options = {.size = sizeof options, .model = BLV_CLEAN_LINEAR};
        blv_clean_result *r = clean(sets, &options, NULL);
        for (size_t k = 0; k < TASK_CLASSES; k++)
            for (size_t l = 0; l < TASK_CLASSES; l++) {
                const double noise = l == k                        ? 1.0 - 1.0 / EACH
                                     : l == (k + 1) % TASK_CLASSES ? 1.0 / EACH
                                                                   : 0.0;
                assert_true(fabs(r->noise[k * TASK_CLASSES + l] - noise) <= 0.1);
            }
        assert_true(fabs(r->estimated_wrong - 1.0 / EACH) <= 0.03);
        assert_true(r->auroc_probability > before - 0.002); /* trusted rows do no harm */
        assert_true(r->recall > 0.9 && r->precision > 0.9);
        before = r->auroc_probability;
        blv_clean_result_destroy(r);
        blv_task_sets_destroy(sets);
    }
}

/* The logarithms of two columns tell the classes apart; most of their variance is in a few rows. */
static void test_skewed(void **state) {
    (void)state;
    enum { MANY = 600, EACH = 5 };
    static double x[2 * MANY];
    static int32_t label[MANY], right[MANY];
    uint64_t seed = 9;
    for (size_t i = 0; i < MANY; i++) {
        right[i] = (int32_t)(i % 2);
        label[i] = i % EACH == 1 ? 1 - right[i] : right[i];
        const double size = 2.0 * task_noise(&seed), side = right[i] ? 1.0 : -1.0;
        x[2 * i] = exp(2.0 * (size + side + 0.3 * task_noise(&seed)));
        x[2 * i + 1] = exp(2.0 * (size - side + 0.3 * task_noise(&seed)));
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = MANY,
                                   .columns = 2,
                                   .dense = x,
                                   .stride = 2,
                                   .classes = 2,
                                   .label = label,
                                   .true_label = right};
    blv_dataset *set = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, set, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    const blv_clean_options options = {.size = sizeof options, .model = BLV_CLEAN_LINEAR};
    blv_clean_result *r = clean(sets, &options, NULL);
    if (!(r->auroc_probability > 0.85))
        fail_msg("AUROC %g", r->auroc_probability);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
    blv_dataset_release(set);
}

/* Labels that no model can tell are as frequent among trusted rows: they are not all wrong. */
static void test_overlap(void **state) {
    (void)state;
    blv_dataset *train = task_rows(600, TASK_CLASSES, 1, 4),
                *val = task_rows(200, TASK_CLASSES, 2, 4);
    const blv_clean_options options = {.size = sizeof options, .model = BLV_CLEAN_LINEAR};
    double share[2];
    for (int trusted = 0; trusted < 2; trusted++) {
        blv_task_sets *sets = NULL;
        assert_int_equal(blv_task_sets_create(&sets, train, trusted ? val : NULL, NULL,
                                              BLV_TASK_SCALE_AUTO, NULL),
                         BLV_OK);
        blv_clean_result *r = clean(sets, &options, NULL);
        share[trusted] = r->estimated_wrong;
        blv_clean_result_destroy(r);
        blv_task_sets_destroy(sets);
    }
    assert_true(share[0] > 0.2 && share[1] < 0.65 * share[0]);
    blv_dataset_release(train);
    blv_dataset_release(val);
}

/* Rows whose label has nothing to do with the features, three of ten of the second class; without
 * spread all features are alike. */
static blv_clean_result *clean_chance(uint64_t seed, double spread) {
    enum { COUNT = 300 };
    static double x[COUNT * TASK_COLUMNS];
    static int32_t label[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        label[i] = i % 10 >= 7;
        for (size_t j = 0; j < TASK_COLUMNS; j++)
            x[i * TASK_COLUMNS + j] = 1.0 + spread * task_noise(&seed);
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = COUNT,
                                   .columns = TASK_COLUMNS,
                                   .dense = x,
                                   .stride = TASK_COLUMNS,
                                   .classes = 2,
                                   .label = label};
    blv_dataset *set = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, set, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    const blv_clean_options options = {.size = sizeof options, .model = BLV_CLEAN_LINEAR};
    blv_clean_result *r = clean(sets, &options, NULL);
    blv_task_sets_destroy(sets);
    blv_dataset_release(set);
    return r;
}

/* It does not look as if labels were clearly wrong then, but where chance alone makes them clearly
 * likelier with the features than without. */
static void test_no_information(void **state) {
    (void)state;
    enum { DRAWS = 8, LUCKY = 2 };
    size_t sure = 0;
    for (uint64_t draw = 0; draw <= DRAWS; draw++) {
        blv_clean_result *r = clean_chance(draw, draw > 0 ? 1.0 : 0.0);
        const bool guess = r->caution_count > 0 && strstr(r->cautions[0], "is a guess");
        assert_true(guess || draw > 0);
        for (size_t i = 0; guess && i < r->rows; i++)
            assert_true(!r->suspect[i] || r->label_probability[i] < 0.6 || r->suspects == 1);
        sure += !guess;
        blv_clean_result_destroy(r);
    }
    assert_true(sure <= LUCKY);
}

/* Two classes that overlap (the best model errs in 16% of the rows), judged by the probabilities
 * that they were drawn from; every wrong_each-th label is wrong (0: none). */
enum { OVERLAP_ROWS = 3000 };

static blv_clean_result *clean_overlap(size_t wrong_each, bool *wrong) {
    static double x[OVERLAP_ROWS], p[2 * OVERLAP_ROWS];
    static int32_t label[OVERLAP_ROWS];
    uint64_t seed = 5;
    for (size_t i = 0; i < OVERLAP_ROWS; i++) {
        x[i] = (i % 2 ? 1.0 : -1.0) + task_noise(&seed);
        p[2 * i + 1] = 1.0 / (1.0 + exp(-2.0 * x[i]));
        p[2 * i] = 1.0 - p[2 * i + 1];
        wrong[i] = wrong_each > 0 && i % wrong_each == 1;
        label[i] = (int32_t)(i % 2) != (int32_t)wrong[i];
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = OVERLAP_ROWS,
                                   .columns = 1,
                                   .dense = x,
                                   .stride = 1,
                                   .classes = 2,
                                   .label = label};
    blv_dataset *set = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, set, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    const blv_clean_options options = {.size = sizeof options, .probabilities = p};
    blv_clean_result *r = clean(sets, &options, NULL);
    blv_task_sets_destroy(sets);
    blv_dataset_release(set);
    return r;
}

/* Right labels of classes that overlap are not taken for wrong ones, and wrong ones are still seen:
 * among labels that are right with a probability near p, about p are. */
static void test_share(void **state) {
    (void)state;
    enum { BINS = 4 };
    static bool wrong[OVERLAP_ROWS];
    blv_clean_result *r = clean_overlap(0, wrong);
    assert_true(r->estimated_wrong < 0.03 && r->suspects < OVERLAP_ROWS * 3 / 100);
    blv_clean_result_destroy(r);
    for (size_t each = 3; each <= 9; each += 3) {
        double expected[BINS] = {0}, right[BINS] = {0}, rows[BINS] = {0};
        r = clean_overlap(each, wrong);
        assert_true(fabs(r->estimated_wrong - 1.0 / (double)each) < 0.05);
        const double many = r->estimated_wrong * OVERLAP_ROWS;
        assert_true(fabs((double)r->suspects - many) < 0.1 * many);
        for (size_t i = 0; i < OVERLAP_ROWS; i++) {
            const size_t bin = (size_t)fmin(BINS * r->label_probability[i], BINS - 1);
            rows[bin] += 1.0;
            expected[bin] += r->label_probability[i];
            right[bin] += !wrong[i];
            const int32_t label = (int32_t)(i % 2) != (int32_t)wrong[i];
            if (r->label_probability[i] < 0.65 && r->believed[i] != label)
                assert_true(r->suspect[i]);
        }
        for (size_t b = 0; b < BINS; b++)
            assert_true(fabs(expected[b] - right[b]) < 0.2 * rows[b]);
        blv_clean_result_destroy(r);
    }
}

/* A network is asked for: the same for any number of threads, and as good on these rows. */
static void test_network(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, TEST_ROWS, TASK_CLASSES, WRONG_EACH);
    blv_clean_result *r[2];
    for (int i = 0; i < 2; i++) {
        blv_clean_options options = {
            .size = sizeof options, .model = BLV_CLEAN_MLP, .threads = 1 + 2 * i};
        r[i] = clean(sets, &options, NULL);
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

/* One class is in the four corners of a plane, with six columns that say nothing; every fifth label
 * is wrong. wide: in f64. */
static blv_task_sets *corners(bool wide) {
    enum { MANY = 500, COLUMNS = 8, EACH = 5 };
    static double x[MANY * COLUMNS];
    static float narrow[MANY * COLUMNS];
    static int32_t label[MANY], right[MANY];
    uint64_t seed = 4;
    for (size_t i = 0; i < MANY * COLUMNS; i++)
        narrow[i] = (float)(x[i] = task_noise(&seed));
    for (size_t i = 0; i < MANY; i++) {
        const double *row = x + i * COLUMNS;
        right[i] = fabs(row[0]) > 0.7 && fabs(row[3]) > 0.5;
        label[i] = i % EACH == 1 ? 1 - right[i] : right[i];
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = MANY,
                                   .columns = COLUMNS,
                                   .precision = wide ? BLV_F64 : BLV_F32,
                                   .dense = wide ? (void *)x : (void *)narrow,
                                   .stride = COLUMNS,
                                   .classes = 2,
                                   .label = label,
                                   .true_label = right};
    blv_dataset *set = NULL;
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_task_sets_create(&sets, set, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    blv_dataset_release(set);
    return sets;
}

/* Trees are asked for, or found to be better: where no line tells classes apart. The same for any
 * number of threads; in f32 and f64 the same order of numbers, so nearly the same answers. */
static void test_forest(void **state) {
    (void)state;
    blv_clean_result *r[4];
    for (int i = 0; i < 4; i++) {
        blv_task_sets *sets = corners(i == 2);
        const blv_clean_options options = {.size = sizeof options,
                                           .model = i == 3 ? BLV_CLEAN_AUTO : BLV_CLEAN_FOREST,
                                           .threads = 1 + 2 * (i == 1)};
        r[i] = clean(sets, &options, NULL);
        if (!(r[i]->auroc_probability > 0.93))
            fail_msg("AUROC %g", r[i]->auroc_probability);
        assert_true(r[i]->recall > 0.75 && r[i]->precision > 0.75);
        assert_true(i == 3 ? r[i]->forest > 0.0 : r[i]->forest == 1.0);
        assert_true(i == 3 || r[i]->model == BLV_CLEAN_FOREST);
        assert_non_null(strstr(r[i]->model_text, "trees"));
        blv_task_sets_destroy(sets);
    }
    const size_t count = r[0]->rows * r[0]->classes;
    assert_memory_equal(r[0]->probability, r[1]->probability, count * sizeof(double));
    for (size_t k = 0; k < count; k++)
        assert_true(fabs(r[0]->probability[k] - r[2]->probability[k]) < 0.05);
    for (int i = 0; i < 4; i++)
        blv_clean_result_destroy(r[i]);
}

static bool stop_at_once(void *context, int member) {
    (void)member;
    ++*(size_t *)context;
    return true;
}

/* A tree finds a step in one of its columns, but for what falls into one bin; its answers add up to
 * its share, and there are none where it is stopped. */
static void test_tree(void **state) {
    (void)state;
    enum { MANY = 4000, WIDE = 3 };
    static double x[MANY * WIDE], answer[2 * MANY];
    static int32_t label[MANY];
    static uint32_t row[MANY];
    uint64_t seed = 4;
    for (size_t i = 0; i < MANY; i++) {
        for (size_t j = 0; j < WIDE; j++)
            x[i * WIDE + j] = j + 1 < WIDE ? task_noise(&seed) : 1.0;
        label[i] = x[i * WIDE + 1] > 0.5;
        row[i] = (uint32_t)i;
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = MANY,
                                   .columns = WIDE,
                                   .dense = x,
                                   .stride = WIDE,
                                   .classes = 2,
                                   .label = label};
    blv_dataset *set = NULL;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    const blv_dataset *const sets[] = {set, NULL};
    blv_forest_rows rows;
    blv_tree_room room;
    size_t asked = 0;
    assert_int_equal(blv_forest_take(&rows, sets, 2, NULL), BLV_OK);
    for (size_t j = 0; j < rows.columns; j++)
        blv_forest_code(&rows, sets, 2, j);
    assert_true(blv_tree_room_open(&room, &rows.arena, &rows));
    const blv_tree_task task = {.learned = row,
                                .asked = row,
                                .learned_count = MANY,
                                .asked_count = MANY,
                                .share = 0.5,
                                .first = answer,
                                .first_rows = MANY};
    room.stop = stop_at_once;
    room.stop_context = &asked;
    blv_tree_answer(&room, &task);
    for (size_t i = 0; i < 2 * MANY; i++)
        assert_true(answer[i] == 0.0);
    assert_int_equal(asked, 1);
    room.stop = NULL;
    blv_tree_answer(&room, &task);
    for (size_t i = 0; i < MANY; i++) {
        assert_true(fabs(answer[2 * i] + answer[2 * i + 1] - 0.5) < 1e-12);
        if (fabs(x[i * WIDE + 1] - 0.5) > 0.1)
            assert_true(answer[2 * i + (size_t)label[i]] > 0.499);
    }
    blv_forest_release(&rows);
    blv_dataset_release(set);
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
    blv_clean_result *r = clean(sets, &options, NULL);
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
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_network),       cmocka_unit_test(test_rare_class),
        cmocka_unit_test(test_overlap),       cmocka_unit_test(test_share),
        cmocka_unit_test(test_skewed),        cmocka_unit_test(test_failed_in_f32),
        cmocka_unit_test(test_forest),        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_no_information)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
