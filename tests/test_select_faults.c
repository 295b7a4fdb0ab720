/* Choosing rows and training classifiers when memory runs out, at every request in turn, and with
 * sets and settings that do not fit. */
#include "run_testing.h"

#include "memory_sweep.h"

enum { ROWS = 14, COLUMNS = 3, CLASSES = 3, TAKEN = 5, WIDTH = 4 };

static blv_dataset *make_rows(blv_precision precision) {
    double numbers[ROWS * COLUMNS];
    float single[ROWS * COLUMNS];
    int32_t label[ROWS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        single[i] = (float)(numbers[i] = (double)(i * 37 % 17) / 8.0 - 1.0);
    for (size_t i = 0; i < ROWS; i++)
        label[i] = (int32_t)(i % CLASSES);
    const bool f32 = precision == BLV_F32;
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = ROWS,
                                   .columns = COLUMNS,
                                   .precision = precision,
                                   .dense = f32 ? (const void *)single : (const void *)numbers,
                                   .stride = COLUMNS,
                                   .classes = CLASSES,
                                   .label = label};
    blv_dataset *set;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    return set;
}

static blv_classifier *make_model(blv_precision precision) {
    blv_classifier *model;
    const blv_classifier_options options = {.size = sizeof(blv_classifier_options),
                                            .net = "mlp:in-4-out",
                                            .precision = precision,
                                            .threads = 1};
    assert_int_equal(blv_classifier_create(&model, COLUMNS, CLASSES, &options, NULL), BLV_OK);
    return model;
}

/* ---- Choosing ---- */

typedef struct choice {
    const blv_dataset *rows;
    blv_selection how;
} choice;

static blv_error choose(void *context, blv_message *why) {
    const choice *c = context;
    size_t index[TAKEN];
    double weight[TAKEN] = {-1.0}, sum = 0.0;
    blv_error error = blv_select(c->rows, &c->how, index, weight, why);
    for (size_t k = 0; error == BLV_OK && k < TAKEN; k++) {
        assert_true(index[k] < ROWS);
        sum += weight[k];
    }
    if (error == BLV_OK ? fabs(sum - 1.0) > 1e-12 : weight[0] != -1.0)
        fail_msg("%s: weights with sum %g", c->how.method->name, sum);
    return error;
}

static void test_methods(void **state) {
    (void)state;
    const blv_selection_method *method;
    oracle_may_fail = true;
    every_request_up_to = 200;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_dataset *rows = make_rows((blv_precision)precision);
        blv_classifier *model = make_model((blv_precision)precision);
        for (size_t i = 0; (method = blv_selection_method_at(i)); i++)
            for (int embedded = method->needs_model; embedded <= 1; embedded++) {
                choice c = {rows,
                            {.size = sizeof(blv_selection),
                             .method = method,
                             .count = TAKEN,
                             .threads = 1,
                             .model = embedded ? model : NULL,
                             .first = embedded ? 1.0 : 0.0,
                             .ridge = embedded ? 0.0 : 0.1,
                             .C = embedded ? 0.0 : 0.2,
                             .candidates = embedded ? 0 : TAKEN + 4,
                             .iterations = 3}};
                fail_every_request(method->name, choose, &c, true);
            }
        blv_classifier_destroy(model);
        blv_dataset_release(rows);
    }
    oracle_may_fail = false;
}

/* A model that knows more classes than the rows have, and more than it has features. */
static void test_model_with_more_classes(void **state) {
    (void)state;
    const blv_selection_method *method;
    const blv_classifier_options options = {
        .size = sizeof(blv_classifier_options), .net = "mlp:in-2-out", .threads = 1};
    blv_dataset *rows = make_rows(BLV_F64);
    blv_classifier *model;
    assert_int_equal(blv_classifier_create(&model, COLUMNS, 40, &options, NULL), BLV_OK);
    for (size_t i = 0; (method = blv_selection_method_at(i)); i++) {
        choice c = {rows,
                    {.size = sizeof(blv_selection),
                     .method = method,
                     .count = TAKEN,
                     .threads = 1,
                     .model = model,
                     .iterations = 3}};
        blv_message why = {""};
        if (choose(&c, &why) != BLV_OK)
            fail_msg("%s: %s", method->name, why.text);
    }
    blv_classifier_destroy(model);
    blv_dataset_release(rows);
}

static void test_sets_that_do_not_fit(void **state) {
    (void)state;
    const double numbers[] = {1.0, 2.0, 3.0};
    const size_t starts[] = {0, 1, 2, 3};
    const uint32_t column[] = {0, 0, 0};
    const int32_t label[] = {0, 1, 0};
    size_t index[2];
    blv_message why = {""};
    const blv_selection how = {.size = sizeof(blv_selection),
                               .method = blv_selection_method_find("uniform", NULL),
                               .count = 2};
    blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                             .rows = 3,
                             .columns = 1,
                             .row_start = starts,
                             .column = column,
                             .value = numbers,
                             .classes = 2,
                             .label = label};
    blv_dataset *set;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_select(set, &how, index, NULL, &why), BLV_E_UNSUPPORTED);
    expect_text(why.text, "dense");
    blv_dataset_release(set);
    view = (blv_dataset_view){
        .size = sizeof(blv_dataset_view), .rows = 3, .columns = 1, .dense = numbers, .stride = 1};
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_select(set, &how, index, NULL, &why), BLV_E_VALUE);
    expect_text(why.text, "two classes");
    blv_dataset_release(set);
}

/* ---- Classifiers ---- */

static blv_error learn(void *context, blv_message *why) {
    const blv_dataset *rows = context;
    const blv_precision precision = blv_dataset_view_of(rows)->precision;
    const blv_classifier_options options = {.size = sizeof(blv_classifier_options),
                                            .net = "mlp:in-4-out,act=gelu",
                                            .precision = precision,
                                            .threads = 1};
    double weight[ROWS], scores[ROWS * CLASSES], features[ROWS * WIDTH], accuracy = -1.0;
    for (size_t i = 0; i < ROWS; i++)
        weight[i] = 1.0 + (double)i;
    const blv_training training = {.size = sizeof(blv_training),
                                   .steps = 3,
                                   .batch = 4,
                                   .weight = weight,
                                   .also = rows,
                                   .also_weight = weight,
                                   .also_batch = 3};
    blv_classifier *c;
    blv_error error = blv_classifier_create(&c, COLUMNS, CLASSES, &options, why);
    assert_true((error == BLV_OK) == (c != NULL));
    if (error == BLV_OK)
        error = blv_classifier_train(c, rows, &training, why);
    if (error == BLV_OK)
        error = blv_classifier_scores(c, rows, scores, why);
    if (error == BLV_OK)
        error = blv_classifier_features(c, rows, features, why);
    if (error == BLV_OK)
        error = blv_classifier_accuracy(c, rows, &accuracy, why);
    assert_true(error != BLV_OK || (accuracy >= 0.0 && accuracy <= 1.0));
    blv_classifier_destroy(c);
    return error;
}

static void test_classifiers(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_dataset *rows = make_rows((blv_precision)precision);
        fail_every_request("classifier", learn, rows, true);
        blv_dataset_release(rows);
    }
}

static blv_dataset *rows_without(bool dense, bool labels, size_t columns, size_t classes) {
    const double numbers[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0};
    const size_t starts[] = {0, 1, 2};
    const uint32_t column[] = {0, 0};
    const int32_t label[] = {0, (int32_t)classes - 1};
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = 2,
                                   .columns = columns,
                                   .dense = dense ? numbers : NULL,
                                   .stride = dense ? columns : 0,
                                   .row_start = dense ? NULL : starts,
                                   .column = dense ? NULL : column,
                                   .value = dense ? NULL : numbers,
                                   .classes = labels ? classes : 0,
                                   .label = labels ? label : NULL};
    blv_dataset *set;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    return set;
}

/* The classifier is as before: it still learns from rows that fit. */
static void test_rows_that_do_not_fit(void **state) {
    (void)state;
    const struct {
        blv_dataset *rows;
        blv_error error;
        const char *part;
    } wrong[] = {
        {rows_without(false, true, COLUMNS, 2), BLV_E_UNSUPPORTED, "dense"},
        {rows_without(true, true, COLUMNS + 1, 2), BLV_E_VALUE, "columns"},
        {rows_without(true, false, COLUMNS, 0), BLV_E_VALUE, "classes"},
        {rows_without(true, true, COLUMNS, CLASSES + 1), BLV_E_VALUE, "classes"},
    };
    blv_dataset *rows = make_rows(BLV_F64);
    blv_classifier *c = make_model(BLV_F64);
    const blv_training few = {.size = sizeof(blv_training), .steps = 2};
    double accuracy = -1.0;
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        blv_message why = {""};
        const blv_training both = {.size = sizeof(blv_training), .steps = 2, .also = wrong[i].rows};
        assert_int_equal(blv_classifier_train(c, wrong[i].rows, &few, &why), wrong[i].error);
        expect_text(why.text, wrong[i].part);
        assert_int_equal(blv_classifier_train(c, rows, &both, NULL), wrong[i].error);
        assert_int_equal(blv_classifier_accuracy(c, wrong[i].rows, &accuracy, &why),
                         wrong[i].error);
        assert_true(accuracy == -1.0);
        blv_dataset_release(wrong[i].rows);
    }
    assert_int_equal(blv_classifier_train(c, rows, &few, NULL), BLV_OK);
    assert_int_equal(blv_classifier_accuracy(c, rows, &accuracy, NULL), BLV_OK);
    assert_true(accuracy >= 0.0);
    blv_classifier_destroy(c);
    blv_dataset_release(rows);
}

/* ---- The problem coreset ---- */

static blv_error refused_coreset(const blv_coreset_setting *setting) {
    blv_message why = {""};
    blv_problem *problem = (blv_problem *)&why;
    const blv_sets sets = {
        .size = sizeof sets, .train = make_rows(BLV_F64), .val = make_rows(BLV_F64)};
    blv_error error = blv_coreset_create(&sets, setting, NULL, &problem, &why);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    if (error != BLV_OK)
        assert_true(!problem && why.text[0]);
    else
        blv_problem_destroy(problem);
    return error;
}

static void test_coreset_settings(void **state) {
    (void)state;
    const blv_coreset_setting good = {.size = sizeof(blv_coreset_setting),
                                      .K = 3,
                                      .ridge = 0.1,
                                      .draws = 2,
                                      .net = "mlp:in-3-out"};
    char long_text[2 * BLV_TEXT_SIZE] = "mlp:in";
    blv_coreset_setting wrong[7];
    for (size_t i = 0; i < LENGTH(wrong); i++)
        wrong[i] = good;
    wrong[0].C = -1.0;
    wrong[1].delta = -1.0;
    wrong[2].ridge = -1.0;
    wrong[3].C = INFINITY;
    wrong[4].K = ROWS + 1;
    wrong[5].net = "mlp:in-x";
    for (size_t at = strlen(long_text); at + 3 < sizeof long_text; at += 2)
        memcpy(long_text + at, "-9", 3);
    wrong[6].net = long_text;
    assert_int_equal(refused_coreset(&good), BLV_OK);
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_int_equal(refused_coreset(&wrong[i]), BLV_E_VALUE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_model_with_more_classes),
        cmocka_unit_test(test_sets_that_do_not_fit),
        cmocka_unit_test(test_classifiers),
        cmocka_unit_test(test_rows_that_do_not_fit),
        cmocka_unit_test(test_coreset_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
