/* What blv_clean learns: noise, shares of wrong labels, trees, against how the rows were made. */
#include "run_testing.h"

#include "learn/forest.h"
#include "task_testing.h"

/* Every fourth label is that of the next class. */
static void test_noise(void **state) {
    (void)state;
    enum { MANY = 900, EACH = 4 };
    const size_t trusted[] = {0, 1, 10, 120};
    double before = 0.0;
    for (size_t t = 0; t < 4; t++) {
        blv_task_sets *sets = task_sets(MANY, trusted[t], 0, TASK_CLASSES, EACH);
        blv_clean_options options = {.size = sizeof options, .model = BLV_CLEAN_LINEAR};
        blv_clean_result *r = task_clean(sets, &options, NULL);
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
    blv_clean_result *r = task_clean_rows(MANY, 2, x, label, right, BLV_CLEAN_LINEAR);
    if (!(r->auroc_probability > 0.85))
        fail_msg("AUROC %g", r->auroc_probability);
    blv_clean_result_destroy(r);
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
        blv_clean_result *r = task_clean(sets, &options, NULL);
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
    return task_clean_rows(COUNT, TASK_COLUMNS, x, label, NULL, BLV_CLEAN_LINEAR);
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

/* Features that tell next to nothing, as the model says: no wrong label is the likeliest number of
 * them, and many are about as likely, so that the estimate is not 0 beside labels that may be
 * wrong, and the most suspicious row is told. */
static void test_nothing_is_known(void **state) {
    (void)state;
    enum { ROWS = 300 };
    static double x[ROWS], p[2 * ROWS];
    static int32_t label[ROWS];
    for (size_t i = 0; i < ROWS; i++) { /* of each 50 rows 19 or 16 are of the second class */
        x[i] = i % 2 ? 1.0 : -1.0;
        label[i] = i / 2 % 50 < (i % 2 ? 19 : 16);
        p[2 * i + 1] = i % 2 ? 0.38 : 0.32;
        p[2 * i] = 1.0 - p[2 * i + 1];
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = ROWS,
                                   .columns = 1,
                                   .dense = x,
                                   .stride = 1,
                                   .classes = 2,
                                   .label = label};
    blv_task_sets *sets = task_sets_of(&view);
    const blv_clean_options options = {.size = sizeof options, .probabilities = p};
    blv_clean_result *r = task_clean(sets, &options, NULL);
    assert_true(r->caution_count > 0 && strstr(r->cautions[0], "is a guess"));
    assert_true(r->all_may_be_right);
    if (!(r->estimated_wrong > 0.05 && r->suspects > 0))
        fail_msg("estimate %g, %zu suspects", r->estimated_wrong, r->suspects);
    blv_clean_result_destroy(r);
    blv_task_sets_destroy(sets);
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
    blv_task_sets *sets = task_sets_of(&view);
    const blv_clean_options options = {.size = sizeof options, .probabilities = p};
    blv_clean_result *r = task_clean(sets, &options, NULL);
    blv_task_sets_destroy(sets);
    return r;
}

/* Right labels of classes that overlap are not taken for wrong ones, and wrong ones are still seen:
 * among labels that are right with a probability near p, about p are. */
static void test_share(void **state) {
    (void)state;
    enum { BINS = 4 };
    static bool wrong[OVERLAP_ROWS];
    blv_clean_result *r = clean_overlap(0, wrong);
    assert_true(r->all_may_be_right && r->estimated_wrong < 0.03 &&
                r->suspects < OVERLAP_ROWS * 3 / 100);
    blv_clean_result_destroy(r);
    for (size_t each = 3; each <= 9; each += 3) {
        double expected[BINS] = {0}, right[BINS] = {0}, rows[BINS] = {0};
        r = clean_overlap(each, wrong);
        assert_true(fabs(r->estimated_wrong - 1.0 / (double)each) < 0.05);
        const double many = r->estimated_wrong * OVERLAP_ROWS;
        assert_true(!r->all_may_be_right);
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
    return task_sets_of(&view);
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
        r[i] = task_clean(sets, &options, NULL);
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

/* What ten trees say of rows of two classes, where so many are declared; to be freed. */
static double *answers_of_trees(size_t classes) {
    enum { MANY = 300, WIDE = 5, LOTS = 10 };
    static double x[MANY * WIDE];
    static int32_t label[MANY];
    static uint32_t row[MANY];
    double *answer = calloc(MANY * classes, sizeof *answer);
    uint64_t seed = 6;
    for (size_t i = 0; i < MANY; i++) {
        for (size_t j = 0; j < WIDE; j++)
            x[i * WIDE + j] = j + 1 < WIDE ? task_noise(&seed) : 1.0;
        label[i] = x[i * WIDE] + 0.5 * task_noise(&seed) > 0.5;
        row[i] = (uint32_t)i;
    }
    const blv_dataset_view view = {.size = sizeof view,
                                   .rows = MANY,
                                   .columns = WIDE,
                                   .dense = x,
                                   .stride = WIDE,
                                   .classes = classes,
                                   .label = label};
    blv_dataset *set = NULL;
    assert_non_null(answer);
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    const blv_dataset *const sets[] = {set, NULL};
    blv_forest_rows rows;
    blv_tree_room room;
    assert_int_equal(blv_forest_take(&rows, sets, 2, NULL), BLV_OK);
    for (size_t j = 0; j < rows.columns; j++)
        blv_forest_code(&rows, sets, 2, j);
    assert_true(blv_tree_room_open(&room, &rows.arena, &rows));
    for (uint64_t number = 0; number < LOTS; number++) {
        const blv_tree_task task = {.learned = row,
                                    .asked = row,
                                    .learned_count = 2 * MANY / 3,
                                    .asked_count = MANY,
                                    .number = number,
                                    .share = 1.0 / LOTS,
                                    .first = answer,
                                    .first_rows = MANY};
        blv_tree_answer(&room, &task);
    }
    blv_forest_release(&rows);
    blv_dataset_release(set);
    for (size_t i = 0; i < MANY; i++) /* those of the two classes */
        for (size_t k = 0; k < 2; k++)
            answer[2 * i + k] = answer[classes * i + k];
    return answer;
}

/* Classes without rows change nothing, whichever way classes are gone through: few of them, up to
 * 64, more. */
static void test_classes_of_trees(void **state) {
    (void)state;
    static const size_t classes[] = {3, 4, 64, 65};
    double *two = answers_of_trees(2);
    for (size_t t = 0; t < sizeof classes / sizeof *classes; t++) {
        double *more = answers_of_trees(classes[t]);
        assert_memory_equal(two, more, 2 * 300 * sizeof *two);
        free(more);
    }
    free(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise),
                                       cmocka_unit_test(test_skewed),
                                       cmocka_unit_test(test_overlap),
                                       cmocka_unit_test(test_no_information),
                                       cmocka_unit_test(test_nothing_is_known),
                                       cmocka_unit_test(test_share),
                                       cmocka_unit_test(test_forest),
                                       cmocka_unit_test(test_tree),
                                       cmocka_unit_test(test_classes_of_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
