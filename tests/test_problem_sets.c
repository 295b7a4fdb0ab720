/* Sets of the caller that do not fit together or do not suit a problem, and settings that are not
 * sound: rejected with a sentence, and no problem is made. */
#include "reader_helpers.h"

#include "bilevel/bilevel.h"

#include <math.h>
#include <stdlib.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const char plain[] = "1 1:1 2:2\n2 1:3 2:1\n1 1:2 2:5\n2 1:4 2:2\n";

static blv_dataset *dense(const char *text) {
    return read_text(text, OPTIONS(.layout = BLV_LAYOUT_DENSE));
}

static void expect_rejected(blv_error error, const blv_problem *problem, const blv_message *why,
                            const char *message) {
    if (error == BLV_OK || problem || !strstr(why->text, message))
        fail_msg("error %d: %s\nexpected: %s", (int)error, why->text, message);
}

/* ---- Validation rows beside training rows ---- */

static void test_mismatches(void **state) {
    static const struct {
        const char *text;
        blv_read_options options;
        const char *message;
    } others[] = {
        {plain, {.precision = BLV_F32}, "the sets and the problem have another precision"},
        {"1 1:1 3:2\n2 1:3\n", {0}, "the same columns, classes and layout"},
        {"1 1:1 2:2\n2 1:3\n3 1:1\n", {0}, "the same columns, classes and layout"},
        {plain, {.layout = BLV_LAYOUT_SPARSE}, "the same columns, classes and layout"},
        {"1,2\n3,4\n", {.label = "none"}, "the same columns, classes and layout"},
    };
    const blv_l2reg_setting setting = {
        .size = sizeof setting, .scale = 1.0, .lo = -INFINITY, .hi = INFINITY};
    blv_dataset *train = dense(plain);
    (void)state;
    for (size_t i = 0; i < LENGTH(others); i++) {
        blv_read_options options = others[i].options;
        options.size = sizeof options;
        if (options.layout != BLV_LAYOUT_SPARSE)
            options.layout = BLV_LAYOUT_DENSE;
        blv_dataset *val = read_text(others[i].text, &options);
        const blv_sets sets = {.size = sizeof sets, .train = train, .val = val};
        blv_problem *problem = NULL;
        blv_message why = {""};
        blv_error error = blv_l2reg_create(&sets, &setting, NULL, &problem, &why);
        expect_rejected(error, problem, &why, others[i].message);
        blv_dataset_release(val);
    }
    blv_dataset *real = read_text(plain, OPTIONS(.layout = BLV_LAYOUT_DENSE, .real_targets = true)),
                *none = read_text("1,2\n3,4\n", OPTIONS(.label = "none"));
    const struct { blv_dataset *train, *val; } pairs[] = {{none, real}, {real, none}, {none, none}};
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        const blv_sets sets = {sizeof sets, pairs[i].train, pairs[i].val, NULL};
        blv_problem *problem = NULL;
        blv_message why = {""};
        blv_error error = blv_l2reg_create(&sets, &setting, NULL, &problem, &why);
        expect_rejected(error, problem, &why, "problem");
    }
    blv_dataset_release(none);
    blv_dataset_release(real);
    blv_dataset_release(train);
}

/* ---- Settings ---- */

static void test_settings(void **state) {
    blv_dataset *train = dense(plain);
    const blv_sets sets = {.size = sizeof sets, .train = train, .val = train};
    const uint32_t group[] = {0, 1}, fold[] = {0, 1, 0, 1};
    const blv_l2reg_setting good = {
        .size = sizeof good, .scale = 1.0, .lo = -INFINITY, .hi = INFINITY};
    blv_problem *problem = NULL;
    blv_message why = {""};
    (void)state;
    assert_int_equal(blv_l2reg_create(&sets, &good, NULL, &problem, &why), BLV_OK);
    blv_problem_destroy(problem);
#define WRONG(change)                                                                              \
    do {                                                                                           \
        blv_l2reg_setting s = good;                                                                \
        change;                                                                                    \
        assert_int_equal(blv_l2reg_create(&sets, &s, NULL, &problem, &why), BLV_E_VALUE);          \
        assert_null(problem);                                                                      \
        assert_true(why.text[0]);                                                                  \
    } while (0)
    WRONG(s.scale = 0.0);
    WRONG(s.scale = INFINITY);
    WRONG(s.lo = NAN);
    WRONG(s.hi = NAN);
    WRONG(s.penalty = (blv_penalty_kind)99);
    WRONG(s.penalty = BLV_PENALTY_GROUPS);
    WRONG(s.folds = 2);
    WRONG(s.fold = fold);
    WRONG(s.shrinkage = -1.0);
    WRONG(s.shrinkage = INFINITY);
    WRONG(s.last_penalty = -1.0);
    WRONG(s.last_penalty = NAN);
#undef WRONG
    blv_l2reg_setting s = good;
    s.penalty = BLV_PENALTY_GROUPS;
    s.group = group;
    assert_int_equal(blv_l2reg_create(&sets, &s, NULL, &problem, &why), BLV_OK);
    assert_int_equal(blv_problem_definition(problem)->dim_x, 2);
    blv_problem_destroy(problem);
    blv_dataset_release(train);
}

/* ---- Folds ---- */

static void test_folds(void **state) {
    static const uint32_t fold[] = {0, 1, 0, 1}, empty[] = {0, 0, 0, 0};
    static const char *const wrong[] = {"1 1:1 2:2\n2 1:3 2:1\n", "1 1:1\n2 1:3\n1 1:2\n2 1:4\n",
                                        "1 1:1 2:2\n2 1:3 2:1\n1 1:2 2:5\n3 1:4 2:2\n"};
    blv_dataset *train = dense(plain), *same = dense(plain),
                *sparse = read_text(plain, OPTIONS(.layout = BLV_LAYOUT_SPARSE)),
                *narrow =
                    read_text(plain, OPTIONS(.layout = BLV_LAYOUT_DENSE, .precision = BLV_F32));
    const blv_sets sets = {.size = sizeof sets, .train = train};
    blv_dataset *own[] = {same, same};
    const blv_l2reg_setting good = {.size = sizeof good,
                                    .scale = 1.0,
                                    .lo = -INFINITY,
                                    .hi = INFINITY,
                                    .folds = 2,
                                    .fold = fold,
                                    .fold_rows = own};
    blv_problem *problem = NULL;
    blv_message why = {""};
    (void)state;
    if (blv_l2reg_create(&sets, &good, NULL, &problem, &why) != BLV_OK)
        fail_msg("%s", why.text);
    blv_problem_destroy(problem);
    blv_l2reg_setting s = good;
    s.fold = empty;
    blv_error error = blv_l2reg_create(&sets, &s, NULL, &problem, &why);
    expect_rejected(error, problem, &why, "a fold has no rows, or all");
    for (size_t i = 0; i < LENGTH(wrong) + 3; i++) {
        own[1] = i < LENGTH(wrong)        ? dense(wrong[i])
                 : i == LENGTH(wrong)     ? NULL
                 : i == LENGTH(wrong) + 1 ? sparse
                                          : narrow;
        error = blv_l2reg_create(&sets, &good, NULL, &problem, &why);
        expect_rejected(error, problem, &why, "the rows of a fold are not those of the training");
        if (i < LENGTH(wrong))
            blv_dataset_release(own[1]);
    }
    blv_dataset_release(narrow);
    blv_dataset_release(sparse);
    blv_dataset_release(same);
    blv_dataset_release(train);
}

/* ---- Families that read files ---- */

static void expect_family(const char *family, const char *const *settings, const char *message) {
    blv_problem *problem = NULL;
    blv_message why = {""};
    blv_error error = blv_problem_from_family(blv_family_find(NULL, family, &why), settings, NULL,
                                              &problem, &why);
    expect_rejected(error, problem, &why, message);
}

#define SET(...) ((const char *const[]){"train", path, __VA_ARGS__, NULL})

static void test_families(void **state) {
    char path[512];
    (void)state;
    strcpy(path, put_text("one.svm", "1 1:1 2:2\n1 1:3\n1 2:1\n1 1:2 2:2\n"));
    expect_family("l2reg", SET("val_size", "0.5"), "one class only");
    expect_family("hyperclean-nn", SET("layout", "dense", "net", "mlp:in-2-out"), "class");
    strcpy(path, put_text("two.svm", plain));
    expect_family("hyperclean-nn", SET("layout", "sparse", "net", "mlp:in-2-out"),
                  "a network needs dense rows");
    expect_family("hyperclean-nn", SET("layout", "dense", "net", "nonsense"), "problem");
    expect_family("l2reg", SET("val_size", "4"), "l2reg");
    expect_family("l2reg", SET("train_size", "5"), "l2reg");
    expect_family("l2reg", SET("val", "/nowhere/at/all.svm"), "/nowhere/at/all.svm");
    strcpy(path, put_text("three.svm", "1 1:1\n2 1:3\n3 1:2\n1 1:4\n2 1:5\n3 1:6\n"));
    expect_family("l2reg", SET("loss", "logistic", "val_size", "0.5"), "expected 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mismatches),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_families),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
