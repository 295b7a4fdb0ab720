/* Files of models that are damaged or are none, what models answer, and functions of tasks and data
 * of which one argument is NULL. */
#include "reader_helpers.h"

#include "bilevel/bilevel.h"

#include <math.h>
#include <stdlib.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- Files ---- */

typedef struct parts {
    const char *format;
    size_t weights_ndim, scores, features, shift, divisor, classes, names, penalties;
    double weight, divide_by, penalty;
    const char *left_out;
} parts;

static const parts sound = {.format = "bilevel linear model 1",
                            .weights_ndim = 2,
                            .scores = 1,
                            .features = 2,
                            .shift = 2,
                            .divisor = 2,
                            .classes = 2,
                            .names = 2,
                            .penalties = 1,
                            .weight = 1.0,
                            .divide_by = 2.0,
                            .penalty = 0.1,
                            .left_out = ""};

static void add(blv_npz_writer *w, const parts *p, const char *name, size_t ndim,
                const size_t *shape, const double *data) {
    if (strcmp(p->left_out, name) != 0)
        assert_int_equal(blv_npz_add_f64(w, name, ndim, shape, data, NULL), BLV_OK);
}

static void add_names(blv_npz_writer *w, const parts *p, const char *name, const char *const *names,
                      size_t count) {
    if (count > 0 && strcmp(p->left_out, name) != 0)
        assert_int_equal(blv_npz_add_names(w, name, names, count, NULL), BLV_OK);
}

static const char *write_parts(const parts *p) {
    static const char *const names[] = {"a", "b", "c", "d"};
    const char *path = in_folder("model.npz");
    const double weights[] = {p->weight, -1.0, 1.0, 1.0}, zeros[4] = {0.25},
                 divisor[] = {p->divide_by, 1.0, 1.0}, one[] = {p->penalty, 1.0}, off = 0.0;
    blv_npz_writer *w;
    assert_int_equal(blv_npz_create(&w, path, NULL), BLV_OK);
    add_names(w, p, "format", &p->format, 1);
    add(w, p, "weights", p->weights_ndim, (const size_t[]){p->scores, p->features}, weights);
    add(w, p, "intercept", 1, &p->scores, zeros);
    add(w, p, "shift", 1, &p->shift, zeros);
    add(w, p, "divisor", 1, &p->divisor, divisor);
    add(w, p, "unit_rows", 0, NULL, &off);
    add_names(w, p, "class_names", names, p->classes);
    add_names(w, p, "feature_names", names, p->names);
    add(w, p, "penalties", 1, &p->penalties, one);
    add_names(w, p, "penalty_names", names, p->penalties);
    assert_int_equal(blv_npz_commit(w, NULL), BLV_OK);
    return path;
}

static void expect_rejected(const parts *p, const char *message) {
    blv_model *model = NULL;
    blv_message why = {""};
    assert_int_not_equal(blv_model_read(&model, write_parts(p), &why), BLV_OK);
    assert_null(model);
    if (!strstr(why.text, message))
        fail_msg("%s\nexpected: %s", why.text, message);
}

static void test_damaged(void **state) {
    static const char apart[] = "the arrays do not fit together";
    (void)state;
#define WITH(message, ...)                                                                         \
    do {                                                                                           \
        parts p = sound;                                                                           \
        __VA_ARGS__;                                                                               \
        expect_rejected(&p, message);                                                              \
    } while (0)
    WITH("not a model that 'bilevel tune' has written", p.format = "another");
    WITH("not a model that 'bilevel tune' has written", p.left_out = "format");
    WITH("the weights are not a matrix", p.weights_ndim = 1);
    WITH("weights", p.left_out = "weights");
    WITH("intercept", p.left_out = "intercept");
    WITH("divisor", p.left_out = "divisor");
    WITH("unit_rows", p.left_out = "unit_rows");
    WITH(apart, p.shift = 1);
    WITH(apart, p.divisor = 3);
    WITH(apart, p.classes = 1);
    WITH(apart, p.classes = 3);
    WITH(apart, p.names = 3);
    WITH(apart, p.scores = 2, p.classes = 0);
    WITH(apart, p.scores = 2, p.classes = 3);
    WITH("a number is not finite", p.weight = NAN);
    WITH("a number is not finite", p.divide_by = INFINITY);
    WITH("a number is not finite", p.penalty = NAN);
    WITH("a divisor is 0", p.divide_by = 0.0);
#undef WITH
    blv_model *model;
    blv_message why;
    assert_int_equal(blv_model_read(&model, in_folder("none.npz"), &why), BLV_E_FILE);
    assert_int_equal(blv_model_read(&model, put_text("text", "no archive"), &why), BLV_E_FORMAT);
}

/* ---- Answers ---- */

static blv_model *model_of(parts p) {
    blv_model *model = NULL;
    blv_message why = {""};
    if (blv_model_read(&model, write_parts(&p), &why) != BLV_OK)
        fail_msg("%s", why.text);
    return model;
}

static blv_prediction *predict(const blv_model *model, const blv_dataset *rows) {
    blv_prediction *made = NULL;
    blv_message why = {""};
    if (blv_model_predict(model, rows, &made, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return made;
}

static blv_dataset *rows_for(const blv_model *model, const char *text,
                             const blv_read_options *reading) {
    blv_dataset *rows = NULL;
    blv_message why = {""};
    if (blv_model_read_rows(model, &rows, put_text("text", text), reading, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return rows;
}

/* score = (a - 0.25)/2 - b + 0.25 */
static void test_real(void **state) {
    (void)state;
    parts p = sound;
    p.classes = 0;
    blv_model *model = model_of(p);
    assert_int_equal(model->classes, 0);
    blv_dataset *rows = rows_for(model, "a,b,y\n2.25,1,0.25\n4.25,0,2.25\n", NULL);
    blv_prediction *made = predict(model, rows);
    assert_true(fabs(made->value[0] - 0.25) < 1e-12 && fabs(made->value[1] - 2.25) < 1e-12);
    assert_true(made->rmse < 1e-12 && fabs(made->r2 - 1.0) < 1e-12);
    blv_prediction_destroy(made);
    blv_dataset_release(rows);
    rows = rows_for(model, "a,b\n2.25,1\n4.25,0\n", NULL); /* without targets */
    assert_null(blv_dataset_view_of(rows)->target);
    made = predict(model, rows);
    assert_true(fabs(made->value[1] - 2.25) < 1e-12);
    assert_true(isnan(made->rmse) && isnan(made->r2) && !made->target);
    blv_prediction_destroy(made);
    blv_dataset_release(rows);
    rows = rows_for(model, "a,b,y\n2.25,1,1\n2.25,1,1\n", NULL);
    made = predict(model, rows);
    assert_true(fabs(made->rmse - 0.75) < 1e-12 && isnan(made->r2)); /* they do not vary */
    blv_prediction_destroy(made);
    blv_dataset_release(rows);
    blv_model_destroy(model);
}

static void test_classes(void **state) {
    (void)state;
    blv_model *model = model_of(sound);
    blv_dataset *rows = rows_for(model, "a,b\n9,1\n-9,1\n", NULL);
    double probability[4];
    assert_int_equal(blv_model_answer(model, rows, probability, NULL), BLV_OK);
    const double score = (9.0 - 0.25) / 2.0 - 1.0 + 0.25;
    assert_true(fabs(probability[1] - 1.0 / (1.0 + exp(-score))) < 1e-12);
    assert_true(fabs(probability[0] + probability[1] - 1.0) < 1e-12 && probability[3] < 0.1);
    blv_dataset_release(rows);
    blv_message why;
    assert_int_not_equal(
        blv_model_read_rows(model, &rows, put_text("text", "a,c\n9,1\n"), NULL, &why), BLV_OK);
    assert_null(rows);
    assert_int_not_equal(
        blv_model_read_rows(model, &rows, put_text("text", "a,b,c,k\n9,1,2,x\n"), NULL, &why),
        BLV_OK);
    blv_model_destroy(model);
}

/* ---- One argument is NULL ---- */

#define REFUSES(call)                                                                              \
    do {                                                                                           \
        blv_message why = {""};                                                                    \
        assert_int_equal((call), BLV_E_ARGUMENT);                                                  \
        assert_true(why.text[0]);                                                                  \
    } while (0)

static void test_null_in_models(void **state) {
    (void)state;
    blv_model *model = model_of(sound);
    blv_dataset *rows = rows_for(model, "a,b\n9,1\n-9,1\n", NULL), *made = NULL;
    blv_prediction *prediction;
    double number[4];
    REFUSES(blv_model_read(NULL, "x", &why));
    REFUSES(blv_model_read(&model, NULL, &why));
    REFUSES(blv_model_write(NULL, "x", &why));
    REFUSES(blv_model_write(model, NULL, &why));
    REFUSES(blv_model_read_rows(NULL, &made, "x", NULL, &why));
    REFUSES(blv_model_read_rows(model, NULL, "x", NULL, &why));
    REFUSES(blv_model_read_rows(model, &made, NULL, NULL, &why));
    REFUSES(blv_model_answer(NULL, rows, number, &why));
    REFUSES(blv_model_answer(model, NULL, number, &why));
    REFUSES(blv_model_answer(model, rows, NULL, &why));
    REFUSES(blv_model_predict(NULL, rows, &prediction, &why));
    REFUSES(blv_model_predict(model, NULL, &prediction, &why));
    REFUSES(blv_model_predict(model, rows, NULL, &why));
    REFUSES(blv_judge_rows(NULL, NULL, rows, NULL, 1, number, &why));
    REFUSES(blv_judge_rows(rows, NULL, NULL, NULL, 1, number, &why));
    REFUSES(blv_judge_rows(rows, NULL, rows, NULL, 1, NULL, &why));
    blv_dataset_release(rows);
    blv_model_destroy(model);
}

static void never(void *context, const char *line) {
    (void)context;
    fail_msg("%s", line);
}

static int nowhere(void *context, const void *data, size_t count) {
    (void)context, (void)data, (void)count;
    return 0;
}

static void test_null_in_data(void **state) {
    (void)state;
    blv_dataset *d = read_text("a,b,k\n1,2,x\n3,4,y\n", NULL), *made = NULL, *no_set = NULL;
    const char *const names[] = {"rows"};
    const double half[] = {0.5};
    size_t row[2], count[1];
    char text[20];
    bool mixed;
    blv_row_texts *texts = NULL;
    REFUSES(blv_dataset_expect_memory(NULL, 1, 1, "x", "y", &why));
    REFUSES(blv_dataset_expect_memory(d, 1, 1, NULL, "y", &why));
    REFUSES(blv_dataset_expect_memory(d, 1, 1, "x", NULL, &why));
    REFUSES(blv_dataset_relearn(NULL, 1, &why));
    REFUSES(blv_dataset_relearn(&d, 0, &why));
    REFUSES(blv_dataset_relearn(&no_set, 1, &why));
    REFUSES(blv_dataset_centre_table(NULL, 1, false, &mixed, &why));
    REFUSES(blv_dataset_centre_table(&d, 0, false, &mixed, &why));
    REFUSES(blv_dataset_centre_table(&no_set, 1, false, &mixed, &why));
    REFUSES(blv_dataset_centre_table(&d, 1, false, NULL, &why));
    REFUSES(blv_row_texts_open(NULL, d, &why));
    REFUSES(blv_row_texts_open(&texts, NULL, &why));
    REFUSES(blv_dataset_warn(NULL, names, 1, never, NULL, &why));
    REFUSES(blv_dataset_warn((const blv_dataset *const *)&d, NULL, 1, never, NULL, &why));
    REFUSES(blv_dataset_warn((const blv_dataset *const *)&d, names, 0, never, NULL, &why));
    REFUSES(blv_dataset_warn((const blv_dataset *const *)&d, names, 1, NULL, NULL, &why));
    assert_int_equal(
        blv_dataset_warn((const blv_dataset *const *)&no_set, names, 1, never, NULL, NULL), BLV_OK);
    REFUSES(blv_dataset_kinds(NULL, text, sizeof text, &why));
    REFUSES(blv_dataset_kinds(d, NULL, sizeof text, &why));
    REFUSES(blv_dataset_kinds(d, text, 0, &why));
    REFUSES(blv_dataset_write_to(NULL, "x", "csv", nowhere, NULL, &why));
    REFUSES(blv_dataset_write_to(d, NULL, "csv", nowhere, NULL, &why));
    REFUSES(blv_dataset_write_to(d, "x", NULL, nowhere, NULL, &why));
    REFUSES(blv_dataset_write_to(d, "x", "csv", NULL, NULL, &why));
    REFUSES(blv_dataset_write(d, "", "csv", &why));
    REFUSES(blv_dataset_split_rows(NULL, half, 1, false, 1, row, count, &why));
    REFUSES(blv_dataset_split_rows(d, NULL, 1, false, 1, row, count, &why));
    REFUSES(blv_dataset_split_rows(d, half, 0, false, 1, row, count, &why));
    REFUSES(blv_dataset_split_rows(d, half, 1, false, 1, NULL, count, &why));
    REFUSES(blv_dataset_split_rows(d, half, 1, false, 1, row, NULL, &why));
    REFUSES(blv_dataset_join(NULL, d, &made, &why));
    REFUSES(blv_dataset_join(d, NULL, &made, &why));
    REFUSES(blv_dataset_join(d, d, NULL, &why));
    REFUSES(blv_dataset_relabel(NULL, (const int32_t[]){0, 1}, &made, &why));
    REFUSES(blv_dataset_relabel(d, NULL, &made, &why));
    REFUSES(blv_dataset_relabel(d, (const int32_t[]){0, 1}, NULL, &why));
    REFUSES(blv_dataset_align_to(NULL, "x", blv_dataset_view_of(d), "y", &why));
    REFUSES(blv_dataset_align_to(d, "x", NULL, "y", &why));
    REFUSES(blv_dataset_expect_classes(NULL, "x", &why));
    REFUSES(blv_dataset_expect_classes(d, NULL, &why));
    assert_int_equal(blv_row_texts_open(&texts, d, NULL), BLV_OK);
    size_t length;
    assert_null(blv_row_texts_at(NULL, 0, &length));
    assert_null(blv_row_texts_at(texts, 0, NULL));
    assert_null(blv_row_texts_at(texts, 2, &length));
    blv_row_texts_close(texts);
    blv_dataset_release(d);
}

/* A setting of label noise that is no setting, one field after the other. */
static void test_label_noise(void **state) {
    (void)state;
    blv_dataset *d = read_text("1,2,x\n3,4,y\n2,2,x\n3,3,y\n", NULL);
    const uint32_t part[] = {0, 1, 0, 1};
    const double start[] = {0.9, 0.1, 0.1, 0.9};
    const blv_sets sets = {.size = sizeof sets, .train = d, .val = d};
    const blv_noise_setting good = {.size = sizeof good,
                                    .folds = 2,
                                    .part = part,
                                    .val_part = part,
                                    .start = start,
                                    .prior = 1.0,
                                    .noisy_share = 0.5,
                                    .ridge = 0.1};
    blv_problem *problem = NULL;
    blv_message why = {""};
    if (blv_label_noise_create(&sets, &good, NULL, &problem, &why) != BLV_OK)
        fail_msg("%s", why.text);
    blv_problem_destroy(problem);
#define WRONG(code, change)                                                                        \
    do {                                                                                           \
        blv_noise_setting s = good;                                                                \
        change;                                                                                    \
        assert_int_equal(blv_label_noise_create(&sets, &s, NULL, &problem, &why), code);           \
        assert_non_null(strstr(why.text, "label-noise"));                                          \
    } while (0)
    WRONG(BLV_E_ARGUMENT, s.part = NULL);
    WRONG(BLV_E_ARGUMENT, s.val_part = NULL);
    WRONG(BLV_E_ARGUMENT, s.start = NULL);
    WRONG(BLV_E_ARGUMENT, s.folds = 1);
    WRONG(BLV_E_VALUE, s.noisy_share = 0.0);
    WRONG(BLV_E_VALUE, s.prior = -1.0);
    WRONG(BLV_E_VALUE, s.ridge = NAN);
#undef WRONG
    assert_int_equal(blv_label_noise_create(NULL, &good, NULL, &problem, &why), BLV_E_ARGUMENT);
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged),      cmocka_unit_test(test_real),
        cmocka_unit_test(test_classes),      cmocka_unit_test(test_null_in_models),
        cmocka_unit_test(test_null_in_data), cmocka_unit_test(test_label_noise),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
