/* The problems people have, on real data: label cleaning on MNIST, penalties on ijcnn1, Covertype
 * and 20 Newsgroups. Data sets come from the folder that BILEVEL_DATA names; what is not there is
 * skipped, and said. Sizes are cut down so that the test stays short; the full ones are in the
 * docs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/certificate.h"
#include "blv_testing.h"
#include "core/eval.h"
#include "core/implicit.h"

#include <stdio.h>
#include <unistd.h>

static void skip_without(const char *file) {
    const char *folder = getenv("BILEVEL_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", file);
    if (!folder || access(path, R_OK) != 0) {
        print_message("skipped: BILEVEL_DATA names no folder with %s\n", file);
        skip();
    }
}

/* The problem's own measure of that name at the run's x and y. */
static double measure_at(const blv_problem *problem, const blv_vec *x, const blv_vec *y,
                         const char *name) {
    const blv_problem_def *def = blv_problem_definition(problem);
    double values[BLV_MEASURES_MAX];
    assert_int_equal(def->measure(def->user, x, y, values), 0);
    for (size_t i = 0; def->measures[i]; i++)
        if (strcmp(def->measures[i], name) == 0)
            return values[i];
    fail_msg("no measure %s", name);
    return 0.0;
}

static double measure_run(blv_run *run, const char *name) {
    return measure_at(blv_run_problem(run), blv_run_x(run), blv_run_y(run), name);
}

#define MNIST_TRAIN "mnist/train-images-idx3-ubyte.gz"
#define MNIST_TEST "mnist/t10k-images-idx3-ubyte.gz"

/* Which training labels are corrupted: the same file, split and corruption, made here once more. */
static void known_corruption(size_t rows, double *x) {
    char path[4096];
    blv_message why;
    blv_dataset *all, *part[2];
    snprintf(path, sizeof path, "%s/" MNIST_TRAIN, getenv("BILEVEL_DATA"));
    if (blv_dataset_read(
            &all, path, &(blv_read_options){.size = sizeof(blv_read_options), .precision = BLV_F32},
            &why) != BLV_OK)
        fail_msg("%s", why.text);
    const double sizes[2] = {(double)rows, 1000.0};
    assert_int_equal(blv_dataset_split(all, sizes, 2, true, 0, part, &why), BLV_OK);
    assert_int_equal(blv_dataset_corrupt(part[0], BLV_CORRUPT_UNIFORM, 0.5, 0, &why), BLV_OK);
    const blv_dataset_view *v = blv_dataset_view_of(part[0]);
    size_t wrong = 0;
    for (size_t i = 0; i < rows; i++) {
        bool bad = v->label[i] != v->true_label[i];
        x[i] = bad ? -40.0 : 40.0; /* sigmoid: weight 0 or 1 */
        wrong += bad;
    }
    assert_int_equal(wrong, rows / 2);
    blv_dataset_release(all);
    blv_dataset_release(part[0]);
    blv_dataset_release(part[1]);
}

/* Accuracy on the test rows of a model trained with the given x, by the library's tight solve. */
static double trained_accuracy(const blv_problem *problem, const double *x_values) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_counts counts = {0, 0, 0, 0, 0};
    blv_eval eval;
    blv_implicit *implicit;
    blv_vec *x, *y;
    double gy_norm;
    assert_int_equal(blv_eval_open(&eval, problem, &counts), BLV_OK);
    assert_int_equal(blv_implicit_create(&implicit, &eval), BLV_OK);
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    blv_vec_write(x, x_values);
    assert_int_equal(blv_implicit_inner(implicit, x, y, 1e-5, &gy_norm), BLV_GO);
    double accuracy = measure_at(problem, x, y, "test_accuracy");
    blv_implicit_destroy(implicit);
    blv_eval_close(&eval);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return accuracy;
}

static void test_mnist_cleaning(void **state) {
    (void)state;
    skip_without(MNIST_TRAIN);
    enum { ROWS = 4000 };
    blv_problem *p =
        make_problem_as("hyperclean",
                        SETTINGS("train", MNIST_TRAIN, "train_size", "4000", "val_size", "1000",
                                 "test", MNIST_TEST, "scaling", "unit", "corrupt", "0.5"),
                        BLV_F32, 1);
    blv_run *run = make_run(p, "exact", SETTINGS("iters", "4"));
    solve_run(run);
    double *x = make_numbers(ROWS);
    known_corruption(ROWS, x);
    double clean = trained_accuracy(p, x), cleaned = measure_run(run, "test_accuracy");
    for (size_t i = 0; i < ROWS; i++)
        x[i] = 0.0;
    double noisy = trained_accuracy(p, x);
    print_message("test accuracy: trained on noisy labels %.4f, cleaned %.4f, clean part %.4f; "
                  "AUROC by probability %.4f, by weight %.4f\n",
                  noisy, cleaned, clean, measure_run(run, "auroc_probability"),
                  measure_run(run, "auroc_weight"));
    assert_true(measure_run(run, "auroc_probability") > 0.95);
    assert_true(cleaned > clean - 0.015);
    assert_true(cleaned > noisy);
    free(x);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* A short run must lower the certified Phi and do better on held-out rows than the largest class.
 */
static void check_penalties(const char *const *problem_settings, blv_precision precision,
                            const char *solver, const char *const *settings,
                            double least_accuracy) {
    blv_problem *p = make_problem_as("l2reg", problem_settings, precision, 1);
    blv_run *run = make_run(p, solver, settings);
    double before = certify_run(run).phi;
    solve_run(run);
    blv_certificate after = certify_run(run);
    print_message("%s: Phi %.4f -> %.4f, accuracy on validation rows %.4f\n", solver, before,
                  after.phi, measure_run(run, "val_accuracy"));
    assert_true(after.phi < before);
    assert_true(measure_run(run, "val_accuracy") > least_accuracy);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void test_ijcnn1(void **state) {
    (void)state;
    skip_without("ijcnn1/ijcnn1.gz");
    check_penalties(SETTINGS("train", "ijcnn1/ijcnn1.gz", "val", "ijcnn1/ijcnn1.t.gz", "val_size",
                             "20000", "train_size", "20000"),
                    BLV_F64, "soba", SETTINGS("iters", "5000"), 0.9);
}

static void test_covtype(void **state) {
    (void)state;
    skip_without("covtype/covtype.sample.data.gz");
    check_penalties(SETTINGS("train", "covtype/covtype.sample.data.gz", "positive", "2",
                             "train_size", "20000", "val_size", "5000", "scaling", "standard"),
                    BLV_F64, "s-tfbo", SETTINGS("iters", "2048", "batch", "64"), 0.65);
    check_penalties(SETTINGS("train", "covtype/covtype.sample.data.gz", "train_size", "10000",
                             "val_size", "2000", "scaling", "standard"),
                    BLV_F32, "s-tfbo", SETTINGS("iters", "200"), 0.6);
}

static void test_news20(void **state) {
    (void)state;
    skip_without("news20/20news.train.svm.gz");
    check_penalties(SETTINGS("train", "news20/20news.train.svm.gz", "train_size", "400", "val_size",
                             "200", "unit_rows", "on", "scale", "per-entry"),
                    BLV_F32, "exact", SETTINGS("iters", "1"), 0.4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mnist_cleaning),
        cmocka_unit_test(test_ijcnn1),
        cmocka_unit_test(test_covtype),
        cmocka_unit_test(test_news20),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
