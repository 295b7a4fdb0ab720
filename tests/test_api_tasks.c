/* Tasks and models with arguments as careless callers have them: members that are NULL, counts
 * without arrays, groups that are none, models whose numbers do not fit. Each is an error with a
 * message, never a crash. */
#include "bilevel/clean.h"
#include "bilevel/continual.h"
#include "bilevel/tune.h"
#include "npz_helpers.h"

#include <math.h>

enum { ROWS = 40, COLUMNS = 3 };

static blv_dataset *make_rows(void) {
    double cell[ROWS * COLUMNS];
    int32_t label[ROWS];
    const char *const names[] = {"a", "b"};
    for (size_t i = 0; i < ROWS; i++) {
        label[i] = i % 2;
        for (size_t j = 0; j < COLUMNS; j++)
            cell[i * COLUMNS + j] = (double)((i * 7 + j * 3) % 11 + i % 2);
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = ROWS,
                                   .columns = COLUMNS,
                                   .precision = BLV_F64,
                                   .dense = cell,
                                   .stride = COLUMNS,
                                   .label = label,
                                   .classes = 2,
                                   .class_names = names};
    blv_dataset *rows = NULL;
    assert_int_equal(blv_dataset_create(&rows, &view, NULL, NULL), BLV_OK);
    return rows;
}

static blv_task_sets *make_sets(void) {
    blv_dataset *rows = make_rows();
    blv_task_sets *sets = NULL;
    assert_int_equal(blv_task_sets_create(&sets, rows, NULL, NULL, BLV_TASK_SCALE_AUTO, NULL),
                     BLV_OK);
    blv_dataset_release(rows);
    return sets;
}

static void check(blv_error error, const blv_message *why, blv_error expected, const char *part) {
    if (error != expected || !strstr(why->text, part))
        fail_msg("error %d: %s\nexpected: %s", (int)error, why->text, part);
}

static void test_settings(void **state) {
    (void)state;
    blv_task_sets *sets = make_sets();
    const blv_setting given[] = {{"seed", "1"}, {NULL, "1"}, {"seed", NULL}};
    blv_message why;
    for (size_t k = 0; k < 3; k++) {
        const blv_clean_options clean = {
            .size = sizeof clean, .settings = k < 2 ? given + k : NULL, .setting_count = 2};
        blv_clean_result *result = NULL;
        check(blv_clean(sets, &clean, &result, NULL, &why), &why, BLV_E_ARGUMENT,
              k == 0 ? "settings: number 1 is NULL" : "settings: number 0 is NULL");
        const blv_tune_options tune = {
            .size = sizeof tune, .settings = clean.settings, .setting_count = 2};
        blv_tune_result *tuned = NULL;
        check(blv_tune(sets, &tune, &tuned, NULL, &why), &why, BLV_E_ARGUMENT, "is NULL");
    }
    blv_task_sets_destroy(sets);
    assert_int_equal(blv_task_sets_fingerprint(NULL), blv_dataset_fingerprint_all(NULL, 0));
}

static void test_groups(void **state) {
    (void)state;
    blv_task_sets *sets = make_sets();
    const char *const names[] = {"u", NULL};
    const uint32_t sound[] = {0, 0, 0}, beyond[] = {0, 7, 0}, unnamed[] = {0, 1, 0};
    const blv_feature_groups groups[] = {{2, names, COLUMNS, beyond}, {2, names, COLUMNS, unnamed},
                                         {2, NULL, COLUMNS, sound},   {2, names, COLUMNS, NULL},
                                         {0, names, COLUMNS, sound},  {1, names, 2, sound}};
    blv_message why;
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
        const blv_tune_options options = {
            .size = sizeof options, .penalty = BLV_PENALTY_GROUPS, .groups = &groups[k]};
        blv_tune_result *result = NULL;
        check(blv_tune(sets, &options, &result, NULL, &why), &why, BLV_E_VALUE, "group");
        assert_null(result);
    }
    blv_task_sets_destroy(sets);
}

static void test_continual(void **state) {
    (void)state;
    blv_dataset *rows = make_rows();
    const blv_selection_method *const none[] = {NULL};
    blv_message why;
    for (size_t k = 0; k < 2; k++) {
        const blv_continual_options options = {
            .size = sizeof options, .tasks = 2, .methods = k == 0 ? none : NULL, .method_count = 1};
        blv_continual_result *result = NULL;
        check(blv_continual(rows, rows, &options, &result, NULL, &why), &why, BLV_E_ARGUMENT,
              "continual: method 0 is NULL");
    }
    double accuracy[] = {1.0}, average = 0.0, forgetting = 0.0;
    const blv_continual_pass pass = {.tasks = 1, .accuracy = accuracy};
    blv_continual_after(NULL, 1, &average, &forgetting);
    assert_true(isnan(average) && isnan(forgetting));
    for (size_t after = 0; after < 3; after++) {
        blv_continual_after(&pass, after, &average, &forgetting);
        assert_true(after == 1 ? average == 1.0 : isnan(average));
    }
    blv_dataset_release(rows);
}

static void test_models(void **state) {
    (void)state;
    blv_dataset *rows = make_rows();
    const double weights[] = {1, 2, 3}, zeros[] = {0, 0, 0}, ones[] = {1, 1, 1};
    const double tiny[] = {1, 1e-308, 1}, not_a_number[] = {1, NAN, 1}, huge[] = {1e308, 1e308, 1};
    const char *const names[] = {"a", "b"}, *const missing[] = {"a", NULL};
    const blv_model sound = {.scores = 1,
                             .features = COLUMNS,
                             .classes = 2,
                             .weights = weights,
                             .intercept = zeros,
                             .shift = zeros,
                             .divisor = ones,
                             .class_names = names};
    double answers[2 * ROWS];
    blv_message why;
    assert_int_equal(blv_model_answer(&sound, rows, answers, NULL), BLV_OK);
    for (int k = 0; k < 14; k++) {
        blv_model m = sound;
        m.weights = k == 0 ? NULL : k == 1 ? not_a_number : k == 13 ? huge : m.weights;
        m.intercept = k == 2 ? NULL : m.intercept;
        m.shift = k == 3 ? NULL : m.shift;
        m.divisor = k == 4 ? NULL : k == 5 ? zeros : k == 12 ? tiny : m.divisor;
        m.class_names = k == 6 ? NULL : k == 7 ? missing : m.class_names;
        m.classes = k == 8 ? 7 : k == 9 ? 1 : m.classes;
        m.scores = k == 10 ? 0 : k == 11 ? SIZE_MAX / 3 : m.scores;
        const bool numbers = k < 12; /* else only its answers are too large */
        blv_prediction *prediction = NULL;
        blv_dataset *read = NULL;
        const blv_error expected = numbers ? BLV_E_FORMAT : BLV_E_VALUE;
        check(blv_model_answer(&m, rows, answers, &why), &why, expected,
              numbers ? "the model: " : "row 0 has no finite answer");
        check(blv_model_predict(&m, rows, &prediction, &why), &why, expected, "the model: ");
        assert_null(prediction);
        if (numbers)
            check(blv_model_read_rows(&m, &read, "never.csv", NULL, &why), &why, expected, "model");
        if (numbers)
            check(blv_model_write(&m, "never.npz", &why), &why, expected, "the model: ");
    }
    blv_dataset_release(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_continual),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
