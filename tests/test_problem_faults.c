/* Problems on data with files and settings that do not fit, and when memory runs out at every
 * request in turn; and blv_problem_check with oracles of which one call goes wrong. */
#include "bilevel/registry.h"
#include "run_testing.h"

#include "memory_sweep.h"

/* ---- Files ---- */

static const char *const files[] = {"pf_train.svm", "pf_val.svm",  "pf_test.svm",
                                    "pf_one.svm",   "pf_rows.idx", "pf_labels.txt"};

static void remove_files(void) {
    for (size_t i = 0; i < LENGTH(files); i++)
        remove(files[i]);
    remove("pf_groups.txt");
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void write_rows(const char *path, int rows, int classes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < rows; i++)
        fprintf(file, "%d 1:%d 2:%g 3:%g\n", i % classes, i % 5 - 2, 0.25 * i, i % 2 ? 1.0 : -0.5);
    assert_int_equal(fclose(file), 0);
}

/* Six rows of two bytes, without labels. */
static void write_images(const char *path) {
    const unsigned char bytes[] = {0, 0, 8, 2, 0, 0, 0, 6, 0, 0, 0, 2,
                                   1, 2, 3, 4, 5, 6, 7, 9, 1, 3, 4, 4};
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes && fclose(file) == 0);
}

static int write_files(void **state) {
    (void)state;
    write_rows(files[0], 20, 3);
    write_rows(files[1], 9, 3);
    write_rows(files[2], 8, 3);
    write_rows(files[3], 6, 1);
    write_images(files[4]);
    write_text(files[5], "u\nv\nu\nv\nu\nv\n");
    write_text("pf_groups.txt", "0\n 1 \n1\r\n");
    atexit(remove_files);
    return 0;
}

/* ---- Settings ---- */

static const char *data_folder;

static blv_error create(const char *family, const char *const *settings, blv_message *why) {
    const blv_problem_options options = {
        .size = sizeof(blv_problem_options), .threads = 1, .data_folder = data_folder};
    blv_problem *problem = NULL;
    blv_error error = blv_problem_from_family(blv_family_find(NULL, family, NULL), settings,
                                              &options, &problem, why);
    assert_true((error == BLV_OK) == (problem != NULL));
    blv_problem_destroy(problem);
    return error;
}

static void refused(const char *family, const char *const *settings, blv_error error,
                    const char *part) {
    blv_message why = {""};
    blv_error answer = create(family, settings, &why);
    if (answer != error || !strstr(why.text, part))
        fail_msg("%s: '%s' is no answer with '%s'", family, why.text, part);
}

static void test_sources(void **state) {
    (void)state;
    const char *const train = files[0];
    refused("l2reg", NULL, BLV_E_VALUE, "a training file is needed");
    refused("l2reg", SETTINGS("train", "pf_nowhere.svm"), BLV_E_FILE, "pf_nowhere.svm");
    refused("l2reg", SETTINGS("train", files[3]), BLV_E_FORMAT, "one class only");
    refused("l2reg", SETTINGS("train", files[4]), BLV_E_FORMAT, "no labels that name a class");
    refused("l2reg", SETTINGS("train", train, "train_size", "2.5"), BLV_E_VALUE, "whole number");
    refused("l2reg", SETTINGS("train", train, "val_size", "2.5"), BLV_E_VALUE, "whole number");
    refused("l2reg", SETTINGS("train", train, "test_size", "2.5"), BLV_E_VALUE, "whole number");
    refused("l2reg", SETTINGS("train", train, "val_size", "0.001"), BLV_E_VALUE, "no validation");
    refused("l2reg", SETTINGS("train", train, "train_size", "19"), BLV_E_VALUE, "too few");
    refused("l2reg", SETTINGS("train", train, "val_size", "20"), BLV_E_VALUE, "too few");
    refused("l2reg", SETTINGS("train", train, "val", files[1], "val_size", "30"), BLV_E_VALUE, "");
    refused("l2reg", SETTINGS("train", train, "test", "pf_nowhere.svm"), BLV_E_FILE, "nowhere");
    refused("l2reg", SETTINGS("train", train, "loss", "logistic"), BLV_E_FORMAT, "3 classes");
    refused("l2reg", SETTINGS("train", train, "positive", "9"), BLV_E_NAME, "9");
    refused("l2reg", SETTINGS("train", train, "lo", "2", "hi", "1"), BLV_E_VALUE, "lo is above hi");
    refused("l2reg", SETTINGS("train", train, "penalty", "groups"), BLV_E_VALUE, "groups = FILE");
    refused("l2reg", SETTINGS("train", train, "val", files[3]), BLV_OK, "");
    refused("hyperclean-nn", SETTINGS("train", train, "net", "mlp:in-x"), BLV_E_VALUE, "character");
    refused("coreset", SETTINGS("train", train, "K", "17"), BLV_E_VALUE, "K is above");
}

/* A line for each of the three features. */
static void test_groups(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
        blv_error error;
    } cases[] = {{"0\n1\n0\n", "", BLV_OK},
                 {"0\r\n\t1 \n0", "", BLV_OK},
                 {"0\n1\n", "fewer lines", BLV_E_FORMAT},
                 {"0\n1\n0\n0\n", "more lines", BLV_E_FORMAT},
                 {"0\n\n1\n", "line 2", BLV_E_FORMAT},
                 {"0\n-1\n1\n", "line 2", BLV_E_FORMAT},
                 {"0\n -18446744073709551615\n1\n", "line 2", BLV_E_FORMAT},
                 {"0\n1\nx\n", "line 3", BLV_E_FORMAT},
                 {"0\n1 1\n1\n", "line 2", BLV_E_FORMAT},
                 {"0\n3\n1\n", "below the number of features", BLV_E_FORMAT}};
    const char *const *settings =
        SETTINGS("train", files[0], "penalty", "groups", "groups", "pf_case.txt");
    refused("l2reg", settings, BLV_E_FILE, "pf_case.txt");
    for (size_t i = 0; i < LENGTH(cases); i++) {
        write_text("pf_case.txt", cases[i].text);
        refused("l2reg", settings, cases[i].error, cases[i].part);
    }
    remove("pf_case.txt");
}

/* The folder of data is looked into for what is not where the path says. */
static void test_folder_of_data(void **state) {
    (void)state;
    char folder[512];
    assert_non_null(getcwd(folder, sizeof folder));
    const char *const *settings = SETTINGS("train", "pf_train.svm", "order", "file");
    const char *const *apart = SETTINGS("train", "pf_rows.idx", "labels", "pf_labels.txt");
    assert_int_equal(chdir("/"), 0);
    refused("l2reg", settings, BLV_E_FILE, "pf_train.svm");
    data_folder = "";
    refused("l2reg", settings, BLV_E_FILE, "pf_train.svm");
    data_folder = "/nowhere";
    refused("l2reg", settings, BLV_E_FILE, "pf_train.svm");
    data_folder = folder;
    refused("l2reg", settings, BLV_OK, "");
    refused("l2reg", apart, BLV_OK, "");
    data_folder = NULL;
    assert_int_equal(chdir(folder), 0);
}

/* ---- Memory ---- */

typedef struct family_work {
    const char *family;
    const char *const *settings;
} family_work;

static blv_error create_problem(void *context, blv_message *why) {
    const family_work *w = context;
    return create(w->family, w->settings, why);
}

static void test_memory(void **state) {
    (void)state;
    family_work works[] = {
        {"l2reg", SETTINGS("train", files[0], "val", files[1], "val_size", "6", "test", files[2],
                           "test_size", "0.5", "scaling", "standard", "unit_rows", "on",
                           "intercept", "on", "corrupt", "0.3", "layout", "dense")},
        {"l2reg",
         SETTINGS("train", files[0], "positive", "1", "order", "file", "val_size", "4", "test_size",
                  "3", "scaling", "unit", "penalty", "one", "layout", "sparse")},
        {"l2reg", SETTINGS("train", files[0], "penalty", "groups", "groups", "pf_groups.txt",
                           "test_size", "0.2", "train_size", "0.5", "lo", "-1")},
        {"l2reg", SETTINGS("train", files[4], "labels", files[5], "hi", "2")},
        {"hyperclean", SETTINGS("train", files[0], "val", files[1], "test", files[2])},
        {"hyperclean-nn", SETTINGS("train", files[0], "val", files[1], "test", files[2], "net",
                                   "mlp:in-4-out", "layout", "dense")},
        {"decay-nn", SETTINGS("train", files[0], "net", "mlp:in-4-out", "layout", "dense")},
        {"coreset", SETTINGS("train", files[0], "over", "val", "layout", "dense")},
    };
    refusal_may_not_matter = true; /* readers give back what they did not need */
    for (size_t i = 0; i < LENGTH(works); i++)
        fail_every_request(works[i].family, create_problem, &works[i], true);
    refusal_may_not_matter = false;
}

/* ---- The check ---- */

/* Whether the fault came to pass. */
static bool check_with_fault(wrapped *w, oracle at, fault_kind fault, long call) {
    blv_check_report report;
    blv_message why = {""};
    plan(w, at, fault, call, 1);
    blv_error error = blv_problem_check(w->problem, 1, 1.0, &report, &why);
    if (w->fired == 0)
        return false;
    if (report.ok)
        fail_msg("%s, call %ld, fault %d was not seen", oracle_names[at], call, (int)fault);
    if ((fault == REFUSE || fault == DIE) && error != BLV_E_ORACLE)
        fail_msg("%s, call %ld: error %d", oracle_names[at], call, (int)error);
    if (error != BLV_OK)
        expect_text(why.text, oracle_names[at]);
    return true;
}

static void check_with_faults(blv_problem *problem, product_kind products) {
    wrapped w;
    blv_check_report report;
    wrap(&w, problem, products);
    for (oracle at = UPPER; at < ORACLES; at++)
        for (int fault = NAN_VALUE; fault <= DIE; fault++)
            for (long call = 1; check_with_fault(&w, at, (fault_kind)fault, call); call++)
                assert_true(call < 2000);
    plan(&w, UPPER, NO_FAULT, 1, 0);
    assert_int_equal(blv_problem_check(w.problem, 1, 1.0, &report, NULL), BLV_OK);
    assert_true(report.ok); /* the problem is as before */
    unwrap(&w);
}

static void test_check(void **state) {
    (void)state;
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        check_with_faults(
            make_problem("quadratic", SETTINGS("dx", "2", "dy", "3", "kappa", "5", "terms", "4")),
            (product_kind)products);
        check_with_faults(make_problem("scalar-penalty", NULL), (product_kind)products);
    }
}

static double factor_of_products[2]; /* of Hv and Jv */

static int wrong_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    const blv_problem_def *def = blv_problem_definition(user);
    int code = def->lower_all(def->user, batch, x, y, v, gy, hv, jv);
    if (hv)
        blv_vec_scale(hv, factor_of_products[0]);
    if (jv)
        blv_vec_scale(jv, factor_of_products[1]);
    return code;
}

static int plain_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *f, blv_vec *fx, blv_vec *fy) {
    const blv_problem_def *def = blv_problem_definition(user);
    return def->upper(def->user, batch, x, y, f, fx, fy);
}

static int plain_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *g, blv_vec *gx, blv_vec *gy) {
    const blv_problem_def *def = blv_problem_definition(user);
    return def->lower(def->user, batch, x, y, g, gx, gy);
}

/* Products that only lower_all gives are compared with differences too. */
static void test_check_of_lower_all(void **state) {
    (void)state;
    blv_problem *base = small_quadratic(BLV_F64), *problem;
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .dim_x = 3,
                                 .dim_y = 4,
                                 .user = base,
                                 .upper = plain_upper,
                                 .lower = plain_lower,
                                 .lower_all = wrong_all};
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    for (int wrong = 0; wrong < 3; wrong++) {
        blv_check_report report;
        factor_of_products[0] = wrong == 1 ? 1.01 : 1.0;
        factor_of_products[1] = wrong == 2 ? 1.01 : 1.0;
        assert_int_equal(blv_problem_check(problem, 1, 1.0, &report, NULL), BLV_OK);
        assert_int_equal(report.ok, wrong == 0);
    }
    blv_problem_destroy(problem);
    blv_problem_destroy(base);
}

/* Families in memory that has no kernels, and batches whose list cannot be read. */
static void test_kinds_of_memory(void **state) {
    (void)state;
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++)
        for (int kind = BLV_MEMORY_CUDA; kind <= BLV_MEMORY_OTHER; kind++) {
            const blv_problem_options options = {.size = sizeof options,
                                                 .memory = (blv_memory_kind)kind};
            blv_message why = {""};
            blv_problem *problem;
            assert_int_equal(blv_problem_from_family(family, NULL, &options, &problem, &why),
                             BLV_E_UNSUPPORTED);
            assert_null(problem);
            expect_text(why.text, family->name);
            expect_text(why.text, "memory");
        }
    const char *const names[] = {"quadratic", "synthetic-logistic"};
    for (size_t i = 0; i < 2; i++) {
        blv_problem *problem =
            make_problem(names[i], i == 0 ? SETTINGS("terms", "4") : SETTINGS("rows", "8"));
        const blv_problem_def *def = blv_problem_definition(problem);
        blv_vec *x, *y;
        assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
        assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
        const size_t index[] = {1, 2};
        blv_batch batch = {.count = 2, .index = index, .memory = BLV_MEMORY_CUDA};
        double g;
        assert_int_equal(def->lower(def->user, &batch, x, y, &g, NULL, NULL), -1);
        assert_int_equal(def->upper(def->user, &batch, x, y, &g, NULL, NULL), -1);
        batch.memory = BLV_MEMORY_HOST;
        assert_int_equal(def->lower(def->user, &batch, x, y, &g, NULL, NULL), 0);
        blv_vec_destroy(x);
        blv_vec_destroy(y);
        blv_problem_destroy(problem);
    }
}

static int code_of_matrix;

static int no_matrix(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     double *matrix) {
    (void)user, (void)batch, (void)x, (void)y, (void)matrix;
    return code_of_matrix;
}

/* Matrices that cannot be had, for a while or for good. */
static void test_check_of_matrices(void **state) {
    (void)state;
    blv_problem *base = make_problem("pl-shift", SETTINGS("dim", "4"));
    for (code_of_matrix = -3; code_of_matrix <= 3; code_of_matrix += 6)
        for (int which = 0; which < 2; which++) {
            blv_problem_def def = *blv_problem_definition(base);
            blv_check_report report;
            blv_message why = {""};
            blv_problem *problem;
            def.space_x = def.space_y = NULL;
            def.free_user = NULL;
            def.arrays = NULL;
            *(which ? &def.lower_cross_matrix : &def.lower_hessian_matrix) = no_matrix;
            assert_non_null(which ? def.lower_hessian_matrix : def.lower_cross_matrix);
            assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
            assert_int_equal(blv_problem_check(problem, 1, 1.0, &report, &why), BLV_E_ORACLE);
            assert_false(report.ok);
            expect_text(why.text, which ? "lower_cross_matrix" : "lower_hessian_matrix");
            blv_problem_destroy(problem);
        }
    blv_problem_destroy(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_folder_of_data),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_of_lower_all),
        cmocka_unit_test(test_check_of_matrices),
        cmocka_unit_test(test_kinds_of_memory),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
