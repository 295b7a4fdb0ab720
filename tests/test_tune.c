/* blv_tune and models: figures recomputed from the model and the data, hooks, model files, what is
 * rejected, and every request for memory failing in turn. */
#include "run_testing.h"

#include "memory_sweep.h"
#include "task_testing.h"

#include <unistd.h>

enum { ROWS = 90, VAL_ROWS = 120, TEST_ROWS = 60 };

static blv_tune_result *tune(const blv_task_sets *sets, const blv_tune_options *options,
                             const blv_task_hooks *hooks) {
    blv_tune_result *result = NULL;
    blv_message why = {""};
    if (blv_tune(sets, options, &result, hooks, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return result;
}

/* ---- Answers, by hand ---- */

static void answer(const blv_model *m, const double *row, double *p) {
    double sum = 0.0;
    for (size_t k = 0; k < m->scores; k++) {
        double score = m->intercept[k];
        for (size_t j = 0; j < m->features; j++)
            score += m->weights[k * m->features + j] * (row[j] - m->shift[j]) / m->divisor[j];
        p[k] = score;
    }
    if (m->scores == 1) {
        p[1] = 1.0 / (1.0 + exp(-p[0]));
        p[0] = 1.0 - p[1];
        return;
    }
    for (size_t k = 0; k < m->classes; k++)
        sum += p[k] = exp(p[k]);
    for (size_t k = 0; k < m->classes; k++)
        p[k] /= sum;
}

/* The answers of a model to raw rows, by hand and by the library; the mean loss. */
static double expect_answers(const blv_model *m, const blv_dataset *rows) {
    const blv_dataset_view *v = blv_dataset_view_of(rows);
    double *all = calloc(v->rows * m->classes, sizeof *all), loss = 0.0;
    blv_prediction *found = NULL;
    assert_int_equal(blv_model_answer(m, rows, all, NULL), BLV_OK);
    assert_int_equal(blv_model_predict(m, rows, &found, NULL), BLV_OK);
    assert_memory_equal(found->probability, all, v->rows * m->classes * sizeof *all);
    for (size_t i = 0; i < v->rows; i++) {
        double p[TASK_CLASSES];
        answer(m, (const double *)v->dense + i * v->stride, p);
        loss -= log(p[v->label[i]]) / (double)v->rows;
        for (size_t k = 0; k < m->classes; k++) {
            assert_true(fabs(p[k] - all[i * m->classes + k]) < 1e-12);
            assert_true(p[k] <= p[found->predicted[i]] + 1e-12);
        }
        assert_int_equal(found->label[i], v->label[i]);
    }
    assert_true(fabs(found->loss - loss) < 1e-12);
    blv_prediction_destroy(found);
    free(all);
    return loss;
}

/* ---- Figures ---- */

static void expect_figures(size_t classes, blv_penalty_kind kind, size_t penalties) {
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, TEST_ROWS, classes, 0);
    blv_dataset *test = task_rows(TEST_ROWS, classes, 3, 0);
    blv_tune_options options = {.size = sizeof options, .penalty = kind};
    blv_tune_result *r = tune(sets, &options, NULL);
    const blv_model *m = r->model;
    assert_int_equal(r->train_rows, ROWS);
    assert_int_equal(r->val_rows, VAL_ROWS);
    assert_int_equal(r->held_out_rows, VAL_ROWS);
    assert_int_equal(r->folds, 0);
    assert_int_equal(m->classes, classes);
    assert_int_equal(m->scores, classes == 2 ? 1 : classes);
    assert_int_equal(m->features, TASK_COLUMNS);
    assert_int_equal(m->penalties, penalties);
    assert_int_equal(r->learned_count, kind == BLV_PENALTY_ONE ? 0 : penalties);
    assert_ptr_equal(r->chosen, r->kept ? &r->with_many : &r->with_single);
    for (size_t k = 0; k < penalties; k++)
        assert_true(m->penalty[k] == (r->kept ? r->learned[k] : r->single));
    assert_true(fabs(expect_answers(m, test) - r->chosen->test.loss) < 1e-9);
    assert_true(r->with_single.test.accuracy > 0.8);
    if (kind != BLV_PENALTY_ONE) {
        assert_true(r->with_many.weights && r->certified && r->iterations > 0);
        assert_true(!r->kept || r->gain > 2.0 * r->gain_error);
        assert_true(fabs(r->gain - (r->with_single.held_out.loss - r->with_many.held_out.loss)) <
                    1e-12);
    }
    assert_string_equal(r->failure.text, "");
    blv_tune_result_destroy(r);
    blv_dataset_release(test);
    blv_task_sets_destroy(sets);
}

static void test_figures(void **state) {
    (void)state;
    expect_figures(2, BLV_PENALTY_PER_FEATURE, TASK_COLUMNS);
    expect_figures(3, BLV_PENALTY_PER_FEATURE, TASK_COLUMNS);
    expect_figures(3, BLV_PENALTY_PER_CLASS, 3);
    expect_figures(2, BLV_PENALTY_PER_CLASS, 1);
    expect_figures(2, BLV_PENALTY_ONE, 1);
}

static void test_refit(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, 0, TEST_ROWS, 2, 0);
    blv_tune_options options = {.size = sizeof options, .refit = true, .val_share = 0.4};
    blv_tune_result *r = tune(sets, &options, NULL);
    assert_int_equal(r->train_rows + r->val_rows, ROWS);
    assert_true(!isnan(r->with_single.test.loss));
    blv_tune_result_destroy(r);
    blv_task_sets_destroy(sets);
}

/* ---- Cross-validation ---- */

static void expect_same(const blv_tune_result *a, const blv_tune_result *b) {
    const blv_model *m = a->model;
    assert_memory_equal(m->weights, b->model->weights, m->scores * m->features * sizeof(double));
    assert_memory_equal(m->penalty, b->model->penalty, m->penalties * sizeof(double));
    assert_true(a->gain == b->gain && a->single == b->single && a->iterations == b->iterations);
}

/* Features of which two matter, in f32 or f64; classes 0: real targets. */
static blv_task_sets *informative_sets(size_t rows, size_t columns, size_t classes,
                                       blv_precision precision, double unit) {
    blv_dataset *set[2] = {NULL, NULL};
    uint64_t seed = 7;
    for (int s = 0; s < 2; s++) {
        double *dense = calloc(rows * columns, sizeof *dense);
        double *target = calloc(rows, sizeof *target);
        float *single = calloc(rows * columns, sizeof *single);
        int32_t *label = calloc(rows, sizeof *label);
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < columns; j++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                dense[i * columns + j] = (double)(seed >> 11) * 0x1p-52 - 1.0;
                single[i * columns + j] = (float)dense[i * columns + j];
            }
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            double uniform = ((double)(seed >> 11) + 0.5) * 0x1p-53;
            double noise = 0.5 * log(uniform / (1.0 - uniform));
            double score = 3.0 * dense[i * columns] - 2.0 * dense[i * columns + 1] + noise;
            label[i] = score > 0.0;
            target[i] = unit * (score + 5.0);
        }
        blv_dataset_view view = {.size = sizeof view,
                                 .rows = rows,
                                 .columns = columns,
                                 .precision = precision,
                                 .dense = precision == BLV_F32 ? (void *)single : (void *)dense,
                                 .stride = columns,
                                 .classes = classes,
                                 .label = classes ? label : NULL,
                                 .target = classes ? NULL : target};
        assert_int_equal(blv_dataset_create(&set[s], &view, NULL, NULL), BLV_OK);
        free(dense);
        free(single);
        free(target);
        free(label);
    }
    blv_task_sets *sets = NULL;
    assert_int_equal(
        blv_task_sets_create(&sets, set[0], NULL, set[1], BLV_TASK_SCALE_STANDARD, NULL), BLV_OK);
    blv_dataset_release(set[0]);
    blv_dataset_release(set[1]);
    return sets;
}

/* Two of forty features matter, and there are rows enough to tell: many penalties are kept, those
 * of the two are lowest, and the test rows agree. */
static void test_gain(void **state) {
    (void)state;
    blv_task_sets *sets = informative_sets(300, 40, 2, BLV_F64, 1.0);
    blv_tune_result *r = tune(sets, NULL, NULL);
    assert_int_equal(r->folds, 5);
    assert_int_equal(r->held_out_rows, 300);
    assert_true(r->kept);
    assert_true(r->with_many.test.loss < r->with_single.test.loss);
    for (size_t k = 2; k < 40; k++)
        assert_true(r->learned[k] > r->learned[0] && r->learned[k] > r->learned[1]);
    blv_tune_result_destroy(r);
    blv_task_sets_destroy(sets);
}

/* Results do not depend on the number of threads, and f32 finds what f64 does. */
static void test_same(void **state) {
    (void)state;
    blv_task_sets *sets = informative_sets(90, 6, 2, BLV_F64, 1.0);
    blv_task_sets *single = informative_sets(90, 6, 2, BLV_F32, 1.0);
    blv_tune_result *r[3];
    for (int i = 0; i < 2; i++)
        r[i] = tune(sets, &(blv_tune_options){.size = sizeof(blv_tune_options), .threads = 1 + i},
                    NULL);
    r[2] = tune(single, NULL, NULL);
    assert_memory_equal(r[0]->model->weights, r[1]->model->weights, 6 * sizeof(double));
    assert_memory_equal(r[0]->model->penalty, r[1]->model->penalty, 6 * sizeof(double));
    assert_true(fabs(r[2]->with_single.test.loss - r[0]->with_single.test.loss) < 1e-4);
    assert_true(!r[2]->continued_in_f64);
    for (int i = 0; i < 3; i++)
        blv_tune_result_destroy(r[i]);
    blv_task_sets_destroy(sets);
    blv_task_sets_destroy(single);
}

/* Features whose squares f32 cannot hold: f64 continues, says so, and finds what it finds from the
 * same numbers in f64. */
static void test_continued(void **state) {
    (void)state;
    blv_dataset *set[2] = {NULL, NULL};
    blv_tune_result *r[2];
    task_log log = {0};
    blv_task_hooks hooks = task_hooks(&log);
    for (int wide = 0; wide < 2; wide++) {
        double dense[90 * 3];
        float single[90 * 3];
        int32_t label[90];
        uint64_t seed = 5;
        for (size_t i = 0; i < 90 * 3; i++) {
            single[i] = (float)(1e25 * task_noise(&seed));
            dense[i] = (double)single[i];
        }
        for (size_t i = 0; i < 90; i++)
            label[i] = dense[3 * i] + 1e25 * task_noise(&seed) > 0.0;
        blv_dataset_view view = {.size = sizeof view,
                                 .rows = 90,
                                 .columns = 3,
                                 .precision = wide ? BLV_F64 : BLV_F32,
                                 .dense = wide ? (void *)dense : (void *)single,
                                 .stride = 3,
                                 .classes = 2,
                                 .label = label};
        blv_task_sets *sets = NULL;
        assert_int_equal(blv_dataset_create(&set[wide], &view, NULL, NULL), BLV_OK);
        assert_int_equal(
            blv_task_sets_create(&sets, set[wide], NULL, NULL, BLV_TASK_SCALE_NONE, NULL), BLV_OK);
        r[wide] = tune(sets, NULL, &hooks);
        assert_true(r[wide]->continued_in_f64 == !wide);
        assert_int_equal(log.starts, (size_t)wide + 1);
        assert_int_equal(log.notes, 1);
        blv_task_sets_destroy(sets);
        blv_dataset_release(set[wide]);
    }
    expect_same(r[0], r[1]);
    blv_tune_result_destroy(r[0]);
    blv_tune_result_destroy(r[1]);
    free_log(&log);
}

/* Real targets: figures recomputed from the model, and the unit of the targets does not matter. */
static void test_real(void **state) {
    (void)state;
    double r2[2];
    for (int i = 0; i < 2; i++) {
        const double unit = i ? 0x1p20 : 1.0;
        blv_task_sets *sets = informative_sets(80, 5, 0, BLV_F64, unit);
        blv_tune_result *r = tune(sets, NULL, NULL);
        const blv_dataset_view *v = blv_dataset_view_of(sets->test);
        const blv_model *m = r->model;
        double error = 0.0, mean = 0.0, variance = 0.0;
        assert_true(r->real && m->classes == 0 && m->scores == 1);
        for (size_t k = 0; k < v->rows; k++)
            mean += v->target[k] / (double)v->rows;
        for (size_t k = 0; k < v->rows; k++) {
            double value = m->intercept[0];
            for (size_t j = 0; j < m->features; j++)
                value += m->weights[j] * ((const double *)v->dense)[k * v->stride + j];
            error += (value - v->target[k]) * (value - v->target[k]) / (double)v->rows;
            variance += (mean - v->target[k]) * (mean - v->target[k]) / (double)v->rows;
        }
        assert_true(fabs(error - r->chosen->test.loss) < 1e-9 * error);
        assert_true(fabs(1.0 - error / variance - r->chosen->test.accuracy) < 1e-9);
        assert_true(r->chosen->held_out.accuracy > 0.8 && r->chosen->test.accuracy > 0.8);
        r2[i] = r->chosen->test.accuracy;
        blv_clean_result *none = NULL;
        assert_int_equal(blv_clean(sets, NULL, &none, NULL, NULL), BLV_E_FORMAT);
        blv_tune_result_destroy(r);
        blv_task_sets_destroy(sets);
    }
    assert_true(r2[0] == r2[1]);
}

static void test_groups(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, 2, 0);
    blv_feature_groups *groups = NULL;
    blv_message why = {""};
    char path[] = "groups-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "a\nb\na\nb\n", 8) == 8 && close(file) == 0);
    assert_int_equal(blv_feature_groups_read(&groups, path, 5, &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "line 5: fewer lines than features"));
    assert_int_equal(blv_feature_groups_read(&groups, path, 3, &why), BLV_E_FORMAT);
    assert_int_equal(blv_feature_groups_read(NULL, path, 3, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_feature_groups_read(&groups, "no file", 3, &why), BLV_E_FILE);
    assert_null(groups);
    assert_int_equal(blv_feature_groups_read(&groups, path, TASK_COLUMNS, &why), BLV_OK);
    blv_tune_options options = {.size = sizeof options, .penalty = BLV_PENALTY_GROUPS};
    blv_tune_result *r = NULL;
    assert_int_equal(blv_tune(sets, &options, &r, NULL, &why), BLV_E_VALUE);
    options.groups = groups;
    r = tune(sets, &options, NULL);
    assert_int_equal(r->model->penalties, 2);
    assert_string_equal(r->model->penalty_names[0], "a");
    assert_string_equal(r->model->penalty_names[1], "b");
    blv_tune_result_destroy(r);
    blv_feature_groups_destroy(groups);
    blv_feature_groups_destroy(NULL);
    blv_task_sets_destroy(sets);
    unlink(path);
}

/* ---- Hooks ---- */

static void test_resumed(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, 3, 0);
    task_log log = {0};
    blv_task_hooks hooks = task_hooks(&log);
    blv_tune_result *plain = tune(sets, NULL, NULL), *first = tune(sets, NULL, &hooks);
    expect_same(plain, first);
    assert_int_equal(log.begins, 1);
    assert_int_equal(log.ends, 1);
    log.recalled = 1;
    blv_tune_result *again = tune(sets, NULL, &hooks);
    expect_same(plain, again);
    assert_int_equal(log.begins, 1);
    blv_tune_result_destroy(plain);
    blv_tune_result_destroy(first);
    blv_tune_result_destroy(again);
    free_log(&log);
    blv_task_sets_destroy(sets);
}

/* Stopped: the best so far, with a model. */
static void expect_partial(const blv_task_sets *sets, task_log *log) {
    blv_task_hooks hooks = task_hooks(log);
    blv_tune_result *r = NULL;
    assert_int_equal(blv_tune(sets, NULL, &r, &hooks, NULL), BLV_E_STOPPED);
    assert_non_null(r);
    assert_true(r->model && r->chosen->weights);
    assert_int_equal(log->begins, log->ends);
    blv_tune_result_destroy(r);
    free_log(log);
}

static void test_stopped(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, 3, 0);
    for (size_t at = 1; at <= 16; at += 5)
        expect_partial(sets, &(task_log){.stop_at = at});
    expect_partial(sets, &(task_log){.stop_run = 1});
    task_log log = {.fail_begin = true};
    blv_task_hooks hooks = task_hooks(&log);
    blv_tune_result *none = NULL;
    assert_int_equal(blv_tune(sets, NULL, &none, &hooks, NULL), BLV_E_FILE);
    assert_null(none);
    free_log(&log);
    blv_task_sets_destroy(sets);
}

/* A solver that fails leaves the best single penalty. */
static void test_failed(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, 3, 0);
    const blv_setting wild[] = {{"step_x", "1"}, {"step_y", "1e9"}};
    blv_tune_options options = {.size = sizeof options,
                                .solver = blv_solver_find(NULL, "aid-cg", NULL),
                                .settings = wild,
                                .setting_count = 2};
    task_log log = {0};
    blv_task_hooks hooks = task_hooks(&log);
    blv_tune_result *r = tune(sets, &options, &hooks);
    assert_non_null(strstr(r->failure.text, "solver aid-cg: diverged"));
    assert_false(r->kept);
    assert_null(r->with_many.weights);
    assert_int_equal(log.notes, 1);
    blv_tune_result_destroy(r);
    free_log(&log);
    blv_task_sets_destroy(sets);
}

/* ---- Model files ---- */

static void test_model_file(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, 3, 0);
    blv_dataset *rows = task_rows(20, 3, 7, 0), *two = task_rows(20, 2, 7, 0), *read = NULL;
    blv_tune_options options = {.size = sizeof options, .penalty = BLV_PENALTY_ONE};
    blv_tune_result *r = tune(sets, &options, NULL);
    blv_model *back = NULL;
    blv_message why = {""};
    char path[] = "model-XXXXXX", csv[] = "rows-XXXXXX";
    close(mkstemp(path));
    close(mkstemp(csv));
    assert_int_equal(blv_model_write(r->model, path, NULL), BLV_OK);
    assert_int_equal(blv_model_read(&back, path, NULL), BLV_OK);
    assert_memory_equal(back->weights, r->model->weights, 3 * TASK_COLUMNS * sizeof(double));
    assert_true(back->penalties == 1 && back->penalty[0] == r->single);
    assert_string_equal(back->name, path);
    assert_true(expect_answers(back, rows) < 1.0);
    assert_int_equal(blv_dataset_write(rows, csv, "csv", NULL), BLV_OK);
    assert_int_equal(blv_model_read_rows(back, &read, csv, NULL, NULL), BLV_OK);
    assert_true(expect_answers(back, read) < 1.0);
    blv_model_destroy(back);
    assert_int_equal(blv_model_read(&back, csv, &why), BLV_E_FORMAT);
    assert_int_equal(blv_model_read(&back, "no file", &why), BLV_E_FILE);
    assert_int_equal(blv_model_read(NULL, path, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_model_write(NULL, path, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_model_answer(NULL, rows, NULL, NULL), BLV_E_ARGUMENT);
    blv_prediction *none = NULL;
    assert_int_equal(blv_model_predict(r->model, rows, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_model_predict(r->model, sets->val, &none, NULL), BLV_E_VALUE);
    assert_int_equal(blv_model_read_rows(r->model, NULL, csv, NULL, NULL), BLV_E_ARGUMENT);
    blv_dataset_release(rows);
    blv_dataset_release(two);
    blv_dataset_release(read);
    blv_tune_result_destroy(r);
    blv_task_sets_destroy(sets);
    unlink(path);
    unlink(csv);
}

/* ---- What is rejected ---- */

static void test_rejected(void **state) {
    (void)state;
    blv_task_sets *sets = task_sets(ROWS, VAL_ROWS, 0, 3, 0), *few = task_sets(ROWS, 6, 0, 3, 0);
    blv_tune_result *none = NULL;
    blv_message why = {""};
    blv_tune_options wrong[4];
    for (size_t i = 0; i < 4; i++)
        wrong[i] = (blv_tune_options){.size = sizeof(blv_tune_options)};
    wrong[0].val_share = 1.0;
    wrong[1].val_share = -0.1;
    wrong[2].val_share = (double)NAN;
    wrong[3].penalty = (blv_penalty_kind)9;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(blv_tune(sets, &wrong[i], &none, NULL, NULL), BLV_E_VALUE);
    assert_int_equal(blv_tune(few, NULL, &none, NULL, &why), BLV_E_VALUE);
    assert_string_equal(why.text, "val: 6 validation rows are too few; expected at least 8");
    assert_int_equal(blv_tune(NULL, NULL, &none, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_tune(sets, NULL, NULL, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_tune(sets, &(blv_tune_options){0}, &none, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_tune(sets, NULL, &none, &(blv_task_hooks){0}, NULL), BLV_E_ARGUMENT);
    assert_null(none);
    blv_tune_result_destroy(NULL);
    blv_model_destroy(NULL);
    blv_prediction_destroy(NULL);
    blv_task_sets_destroy(sets);
    blv_task_sets_destroy(few);
}

/* ---- Memory ---- */

static blv_error tune_all(void *context, blv_message *why) {
    const blv_dataset *const *set = context;
    blv_task_sets *sets = NULL;
    blv_tune_result *result = NULL;
    blv_prediction *prediction = NULL;
    const blv_setting short_run[] = {{"iters", "1"}};
    blv_tune_options options = {.size = sizeof options,
                                .threads = 1,
                                .settings = short_run,
                                .setting_count = 1,
                                .no_certificate = true,
                                .refit = true};
    blv_error error = blv_task_sets_create(&sets, set[0], set[1], NULL, BLV_TASK_SCALE_ROWS, why);
    if (error == BLV_OK)
        error = blv_tune(sets, &options, &result, NULL, why);
    if (error == BLV_OK)
        error = blv_model_predict(result->model, set[0], &prediction, why);
    blv_prediction_destroy(prediction);
    blv_tune_result_destroy(result);
    blv_task_sets_destroy(sets);
    return error;
}

static void test_memory(void **state) {
    (void)state;
    blv_dataset *set[] = {task_rows(10, 2, 1, 0), task_rows(10, 2, 2, 0)};
    oracle_may_fail = refusal_may_not_matter = true;
    every_request_up_to = 600;
    blv_message why = {""};
    assert_int_equal(tune_all(set, &why), BLV_OK); /* what is made once is made */
    fail_every_request("tune", tune_all, set, true);
    blv_dataset_release(set[0]);
    blv_dataset_release(set[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),    cmocka_unit_test(test_refit),
        cmocka_unit_test(test_gain),       cmocka_unit_test(test_same),
        cmocka_unit_test(test_real),       cmocka_unit_test(test_continued),
        cmocka_unit_test(test_groups),     cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_stopped),    cmocka_unit_test(test_failed),
        cmocka_unit_test(test_model_file), cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
