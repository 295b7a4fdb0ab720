/* blv_select_rows and blv_continual: figures recomputed, hooks, what is rejected, and every request
 * for memory failing in turn. */
#include "run_testing.h"

#include "memory_sweep.h"
#include "task_testing.h"

enum { ROWS = 60, TEST_ROWS = 30, TAKEN = 6, STEPS = 20 };

static void test_selected(void **state) {
    (void)state;
    blv_dataset *rows = task_rows(ROWS, TASK_CLASSES, 1, 0);
    blv_select_options options = {.size = sizeof options,
                                  .selection = {.method = blv_selection_method_find("d-tfbo", NULL),
                                                .count = TAKEN,
                                                .iterations = 20,
                                                .seed = 3},
                                  .compare = true,
                                  .net = "mlp:in-out",
                                  .steps = STEPS};
    blv_select_result *r = NULL, *plain = NULL;
    task_log log = {0};
    blv_task_hooks hooks = task_hooks(&log);
    assert_int_equal(blv_select_rows(rows, NULL, &options, &r, &hooks, NULL), BLV_OK);
    assert_string_equal(r->method->name, "d-tfbo");
    size_t chosen = 0, of = 0;
    double sum = 0.0;
    for (size_t k = 0; k < r->count; k++) {
        sum += r->weight[k];
        assert_true(k == 0 || r->weight[k] <= r->weight[k - 1]);
    }
    for (size_t k = 0; k < r->classes; k++) {
        chosen += r->chosen_of_class[k];
        of += r->of_class[k];
    }
    assert_true(chosen == TAKEN && of == ROWS && fabs(sum - 1.0) < 1e-12);
    assert_true(r->chosen_accuracy > 0.5 && r->uniform_accuracy > 0.0 && r->all_accuracy > 0.5);

    /* The same by the calls that it is made of. */
    double accuracy = 0.0;
    blv_dataset *subset = NULL;
    const blv_classifier_options judge = {.size = sizeof judge, .net = "mlp:in-out", .seed = 3};
    assert_int_equal(blv_dataset_select(rows, r->index, r->count, &subset, NULL), BLV_OK);
    assert_int_equal(blv_judge_rows(subset, r->weight, rows, &judge, STEPS, &accuracy, NULL),
                     BLV_OK);
    assert_true(accuracy == r->chosen_accuracy);
    blv_dataset_release(subset);

    options.compare = false;
    assert_int_equal(blv_select_rows(rows, NULL, &options, &plain, NULL, NULL), BLV_OK);
    assert_memory_equal(plain->index, r->index, TAKEN * sizeof *r->index);
    assert_true(isnan(plain->chosen_accuracy));
    assert_int_equal(log.reports, 4);
    blv_select_result_destroy(r);
    blv_select_result_destroy(plain);
    blv_dataset_release(rows);
}

static const blv_selection_method *two_methods[2];

static blv_continual_options small_options(void) {
    two_methods[0] = blv_selection_method_find("uniform", NULL);
    two_methods[1] = blv_selection_method_find("bcsr", NULL);
    return (blv_continual_options){.size = sizeof(blv_continual_options),
                                   .methods = two_methods,
                                   .method_count = 2,
                                   .tasks = 3,
                                   .memory = 6,
                                   .seeds = 2,
                                   .net = "mlp:in-out",
                                   .steps = STEPS,
                                   .selection.iterations = 5};
}

static void expect_pass(const blv_continual_pass *p) {
    double average = 0.0, forgetting = 0.0, one, none;
    for (size_t t = 0; t < 3; t++)
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(isnan(p->accuracy[t * 3 + j]), j > t);
    for (size_t j = 0; j < 3; j++)
        average += p->accuracy[6 + j] / 3.0;
    forgetting = (fmax(p->accuracy[0], p->accuracy[3]) - p->accuracy[6]) / 2.0 +
                 (p->accuracy[4] - p->accuracy[7]) / 2.0;
    assert_true(fabs(p->average - average) < 1e-12 && fabs(p->forgetting - forgetting) < 1e-12);
    blv_continual_after(p, 1, &one, &none);
    assert_true(one == p->accuracy[0] && none == 0.0);
    assert_true(p->seconds_after[2] == p->seconds);
}

static void test_passes(void **state) {
    (void)state;
    blv_dataset *rows = task_rows(ROWS, TASK_CLASSES, 1, 0);
    blv_dataset *test = task_rows(TEST_ROWS, TASK_CLASSES, 2, 0);
    blv_continual_options options = small_options();
    blv_continual_result *r = NULL, *again = NULL;
    task_log log = {0};
    blv_task_hooks hooks = task_hooks(&log);
    options.sensitivity = true;
    assert_int_equal(blv_continual(rows, test, &options, &r, &hooks, NULL), BLV_OK);
    assert_int_equal(r->pass_count, 12); /* uniform once, bcsr with five initial values */
    assert_int_equal(r->summary_count, 6);
    assert_int_equal(r->change_count, 2);
    assert_int_equal(log.reports, 12);
    for (size_t i = 0; i < r->pass_count; i++)
        expect_pass(&r->passes[i]);
    double others = 0.0;
    for (size_t i = 0; i < r->summary_count; i++) {
        const blv_continual_summary *s = &r->summaries[i];
        const blv_continual_pass *p = &r->passes[2 * i];
        assert_true(fabs(s->average - (p[0].average + p[1].average) / 2.0) < 1e-12);
        assert_true(s->average_least == fmin(p[0].average, p[1].average));
        others += i >= 2 ? s->average / 4.0 : 0.0;
    }
    double usual = r->summaries[1].average;
    assert_true(isnan(r->changes[0].change));
    assert_true(fabs(r->changes[1].change - fabs(others - usual) / usual) < 1e-12);
    assert_int_equal(blv_continual(rows, test, &options, &again, NULL, NULL), BLV_OK);
    assert_memory_equal(&r->passes[11].average, &again->passes[11].average, sizeof(double));
    blv_continual_result_destroy(r);
    blv_continual_result_destroy(again);
    blv_dataset_release(rows);
    blv_dataset_release(test);
}

static void test_rejected(void **state) {
    (void)state;
    blv_dataset *rows = task_rows(ROWS, TASK_CLASSES, 1, 0), *two = task_rows(ROWS, 2, 1, 0);
    blv_continual_options options[4] = {small_options(), small_options(), small_options(),
                                        small_options()};
    blv_continual_result *none = NULL;
    blv_select_result *nothing = NULL;
    options[0].tasks = 4;
    options[1].memory = 2;
    options[2].sensitivity = true;
    options[2].selection.first = 1.0;
    options[3].size = 0;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(blv_continual(rows, rows, &options[i], &none, NULL, NULL),
                         i < 3 ? BLV_E_VALUE : BLV_E_ARGUMENT);
    assert_int_equal(blv_continual(rows, two, NULL, &none, NULL, NULL), BLV_E_VALUE);
    assert_int_equal(blv_continual(NULL, two, NULL, &none, NULL, NULL), BLV_E_ARGUMENT);
    task_log log = {.stop_at = 2};
    blv_task_hooks hooks = task_hooks(&log);
    blv_continual_options good = small_options();
    assert_int_equal(blv_continual(rows, rows, &good, &none, &hooks, NULL), BLV_E_STOPPED);
    blv_select_options choice = {.size = sizeof choice, .selection = {.count = ROWS + 1}};
    assert_int_equal(blv_select_rows(rows, NULL, &choice, &nothing, NULL, NULL), BLV_E_VALUE);
    assert_int_equal(blv_select_rows(rows, NULL, NULL, &nothing, NULL, NULL), BLV_E_ARGUMENT);
    choice.selection.count = 2;
    choice.selection.iterations = 2;
    choice.compare = true;
    log = (task_log){.stop_at = 2};
    assert_int_equal(blv_select_rows(rows, NULL, &choice, &nothing, &hooks, NULL), BLV_E_STOPPED);
    assert_int_equal(blv_judge_rows(NULL, NULL, rows, NULL, 1, &(double){0}, NULL), BLV_E_ARGUMENT);
    assert_true(!none && !nothing);
    blv_continual_result_destroy(NULL);
    blv_select_result_destroy(NULL);
    blv_dataset_release(rows);
    blv_dataset_release(two);
}

static blv_error choose_and_stream(void *context, blv_message *why) {
    const blv_dataset *rows = context;
    blv_continual_options options = small_options();
    blv_continual_result *result = NULL;
    blv_select_result *chosen = NULL;
    blv_select_options choice = {.size = sizeof choice,
                                 .selection = {.method = blv_selection_method_find("kmeans", NULL),
                                               .count = 2,
                                               .threads = 1},
                                 .compare = true,
                                 .net = "mlp:in-out",
                                 .steps = 2};
    options.method_count = 1;
    options.tasks = 2;
    options.seeds = 1;
    options.memory = 2;
    options.threads = 1;
    options.steps = 2;
    blv_error error = blv_continual(rows, rows, &options, &result, NULL, why);
    if (error == BLV_OK)
        error = blv_select_rows(rows, NULL, &choice, &chosen, NULL, why);
    blv_continual_result_destroy(result);
    blv_select_result_destroy(chosen);
    return error;
}

static void test_memory(void **state) {
    (void)state;
    blv_dataset *rows = task_rows(9, TASK_CLASSES, 1, 0);
    refusal_may_not_matter = true;
    blv_message why = {""};
    assert_int_equal(choose_and_stream(rows, &why), BLV_OK); /* what is made once is made */
    fail_every_request("select and continual", choose_and_stream, rows, true);
    blv_dataset_release(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selected), cmocka_unit_test(test_passes),
        cmocka_unit_test(test_rejected), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
