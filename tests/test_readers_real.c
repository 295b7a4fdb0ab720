/* Real data sets, from the folder that BILEVEL_DATA names: shape, classes, and values that were
 * taken from the files by other programs. */
#include "reader_helpers.h"

typedef struct real_set {
    const char *path;
    size_t rows, columns, classes;
    bool sparse;
    double sum;         /* of all values */
    size_t row, column; /* one value ... */
    double value;
    const char *class_name; /* ... and the class of its row */
} real_set;

static void check_set(const char *folder_of_data, const real_set *expected) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder_of_data, expected->path);
    if (access(path, R_OK) != 0) {
        print_message("skipped: there is no %s\n", path);
        return;
    }
    blv_dataset *set = read_set(path, NULL);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_int_equal(v->rows, expected->rows);
    assert_int_equal(v->columns, expected->columns);
    assert_int_equal(v->classes, expected->classes);
    assert_int_equal(v->dense == NULL, expected->sparse);
    size_t count = v->dense ? v->rows * v->stride : v->row_start[v->rows];
    const double *values = v->dense ? v->dense : v->value;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    if (sum < expected->sum - 1e-4 || sum > expected->sum + 1e-4)
        fail_msg("%s: the sum is %.9g, expected %.9g", path, sum, expected->sum);
    assert_true(at(set, expected->row, expected->column) == expected->value);
    assert_string_equal(class_of(set, expected->row), expected->class_name);
    blv_dataset_release(set);
}

static void test_real_files(void **state) {
    (void)state;
    const char *data = getenv("BILEVEL_DATA");
    if (!data) {
        print_message("skipped: BILEVEL_DATA names no folder of data sets\n");
        skip();
    }
    const real_set sets[] = {
        {"mnist/train-images-idx3-ubyte.gz", 60000, 784, 10, false, 1567298545.0, 59999, 211, 198.0,
         "8"},
        {"mnist/t10k-images-idx3-ubyte.gz", 10000, 784, 10, false, 264923200.0, 77, 207, 128.0,
         "2"},
        {"ijcnn1/ijcnn1.gz", 49990, 22, 2, false, 61689.710320995815, 49989, 15, 0.009477, "-1"},
        {"ijcnn1/ijcnn1.t.gz", 91701, 22, 2, false, 95065.71736699999, 91700, 15, 0.000835, "-1"},
        {"news20/20news.train.svm.gz", 11314, 130107, 20, true, 3369673.0, 11313, 76032, 1.0, "8"},
        {"libsvm/a9a.gz", 32561, 123, 2, true, 451592.0, 32560, 50, 1.0, "+1"},
        {"covtype/covtype.sample.data.gz", 176997, 54, 7, false, 1480410157.0, 176996, 5, 1392.0,
         "2"},
        {"cifar100-25/train.bin.gz", 12500, 3072, 25, false, 4757327371.0, 12499, 3000, 84.0, "73"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        check_set(data, &sets[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
